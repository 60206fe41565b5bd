"""`check_files`: which files exist.

SECURITY. Only files that the grant lets the server read are searched, below the project's folder and without following
links; a path outside of it fails the step.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from wfc_runtime.execute.base import ExecutionError, Executor, Job, Parameters, Result
from wfc_runtime.execute.paths import Place, locate, parent_of
from wfc_runtime.execute.permissions import Grant
from wfc_runtime.execute.read_files import NEVER
from wfc_runtime.scopes import ANY_DEPTH, is_wild, matches

_MOST_PATHS, _MOST_SEEN = 1_000, 20_000


def _check_files(job: Job) -> Result:
    found: list[str] = []
    missing: list[str] = []
    for path in _paths(job.parameters):
        places = _places(path, job.parameters)
        is_there = any(_is_there(job.grant, place) for place in places)
        (found if is_there else missing).append(path)
    return {"found": found, "missing": missing}


def _paths(parameters: Parameters) -> list[str]:
    """The paths, each once. A part of a file, `x.md#Section`, means the file."""
    given = parameters.value("paths")
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise ExecutionError("`paths` must be a list of paths")
    named = [one.partition("#")[0].strip() for one in given]
    if not all(named) or any("\0" in one for one in named):
        raise ExecutionError("`paths` has an entry that is not a path")
    if len(named) > _MOST_PATHS:
        raise ExecutionError(f"`paths` has {len(named):,} entries; the limit is {_MOST_PATHS:,}")
    return list(dict.fromkeys(named))


def _places(path: str, parameters: Parameters) -> list[str]:
    """Where a path may be: in the project, otherwise in `folder`."""
    folder = parameters.text("folder", "").strip("/")
    return [path, f"{folder}/{path}"] if folder and not path.startswith("/") else [path]


def _located(grant: Grant, path: str) -> Place:
    return locate(grant, path, within=(grant.root,))


def _is_there(grant: Grant, path: str) -> bool:
    if is_wild(path):
        return any(_matching(grant, path))
    try:
        place = _located(grant, path)
    except ExecutionError:
        if (grant.root / path).is_symlink():
            # A link is never followed, so it counts as missing; any other refusal fails the step.
            return False
        raise
    about = _about(place)
    if about is None or grant.file_refusal("read", place.path):
        return False
    # An empty folder has no output in it.
    return stat.S_ISREG(about.st_mode) or (stat.S_ISDIR(about.st_mode) and bool(os.listdir(place.path)))


def _about(place: Place) -> os.stat_result | None:
    try:
        with parent_of(place, place.protected.unreadable_files()) as parent:
            # Relative to the opened parent, so that no component can be exchanged between the check and this
            # call.
            return os.stat(place.names[-1] if place.names else ".", dir_fd=parent, follow_symlinks=False)
    except (ExecutionError, OSError):
        return None


def _matching(grant: Grant, pattern: str) -> Iterator[Path]:
    """The files that match a pattern. Only its folders before the first wildcard are searched."""
    segments = [one for one in pattern.split("/") if one not in ("", ".")]
    if pattern.startswith("/") or ".." in segments:
        raise ExecutionError(f"the pattern {pattern[:80]!r} leads out of the project", "refused")
    literal = next(number for number, one in enumerate(segments) if is_wild(one))
    base = _located(grant, "/".join(segments[:literal]) or ".").path
    wanted = segments[literal:]
    # Without `**`, nothing below the depth of the pattern can match.
    depth = None if ANY_DEPTH in wanted else len(wanted)
    seen = 0
    for above, folders, names in os.walk(base, followlinks=False):
        inside = Path(above).relative_to(base).parts
        # Modified in place, so that `os.walk` does not descend.
        folders[:] = [
            one for one in folders if one not in NEVER and (depth is None or len(inside) + 1 < depth)
        ]
        for name in names:
            seen += 1
            if seen > _MOST_SEEN:
                raise ExecutionError(f"{pattern} would search more than {_MOST_SEEN:,} files")
            path = Path(above, name)
            if matches(wanted, (*inside, name)) and _is_readable(grant, path):
                yield path


def _is_readable(grant: Grant, path: Path) -> bool:
    is_file = not path.is_symlink() and path.is_file()
    return is_file and not grant.file_refusal("read", path) and not grant.protected.why_unreadable(path)


def _refusal(parameters: Parameters, grant: Grant) -> str:
    wanted = [place for path in _paths(parameters) for place in _places(path, parameters)]
    if wanted and not grant.grants_files("read"):
        return "the server may not read files (no --allow-read pattern was given)"
    for place in wanted:
        # A pattern is covered if some file that it could match is.
        sample = "/".join("x" if is_wild(one) and one == ANY_DEPTH else one for one in place.split("/"))
        sample = sample.replace("*", "x").replace("?", "x")
        try:
            path = _located(grant, sample).path
        except ExecutionError:
            # Nobody may look there: the step fails with it.
            continue
        if why := grant.file_refusal("read", path):
            return why
    return ""


CHECK_FILES = Executor("check_files", _check_files, _refusal)
