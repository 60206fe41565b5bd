"""A file with a given content."""

from __future__ import annotations

import codecs
import os

from wfc_runtime.contract import Json
from wfc_runtime.execute import paths
from wfc_runtime.execute.base import ExecutionError, Executor, Job, Parameters, Result
from wfc_runtime.execute.located import located, write_refusal

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
"""Made for names of hosts: a file of some megabytes takes them minutes."""


def work(job: Job) -> Result:
    parameters = job.parameters
    content = parameters.value("content")
    text = content if isinstance(content, str) else str(content)
    place, created, size = write_text(job, "path", text, permissions(parameters))
    return {"path": place, "file_path": place, "size_bytes": size, "created": created, "success": True}


def write_text(job: Job, name: str, text: str, mode: int | None = None) -> tuple[str, bool, int]:
    """Write a text to the path that a parameter names: where it is, whether it is new, and its size."""
    parameters = job.parameters
    with located(job, name, "write") as place:
        data = encode(text, parameters.text("encoding", "utf-8"))
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
        # Python also has codecs that are none, and packed ones would be bombs.
        found = codecs.lookup(encoding)
        is_text = found._is_text_encoding and found.name not in _NAMES_ONLY
    except (LookupError, ValueError):
        is_text = False
    if not is_text:
        raise ExecutionError(f"there is no text encoding {encoding[:40]!r}")


def permissions(parameters: Parameters) -> int | None:
    """`mode` or `permissions`: octal digits as text or as a number, or the number itself (0o644)."""
    if "mode" not in parameters and "permissions" not in parameters:
        return None
    given: Json = parameters.value("mode", "permissions")
    text = str(given).strip().lower().removeprefix("0o")
    try:
        is_itself = isinstance(given, int) and (given in _COMMON or not set(text) <= set("01234567"))
        mode = given if is_itself else int(text, 8)
    except ValueError:
        mode = -1
    if isinstance(given, (bool, float)) or not 0 <= mode <= 0o777:
        raise ExecutionError(f'`mode` must be permissions such as "644", not {given!r:.40}')
    return mode


EXECUTOR = Executor("create_file", work, write_refusal)
