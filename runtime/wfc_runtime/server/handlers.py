"""Handlers of tools/list and tools/call, with progress notifications."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar, TypeVarTuple, cast

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    ToolAnnotations,
)
from mcp_types import Tool as ToolEntry

from wfc_runtime.errors import WfcError
from wfc_runtime.server.changes import Changes
from wfc_runtime.server.context import Options, ServerContext
from wfc_runtime.server.elicitation import Elicitation, can_ask
from wfc_runtime.server.front_messages import KEYED
from wfc_runtime.server.replies import (
    brief,
    by_reference,
    replace_surrogates,
    to_error,
    to_failure,
    to_result,
)
from wfc_runtime.server.tools import (
    AnyTool,
    Call,
    Hints,
    RequestContext,
    actor_of,
    in_thread,
    key_of,
    session_of,
)
from wfc_runtime.server.toolsets import load_tools
from wfc_runtime.service import Reply, actions_of

# Progress notifications while a client waits for its reply.

T = TypeVar("T")
Given = TypeVarTuple("Given")
_EVERY = 2.0


async def in_thread_with_progress(
    ctx: RequestContext, at_work: Callable[[], list[str]], work: Callable[[*Given], T], *given: *Given
) -> T:
    """Run work in a thread, with a progress notification every two seconds for clients that asked for them."""
    failed: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_report, ctx, at_work)
        try:
            found = await in_thread(work, *given)
        except Exception as error:
            # Raised inside the task group, the error would be wrapped in an exception group.
            failed = error
        # The reporter never ends on its own.
        group.cancel_scope.cancel()
    if failed is not None:
        raise failed
    return found


async def _report(ctx: RequestContext, at_work: Callable[[], list[str]]) -> None:
    begun = anyio.current_time()
    while True:
        await anyio.sleep(_EVERY)
        doing = at_work()
        # Nothing is reported while only the agent's own steps are pending.
        if doing:
            await ctx.session.report_progress(anyio.current_time() - begun, None, ", ".join(doing))


# Tools.

_RESUMED = Hints(moves=True)
"""A call that continues with a person's answer."""
_ALWAYS_LOAD = {"anthropic/alwaysLoad": True}


class ToolHandlers:
    """tools/list and tools/call."""

    def __init__(self, context: ServerContext, options: Options, changes: Changes) -> None:
        self._context = context
        self._changes = changes
        self._options = options
        self._tools = load_tools(options.toolsets)

    async def list_tools(self, ctx: RequestContext, params: PaginatedRequestParams | None) -> ListToolsResult:
        self._changes.meet(ctx)
        tools = {**self._tools, **(await in_thread(self._typed_tools))}
        return ListToolsResult(tools=[to_entry(tool) for tool in tools.values()])

    async def call_tool(
        self, ctx: RequestContext, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        try:
            call = Call(self._context, actor_of(ctx), session_of(ctx), key_of(ctx))
            # Clients without forms, and servers without the option, take the same path without questions.
            elicitation = Elicitation(ctx, call) if self._options.elicit and can_ask(ctx) else None
            reply: Reply | InputRequiredResult
            hints = _RESUMED
            # The client repeats the call with an answer; the tool itself must not be executed a second time.
            if elicitation is not None and params.request_state is not None:
                reply = await elicitation.resume(params)
            else:
                tool = await self._find(params.name)
                hints, given = tool.hints, params.arguments or {}
                asked = await elicitation.ask_after_showing(given) if elicitation and hints.moves else None
                if asked is not None:
                    reply = asked
                elif self._options.allowed is None:
                    # Without a grant no call takes long enough for progress notifications.
                    reply = await in_thread(tool.run, call, given)
                else:
                    reply = await in_thread_with_progress(ctx, self._context.at_work, tool.run, call, given)
                if elicitation is not None and hints.moves and asked is None:
                    reply = await elicitation.go_on(cast(Reply, reply))
            if isinstance(reply, InputRequiredResult):
                # The call has changed something, even though the client gets a question and not a reply.
                await self._changes.notify(ctx, hints, {})
                return reply
            await self._changes.notify(ctx, hints, reply)
            return to_result(by_reference(brief(reply)), ctx.protocol_version)
        except MCPError:
            raise
        except WfcError as error:
            return to_error(params.name, error, await self._pending(params))
        except Exception as error:
            return to_failure(params.name, error)

    async def _find(self, name: str) -> AnyTool:
        tool = self._tools.get(name) or (await in_thread(self._typed_tools)).get(name)
        if tool is None:
            names = ", ".join(self._tools)
            message = replace_surrogates(f"Unknown tool: {name[:100]}. The tools of wfc are {names}.")
            raise MCPError(code=INVALID_PARAMS, message=message)
        return tool

    async def _pending(self, params: CallToolRequestParams) -> Reply | None:
        """The pending actions of the run that a refused call was meant to change; None if there are none."""
        run, tool = (params.arguments or {}).get("workflow_id"), self._tools.get(params.name)
        # A read-only call changes nothing, so there is nothing to be done after its refusal.
        if not isinstance(run, str) or tool is None or tool.hints.reads:
            return None
        try:
            reply = await in_thread(self._context.service.next_step, run)
        except WfcError:
            # The refusal itself says why.
            return None
        return reply if actions_of(reply) else None

    def _typed_tools(self) -> Mapping[str, AnyTool]:
        if not self._options.typed_tools:
            return {}
        from wfc_runtime.server.workflows import typed_tools

        return typed_tools(self._context.registry)


def to_entry(tool: AnyTool) -> ToolEntry:
    """A tool in the form that clients list."""
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
        _meta={**(_ALWAYS_LOAD if hints.first else {}), **({KEYED: True} if hints.keyed else {})} or None,
    )
