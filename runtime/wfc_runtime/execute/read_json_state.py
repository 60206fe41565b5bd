"""The object in a JSON file."""

from __future__ import annotations

from wfc_runtime.execute.base import ExecutionError, Executor, Job, Result
from wfc_runtime.execute.json_files import read_object
from wfc_runtime.execute.located import located, read_refusal


def work(job: Job) -> Result:
    with located(job, "path", "read") as place:
        value = read_object(job, place)
    if value is None and job.parameters.flag("required", False):
        raise ExecutionError(f"there is no file {place}")
    data = value or {}
    return {"data": data, "state": data, "found": value is not None, "path": str(place), "success": True}


EXECUTOR = Executor("read_json_state", work, read_refusal)
