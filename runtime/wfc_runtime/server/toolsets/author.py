"""Tools for trying out workflows that are not saved yet. The only place where the runtime needs the compiler."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wfc_runtime.contract import Json
from wfc_runtime.errors import RequestError, WfcError
from wfc_runtime.server.replies import check_format, with_format
from wfc_runtime.server.tools import READS, Call, Hints, Tool
from wfc_runtime.service import Reply

if TYPE_CHECKING:
    from wfc.compiler import Compilation

_SHOWN = 20
_NAME = "inline.yaml"


def validate_workflow_yaml(call: Call, yaml: str) -> Reply:
    """Check a workflow without saving or running it: all findings with their location and how to fix them."""
    from wfc.findings import Redaction
    from wfc.render.json import to_json

    found = _compile(call, yaml).findings
    mask = Redaction(found)
    shown = [
        {key: value for key, value in to_json(mask.finding(one)).items() if value is not None}
        for one in found[:_SHOWN]
    ]
    errors = sum(one.severity == "error" for one in found)
    following = "fix it and check again" if errors else "execute_inline_workflow(yaml=..., inputs={...})"
    return {"valid": errors == 0, "findings": shown, "errors": errors, "next": following}


def execute_inline_workflow(
    call: Call, yaml: str, inputs: dict[str, Json] | None = None, response_format: str = "minimal"
) -> Reply:
    """Compile a workflow and start a run of it without saving it. The run continues like any other, even in later
    sessions."""
    check_format(response_format)
    compilation = _compile(call, yaml)
    if not compilation.modules:
        from wfc.findings import Redaction

        mask = Redaction(compilation.findings)
        shown = [mask.finding(one) for one in compilation.findings[:_SHOWN]]
        errors = [f"{one.span.line}:{one.span.column} {one.code} {one.message}" for one in shown]
        raise RequestError(
            "invalid_workflow",
            f"the workflow has errors: {'; '.join(errors)}",
            next_call="validate_workflow_yaml(yaml=...)",
        )
    from wfc_runtime.header import read_header

    made = compilation.modules[0]
    header = read_header(made.text)
    assert header is not None
    module = call.context.registry.pin(header.body, made.text, made.line_map)
    service = call.context.service
    try:
        reply = service.start_module(module, inputs, actor=call.actor, key=call.key)
    except RequestError as error:
        again = error.next_call or "execute_inline_workflow(yaml=..., inputs={...})"
        raise RequestError(error.code, error.message, error.hint, again) from error
    return with_format(service, reply, response_format)


def get_workflow_schema(call: Call, language: str = "steps") -> Reply:
    """The JSON Schema of a workflow language, with a description and an example for each field."""
    from wfc.dialects import DIALECTS

    schemas = {one.name: one.schema for one in DIALECTS}
    if language not in schemas:
        names = ", ".join(schemas)
        raise RequestError(
            "unknown_language", f"there is no language {language[:40]!r}", f"Available: {names}."
        )
    following = "validate_workflow_yaml(yaml=...)"
    return {"language": language, "schema": schemas[language](), "next": following}


def _compile(call: Call, yaml: str) -> Compilation:
    """Compile one workflow in memory. Other workflows of the project are read only if it calls them; it may also call
    those that the server has compiled."""
    from wfc.caching import clear_caches
    from wfc.compiler import compile_project
    from wfc.config import ConfigError, load_config
    from wfc.project import load_file
    from wfc.workspace.files import Selection
    from wfc.workspace.loading import load_project

    try:
        config = load_config(Path("."))
    except ConfigError as error:
        raise RequestError("config", str(error), "Fix the project's settings first.") from None
    project, _ = load_project(Selection(config, [], []))
    project.offered = lambda name: _is_compiled(call, name)
    file = load_file(_NAME, yaml.encode("utf-8", "surrogatepass"), config, project)
    try:
        return compile_project(project, {file: _NAME})
    finally:
        # The server is a long-running process; the caches of the compiler would keep every project alive.
        clear_caches()


def _is_compiled(call: Call, name: str) -> bool:
    try:
        call.context.registry.find(name)
    except WfcError:
        return False
    return True


TOOLS = (
    Tool(validate_workflow_yaml, READS),
    Tool(get_workflow_schema, READS),
    Tool(execute_inline_workflow, Hints(moves=True, keyed=True)),
)
