"""The requests of the protocol, answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    ToolAnnotations,
)
from mcp_types import Tool as ToolEntry

from wfc_runtime.errors import NotFoundError, WfcError
from wfc_runtime.server.actor import Context, actor_of
from wfc_runtime.server.asking import Asking, can_ask
from wfc_runtime.server.desk import Desk
from wfc_runtime.server.options import Options
from wfc_runtime.server.results import to_error, to_failure, to_result
from wfc_runtime.server.sizes import by_reference
from wfc_runtime.server.threads import in_thread
from wfc_runtime.server.tool import AnyTool, Call
from wfc_runtime.server.toolsets import load_tools
from wfc_runtime.service import Reply

_ALWAYS_LOAD = {"anthropic/alwaysLoad": True}


class ToolHandlers:
    """tools/list and tools/call."""

    def __init__(self, desk: Desk, options: Options) -> None:
        self._desk = desk
        self._options = options
        self._tools = load_tools(options.toolsets)

    async def list_tools(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        tools = {**self._tools, **(await in_thread(self._typed_tools))}
        return ListToolsResult(tools=[to_entry(tool) for tool in tools.values()])

    async def call_tool(
        self, ctx: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        try:
            reply = await self._work(ctx, params)
            if isinstance(reply, InputRequiredResult):
                return reply
            return to_result(by_reference(reply), ctx.protocol_version)
        except WfcError as error:
            return to_error(params.name, error)
        except Exception as error:
            return to_failure(params.name, error)

    async def _work(
        self, ctx: Context, params: CallToolRequestParams
    ) -> dict[str, Any] | InputRequiredResult:
        call = Call(self._desk, actor_of(ctx))
        asking = Asking(ctx, call) if self._options.elicit and can_ask(ctx) else None
        if asking is not None and params.request_state is not None:
            return await asking.resume(params)
        tool = await self._find(params.name)
        reply = await self._run(ctx, lambda: tool.run(call, params.arguments or {}))
        return await asking.go_on(reply) if asking is not None and tool.hints.moves else reply

    async def _run(self, ctx: Context, work: Callable[[], Reply]) -> Reply:
        if self._options.allowed is None:
            return await in_thread(work)
        from wfc_runtime.server.progress import in_thread_with_progress

        return await in_thread_with_progress(ctx, self._desk.at_work, work)

    async def _find(self, name: str) -> AnyTool:
        tool = self._tools.get(name) or (await in_thread(self._typed_tools)).get(name)
        if tool is None:
            hint = f"Next: one of {', '.join(self._tools)}."
            raise NotFoundError("unknown_tool", f"there is no tool `{name[:100]}` here", hint)
        return tool

    def _typed_tools(self) -> Mapping[str, AnyTool]:
        if not self._options.typed_tools:
            return {}
        from wfc_runtime.server.typed import typed_tools

        return typed_tools(self._desk.registry)


def to_entry(tool: AnyTool) -> ToolEntry:
    """A tool as clients list it."""
    hints = tool.hints
    return ToolEntry(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=ToolAnnotations(
            read_only_hint=hints.reads,
            destructive_hint=hints.destroys,
            idempotent_hint=hints.idempotent,
            open_world_hint=False,
        ),
        _meta=_ALWAYS_LOAD if hints.first else None,
    )
