"""What the API of the page reads: the reply to each request that changes nothing, on either engine."""

from __future__ import annotations

import json
from pathlib import Path

from starlette.requests import Request

from wfc_runtime.contract import Json
from wfc_runtime.errors import NotFoundError, RequestError
from wfc_runtime.machine.values import size_of
from wfc_runtime.page.definitions import Backend, Definitions, File, Read
from wfc_runtime.page.feed import ChangeFeed
from wfc_runtime.service import Reply, WholeRuns
from wfc_runtime.service.journal_pages import journal_page
from wfc_runtime.version import __version__

_LARGE = 20_000
"""Bytes of a value in a state. Larger ones are downloaded."""


class Reads:
    """`root` is the project's folder, for the sources of workflows."""

    def __init__(self, backend: Backend, feed: ChangeFeed, root: Path, read_only: bool) -> None:
        self._backend, self._feed, self._read_only = backend, feed, read_only
        self._definitions = Definitions(backend, root)

    def replies(self) -> dict[str, Read]:
        return {
            **self._definitions.replies(),
            "/api/about": self._about,
            "/api/counts": lambda request: self._service.counts(),
            "/api/waiting": self._waiting,
            "/api/runs": self._runs,
            "/api/runs/{run}": self._run,
            "/api/runs/{run}/history": self._history,
            "/api/runs/{run}/journal": self._journal,
            "/api/runs/{run}/visits": self._visits,
            "/api/runs/{run}/path": self._path,
            "/api/runs/{run}/family": self._family,
            "/api/runs/{run}/state": self._state,
            "/api/runs/{run}/preview": self._preview,
            "/api/runs/{run}/migration": lambda request: self._service.migration(request.path_params["run"]),
        }

    def files(self) -> dict[str, File]:
        return {
            **self._definitions.files(),
            "/api/runs/{run}/state/{field}": self._field,
            "/api/runs/{run}/export": self._export,
        }

    @property
    def _service(self) -> WholeRuns:
        return self._backend.service

    # -- lists -----------------------------------------------------------------

    def _about(self, request: Request) -> Json:
        """With the cursor of now: a page asks for this first, and misses no change after it."""
        cursor = self._service.changes()["cursor"]
        return {"version": __version__, "read_only": self._read_only, "cursor": cursor}

    def _waiting(self, request: Request) -> Json:
        return self._service.waiting(
            limit=_number(request, "limit", 50), after=request.query_params.get("after")
        )

    def _runs(self, request: Request) -> Json:
        given = request.query_params
        return self._service.runs(
            given.get("status") or "all",
            limit=_number(request, "limit", 50),
            before=given.get("before"),
            workflow=given.get("workflow") or None,
            beginning=given.get("q") or None,
        )

    # -- one run ---------------------------------------------------------------

    def _run(self, request: Request) -> Json:
        run = request.path_params["run"]
        self._feed.watch(run)
        status, family = self._service.status(run, masked=True), self._service.family(run, limit=1)
        return {"run": status, "family": family, "current": self._definitions.current(status["workflow"])}

    def _preview(self, request: Request) -> Json:
        step_id = request.query_params.get("step_id")
        if not step_id:
            raise RequestError("missing", "`step_id` is required")
        return self._service.preview(request.path_params["run"], step_id)

    def _history(self, request: Request) -> Json:
        kinds = request.query_params.get("kinds")
        return self._service.history(
            request.path_params["run"],
            before=_number(request, "before", 0),
            limit=_number(request, "limit", 100),
            kinds=kinds.split(",") if kinds else None,
        )

    def _journal(self, request: Request) -> Json:
        book = self._service.journal(request.path_params["run"])
        limit = min(max(_number(request, "limit", 200), 1), 1000)
        return journal_page(book, _number(request, "after", 0), limit)

    def _visits(self, request: Request) -> Json:
        run = request.path_params["run"]
        return self._service.visits(
            run, before=_number(request, "before", 0), limit=_number(request, "limit", 200)
        )

    def _path(self, request: Request) -> Json:
        return self._service.path(request.path_params["run"], at=_number(request, "at", 0) or None)

    def _family(self, request: Request) -> Json:
        given = request.query_params
        return self._service.family(
            request.path_params["run"],
            status=given.get("status") or None,
            after=given.get("after"),
            limit=_number(request, "limit", 100),
        )

    def _state(self, request: Request) -> Json:
        """All fields, as of an event if one is named. Large values are left out: each can be downloaded."""
        reply = self._whole_state(request)
        large = [name for name, size in reply["sizes"].items() if size > _LARGE]
        kept = {name: value for name, value in reply["state"].items() if name not in large}
        return {**reply, "state": kept, "large": large}

    def _whole_state(self, request: Request) -> Reply:
        run, at = request.path_params["run"], _number(request, "at", 0)
        if at:
            return self._service.state_at(run, at)
        names = list(self._service.state(run)["fields"])
        state = self._service.state(run, names)["state"] if names else {}
        return {
            "workflow_id": run,
            "state": state,
            "sizes": {name: size_of(one) for name, one in state.items()},
        }

    def _field(self, request: Request) -> tuple[str, str, str]:
        name, state = request.path_params["field"], self._whole_state(request)["state"]
        if name not in state:
            raise NotFoundError("unknown_field", f"the state has no `{name[:100]}`")
        return json.dumps(state[name], ensure_ascii=False, indent=2), "application/json", "value.json"

    def _export(self, request: Request) -> tuple[str, str, str]:
        whole = self._service.export(request.path_params["run"])
        return json.dumps(whole, ensure_ascii=False), "application/json", "run.json"


def _number(request: Request, name: str, default: int) -> int:
    given = request.query_params.get(name)
    if given is None or given == "":
        return default
    if not given.isdecimal() or len(given) > 12:
        raise RequestError("invalid_number", f"`{name}` must be a whole number")
    return int(given)
