"""Recorded runs: every event that a machine took, and where it stood after each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from wfc_runtime.errors import WfcError
from wfc_runtime.machine import Workflow, values
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.events import Cancel, ChildEnded, Clock, Event, Start, Submit
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.step import step
from wfc_runtime.registry import Module
from wfc_runtime.service.children import machine_of

FOLDER = Path(__file__).parent / "recorded"
_EVENTS: dict[str, type[Event]] = {kind.__name__: kind for kind in (Start, Submit, Clock, ChildEnded, Cancel)}
Data = dict[str, Any]


@dataclass(frozen=True)
class Recorded:
    """One run. Children are runs of their own."""

    way: str
    """Which of the recorded ways through the workflow it belongs to."""
    run: str
    workflow: str
    task: str | None
    agent: str | None
    events: list[tuple[Data, Data]] = field(default_factory=list)
    """Each event, and where it led."""

    @property
    def name(self) -> str:
        task = f", task {self.task}" if self.task else ""
        return f"{self.way}, run {self.run} of {self.workflow}{task}"


def encode(event: Event) -> Data:
    given = asdict(event)
    if given.get("worktree") is None:
        given.pop("worktree", None)
    found = {name: value for name, value in given.items() if name == "result" or value not in ((), {}, "")}
    found = {name: value for name, value in found.items() if name != "served" or value}
    return {"event": type(event).__name__, **found}


def decode(data: Data) -> Event:
    values = {name: tuple(value) if name == "secrets" else value for name, value in data.items()}
    return _EVENTS[values.pop("event")](**values)


def standing(snapshot: Snapshot) -> Data:
    """Where a machine stands: in short to read, and as a digest of what is stored, apart from what a retry needs."""
    return {
        "status": snapshot.status,
        "states": list(snapshot.configuration),
        "pending": list(snapshot.pending),
        "snapshot": sha256(_without_retry(snapshot).encode()).hexdigest()[:32],
    }


def _without_retry(snapshot: Snapshot) -> str:
    """Snapshots of before runs could be retried lack this; tests/unit/machine/test_reopening.py is about it."""
    data = json.loads(snapshot.to_json())
    data.pop("failures", None)
    if data.pop("kept", None) is not None:
        data.get("scope", {}).pop("previous", None)
        if not data.get("scope"):
            data.pop("scope", None)
    for pending in data.get("pending", {}).values():
        for child in pending.get("children", ()):
            (child or {}).pop("was", None)
    return values.to_text(data)


def place_of(workflow: str) -> Path:
    """The file of a workflow's recorded runs. Not every disk takes the colon of a name."""
    return FOLDER / f"{workflow.replace(':', '-')}.json"


def write(path: Path, recorded: list[Recorded]) -> None:
    path.write_text(to_text(recorded), encoding="utf-8")


def to_text(recorded: list[Recorded]) -> str:
    """One event a line, so that a diff shows which ones lead elsewhere."""
    blocks = []
    for one in recorded:
        head = {name: value for name, value in asdict(one).items() if name != "events"}
        lines = ",\n  ".join(json.dumps(pair, ensure_ascii=False) for pair in one.events)
        blocks.append(f'{json.dumps(head, ensure_ascii=False)[:-1]}, "events": [\n  {lines}\n]}}')
    return "[\n" + ",\n".join(blocks) + "\n]\n"


def read(workflow: str) -> list[Recorded]:
    """The recorded runs of a workflow and of their children."""
    text = place_of(workflow).read_text(encoding="utf-8")
    return [Recorded(**one) for one in json.loads(text)]


def replay(recorded: list[Recorded], find: Callable[[str], Workflow]) -> Iterator[str]:
    """Where today's modules lead elsewhere: the first place in each run."""
    for one in recorded:
        module = Module(find(one.workflow), "", "", "")
        if one.task is not None and one.task not in module.workflow.tasks:
            yield f"{one.name}: there is no task `{one.task}`"
            continue
        difference = _first_difference(one, machine_of(module, one.task, one.agent))
        if difference:
            yield f"{one.name}, {difference}"


def _first_difference(recorded: Recorded, machine: AnyMachine) -> str | None:
    snapshot: Snapshot | None = None
    for number, (data, expected) in enumerate(recorded.events, 1):
        place = f"event {number} ({data['event']}{' ' + data['visit'] if 'visit' in data else ''})"
        try:
            snapshot = step(machine, snapshot, decode(data)).snapshot
        except WfcError as error:
            return f"{place}: {error.message}"
        found = standing(snapshot)
        if found != expected:
            parts = [
                f"{name} {found[name]}, recorded {value}"
                for name, value in expected.items()
                if found[name] != value
            ]
            return f"{place}: {'; '.join(parts)}"
        # The next event finds it as it was stored.
        snapshot = Snapshot.from_json(snapshot.to_json())
    return None
