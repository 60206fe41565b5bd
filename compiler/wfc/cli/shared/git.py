"""Reads files from git, and implements `--staged`, which checks the content of the next commit.

For `--staged`, the workflows, modules and settings of the index are written to a temporary folder, and the command
runs there in the same subfolder, so that paths in its output are those of the project. A workflow that is not staged
is ignored, and a module that is not staged is missing.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wfc.config import load_config
from wfc.workspace.files import ENDINGS, TEXT_ENDINGS
from wfc_runtime.line_map import SUFFIX

if TYPE_CHECKING:
    from wfc.project import Drift


def git(*arguments: str, folder: Path) -> bytes | None:
    """The output of a git command; None if it fails."""
    import subprocess  # Imported here: most commands never run git, and the import takes milliseconds.

    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, check=False, stdin=subprocess.DEVNULL
        )
    except OSError as error:
        raise click.ClickException(f"can't run git: {error.strerror}") from error
    return done.stdout if done.returncode == 0 else None


def top_of(folder: Path) -> Path | None:
    """The root of the working tree that contains a folder."""
    found = git("rev-parse", "--show-toplevel", folder=folder)
    return Path(found.decode().rstrip("\n")) if found is not None else None


def commit_of(revision: str, folder: Path) -> str | None:
    """The full id of the commit that a revision names."""
    if revision.startswith("-"):
        return None
    found = git(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", folder=folder
    )
    return found.decode().strip() if found else None


def files_at(commit: str, top: Path) -> dict[str, str]:
    """The files of a commit with their object ids, by path from the root of the working tree."""
    listing = git("ls-tree", "-r", "-z", commit, folder=top)
    if listing is None:
        raise click.ClickException(f"git can't list the files of {commit[:12]}")
    found: dict[str, str] = {}
    for line in listing.decode("utf-8", "surrogateescape").split("\0"):
        about, _, path = line.partition("\t")
        if path and about.split()[1] == "blob":
            found[path] = about.split()[2]
    return found


def content_of(blob: str, top: Path) -> bytes:
    found = git("cat-file", "blob", blob, folder=top)
    if found is None:
        raise click.ClickException(f"git can't read {blob[:12]}")
    return found


_SOURCES = (
    *(f":(top)*{ending}" for ending in (*ENDINGS, *TEXT_ENDINGS)),
    ":(top)pyproject.toml",
    ":(top)*/pyproject.toml",
)
_NAMED = 5
_STAGED = "wfc.staged"
"""Where a command that looks at the index keeps the folder that it was called in."""
Command = Callable[..., int]


def staged_option(writes: Callable[[dict[str, Any]], str]) -> Callable[[Command], Command]:
    """Adds `--staged` to a command. `writes` returns a hint if the arguments would write files, or ""."""

    def decorate(command: Command) -> Command:
        @click.option("--staged", is_flag=True, help="Check the git index instead of the working tree.")
        @wraps(command)
        def wrapped(*arguments: Any, staged: bool, **given: Any) -> int:
            if not staged:
                return command(*arguments, **given)
            if writing := writes(given):
                raise click.UsageError(f"--staged reads the git index and writes nothing: {writing}")
            if "no_cache" in given:
                given["no_cache"] = True  # The cache is keyed by folder, and the temporary one is removed.
            click.get_current_context().meta[_STAGED] = Path.cwd()
            with _copy_of_the_index():
                return command(*arguments, **given)

        return wrapped

    return decorate


def is_staged() -> bool:
    """Whether the current command was given --staged."""
    return _STAGED in click.get_current_context().meta


def staging(drift: Drift, source: str) -> str:
    """How to stage what is missing in the index, if the working tree has it; otherwise empty.

    `source` is the path of the workflow that the file is made from.
    """
    from wfc_runtime.header import digest, read_header
    from wfc_runtime.line_map import map_path

    here: Path | None = click.get_current_context().meta.get(_STAGED)
    if here is None:
        return ""
    if drift.after is None:
        return "" if (here / drift.path).exists() else _add(drift.path)
    if _text(here / drift.path) == drift.after:
        return _add(drift.path, *([str(map_path(Path(drift.path)))] if drift.is_module else []))
    header = read_header(drift.before) if drift.before is not None and drift.is_module else None
    text = _text(here / source)
    return _add(source) if header and text is not None and header.source == digest(text) else ""


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _add(*paths: str) -> str:
    return f"stage it: `git add {shlex.join(paths)}`"


@contextmanager
def _copy_of_the_index() -> Iterator[None]:
    from tempfile import TemporaryDirectory

    top, here = Path(_git("rev-parse", "--show-toplevel").strip()), Path.cwd()
    with TemporaryDirectory(prefix="wfc-staged-") as name:
        copy = Path(name).resolve()
        (copy / ".git").mkdir()  # Marks the root of the project, as in the working tree.
        place = copy / here.resolve().relative_to(top.resolve())
        place.mkdir(parents=True, exist_ok=True)
        _refuse_conflicts()
        _write(copy, _SOURCES)
        config = load_config(place)
        config.workflows_dir.mkdir(
            parents=True, exist_ok=True
        )  # Git has no folder if nothing in it is staged.
        generated = config.generated_dir.relative_to(copy)
        _write(copy, [f":(top,literal){generated.as_posix()}"], endings=(".py", SUFFIX))
        os.chdir(place)
        try:
            yield
        finally:
            os.chdir(here)


def _refuse_conflicts() -> None:
    names = {line.partition("\t")[2] for line in _git("ls-files", "--unmerged", "-z", ":(top)").split("\0")}
    if found := sorted(names - {""}):
        shown = ", ".join(f"`{name}`" for name in found[:_NAMED]) + (", ..." if len(found) > _NAMED else "")
        raise click.UsageError(f"a merge left conflicts in {shown}: resolve them, and `git add` the files")


def _write(copy: Path, patterns: Sequence[str], endings: str | tuple[str, ...] = "") -> None:
    found = _git("ls-files", "--cached", "-z", "--full-name", "--", *patterns).split("\0")
    # An entry of `git add --intent-to-add` has no content yet.
    meant = _git("diff", "--diff-filter=A", "--name-only", "-z", "--no-relative").split("\0")
    names = "".join(f"{name}\0" for name in found if name.endswith(endings) and name not in {*meant, ""})
    if names:
        root = _git("rev-parse", "--show-toplevel").strip()
        _git("checkout-index", "-z", "--stdin", "--force", f"--prefix={copy}/", given=names, cwd=root)


def _git(*arguments: str, given: str = "", cwd: str | None = None) -> str:
    import subprocess

    try:
        done = subprocess.run(
            ["git", *arguments],
            input=given,
            cwd=cwd,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",  # File names are bytes and may not be valid UTF-8.
            check=False,
        )
    except FileNotFoundError:
        raise click.UsageError("--staged needs git, which is not installed") from None
    if done.returncode:
        reason = done.stderr.strip().removeprefix("fatal: ")
        raise click.UsageError(f"--staged needs a git repository: {reason}")
    return done.stdout
