"""The JSON API of the page. It is documented in docs/page.md; scripts may use it too.

Every reply comes from a call of the service that redacts secrets, and looking never changes a run.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from wfc_runtime.contract import Json
from wfc_runtime.errors import (
    DefinitionError,
    NotFoundError,
    RefusedError,
    RequestError,
    StoreError,
    WfcError,
)
from wfc_runtime.page.definitions import Backend, File, Read
from wfc_runtime.page.feed import ChangeFeed
from wfc_runtime.page.forms import actor_of, hand_in
from wfc_runtime.page.keys import Keys
from wfc_runtime.page.reads import Reads
from wfc_runtime.service import WholeRuns

_STATUS = {
    NotFoundError: 404,
    RequestError: 400,
    RefusedError: 409,
    DefinitionError: 409,
    StoreError: 503,
}
Handler = Callable[[Request], Awaitable[Response]]


class Api:
    """The routes of one server. `root` is the project's folder, for the sources of workflows."""

    def __init__(self, backend: Backend, keys: Keys, feed: ChangeFeed, root: Path, read_only: bool) -> None:
        self._backend, self._keys, self._feed, self._read_only = backend, keys, feed, read_only
        self._reads = Reads(backend, feed, root, read_only)

    def routes(self) -> list[Route]:
        found = [
            Route(path, self._reading(work), methods=["GET"]) for path, work in self._reads.replies().items()
        ]
        found += [
            Route(path, self._file(work), methods=["GET"]) for path, work in self._reads.files().items()
        ]
        found.append(Route("/api/changes", self._guarded(self._changes), methods=["GET"]))
        if self._read_only:
            return [*found, Route("/api/session", self._session, methods=["POST"])]
        writes: dict[str, Callable[[str, dict[str, Any]], Json]] = {
            "/api/runs/{run}/answer": lambda run, body: hand_in(self._service, run, body),
            "/api/runs/{run}/cancel": self._cancel,
            "/api/runs/{run}/migrate": self._migrate,
            "/api/runs/{run}/retry": self._retry,
            "/api/workflows/{run}/start": self._start,
        }
        found += [Route(path, self._writing(work), methods=["POST"]) for path, work in writes.items()]
        return [*found, Route("/api/session", self._session, methods=["POST"])]

    @property
    def _service(self) -> WholeRuns:
        return self._backend.service

    # -- how a request is answered ---------------------------------------------

    def _guarded(self, work: Handler) -> Handler:
        async def answer(request: Request) -> Response:
            if not self._keys.admits(request.headers.get("authorization", "")):
                return _error(
                    401, "key", "this page needs a key", "Open it with the link that `wfc ui` prints."
                )
            try:
                return await work(request)
            except WfcError as error:
                status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
                return _error(status, error.code, error.message, error.hint)

        return answer

    def _reading(self, work: Read) -> Handler:
        async def answer(request: Request) -> Response:
            return JSONResponse(await run_sync(partial(work, request)))

        return self._guarded(answer)

    def _file(self, work: File) -> Handler:
        async def answer(request: Request) -> Response:
            content, kind, name = await run_sync(partial(work, request))
            named = {"Content-Disposition": f'attachment; filename="{name}"'} if name else {}
            return Response(content.encode("utf-8", "surrogatepass"), media_type=kind, headers=named)

        return self._guarded(answer)

    def _writing(self, work: Callable[[str, dict[str, Any]], Json]) -> Handler:
        async def answer(request: Request) -> Response:
            body = await _body(request)
            return JSONResponse(await run_sync(partial(work, request.path_params["run"], body)))

        return self._guarded(answer)

    async def _session(self, request: Request) -> Response:
        """Trade the key of a link. The only call without a key."""
        try:
            given = await _body(request)
        except RequestError as error:
            return _error(400, error.code, error.message)
        key = self._keys.trade(given.get("key"))
        if key is None:
            return _error(
                401,
                "link_used",
                "this link has been used, or belongs to another server",
                "Run `wfc ui` again.",
            )
        return JSONResponse({"key": key})

    async def _changes(self, request: Request) -> Response:
        after = request.query_params.get("after")
        return StreamingResponse(self._feed.stream(after), media_type="text/event-stream")

    # -- changes -----------------------------------------------------------------

    def _cancel(self, run: str, body: dict[str, Any]) -> Json:
        return self._service.cancel(run, str(body.get("reason") or ""), actor=actor_of(body.get("name")))

    def _migrate(self, run: str, body: dict[str, Any]) -> Json:
        self._service.migrate(run, actor=actor_of(body.get("name")))
        return self._service.status(run, masked=True)

    def _retry(self, run: str, body: dict[str, Any]) -> Json:
        self._service.retry(run, actor=actor_of(body.get("name")))
        return self._service.status(run, masked=True)

    def _start(self, workflow: str, body: dict[str, Any]) -> Json:
        started = self._service.start(workflow, body.get("inputs"), actor=actor_of(body.get("name")))
        return {"workflow_id": started["workflow_id"]}


async def _body(request: Request) -> dict[str, Any]:
    try:
        found = json.loads(await request.body())
    # Deeply nested JSON exhausts the stack of the parser, and is an error of the client like any other.
    except (ValueError, RecursionError):
        raise RequestError("invalid_json", "the body is not JSON") from None
    if not isinstance(found, dict):
        raise RequestError("invalid_json", "the body must be a JSON object")
    return found


def _error(status: int, code: str, message: str, hint: str = "") -> JSONResponse:
    return JSONResponse({"error": {"code": code, "message": message, "hint": hint}}, status_code=status)
