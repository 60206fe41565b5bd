"""An object, written to a JSON file."""

from __future__ import annotations

from wfc_runtime.execute.base import ExecutionError, Executor, Job, Result
from wfc_runtime.execute.json_files import write_object
from wfc_runtime.execute.located import located, write_refusal


def work(job: Job) -> Result:
    if "data" not in job.parameters and "state" not in job.parameters:
        raise ExecutionError("`data` is missing")
    with located(job, "path", "write") as place:
        _, size = write_object(job, place, job.parameters.mapping("data", "state"))
    return {"path": str(place), "size_bytes": size, "success": True}


EXECUTOR = Executor("write_json_state", work, write_refusal)
