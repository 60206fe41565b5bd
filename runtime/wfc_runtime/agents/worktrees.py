"""`isolation: worktree`: a git worktree and a branch for the calls of one visit, kept while they have changes.

SECURITY. An agent can write into its worktree, also to the file `.git` there, so git is never asked to find its folder
from inside: the folder that git named when the worktree was made is passed with each command, and hooks are off.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from wfc_runtime.contract import Worktree
from wfc_runtime.execute.base import ExecutionError, shortened
from wfc_runtime.execute.permissions import DEFAULT_ENV
from wfc_runtime.execute.process import run_process

_SECONDS = 120.0
_OUTPUT = 256 * 1024
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")


class NoWorktreeError(Exception):
    """A worktree can't be made. The message says why."""


@dataclass(frozen=True)
class Isolated:
    """The worktree of a visit."""

    path: Path
    branch: str
    base: str
    """The commit that it began with."""
    git_dir: str
    """The folder of git that belongs to it, which is not inside it."""
    repository: Path

    def close(self, stop: Event) -> Worktree | None:
        """Remove a worktree without changes; otherwise return where it is."""
        inside = (*_QUIET, f"--git-dir={self.git_dir}", f"--work-tree={self.path}")
        changed = _git(self.path, stop, *inside, "status", "--porcelain", "--untracked-files=normal")
        head = _git(self.path, stop, *inside, "rev-parse", "HEAD").strip()
        if changed.strip() or head != self.base:
            return {"path": str(self.path), "branch": self.branch}
        _git(self.repository, stop, *_QUIET, "worktree", "remove", "--force", str(self.path))
        _git(self.repository, stop, *_QUIET, "branch", "-D", self.branch)
        _record(self.path).unlink(missing_ok=True)
        return None


def worktree_for(repository: Path, folder: Path, run: str, visit: str, stop: Event) -> Isolated:
    """The worktree of a visit: the one that an earlier process made, or a new one from the current commit."""
    # Names of visits may have characters that a branch must not have.
    name = re.sub(r"[^A-Za-z0-9_@-]", "-", visit)
    path, branch = folder / run / name, f"wfc/{run}/{name}"
    known = _known(path, branch, repository)
    if known is not None:
        return known
    try:
        base = _git(repository, stop, *_QUIET, "rev-parse", "--verify", "HEAD^{commit}").strip()
        path.parent.mkdir(parents=True, exist_ok=True)
        _git(repository, stop, *_QUIET, "worktree", "prune")
        _git(repository, stop, *_QUIET, "worktree", "add", "--quiet", "-B", branch, str(path), base)
        git_dir = _git(path, stop, *_QUIET, "rev-parse", "--absolute-git-dir").strip()
    except (ExecutionError, OSError) as error:
        raise NoWorktreeError(f"a git worktree can't be made: {error}") from None
    made = {"branch": branch, "base": base, "git_dir": git_dir}
    _record(path).write_text(json.dumps(made), encoding="utf-8")
    return Isolated(path, branch, base, git_dir, repository)


def _record(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _known(path: Path, branch: str, repository: Path) -> Isolated | None:
    try:
        found = json.loads(_record(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, Mapping) or found.get("branch") != branch or not path.is_dir():
        return None
    return Isolated(path, branch, str(found["base"]), str(found["git_dir"]), repository)


def _git(folder: Path, stop: Event, *arguments: str) -> str:
    names = (*DEFAULT_ENV, "HOME")
    env = {name: os.environ[name] for name in names if name in os.environ}
    finished = run_process(
        ["git", *arguments],
        cwd=folder,
        # git must fail rather than wait for a password that nobody can type.
        env={**env, "GIT_TERMINAL_PROMPT": "0"},
        seconds=_SECONDS,
        limits=(_OUTPUT, _OUTPUT),
        stop=stop,
    )
    if finished.stopped or finished.timed_out:
        raise ExecutionError("git was stopped before it ended", "interrupted")
    if finished.exit_code:
        said = finished.stderr.text()[0] or finished.stdout.text()[0]
        raise ExecutionError(f"git {arguments[-2]}: {shortened(said.strip(), 400)}")
    return finished.stdout.text()[0]
