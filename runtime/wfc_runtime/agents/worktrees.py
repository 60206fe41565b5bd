"""`isolation: worktree`: a git worktree and a branch for the calls of one visit, or of one child of a foreach, kept
while they have changes. Calls that share one hold a lock on it, so that none removes it under another.

SECURITY. An agent can write into its worktree, including the file `.git` there, so git is never asked to find its
folder from inside: the folder that git named when the worktree was made is passed with each command, and hooks are off.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import IO

from wfc_runtime.contract import Worktree
from wfc_runtime.execute.base import ExecutionError, shortened
from wfc_runtime.execute.permissions import DEFAULT_ENV
from wfc_runtime.execute.process import run_process

_SECONDS = 120.0
_OUTPUT = 256 * 1024
# Both settings can name a program, and an agent may have changed the configuration of the repository.
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
    lock: IO[bytes]
    """Held by every call that works in it."""

    def release(self) -> None:
        """Leave the worktree as it is."""
        self.lock.close()

    def close(self, stop: Event) -> Worktree | None:
        """Remove a worktree without changes, unless another call works in it; otherwise return where it is."""
        try:
            return self._close(stop)
        finally:
            self.release()

    def _close(self, stop: Event) -> Worktree | None:
        inside = (*_QUIET, f"--git-dir={self.git_dir}", f"--work-tree={self.path}")
        changed = _git(self.path, stop, *inside, "status", "--porcelain", "--untracked-files=normal")
        head = _git(self.path, stop, *inside, "rev-parse", "HEAD").strip()
        # Commits count as changes too: a clean worktree can still hold the whole work of an agent.
        if changed.strip() or head != self.base:
            return {"path": str(self.path), "branch": self.branch}
        # Another call holds the shared lock; the last one to finish removes the worktree.
        if not _locked(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB):
            return None
        _git(self.repository, stop, *_QUIET, "worktree", "remove", "--force", str(self.path))
        _git(self.repository, stop, *_QUIET, "branch", "-D", self.branch)
        _record(self.path).unlink(missing_ok=True)
        _lock_file(self.path).unlink(missing_ok=True)
        return None


def worktree_for(repository: Path, folder: Path, run: str, part: str, stop: Event) -> Isolated:
    """The worktree of a part of a run: the one that an earlier call made, or a new one from the current commit."""
    # Names of visits may have characters that a branch must not have.
    name = re.sub(r"[^A-Za-z0-9_@-]", "-", part)
    path, branch = folder / run / name, f"wfc/{run}/{name}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = _lock(_lock_file(path))
    except OSError as error:
        raise NoWorktreeError(f"a git worktree can't be made: {error}") from None
    try:
        found = _known(path, branch, repository, lock) or _made(path, branch, repository, lock, stop)
        # Others may work in it too, but nobody may make or remove it.
        _locked(lock, fcntl.LOCK_SH)
        return found
    except (ExecutionError, OSError) as error:
        lock.close()
        raise NoWorktreeError(f"a git worktree can't be made: {error}") from None


def _made(path: Path, branch: str, repository: Path, lock: IO[bytes], stop: Event) -> Isolated:
    base = _git(repository, stop, *_QUIET, "rev-parse", "--verify", "HEAD^{commit}").strip()
    _git(repository, stop, *_QUIET, "worktree", "prune")
    _git(repository, stop, *_QUIET, "worktree", "add", "--quiet", "-B", branch, str(path), base)
    git_dir = _git(path, stop, *_QUIET, "rev-parse", "--absolute-git-dir").strip()
    made = {"branch": branch, "base": base, "git_dir": git_dir}
    _record(path).write_text(json.dumps(made), encoding="utf-8")
    return Isolated(path, branch, base, git_dir, repository, lock)


def _lock_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _lock(path: Path) -> IO[bytes]:
    """An exclusive lock on a file, which another call may remove while this one waits for it."""
    while True:
        opened = path.open("ab")
        _locked(opened, fcntl.LOCK_EX)
        try:
            if os.fstat(opened.fileno()).st_ino == path.stat().st_ino:
                return opened
        except FileNotFoundError:
            pass
        opened.close()


def _locked(file: IO[bytes], how: int) -> bool:
    try:
        fcntl.flock(file.fileno(), how)
    except BlockingIOError:
        return False
    return True


def _record(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _known(path: Path, branch: str, repository: Path, lock: IO[bytes]) -> Isolated | None:
    try:
        found = json.loads(_record(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, Mapping) or found.get("branch") != branch or not path.is_dir():
        return None
    return Isolated(path, branch, str(found["base"]), str(found["git_dir"]), repository, lock)


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
