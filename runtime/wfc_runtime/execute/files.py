"""Actions on files: create, read, render a template; read, write and merge JSON state."""

from __future__ import annotations

import codecs
import json
import os
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from wfc_runtime.contract import Json
from wfc_runtime.execute import paths
from wfc_runtime.execute.base import NESTING, ExecutionError, Executor, Job, Parameters, Result
from wfc_runtime.execute.paths import file_refusal, located, read_refusal, write_refusal
from wfc_runtime.execute.permissions import Grant
from wfc_runtime.expr import TEXT_LIMITS, ExpressionError, render
from wfc_runtime.machine.values import NotPlainError, check_plain

# `create_file`.

# The usual modes as numbers: YAML 1.1 reads 0644 as 420, which is one of these.
_COMMON = (
    0o400,
    0o440,
    0o444,
    0o600,
    0o640,
    0o644,
    0o660,
    0o664,
    0o666,
    0o700,
    0o740,
    0o744,
    0o750,
    0o755,
    0o775,
    0o777,
)


_NAMES_ONLY = ("idna", "punycode", "undefined")
"""Codecs for host names; they would take minutes for a file of a few megabytes."""


def _create_file(job: Job) -> Result:
    parameters = job.parameters
    content = parameters.value("content")
    text = content if isinstance(content, str) else str(content)
    place, created, size = write_text(job, "path", text, permissions(parameters))
    return {"path": place, "file_path": place, "size_bytes": size, "created": created, "success": True}


def write_text(job: Job, name: str, text: str, mode: int | None = None) -> tuple[str, bool, int]:
    """Write a text to the path that a parameter names; returns its path, whether it is new, and its size."""
    parameters = job.parameters
    with located(job, name, "write") as place:
        data = encode(text, parameters.text("encoding", "utf-8"))
        # Measured as bytes, after encoding: the limit is about the file, not about its characters.
        if len(data) > job.grant.file_bytes:
            limit = f"the limit is {job.grant.file_bytes:,}"
            raise ExecutionError(f"{place} would have {len(data):,} bytes; {limit}")
        created = paths.write(
            place,
            data,
            mode=mode,
            overwrite=parameters.flag("overwrite", True),
            create_parents=parameters.flag("create_parents", True),
        )
        return str(place), created, len(data)


def encode(text: str, encoding: str) -> bytes:
    check_encoding(encoding)
    try:
        return text.replace("\n", os.linesep).encode(encoding)
    except UnicodeError as error:
        raise ExecutionError(f"the content can't be written as {encoding}: {error}") from None


def check_encoding(encoding: str) -> None:
    try:
        # Python also has bytes-to-bytes codecs; those that decompress could expand a small file without limit.
        found = codecs.lookup(encoding)
        is_text = found._is_text_encoding and found.name not in _NAMES_ONLY
    except (LookupError, ValueError):
        is_text = False
    if not is_text:
        raise ExecutionError(f"unknown text encoding {encoding[:40]!r}")


def permissions(parameters: Parameters) -> int | None:
    """`mode` or `permissions`: octal digits as text or as a number, or the number itself (0o644)."""
    if "mode" not in parameters and "permissions" not in parameters:
        return None
    given: Json = parameters.value("mode", "permissions")
    text = str(given).strip().lower().removeprefix("0o")
    try:
        is_itself = isinstance(given, int) and (given in _COMMON or not set(text) <= set("01234567"))
        # YAML reads an unquoted 0644 or 644 in different ways: a number that is a usual mode is taken as the mode
        # itself, any other number as its octal digits.
        mode = given if is_itself else int(text, 8)
    except ValueError:
        mode = -1
    # A bool is an int for Python, and 644.0 would lose digits.
    if isinstance(given, (bool, float)) or not 0 <= mode <= 0o777:
        raise ExecutionError(f'`mode` must be permissions such as "644", not {given!r:.40}')
    return mode


CREATE_FILE = Executor("create_file", _create_file, write_refusal)


# `read_file`: returns the content as text or base64.


def _read_file(job: Job) -> Result:
    parameters = job.parameters
    limit = min(int(parameters.number("max_size_mb", 10) * 1024 * 1024), job.grant.file_bytes)
    with located(job, "path", "read") as place:
        data = paths.read(place, limit)
    if data is None:
        if parameters.flag("required", True):
            raise ExecutionError(f"there is no file {place}")
        # An optional file that is missing is a result, so that a workflow can test `found`.
        return {"content": "", "path": str(place), "size_bytes": 0, "found": False, "success": True}
    content = _content(
        data, parameters.text("mode", "text"), parameters.text("encoding", "utf-8"), str(place)
    )
    return {"content": content, "path": str(place), "size_bytes": len(data), "found": True, "success": True}


def _content(data: bytes, mode: str, encoding: str, path: str) -> str:
    if mode == "binary":
        return b64encode(data).decode()
    if mode != "text":
        raise ExecutionError(f"`mode` must be text or binary, not {mode[:40]!r}")
    check_encoding(encoding)
    try:
        # As Python's text mode does: expressions see one kind of line end on every system.
        return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeError as error:
        raise ExecutionError(
            f"{path} is not text in {encoding}: {error}", hint="`mode: binary` reads it as base64."
        ) from None


READ_FILE = Executor("read_file", _read_file, read_refusal)


# `render_template`: a Jinja template with its own variables, rendered by the same metered engine as all expressions.


def _render_template(job: Job) -> Result:
    parameters = job.parameters
    text = _render(parameters, job.run)
    path, size = None, None
    # With an empty path, only the text is wanted.
    if parameters.text("output_path", ""):
        path, _, size = write_text(job, "output_path", text)
    return {"content": text, "rendered": text, "output_path": path, "size_bytes": size, "success": True}


def _render(parameters: Parameters, seed: str) -> str:
    # Jinja also drops one trailing newline by default.
    template = parameters.text("template").removesuffix("\n")
    try:
        return render(
            template,
            parameters.mapping("variables"),
            now=datetime.now(UTC),
            uuid_seed=seed,
            limits=TEXT_LIMITS,
            strict=parameters.flag("strict", True),
        )
    except ExpressionError as error:
        raise ExecutionError(f"the template can't be rendered: {error}") from None


def _render_refusal(parameters: Parameters, grant: Grant) -> str:
    if not parameters.text("output_path", ""):
        return ""
    return file_refusal(parameters, grant, "output_path", "write")


RENDER_TEMPLATE = Executor("render_template", _render_template, _render_refusal)


# JSON files with one object: always read and written as a whole.


def read_object(job: Job, place: paths.Place) -> dict[str, Json] | None:
    """The object in a file; None if there is no such file."""
    data = paths.read(place, job.grant.file_bytes)
    if data is None:
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ExecutionError(f"{place} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ExecutionError(f"{place} must contain an object; it contains {type(value).__name__}")
    return value


def write_object(job: Job, place: paths.Place, value: dict[str, Json]) -> tuple[bool, int]:
    """Write an object; returns whether the file is new, and its size. Refuses a value that could not be read back."""
    try:
        # Depth is checked too: a file that could be written but not read back would break the next step.
        check_plain(value, job.grant.file_bytes, NESTING)
    except NotPlainError as error:
        raise ExecutionError(f"the new content of {place} {error}") from None
    # Sorted and indented: these files are often committed, and read by people.
    data = (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()
    if len(data) > job.grant.file_bytes:
        raise ExecutionError(f"{place} would have {len(data):,} bytes; the limit is {job.grant.file_bytes:,}")
    parents = job.parameters.flag("create_parents", True)
    return paths.write(place, data, mode=None, overwrite=True, create_parents=parents), len(data)


# `read_json_state`.


def _read_json_state(job: Job) -> Result:
    with located(job, "path", "read") as place:
        value = read_object(job, place)
    if value is None and job.parameters.flag("required", False):
        raise ExecutionError(f"there is no file {place}")
    data = value or {}
    return {"data": data, "state": data, "found": value is not None, "path": str(place), "success": True}


READ_JSON_STATE = Executor("read_json_state", _read_json_state, read_refusal)


# `write_json_state`.


def _write_json_state(job: Job) -> Result:
    if "data" not in job.parameters and "state" not in job.parameters:
        raise ExecutionError("`data` is missing")
    with located(job, "path", "write") as place:
        _, size = write_object(job, place, job.parameters.mapping("data", "state"))
    return {"path": str(place), "size_bytes": size, "success": True}


WRITE_JSON_STATE = Executor("write_json_state", _write_json_state, write_refusal)


# `merge_json_state`: nested objects are merged, any other value is replaced.

_one_at_a_time = Lock()
"""Parallel steps may merge into the same file; without the lock one update would be lost."""


def _merge_json_state(job: Job) -> Result:
    parameters = job.parameters
    updates = parameters.mapping("updates")
    with located(job, "path", "read", "write") as place, _one_at_a_time, _alone_in(place.root):
        before = read_object(job, place)
        if before is None and not parameters.flag("create_if_missing", True):
            raise ExecutionError(f"there is no file {place}, and create_if_missing is false")
        merged = merge(before or {}, updates)
        write_object(job, place, merged)
    return {
        "path": str(place),
        "created": before is None,
        "merged_data": merged,
        "state": merged,
        "success": True,
    }


@contextmanager
def _alone_in(root: Path) -> Iterator[None]:
    """Lock the granted folder against other servers of the same store; the system unlocks it if this process dies."""
    # Imported here: Windows has no fcntl, and a server on Windows executes no actions.
    import fcntl

    with ExitStack() as stack:
        try:
            # The folder itself is locked, so that no lock file is left behind in the project.
            opened = os.open(root, os.O_RDONLY | os.O_CLOEXEC)
            stack.callback(os.close, opened)
            fcntl.flock(opened, fcntl.LOCK_EX)
        except OSError as error:
            raise ExecutionError(f"{root} can't be locked: {error.strerror}") from None
        yield


def merge(base: dict[str, Json], updates: dict[str, Json]) -> dict[str, Json]:
    merged = dict(base)
    for name, value in updates.items():
        known = merged.get(name)
        if isinstance(known, dict) and isinstance(value, dict):
            value = merge(known, value)
        merged[name] = value
    return merged


def _merge_refusal(parameters: Parameters, grant: Grant) -> str:
    """Both accesses are needed: the file is read before it is written."""
    return file_refusal(parameters, grant, "path", "read", "write")


MERGE_JSON_STATE = Executor("merge_json_state", _merge_json_state, _merge_refusal)
