"""Updates, merged into the object in a JSON file: objects inside it are merged, anything else is replaced."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock

from wfc_runtime.contract import Json
from wfc_runtime.execute.base import ExecutionError, Executor, Job, Parameters, Result
from wfc_runtime.execute.grant import Grant
from wfc_runtime.execute.json_files import read_object, write_object
from wfc_runtime.execute.located import file_refusal, located

_one_at_a_time = Lock()
"""Steps side by side may merge into one file: none of them may be lost."""


def work(job: Job) -> Result:
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
    """Other servers share the work of a run: the folder that they work in is locked, and let go by the system if this
    process dies."""
    # Not at the top: there is none on Windows, where a server does no work by itself.
    import fcntl

    with ExitStack() as stack:
        try:
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


def refusal(parameters: Parameters, grant: Grant) -> str:
    """The file is read before it is written."""
    return file_refusal(parameters, grant, "path", "read", "write")


EXECUTOR = Executor("merge_json_state", work, refusal)
