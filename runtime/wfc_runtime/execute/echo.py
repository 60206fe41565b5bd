"""A message, given back: for trying a workflow out."""

from __future__ import annotations

from wfc_runtime.execute.base import ExecutionError, Executor, Job, Result, always

_LONGEST = 60.0


def work(job: Job) -> Result:
    message = str(job.parameters.value("message"))
    if job.stop.wait(min(job.parameters.number("delay_ms", 0) / 1000, _LONGEST)):
        raise ExecutionError("the run ended while the message waited", "interrupted")
    return {"echoed": f"Echo: {message}", "message": message, "success": True}


EXECUTOR = Executor("echo", work, always)
