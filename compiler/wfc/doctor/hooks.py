"""What keeps mistakes out of the repository, and runs out of it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

from wfc.config import Config
from wfc.doctor.report import Result, good, note


def check_hooks(config: Config) -> Iterator[Result]:
    if not (config.root / ".git").exists():
        return
    path = config.root / ".pre-commit-config.yaml"
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    if "wfc-compile" in text and "wfc-check" in text:
        yield good("hooks", "pre-commit checks workflows and modules")
    else:
        yield note(
            "hooks", "pre-commit does not look at workflows", "`wfc init --show` prints what belongs there"
        )
    probe = [*("git", "check-ignore", "-q"), ".wfc/state.db"]
    try:
        ignored = subprocess.run(probe, cwd=config.root, capture_output=True, check=False).returncode == 0
    except OSError:
        return
    if ignored:
        yield good("git", "runs (.wfc/) are ignored")
    else:
        yield note("git", "runs (.wfc/) are not ignored by git", "add `.wfc/` to .gitignore")
