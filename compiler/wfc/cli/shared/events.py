"""The history of a run, page after page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wfc_runtime.service import Service


def events_of(service: Service, run: str, after: int = 0) -> Iterator[dict[str, Any]]:
    while True:
        reply = service.history(run, after=after, limit=500)
        yield from reply["events"]
        if "next" not in reply or not reply["events"]:
            return
        after = reply["events"][-1]["seq"]


def family_of(service: Service, run: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A run and all that was started for it, each with its history; parents first."""
    todo = [run]
    for one in todo:
        events = list(events_of(service, one))
        todo += [child for event in events for child in event.get("children", ())]
        yield one, events
