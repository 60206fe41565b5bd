"""What keeps mistakes out of the repository, and runs out of it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

from wfc.config import Config
from wfc.doctor.report import Result, good, note


def check_hooks(config: Config) -> Iterator[Result]:
    if (config.root / ".git").exists():
        yield _hooks(config)
        ignored = _git(config, "check-ignore", ".wfc/state.db")
        if ignored:
            yield good("git", "runs (.wfc/) are ignored")
        elif ignored is not None:
            yield note("git", "runs (.wfc/) are not ignored by git", "add `.wfc/` to .gitignore")


def _hooks(config: Config) -> Result:
    path = config.root / ".pre-commit-config.yaml"
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    if "wfc-compile" not in text or "wfc-check" not in text:
        return note(
            "hooks", "pre-commit does not look at workflows", "`wfc init --show` prints what belongs there"
        )
    place = _git(config, "rev-parse", "--git-path", "hooks/pre-commit")
    if place and not (config.root / place).exists():
        return note(
            "hooks",
            "the hooks are written down, but git does not run them yet",
            "`pip install pre-commit`, then `pre-commit install`",
        )
    return good("hooks", "pre-commit checks workflows and modules")


def _git(config: Config, *arguments: str) -> str | None:
    """What git says; None where there is no git."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=config.root, capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return done.stdout.strip()
