"""The page as an application: the shell, which is public and holds nothing, and the API, which needs a key."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from wfc_runtime.page.feed import ChangeFeed
from wfc_runtime.page.keys import Keys
from wfc_runtime.page.routes import Api, Backend

_STATIC = files("wfc_runtime.page").joinpath("static")
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_PLACES = ("/", "/runs", "/runs/{run}", "/runs/{run}/{tab}", "/workflows", "/workflows/{workflow}")


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
    shell = [Route(path, _index, methods=["GET"]) for path in _PLACES]
    static = Route("/static/{name:path}", _static, methods=["GET"])
    app = Starlette(
        routes=[*shell, static, *api.routes(), *more],
        middleware=[Middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)],
    )
    return app, feed


async def _index(request: Request) -> Response:
    return _asset("index.html")


async def _static(request: Request) -> Response:
    return _asset(request.path_params["name"])


def _asset(name: str) -> Response:
    kind = _KINDS.get(Path(name).suffix)
    # Only names that the package has: a path from the address is never joined to a folder.
    found = _ASSETS.get(name)
    if found is None or kind is None:
        return PlainTextResponse("There is no such file.", status_code=404)
    return Response(found, media_type=kind, headers={"Cache-Control": "no-cache"})


def _read_assets() -> dict[str, bytes]:
    found = {one.name: one.read_bytes() for one in _STATIC.iterdir() if one.is_file()}
    vendor = _STATIC.joinpath("vendor")
    return found | {f"vendor/{one.name}": one.read_bytes() for one in vendor.iterdir() if one.is_file()}


_ASSETS = _read_assets()
