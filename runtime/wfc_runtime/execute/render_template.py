"""A Jinja2 template with variables of its own, rendered by the same metered engine as all expressions."""

from __future__ import annotations

from datetime import UTC, datetime

from wfc_runtime.execute.base import ExecutionError, Executor, Job, Parameters, Result
from wfc_runtime.execute.create_file import write_text
from wfc_runtime.execute.grant import Grant
from wfc_runtime.execute.located import file_refusal
from wfc_runtime.expr import TEXT_LIMITS, ExpressionError, render


def work(job: Job) -> Result:
    parameters = job.parameters
    text = _render(parameters, job.run)
    path, size = None, None
    if parameters.text("output_path", ""):
        path, _, size = write_text(job, "output_path", text)
    return {"content": text, "rendered": text, "output_path": path, "size_bytes": size, "success": True}


def _render(parameters: Parameters, seed: str) -> str:
    # As Jinja does it by default.
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


def refusal(parameters: Parameters, grant: Grant) -> str:
    if not parameters.text("output_path", ""):
        return ""
    return file_refusal(parameters, grant, "output_path", "write")


EXECUTOR = Executor("render_template", work, refusal)
