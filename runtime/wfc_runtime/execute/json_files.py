"""JSON files that hold one object: read, and written whole."""

from __future__ import annotations

import json

from wfc_runtime.contract import Json
from wfc_runtime.execute import paths
from wfc_runtime.execute.base import NESTING, ExecutionError, Job
from wfc_runtime.machine.values import NotPlainError, check_plain


def read_object(job: Job, place: paths.Place) -> dict[str, Json] | None:
    """The object in a file. None: there is no such file."""
    data = paths.read(place, job.grant.file_bytes)
    if data is None:
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ExecutionError(f"{place} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ExecutionError(f"{place} must hold an object; it holds {type(value).__name__}")
    return value


def write_object(job: Job, place: paths.Place, value: dict[str, Json]) -> tuple[bool, int]:
    """Whether the file is new, and its size. What could not be read again is not written."""
    try:
        check_plain(value, job.grant.file_bytes, NESTING)
    except NotPlainError as error:
        raise ExecutionError(f"what {place} would hold {error}") from None
    data = (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()
    if len(data) > job.grant.file_bytes:
        raise ExecutionError(f"{place} would have {len(data):,} bytes; the limit is {job.grant.file_bytes:,}")
    parents = job.parameters.flag("create_parents", True)
    return paths.write(place, data, mode=None, overwrite=True, create_parents=parents), len(data)
