"""`read_files`: the text files of a folder that match patterns, within limits.

SECURITY. Each file is located and checked like a single one: links are not followed, protected files and files without
a grant are listed as skipped, and a pattern can't lead out of the folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from wfc_runtime.contract import Json
from wfc_runtime.execute import paths
from wfc_runtime.execute.base import ExecutionError, Executor, Job, Parameters, Result
from wfc_runtime.execute.files import check_encoding
from wfc_runtime.execute.outline import outline
from wfc_runtime.execute.paths import folder, in_folder, in_scratch, locate_for, scratch
from wfc_runtime.execute.permissions import Grant
from wfc_runtime.scopes import ANY_DEPTH, matches

_MOST_FILES, _MOST_SEEN = 100, 20_000
NEVER = frozenset({".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache"})
"""Folders that are not entered."""
_MODES = ("full", "outline", "summary")
_STARS = re.compile(r"\*{2,}")
_MOST_IGNORED = 100_000
_Pattern = tuple[str, ...]
"""The segments of a pattern."""


def _read_files(job: Job) -> Result:
    parameters, grant = job.parameters, job.grant
    check_encoding(parameters.text("encoding", "utf-8"))
    if parameters.text("mode", "full") not in _MODES:
        raise ExecutionError(f"`mode` must be one of {', '.join(_MODES)}")
    with _base(job) as base:
        if "path" in parameters:
            names = [os.path.relpath(Path(base, in_folder(parameters.path("path"), base)), base)]
        else:
            names = list(_matching(base, parameters, grant))
        most = min(int(parameters.number("max_files", 20)), _MOST_FILES)
        limit = min(int(parameters.number("max_file_size_kb", 100) * 1024), grant.file_bytes)
        files: list[dict[str, Json]] = []
        skipped: list[dict[str, Json]] = []
        for name in names:
            if len(files) >= most:
                skipped.append({"path": name, "reason": f"more than {most:,} files"})
                continue
            try:
                files.append(_read(base, name, limit, parameters, grant))
            except ExecutionError as error:
                # A single file that can't be read fails the step; of many, the others are still useful.
                if "path" in parameters:
                    raise
                skipped.append({"path": name, "reason": error.message})
    size = sum(int(one["size_bytes"]) for one in files)
    return {
        "files": files,
        "content": _joined(files),
        "total_files": len(files),
        "total_size_kb": size // 1024,
        "skipped_files": skipped,
        "patterns_matched": len(names),
        # As with a command that searches, nothing found is a failure that others can look at.
        "exit_code": 0 if files else 1,
        "success": bool(files),
    }


@contextmanager
def _base(job: Job) -> Iterator[Path]:
    """The folder that is searched. It is in the granted folders, or is the run's scratch folder."""
    given = job.parameters.text("base_path", ".")
    if not in_scratch(given) and not in_scratch(job.parameters.text("path", "")):
        yield folder(job.grant, given)
        return
    with scratch(job.grant.root, job.run, given) as place:
        yield folder(job.grant, in_folder(given, place)) if in_scratch(given) else place


def _matching(base: Path, parameters: Parameters, grant: Grant) -> Iterator[str]:
    wanted, unwanted = _patterns(parameters, "patterns"), _patterns(parameters, "exclude_patterns")
    if not wanted:
        raise ExecutionError("`path` or `patterns` is needed")
    if parameters.flag("respect_gitignore", True):
        unwanted += _ignored(base, grant)
    seen = 0
    for above, folders, names in os.walk(base, followlinks=False):
        # Sorted, so that the same files are chosen on every system.
        folders[:] = sorted(one for one in folders if one not in NEVER)
        for name in sorted(names):
            seen += 1
            if seen > _MOST_SEEN:
                raise ExecutionError(f"{base} has more than {_MOST_SEEN:,} files")
            path = Path(above, name).relative_to(base).as_posix()
            if any(matches(one, path.split("/")) for one in wanted) and not _is_among(path, unwanted):
                yield path


def _is_among(path: str, patterns: list[_Pattern]) -> bool:
    """Whether a pattern matches the path, or the name of the file or of a folder around it."""
    names = path.split("/")
    return any(matches(one, names) or any(matches(one, [name]) for name in names) for one in patterns)


def _patterns(parameters: Parameters, name: str) -> list[_Pattern]:
    given = parameters.value(name) if name in parameters else []
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise ExecutionError(f"`{name}` must be a list of patterns")
    for one in given:
        if one.startswith("/") or ".." in one.split("/"):
            raise ExecutionError(f"the pattern {one[:80]!r} leads out of the folder", "refused")
    return [_segments(one) for one in given]


def _ignored(base: Path, grant: Grant) -> list[_Pattern]:
    """The plain patterns of the folder's own .gitignore."""
    try:
        # Read like every other file: it may be a link, a device or a pipe.
        data = paths.read(locate_for(grant, str(base / ".gitignore"), "read"), _MOST_IGNORED)
    except ExecutionError:
        return []
    lines = (data or b"").decode("utf-8", errors="replace").splitlines()
    # Negated lines are left out: a file that they include again is then missing, which is the safer mistake.
    return [_segments(line.strip().strip("/")) for line in lines if line.strip() and line[0] not in "#!"]


@lru_cache(maxsize=1024)
def _segments(pattern: str) -> _Pattern:
    """`*` and `?` match within one name, `**` any number of folders; `**.py` is `**/*.py`."""
    found: list[str] = []
    for segment in pattern[:500].split("/"):
        if segment == ANY_DEPTH:
            # Several in a row match the same, and would only take longer.
            found += [segment] if found[-1:] != [segment] else []
            continue
        if segment.startswith(ANY_DEPTH) and found[-1:] != [ANY_DEPTH]:
            found.append(ANY_DEPTH)
        found += [_STARS.sub("*", segment)] if segment not in ("", ".") else []
    return tuple(found)


def _read(base: Path, name: str, limit: int, parameters: Parameters, grant: Grant) -> dict[str, Json]:
    place = locate_for(grant, str(base / name), "read")
    data = paths.read(place, limit)
    if data is None:
        raise ExecutionError(f"there is no file {name}")
    encoding = parameters.text("encoding", "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeError:
        raise ExecutionError(f"{name} is not text in {encoding}") from None
    # Decodable, but binary: UTF-16 and many binary formats contain NUL characters.
    if "\0" in text:
        raise ExecutionError(f"{name} is not a text file")
    text = text.replace("\r\n", "\n")
    if "line_start" in parameters or "line_end" in parameters:
        lines = text.splitlines(keepends=True)
        first = max(int(parameters.number("line_start", 1)), 1)
        text = "".join(lines[first - 1 : int(parameters.number("line_end", len(lines)))])
    mode = parameters.text("mode", "full")
    if mode != "full":
        text = outline(name, text, with_docs=mode == "summary")
    return {"path": name, "content": text, "size_bytes": len(data)}


def _joined(files: list[dict[str, Json]]) -> str:
    """The content of a single file; of several, a YAML document of them all."""
    if len(files) == 1:
        return str(files[0]["content"])
    found = ["files:"] if files else []
    for one in files:
        found += [f"- path: {one['path']}", "  content: |"]
        found += [f"    {line}" if line else "" for line in str(one["content"]).splitlines()]
        found.append(f"  size_bytes: {one['size_bytes']}")
    return "\n".join(found) + ("\n" if files else "")


def _refusal(parameters: Parameters, grant: Grant) -> str:
    if not grant.grants_files("read"):
        return "the server may not read files (no --allow-read pattern was given)"
    return ""


READ_FILES = Executor("read_files", _read_files, _refusal)
