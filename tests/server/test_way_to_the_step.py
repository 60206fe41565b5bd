"""What lies between a call of submit_result and the pure step: few functions, and few copies of values as text."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pytest
from mcp_types import CallToolRequestParams, CallToolResult

from tests.runtime.support import OK, Box, steps
from wfc_runtime.machine import values
from wfc_runtime.server import handlers
from wfc_runtime.server.changes import Changes
from wfc_runtime.server.context import Options, ServerContext, Sessions
from wfc_runtime.server.tools import RequestContext
from wfc_runtime.service.sqlite import work

THREE = steps(
    "{id: one, type: shell, command: make, output_to: one}",
    "{id: two, type: shell, needs_state: [one], command: 'make {{ state.one.stdout | shquote }}', output_to: two}",
    "{id: three, type: shell, needs_state: [two], command: 'make {{ state.two.stdout | shquote }}'}",
)
MOST_FRAMES = 9
MOST_TEXTS = 5
RUNTIME = str(Path(values.__file__).parent.parent)


class Server:
    """The handlers of a server in this process, without a transport."""

    def __init__(self, box: Box) -> None:
        options = Options(state=box.state, generated=box.generated)
        context = SimpleNamespace(
            service=box.service, registry=box.service.registry, sessions=Sessions(), options=options
        )
        changes = Changes(options)
        self._handlers = handlers.ToolHandlers(cast(ServerContext, context), options, changes)
        self._request = SimpleNamespace(
            meta=None,
            request=None,
            protocol_version="2026-07-28",
            session=SimpleNamespace(client_params=None, client_capabilities=None),
        )

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        params = CallToolRequestParams(name=name, arguments=arguments)
        result = asyncio.run(self._handlers.call_tool(cast(RequestContext, self._request), params))
        assert isinstance(result, CallToolResult)
        assert not result.is_error
        assert result.structured_content is not None
        return result.structured_content


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    box = Box(tmp_path).compile(THREE)
    yield Server(box)
    box.close()


def own_frames(frame: FrameType | None) -> list[str]:
    found = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(RUNTIME):
            found.append(frame.f_code.co_qualname)
        frame = frame.f_back
    return found


@contextmanager
def seen(module: Any, name: str, note: Callable[[FrameType, Any], None]) -> Iterator[None]:
    """Note where a function is called from, and its first argument."""
    real = getattr(module, name)

    def spy(*given: Any, **more: Any) -> Any:
        note(sys._getframe(1), given[0])
        return real(*given, **more)

    with patch.object(module, name, spy):
        yield


def test_few_functions_lie_between_a_submitted_result_and_the_step(server: Server) -> None:
    run = server.call("start_workflow", workflow="w")["workflow_id"]
    frames: list[str] = []
    with (
        seen(handlers, "in_thread", lambda frame, _: frames.extend(own_frames(frame))),
        seen(work, "step", lambda frame, _: frames.extend([*own_frames(frame), "step"])),
    ):
        server.call("submit_result", workflow_id=run, step_id="one", result=OK)
    assert frames[0] == "ToolHandlers.call_tool"
    assert "submit_result" in frames
    assert len(frames) <= MOST_FRAMES, frames


def test_a_submitted_result_is_written_down_once(server: Server) -> None:
    run = server.call("start_workflow", workflow="w")["workflow_id"]
    server.call("submit_result", workflow_id=run, step_id="one", result=OK)
    written: list[Any] = []
    result = {"stdout": "unlike anything else", "stderr": "", "exit_code": 0}
    with seen(values, "_encode", lambda _, value: written.append(value)):
        server.call("submit_result", workflow_id=run, step_id="two", result=result)
    assert [value for value in written if value == result] == [result]
    # The command of the next step has the text too; the result as such is in nothing else.
    assert not [value for value in written if isinstance(value, dict) and result in value.values()]
    assert len(written) <= MOST_TEXTS, written
