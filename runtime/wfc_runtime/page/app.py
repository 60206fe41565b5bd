"""The page as an application: the shell, which is public and holds nothing, and the API, which needs a key."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from wfc_runtime.page.definitions import Backend
from wfc_runtime.page.feed import ChangeFeed
from wfc_runtime.page.keys import Keys
from wfc_runtime.page.routes import Api

_STATIC = files("wfc_runtime.page").joinpath("static")
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_VIEWS = {
    "/": "inbox.js",
    "/runs": "runs.js",
    "/runs/{run}": "run.js",
    **{
        f"/runs/{{run}}/{tab}": "run.js"
        for tab in ("timeline", "journal", "history", "state", "children", "source")
    },
    "/workflows": "workflow.js",
    "/workflows/{workflow}": "workflow.js",
}
_NOWHERE = ""
"""The view of an unknown address: the shell alone."""
# Read from the scripts themselves, so that a new import can't be forgotten in a list of preloads.
_IMPORTED = re.compile(rb'from "\./([\w./-]+)"')


def page_app(
    backend: Backend,
    keys: Keys,
    root: Path,
    *,
    read_only: bool = False,
    more: Sequence[BaseRoute] = (),
) -> tuple[Starlette, ChangeFeed]:
    """The application, and its feed, which has to be closed before the server waits for its streams."""
    feed = ChangeFeed(lambda: backend.service)
    api = Api(backend, keys, feed, root, read_only)
    shell = [Route(path, partial(_shell, view), methods=["GET"]) for path, view in _VIEWS.items()]
    static = Route("/static/{name:path}", _static, methods=["GET"])
    app = Starlette(
        routes=[*shell, static, *api.routes(), *more],
        # Pictures and states are text of up to some hundred kilobytes; event streams are not compressed,
        # since Starlette excludes them.
        middleware=[Middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)],
        exception_handlers={404: _not_found},
    )
    return app, feed


@dataclass(frozen=True, slots=True)
class _Asset:
    content: bytes
    kind: str
    tag: str
    """The digest of the content, as an `ETag`."""


async def _shell(view: str, request: Request) -> Response:
    return _reply(request, _SHELLS[view])


async def _static(request: Request) -> Response:
    # Only names that the package has: a path from the address is never joined to a folder.
    found = _ASSETS.get(request.path_params["name"])
    return (
        PlainTextResponse("There is no such file.", status_code=404)
        if found is None
        else _reply(request, found)
    )


async def _not_found(request: Request, error: Exception) -> Response:
    """The HTML shell, which shows that the page does not exist; for scripts, an error like all others."""
    path = request.url.path
    if path == "/api" or path.startswith("/api/"):
        error_ = {"code": "unknown_request", "message": "there is no such request", "hint": ""}
        return JSONResponse({"error": error_}, status_code=404)
    if request.method not in ("GET", "HEAD") or path.startswith("/static"):
        detail = error.detail if isinstance(error, HTTPException) else "Not Found"
        return PlainTextResponse(detail, status_code=404)
    nowhere = _SHELLS[_NOWHERE]
    return Response(nowhere.content, 404, {"Cache-Control": "no-cache"}, nowhere.kind)


def _reply(request: Request, asset: _Asset) -> Response:
    # A newer server must not be met by an older script, so the browser asks each time.
    headers = {"Cache-Control": "no-cache", "ETag": asset.tag}
    if asset.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(asset.content, media_type=asset.kind, headers=headers)


def _asset(name: str, content: bytes) -> _Asset:
    return _Asset(content, _KINDS[Path(name).suffix], f'"{sha256(content).hexdigest()[:20]}"')


def _read_assets() -> dict[str, _Asset]:
    vendor = _STATIC.joinpath("vendor")
    found = [(one.name, one) for one in _STATIC.iterdir()]
    found += [(f"vendor/{one.name}", one) for one in vendor.iterdir()]
    return {
        name: _asset(name, one.read_bytes())
        for name, one in found
        if one.is_file() and Path(name).suffix in _KINDS
    }


def _shell_of(view: str) -> _Asset:
    """The shell of a place. It names the scripts of the place, which the browser then fetches in parallel rather than
    one after another as it discovers them."""
    scripts = ["page.js", view] if view else ["page.js"]
    for script in scripts:
        named = [name.decode() for name in _IMPORTED.findall(_ASSETS[script].content)]
        scripts += [name for name in dict.fromkeys(named) if name not in scripts]
    links = "".join(f'<link rel="modulepreload" href="/static/{script}">\n' for script in scripts[1:])
    shell = _ASSETS["index.html"].content.replace(b"<script", links.encode() + b"<script", 1)
    return _asset("index.html", shell)


# Read once: the files belong to the installed package, and a reply needs their digests.
_ASSETS = _read_assets()
_SHELLS = {view: _shell_of(view) for view in (*_VIEWS.values(), _NOWHERE)}
