"""Prompts: one per workflow, for the person to start it with, and the rules for sub-agents."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from wfc_runtime.contract import Json
from wfc_runtime.errors import RequestError, WfcError
from wfc_runtime.server.actor import Context
from wfc_runtime.server.characters import sendable
from wfc_runtime.server.desk import Desk
from wfc_runtime.server.threads import in_thread
from wfc_runtime.server.words import driving, rules
from wfc_runtime.service.ids import check_name, check_run_id

RULES = "workflow_rules"
_RULES = Prompt(
    name=RULES,
    description="How a sub-agent works one task of a workflow: for the prompt of the sub-agent.",
    arguments=[PromptArgument(name="workflow_id", description="The child run that it works.", required=True)],
)


class PromptHandlers:
    """prompts/list and prompts/get."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def list_prompts(self, ctx: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=[_RULES, *await in_thread(self._of_workflows)])

    async def get_prompt(self, ctx: Context, params: GetPromptRequestParams) -> GetPromptResult:
        try:
            text = await in_thread(lambda: self._text(params.name, params.arguments or {}))
        except WfcError as error:
            raise MCPError(code=INVALID_PARAMS, message=sendable(str(error))) from error
        content = TextContent(type="text", text=sendable(text))
        return GetPromptResult(messages=[PromptMessage(role="user", content=content)])

    def _of_workflows(self) -> list[Prompt]:
        from wfc_runtime.server.about import description_of, input_schema

        found: list[Prompt] = []
        for module in self._desk.registry.modules():
            schema = input_schema(module)
            required = schema.get("required", [])
            arguments = [
                PromptArgument(name=name, description=one.get("description"), required=name in required)
                for name, one in schema["properties"].items()
            ]
            found.append(
                Prompt(name=module.workflow.name, description=description_of(module), arguments=arguments)
            )
        return found

    def _text(self, name: str, given: Mapping[str, str]) -> str:
        if name == RULES:
            return rules(check_run_id(given.get("workflow_id")))
        from wfc_runtime.server.about import description_of, input_schema

        module = self._desk.registry.find(check_name(name))
        whole = input_schema(module)
        properties = whole["properties"]
        unknown = [key for key in given if key not in properties]
        if unknown:
            names = ", ".join(f"`{key}`" for key in properties) or "none"
            raise RequestError(
                "invalid_inputs", f"`{unknown[0]}` is not an input of `{name}`", f"Inputs: {names}."
            )
        values = {key: _value(text, properties[key]) for key, text in given.items()}
        stated = f"{json.dumps(values, ensure_ascii=False)} are given. " if values else ""
        # What `$ref` names stands beside the inputs, as in the schema that they are taken from.
        named = {key: whole[key] for key in ("$defs",) if key in whole}
        schema = json.dumps({**properties, **named}, ensure_ascii=False)
        return driving(name, description_of(module), f"{stated}Their schema: {schema}" if properties else "")


def _value(text: str, schema: dict[str, Json]) -> Json:
    """Prompt arguments are text; an input may be a number or a list."""
    if schema.get("type") == "string":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
