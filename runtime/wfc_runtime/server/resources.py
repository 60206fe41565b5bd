"""Resources: a run's state, history, result, actions and chart, for values that a reply only refers to."""

from __future__ import annotations

import re
from urllib.parse import unquote

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from wfc_runtime.contract import Json
from wfc_runtime.errors import NotFoundError, WfcError
from wfc_runtime.server.context import ServerContext
from wfc_runtime.server.replies import as_text, replace_surrogates
from wfc_runtime.server.tools import RequestContext, in_thread
from wfc_runtime.service import actions_of

_JSON, _MERMAID = "application/json", "text/vnd.mermaid"
_MOST_EVENTS = 5_000
_LISTED = 20
_URI = re.compile(
    r"wfc://runs/(?P<run>[^/]+)/(?P<what>state|history|journal|result|actions|chart)(?:/(?P<name>[^/]+))?"
)
_NAMED = {"state": (False, True), "actions": (True,)}
"""Whether the URI may, or must, end with a name."""
_TEMPLATES = (
    ("state", "state", "All state fields of a run.", _JSON),
    ("field", "state/{field}", "One state field of a run.", _JSON),
    ("history", "history", "The events of a run, when they happened and who answered.", _JSON),
    ("journal", "journal", "The journal of a run: decisions, milestones, issues, tasks and phases.", _JSON),
    ("result", "result", "The result of a completed run.", _JSON),
    ("action", "actions/{step_id}", "One pending action of a run, complete.", _JSON),
    ("chart", "chart", "The statechart of a run in mermaid, with its current states marked.", _MERMAID),
)


class ResourceHandlers:
    """resources/list, resources/templates/list and resources/read."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context

    async def list_templates(
        self, ctx: RequestContext, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        found = [
            ResourceTemplate(
                name=name, uri_template=f"wfc://runs/{{id}}/{path}", description=about, mime_type=kind
            )
            for name, path, about, kind in _TEMPLATES
        ]
        return ListResourceTemplatesResult(resource_templates=found)

    async def list_resources(
        self, ctx: RequestContext, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        """Resources of the open runs. Those of other runs can be read too, but are not listed."""
        runs = (await in_thread(lambda: self._context.service.runs(limit=_LISTED)))["runs"]
        # Templates with a parameter can't be listed, and an open run has no result.
        plain = [one for one in _TEMPLATES if "{" not in one[1] and one[0] != "result"]
        found = [
            Resource(
                name=f"{run['workflow']} {name}",
                uri=f"wfc://runs/{run['workflow_id']}/{path}",
                description=about,
                mime_type=kind,
            )
            for run in runs
            for name, path, about, kind in plain
        ]
        return ListResourcesResult(resources=found)

    async def read_resource(
        self, ctx: RequestContext, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        uri = str(params.uri)
        try:
            text, kind = await in_thread(lambda: self._read(uri))
        except WfcError as error:
            raise MCPError(
                code=INVALID_PARAMS, message=replace_surrogates(str(error)), data={"uri": uri}
            ) from error
        contents = TextResourceContents(uri=uri, text=replace_surrogates(text), mime_type=kind)
        return ReadResourceResult(contents=[contents])

    def _read(self, uri: str) -> tuple[str, str]:
        found = _URI.fullmatch(uri)
        # A name where none is expected, or the other way round, is an unknown resource.
        if found is None or bool(found["name"]) not in _NAMED.get(found["what"], (False,)):
            shapes = ", ".join(f"wfc://runs/{{id}}/{path}" for _, path, _, _ in _TEMPLATES)
            raise NotFoundError(
                "unknown_resource", f"there is no resource {uri[:200]!r}", f"Available: {shapes}."
            )
        run, what, name = unquote(found["run"]), found["what"], unquote(found["name"] or "")
        if what == "chart":
            return self._chart(run), _MERMAID
        return as_text(self._value(run, what, name)), _JSON

    def _value(self, run: str, what: str, name: str) -> Json:
        service = self._context.service
        match what:
            case "state":
                names = [name] if name else list(service.state(run)["fields"])
                state = service.state(run, names)["state"] if names else {}
                return state[name] if name else state
            case "history":
                return self._history(run)
            case "journal":
                from wfc_runtime.service.journal_pages import whole_journal

                return whole_journal(service.journal(run))
            case "result":
                reply = service.next_step(run)
                if "result" not in reply:
                    raise NotFoundError("no_result", f"run `{run}` is {reply['status']} and has no result")
                return reply["result"]
        for action in actions_of(service.next_step(run)):
            if action["step_id"] == name:
                return action
        raise NotFoundError("not_pending", f"step `{name}` of run `{run}` is not pending")

    def _history(self, run: str) -> Json:
        events: list[Json] = []
        # Bounded, since the whole resource is one message.
        while len(events) < _MOST_EVENTS:
            more = self._context.service.history(run, after=events[-1]["seq"] if events else 0, limit=500)
            events += more["events"]
            if "next" not in more:
                break
        return {"workflow_id": run, "workflow": more["workflow"], "events": events}

    def _chart(self, run: str) -> str:
        """The chart of the version that the run is pinned to."""
        from wfc_runtime.server.workflows import render_chart

        _, machine, snapshot = self._context.service.definition(run)
        return render_chart(machine, snapshot.configuration)
