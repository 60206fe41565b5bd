"""The project's runs, as the commands open and read them."""

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
    """A service, closed again. What it refuses is a clear error here too."""
    try:
        service = make()
        try:
            yield service
        finally:
            service.close()
    except WfcError as error:
        if error.code == "unknown_run":
            # The hint of the service names a tool, which nobody has here.
            raise click.ClickException(
                f"{error.message}. `wfc runs list --status all` shows those there are; the first 4 characters of an id "
                "are enough where no other one begins so"
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
    """A run and all that was started for it, each with its history; parents first."""
    todo = [run]
    for one in todo:
        events = list(events_of(service, one))
        todo += [child for event in events for child in event.get("children", ())]
        yield one, events


_PORTION = 5_000
"""So many new objects are looked through for garbage at a time, which takes a few milliseconds. What suits a command
that ends at once would make a server halt for a second now and then."""


def collect_in_portions() -> None:
    """What has been made so far, by imports above all, is there to stay and is never looked through."""
    gc.freeze()
    gc.set_threshold(_PORTION)
    gc.enable()
