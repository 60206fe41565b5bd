"""A file's content, as text or in base64."""

from __future__ import annotations

from base64 import b64encode

from wfc_runtime.execute import paths
from wfc_runtime.execute.base import ExecutionError, Executor, Job, Result
from wfc_runtime.execute.create_file import check_encoding
from wfc_runtime.execute.located import located, read_refusal


def work(job: Job) -> Result:
    parameters = job.parameters
    limit = min(int(parameters.number("max_size_mb", 10) * 1024 * 1024), job.grant.file_bytes)
    with located(job, "path", "read") as place:
        data = paths.read(place, limit)
    if data is None:
        if parameters.flag("required", True):
            raise ExecutionError(f"there is no file {place}")
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
        return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeError as error:
        raise ExecutionError(
            f"{path} is not text in {encoding}: {error}", hint="`mode: binary` reads it as base64."
        ) from None


EXECUTOR = Executor("read_file", work, read_refusal)
