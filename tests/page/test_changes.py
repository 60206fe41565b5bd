"""The stream of changes: nothing is missed between two of its answers, and it ends with the server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from tests.page.conftest import ASK
from tests.runtime.support import OK, Box
from wfc_runtime.page.feed import ChangeFeed


async def next_event(stream: AsyncIterator[str]) -> dict[str, Any]:
    while True:
        text = await anext(stream)
        if "data: " in text:
            found: dict[str, Any] = json.loads(text.partition("data: ")[2])
            return found


def test_a_change_right_after_the_first_answer_is_told(tmp_path: Any) -> None:
    """The thread that polls has its cursor from before that answer."""
    box = Box(tmp_path)
    service = box.compile(ASK).service
    feed = ChangeFeed(lambda: service)

    async def listen() -> list[dict[str, Any]]:
        stream = feed.stream(None)
        first = await next_event(stream)
        run = service.start("asks")["workflow_id"]
        told = await next_event(stream)
        service.submit(run, "build", OK)
        later = await next_event(stream)
        feed.close()
        assert [one async for one in stream] == []
        return [first, told, later]

    first, told, later = asyncio.run(listen())
    assert first["changes"] == []
    assert [one["pending"] for one in told["changes"]] == [["build"]]
    assert [one["pending"] for one in later["changes"]] == [["agree"]]
    box.close()


def test_a_stream_goes_on_from_its_cursor(tmp_path: Any) -> None:
    box = Box(tmp_path)
    service = box.compile(ASK).service
    feed = ChangeFeed(lambda: service)
    cursor = service.changes()["cursor"]
    run = service.start("asks")["workflow_id"]

    async def listen() -> dict[str, Any]:
        stream = feed.stream(cursor)
        found = await next_event(stream)
        feed.close()
        return found

    assert [one["run"] for one in asyncio.run(listen())["changes"]] == [run]
    box.close()
