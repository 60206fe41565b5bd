"""`git_snapshot` and `git_changes`: which files a part of a run has changed, by content.

A snapshot has the commit, and the content of each file that differs from it. The changes are the files whose content is
another one later: whether it was committed, on which branch, or reverted in between does not matter, and files that
differed before do not count as changed.

SECURITY. The grant must cover `git status`. That is more than reading: git executes programs that the configuration of
the repository names, such as clean filters. Hooks, file system monitors, pagers, external diffs and prompts are
switched off, and git takes no optional locks. Contents are read without following links.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from wfc_runtime import git_proof
from wfc_runtime.contract import Json
from wfc_runtime.execute import paths
from wfc_runtime.execute.base import ExecutionError, Executor, Job, Parameters, Result, shortened
from wfc_runtime.execute.permissions import Grant
from wfc_runtime.execute.process import NotStartedError, run_process

_SECONDS = 60.0
_MOST_OUTPUT = 32 << 20
_MOST_MODULES, _DEEPEST = 50, 4
_LARGE = 256 << 20
"""Larger files are compared by size and time."""
_HARDENED = (
    # Literal pathspecs: a folder whose name begins with `:` must not be read as a pattern.
    *("--no-pager", "--no-optional-locks", "--literal-pathspecs"),
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false"),
)
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_EMPTY_TREES = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""By the length of object ids. Every repository knows it."""
_STATUS = ("status", "--porcelain=v2", "-z", "-uall", "--no-renames", "--ignore-submodules=all", "--", ".")
_DIFFERENCE = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", "--no-textconv")
_TOO_LONG = f"comparing the files took longer than {_SECONDS:.0f} seconds"
Contents = dict[str, str | None]
"""The id of each file's content; None for a file that is not there."""


class _NoProofError(Exception):
    """Why nothing can be compared."""


# A working tree, and what git says about it. Inside this module, paths are decoded as the file system's names are.


@dataclass(frozen=True)
class _Tree:
    """A working tree, from the inspected folder downwards."""

    job: Job
    folder: Path
    end: float
    """When the time is up."""
    prefix: bytes = b""
    """The folder inside the working tree, with a slash behind it."""
    id_length: int = 40
    has_modes: bool = True
    """Whether the executable bit of files means anything here."""

    @classmethod
    def open(cls, job: Job, folder: Path, end: float) -> _Tree:
        bare = cls(job, folder, end)
        try:
            said = bare.git("rev-parse", "--is-inside-work-tree", "--show-object-format", "--show-prefix")
        except NotStartedError as error:
            raise _NoProofError(f"git can't be started: {error.why}") from None
        except _NoProofError as error:
            raise _NoProofError(f"the folder is in no git working tree ({error})") from None
        # The prefix may contain line breaks itself, so it comes last and is not split.
        inside, kind, prefix = said.split(b"\n", 2)
        if inside != b"true":
            raise _NoProofError("the folder is in no git working tree")
        # On file systems without the bit, git ignores it; comparing it here would report every file as
        # changed.
        modes = bare.git("config", "--type=bool", "--default=true", "core.fileMode")
        is_long = kind == b"sha256"
        return cls(
            job, folder, end, prefix.removesuffix(b"\n"), 64 if is_long else 40, modes.strip() == b"true"
        )

    def git(self, *arguments: str) -> bytes:
        """The output of a git command. Raises `_NoProofError` with what it says if it fails."""
        left = self.end - time.monotonic()
        finished = run_process(
            ["git", *_HARDENED, *arguments],
            cwd=self.folder,
            env={**self.job.grant.environment({}), **_ENVIRONMENT},
            seconds=max(left, 0.1),
            limits=(_MOST_OUTPUT, 4_096),
            stop=self.job.stop,
        )
        if finished.stopped:
            raise ExecutionError("git was stopped before it ended", "interrupted")
        if finished.timed_out:
            raise _NoProofError(_TOO_LONG)
        if finished.exit_code:
            raise _NoProofError(shortened(finished.stderr.text()[0] or "git failed", 200))
        if finished.stdout.total > _MOST_OUTPUT:
            raise _NoProofError("git lists too many files")
        return finished.stdout.ends[0]

    def head(self) -> str | None:
        """The commit; None before the first one."""
        try:
            # `--quiet` and a failure: a repository without a commit is nothing unusual.
            return self.git("rev-parse", "--verify", "--quiet", "HEAD").decode("ascii", "replace").strip()
        except _NoProofError:
            return None

    def differing(self) -> Contents:
        """The files that differ from the last commit, each with its content there."""
        found: Contents = {}
        for entry in self.git(*_STATUS).split(b"\0"):
            # Porcelain v2: `1` is a changed file, `u` an unmerged one, `?` an untracked one. The path is the
            # last field, since it may contain spaces.
            if entry[:2] == b"1 ":
                fields = entry.split(b" ", 8)
                found[self._name(fields[8])] = self._id(fields[3], fields[6])
            elif entry[:2] == b"u ":
                fields = entry.split(b" ", 10)
                found[self._name(fields[10])] = self._id(fields[4], fields[8])
            elif entry[:2] == b"? ":
                # Also listed as deleted if it was only taken out of the index: that entry has the content.
                # A repository inside this one that is not a submodule is not entered: it counts as one file.
                found.setdefault(self._name(entry[2:]).rstrip("/"), None)
        for path, content in self._overlooked():
            found.setdefault(path, content)
        # The server itself writes to its store.
        # Otherwise every step would find that the store has changed.
        protected = self.job.grant.protected
        return {path: one for path, one in found.items() if not protected.why_unreadable(self.folder / path)}

    def _overlooked(self) -> Iterator[tuple[str, str | None]]:
        """The changed files that git is configured to ignore (`assume-unchanged`, `skip-worktree`), each with its
        content in the index. One command would hide a change otherwise."""
        for entry in self.git("ls-files", "-v", "-s", "-z", "--", ".").split(b"\0"):
            tag, skips = entry[:1], entry[:1] in (b"S", b"s")
            if not skips and not tag.islower():
                continue
            about, _, path = entry[2:].partition(b"\t")
            # Relative to the folder, other than in the output of `status`.
            name, (mode, id, _) = os.fsdecode(path), about.split(b" ")
            known, now = self._id(mode, id), self.content(name)
            # A sparse checkout skips files that are not there.
            if now != known and not (skips and now is None):
                yield name, known

    def between(self, before: str | None, after: str | None) -> dict[str, tuple[str | None, str | None]]:
        """The files that differ between two commits, each with its two contents."""
        if before == after:
            return {}
        empty = _EMPTY_TREES[self.id_length]
        # Before the first commit, everything is compared with the empty tree.
        said = self.git(*_DIFFERENCE, before or empty, after or empty, "--", ".").split(b"\0")
        found: dict[str, tuple[str | None, str | None]] = {}
        for about, path in zip(said[::2], said[1::2], strict=False):
            old_mode, new_mode, old, new, *_ = about.lstrip(b":").split(b" ")
            found[self._name(path)] = (self._id(old_mode, old), self._id(new_mode, new))
        return found

    def _name(self, path: bytes) -> str:
        return os.fsdecode(path.removeprefix(self.prefix))

    def _id(self, mode: bytes, content: bytes) -> str | None:
        # A mode of zeros means that the file does not exist on this side.
        if not mode.strip(b"0"):
            return None
        return content.decode("ascii", "replace") + ("x" if mode == b"100755" and self.has_modes else "")

    def modules(self) -> dict[str, _Tree]:
        """The submodules that are checked out."""
        found: dict[str, _Tree] = {}
        if self.content(".gitmodules") is None:
            return found
        try:
            said = self.git("config", "-z", "-f", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$")
        except _NoProofError:
            # No submodule has a path, or the file is not in git's format.
            return found
        named = [os.fsdecode(entry.partition(b"\n")[2]) for entry in said.split(b"\0") if entry]
        for path in list(dict.fromkeys(named))[:_MOST_MODULES]:
            # Without its own `.git`, git would find the repository around it.
            if self.content(f"{path}/.git") is not None:
                with suppress(_NoProofError):
                    found[path] = _Tree.open(self.job, self.folder / path, self.end)
        return found

    # -- contents --------------------------------------------------------------

    def content(self, path: str) -> str | None:
        """The id of a file's content as git computes it, without filters; None if there is no such file."""
        with self._at(path) as place:
            if place is None:
                return None
            parent, name = place
            try:
                return self._content(parent, name)
            except FileNotFoundError:
                return None
            except OSError as error:
                return f"unreadable: {error.strerror}"

    @contextmanager
    def _at(self, path: str) -> Iterator[tuple[int, str] | None]:
        """A descriptor of the folder of a file, opened without following links, and the file's name."""
        names = tuple(path.split("/"))
        with ExitStack() as stack:
            try:
                if {"", ".", ".."}.intersection(names) or "\0" in path:
                    raise ExecutionError(f"{path!r} is no path inside the folder")
                place = paths.Place(self.folder, names, self.job.grant.protected)
                parent = stack.enter_context(paths.parent_of(place, {}))
            except ExecutionError:
                yield None
                return
            yield parent, names[-1]

    def _content(self, parent: int, name: str) -> str:
        about = os.stat(name, dir_fd=parent, follow_symlinks=False)
        # Git stores the target of a link as its content.
        if stat.S_ISLNK(about.st_mode):
            target = os.fsencode(os.readlink(name, dir_fd=parent))
            return self._hashed([target], len(target))
        if not stat.S_ISREG(about.st_mode):
            return "folder" if stat.S_ISDIR(about.st_mode) else "special"
        program = "x" if about.st_mode & stat.S_IXUSR and self.has_modes else ""
        if about.st_size > _LARGE:
            return f"{about.st_size} {about.st_mtime_ns}{program}"
        # O_NONBLOCK, because the file may have become a named pipe since it was checked.
        opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
        with os.fdopen(opened, "rb") as file:
            return self._hashed(iter(lambda: file.read(1 << 20), b""), about.st_size) + program

    def _hashed(self, parts: Iterable[bytes], size: int) -> str:
        # SHA-1 is what git uses for object ids; it protects nothing here.
        made = hashlib.sha256() if self.id_length == 64 else hashlib.sha1(usedforsecurity=False)
        made.update(b"blob %d\0" % size)
        for part in parts:
            # Files can be large, so a cancelled run is noticed between two parts.
            if self.job.stop.is_set():
                raise ExecutionError("the run ended before the files were compared", "interrupted")
            if time.monotonic() > self.end:
                raise _NoProofError(_TOO_LONG)
            made.update(part)
        return made.hexdigest()


# Paths in results. A name that is not UTF-8 is shown with escapes.

_ESCAPED = re.compile(r"\\x([0-9a-f]{2})")


def _shown(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _meant(shown: str, tree: _Tree) -> str:
    """The path that a snapshot shows."""
    # An ordinary name that contains such characters is used as it is.
    if "\\x" not in shown or tree.content(shown) is not None:
        return shown
    return _ESCAPED.sub(lambda found: os.fsdecode(bytes([int(found[1], 16)])), shown)


# The two actions.


def _snapshot(job: Job) -> Result:
    tree = _Tree.open(job, job.grant.root, time.monotonic() + _SECONDS)
    files: Contents = {}
    modules: Contents = {}
    _look(tree, "", files, modules, 0)
    found = git_proof.snapshot(tree.head(), files, proved=True)
    return {**found, "modules": modules} if modules else found


def _look(tree: _Tree, prefix: str, files: Contents, modules: Contents, depth: int) -> None:
    """Add the contents of the files that differ, and the commits of the working trees inside this one."""
    for path in tree.differing():
        # Beyond the limit, only their number matters.
        is_kept = len(files) <= git_proof.MOST_PATHS
        files[_shown(prefix + path)] = tree.content(path) if is_kept else None
    for path, inner in tree.modules().items() if depth < _DEEPEST else ():
        modules[_shown(prefix + path)] = inner.head()
        _look(inner, f"{prefix}{path}/", files, modules, depth + 1)


def _changes(job: Job) -> Result:
    since = job.parameters.mapping("since")
    scopes = job.parameters.mapping("scopes")
    if isinstance(since.get("skipped"), str):
        return git_proof.skipped_changes(since["skipped"])
    files, modules = since.get("files"), since.get("modules", {})
    if not isinstance(files, dict) or not isinstance(modules, dict):
        raise ExecutionError("`since` is not the result of a git_snapshot step")
    commits = {"": since.get("head"), **modules}
    # The text goes to git as an argument, so anything but an object id is refused.
    if not all(one is None or git_proof.OBJECT_ID.fullmatch(str(one)) for one in commits.values()):
        raise ExecutionError("`since` has a commit that is none")
    tree = _Tree.open(job, job.grant.root, time.monotonic() + _SECONDS)
    is_proved = since.get("proved") is True
    # In a snapshot of an agent, the contents of files that had been changed before are not known.
    known = (path for path in _changed(tree, "", files, commits, 0) if files.get(path) != git_proof.CLAIMED)
    return git_proof.changes(known, scopes, proved=is_proved)


def _changed(
    tree: _Tree, prefix: str, files: Mapping[str, Json], commits: Mapping[str, Json], depth: int
) -> Iterator[str]:
    """The paths whose content is another one than in the snapshot."""
    # Submodules that were there at the time of the snapshot, at any depth; then those directly below.
    known = [path for path in commits if path.startswith(prefix) and path and f"{path}/" != prefix]
    direct = [path for path in known if not any(path.startswith(f"{other}/") for other in known)]
    was = {
        _meant(path.removeprefix(prefix), tree): content
        for path, content in files.items()
        if path.startswith(prefix) and not any(path.startswith(f"{module}/") for module in direct)
    }
    differing = tree.differing()
    modules = tree.modules() if depth < _DEEPEST else {}
    committed = tree.between(commits[prefix[:-1]], tree.head())
    for path in {**committed, **was, **differing}:
        # Not committed since: the last commit has the content of then.
        old, new = committed.get(path) or (differing.get(path), None)
        if path in was or path in differing:
            new = tree.content(path)
        if new != was.get(path, old):
            yield _shown(prefix + path)
    now = {_shown(prefix + path): inner for path, inner in modules.items()}
    for path in {**dict.fromkeys(direct), **now}:
        if path in now and path in direct:
            yield from _changed(now[path], f"{path}/", files, commits, depth + 1)
        else:
            # A submodule that has appeared or disappeared is one change, regardless of its content.
            yield path


def _executor(
    kind: str, work: Callable[[Job], Result], skipped: Callable[[str], dict[str, Json]]
) -> Executor:
    """`otherwise: skip`: if the server may not or can't run git, the result contains the reason, and nobody is
    asked."""

    def look(job: Job) -> Result:
        why = job.grant.refusal(git_proof.COMMAND)
        if why:
            return skipped(f"the server may not run `{git_proof.COMMAND}`: {why}")
        try:
            return work(job)
        except _NoProofError as error:
            return skipped(str(error))

    def refusal(parameters: Parameters, grant: Grant) -> str:
        return "" if parameters.text("otherwise", "") == "skip" else grant.refusal(git_proof.COMMAND)

    return Executor(kind, look, refusal)


GIT_SNAPSHOT = _executor(git_proof.SNAPSHOT, _snapshot, git_proof.skipped_snapshot)
GIT_CHANGES = _executor(git_proof.CHANGES, _changes, git_proof.skipped_changes)
