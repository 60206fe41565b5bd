"""Workflows whose shell steps the server does itself, and a project with such servers.

`python -m tests.execute.serving FOLDER` is a server that starts the workflow `w` of a folder and says its reply; the
folder's runs are led on for as long as it lives.
"""

from __future__ import annotations

import json
import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wfc_runtime.execute import Grant
from wfc_runtime.header import digest, read_header
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite.serving import ServingService
from wfc_runtime.store import Store

if TYPE_CHECKING:
    from tests import forks

LONG = "echo x >> runs; sleep 1000"
RETURN_A = "{id: r, type: return, needs_state: [a_out], value: '{{ state.a_out.stdout }}'}"


def sh(step: str, command: str, more: str = "") -> str:
    """A step that only a timeout of its own, if it has one, or somebody else ends while a test waits."""
    if "timeout:" not in more:
        more += ", timeout: 1000"
    return f"{{id: {step}, type: shell, command: {json.dumps(command)}, output_to: {step}_out{more}}}"


def until(said: Any) -> Any:
    from tests.support import wait_until

    return wait_until(said)


@cache
def served_modules(*texts: str) -> dict[str, str]:
    """Modules of the steps language, with every command marked as the server's."""
    from tests.runtime.support import modules_of

    made = modules_of(*texts).items()
    return {name: _marked(text) if name.endswith(".py") else text for name, text in made}


def _marked(text: str) -> str:
    header = read_header(text)
    assert header is not None
    head, body = text[: text.index(header.body) + 64 + 1], text[text.index(header.body) + 64 + 1 :]
    body = body.replace('kind="shell",', 'kind="shell", runner="server",')
    return head.replace(header.body, digest(body)) + body


class Site:
    """A folder with modules, a store, and a place to work in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.generated = folder / "generated"
        self.place = folder / "place"
        self.state = folder / ".wfc" / "state.db"
        self.inputs: list[int] = []
        """The standard inputs of servers that are processes of their own: each ends with its own."""
        self._open: list[ServingService] = []

    def compile(self, *texts: str) -> Site:
        self.generated.mkdir(exist_ok=True)
        self.place.mkdir(exist_ok=True)
        for name, text in served_modules(*texts).items():
            (self.generated / name).write_text(text)
        return self

    def server(self, grant: Grant | None = None, **more: Any) -> ServingService:
        grant = grant or Grant(self.place, commands=None)
        # A reply waits for what the server does, however busy the machine is; a test that wants it sooner says so.
        more.setdefault("reply_seconds", 1000)
        service = ServingService(Store(self.state), Registry(self.generated), grant, **more)
        self._open.append(service)
        return service

    def close(self) -> None:
        for given in self.inputs:
            os.close(given)
        for service in self._open:
            service.close()


def start_server(site: Site) -> tuple[forks.Fork, dict[str, Any]]:
    """A server that is a process of its own, and the reply with which it started the workflow."""
    from tests import forks
    from tests.support import ROOT

    stays, given = os.pipe()
    said, saying = os.pipe()
    streams = (stays, saying, 2)
    process = forks.start([site.folder], ROOT, dict(os.environ), streams, module="tests.execute.serving")
    os.close(stays)
    os.close(saying)
    site.inputs.append(given)
    with open(said, encoding="utf-8") as reply:
        return process, json.loads(reply.readline())


def main() -> None:
    site = Site(Path(sys.argv[1]))
    service = site.server(reply_seconds=0.2)
    reply = service.start("w")
    print(json.dumps(reply), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
