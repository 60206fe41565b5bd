"""What a call proves, as the result of its step: never more than the output of the program shows."""

from __future__ import annotations

import json
import re
from typing import Any

from wfc_runtime.agents.base import Outcome, ToolCall
from wfc_runtime.agents.brief import expects_text
from wfc_runtime.agents.settings import Program
from wfc_runtime.contract import Json
from wfc_runtime.results import UnusableSchemaError, problems

_NO_OUTPUT = "(Bash completed with no output)"
"""The text of Claude Code for an empty output."""
_EXIT_CODE = re.compile(r"Exit code (\d+)\n?")


def tool_parameters(action: dict[str, Json]) -> dict[str, Json]:
    parameters = action["parameters"]
    return (
        {"command": parameters["command"]}
        if action["type"] == "shell"
        else dict(parameters.get("parameters") or {})
    )


def result_of(outcome: Outcome, program: Program, tool: str | None, action: dict[str, Json]) -> Json:
    """The result of a call, as it is submitted. `tool`: the one tool that the step is a call of."""
    if outcome.kind in ("done", "misfit") and outcome.denied and program.denied == "fail":
        names = ", ".join(outcome.denied)
        hint = f'Allow them in the operator\'s file, or set `denied = "warn"` for `{program.name}`.'
        return failed("agent_denied", f"the agent was not allowed to use {names}.", hint)
    if tool is not None and outcome.kind in ("done", "misfit"):
        return _tool_result(outcome, tool, action)
    if outcome.kind == "misfit":
        return _misfit(outcome.value, action.get("result_schema"))
    if outcome.kind != "done":
        code = "timeout" if outcome.kind == "timeout" else f"agent_{outcome.kind}"
        return failed(code, outcome.message)
    schema = action.get("result_schema")
    if schema is not None and expects_text(schema):
        return {"response": outcome.value}
    return _parsed(outcome.value) if schema is None else outcome.value


def failed(code: str, message: str, hint: str = "") -> Json:
    return {"error": {"code": code, "message": message, **({"hint": hint} if hint else {})}}


def _parsed(value: Json) -> Json:
    """Text that is a JSON object or list is that value."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _misfit(said: Json, schema: Json) -> Json:
    """Prose instead of a result, in a form that the schema refuses: prose must not count even where text would."""
    text = str(said or "")[:4000]
    for candidate in (text, {"prose": text}, {}):
        try:
            if schema is not None and problems(candidate, schema):
                return candidate
        except UnusableSchemaError:
            break
    return failed("agent_no_result", f"the agent returned no result: {text[:500]}")


def _tool_result(outcome: Outcome, tool: str, action: dict[str, Json]) -> Json:
    """The result of the tool itself, never the agent's description of it."""
    wanted = tool_parameters(action)
    is_shell = action["type"] == "shell"
    calls = [one for one in outcome.tool_calls if one.name == tool]
    exact = [one for one in calls if _same(one.parameters, wanted, is_shell) and one.result is not None]
    if not exact:
        why = (
            "called `{}`, but not with these parameters or without a result" if calls else "did not call `{}`"
        )
        return failed("agent_no_call", f"the agent {why.format(tool)}")
    text = _text_of(exact[0])
    if is_shell:
        broken = _EXIT_CODE.match(text) if exact[0].is_error else None
        code = int(broken[1]) if broken else 1 if exact[0].is_error else 0
        text = "" if text == _NO_OUTPUT else text
        return {"stdout": text[broken.end() :] if broken else text, "stderr": "", "exit_code": code}
    if exact[0].is_error:
        return failed("tool_error", f"`{tool}` failed: {text[:1000]}")
    return _parsed(text)


def _same(given: Any, wanted: dict[str, Json], is_shell: bool) -> bool:
    # An agent's tool for commands has additional arguments: a description and a timeout.
    return given.get("command") == wanted["command"] if is_shell else dict(given) == wanted


def _text_of(call: ToolCall) -> str:
    content = call.result
    if isinstance(content, list):
        parts = [one.get("text") for one in content if isinstance(one, dict)]
        return "\n".join(one for one in parts if isinstance(one, str))
    return content if isinstance(content, str) else json.dumps(content)
