"""Opens the service for commands, and reads histories from it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from wfc_runtime.errors import WfcError

if TYPE_CHECKING:
    from wfc_runtime.service import Service

ServiceT = TypeVar("ServiceT", bound="Service")


@contextmanager
def opened(make: Callable[[], ServiceT]) -> Iterator[ServiceT]:
    """Open a service and close it at the end. Its errors become errors of the command line."""
    try:
        service = make()
        try:
            yield service
        finally:
            service.close()
    except WfcError as error:
        if error.code == "unknown_run":
            # The hint of the service names an MCP tool, which does not help on the command line.
            raise click.ClickException(
                f"{error.message}. `wfc runs list --status all` lists them; a unique prefix of at least 4 "
                "characters is enough"
            ) from error
        raise click.ClickException(str(error)) from error


def events_of(service: Service, run: str, after: int = 0) -> Iterator[dict[str, Any]]:
    while True:
        reply = service.history(run, after=after, limit=500)
        yield from reply["events"]
        if "next" not in reply or not reply["events"]:
            return
        after = reply["events"][-1]["seq"]


def family_of(service: Service, run: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A run and its descendants, each with its history; parents first."""
    todo = [run]
    for one in todo:
        events = list(events_of(service, one))
        todo += [child for event in events for child in event.get("children", ())]
        yield one, events


_PORTION = 5_000
"""The number of new objects that trigger a collection, which then takes a few milliseconds. With the threshold of a
short command, a server would stop for up to a second now and then."""


def collect_in_portions() -> None:
    """Exclude the objects that exist so far, mostly from imports, from garbage collection, and collect in small
    portions."""
    gc.freeze()
    gc.set_threshold(_PORTION)
    gc.enable()
