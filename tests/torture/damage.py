"""Stores with flipped bytes, stores cut short: a clear error or a right answer, and nothing made worse."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.runtime.support import OK, TWO, compile_to, steps
from tests.torture.clock import NOON
from wfc_runtime.errors import WfcError
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store

FANS_OUT = (
    steps("{id: each, type: foreach, items: [x, y, z], task: t, output_to: b}", name="fan")
    + """
tasks:
  t:
    inputs: {n: {type: string, required: true}}
    steps: [{id: s, type: shell, command: "echo {{ inputs.n | shquote }}", output_to: out}]
"""
)


@dataclass
class Storage:
    """A store with runs of every kind, to be damaged in copies."""

    folder: Path
    runs: list[str]
    data: bytes
    registry: Registry
    answers: dict[tuple[str, str], Any]
    """What the undamaged one says of each run."""
    outcomes: Counter[str] = field(default_factory=Counter)


def make_store(folder: Path) -> Storage:
    compile_to(folder / "generated", TWO, FANS_OUT)
    registry = Registry(folder / "generated")
    service = SqliteService(Store(folder / "state.db"), registry)
    runs = []
    for number in range(4):
        run = service.start("w")["workflow_id"]
        runs.append(run)
        for step_id in ("build", "test")[: number % 3]:
            service.submit(run, step_id, {**OK, "stdout": "x" * 300 * number}, actor="me")
    reply = service.start("fan")
    child = reply["action"]["parameters"]["children"][0]["workflow_id"]
    service.submit(child, "s", OK)
    runs += [reply["workflow_id"], child]
    service.close()
    service = SqliteService(Store(folder / "state.db"), registry, clock=lambda: NOON)
    answers = {(name, run): ask(run) for run in runs for name, ask in questions(service).items()}
    answers |= {("runs", status): service.runs(status) for status in LISTS}
    service.close()
    return Storage(folder, runs, (folder / "state.db").read_bytes(), registry, answers)


LISTS = ("open", "all", "completed")


def questions(service: SqliteService) -> dict[str, Callable[[str], Any]]:
    """All that can be asked about a run."""
    return {"history": service.history, "state": lambda run: _state(service, run), "status": service.status}


def _state(service: SqliteService, run: str) -> Any:
    names = list(service.state(run)["fields"])
    return service.state(run, names) if names else names


def use(made: Storage, data: bytes, name: str) -> None:
    """Look at everything in a damaged copy, then try to work with it."""
    place = made.folder / name
    place.mkdir()
    path = place / "state.db"
    path.write_bytes(data)
    with _opened(made, path) as service:
        if service is not None:
            for run in made.runs:
                for name, ask in questions(service).items():
                    _try(made, _right(ask, made.answers[name, run]), run)
            for status in LISTS:
                _try(made, _right_rows(service, made.answers["runs", status]), status)
    assert path.read_bytes() == data, "looking at a damaged store has changed it"
    with _opened(made, path) as service:
        if service is not None:
            for run in made.runs:
                _try(made, service.submit, run, "build", OK)
                _try(made, service.cancel, run)
            _try(made, service.start, "w")
    shutil.rmtree(place)


@contextmanager
def _opened(made: Storage, path: Path) -> Iterator[SqliteService | None]:
    try:
        service = SqliteService(Store(path), made.registry, clock=lambda: NOON)
    except WfcError as error:
        made.outcomes[f"not opened: {error.code}"] += 1
        yield None
        return
    try:
        yield service
    finally:
        with suppress(WfcError):
            service.close()


def _right(ask: Callable[[str], Any], expected: Any) -> Callable[[str], Any]:
    """Asks, and looks at the answer: damage that is not noticed must not matter."""

    def work(run: str) -> None:
        found = ask(run)
        assert found == expected, f"{found}\nand not\n{expected}"

    return work


def _right_rows(service: SqliteService, expected: Any) -> Callable[[str], Any]:
    """Lists, and looks at each line. An index that has lost one can't be noticed, one that is wrong can."""

    def work(status: str) -> None:
        wrong = [line for line in service.runs(status)["runs"] if line not in expected["runs"]]
        assert not wrong, f"{wrong}\nis not among\n{expected}"

    return work


def _try(made: Storage, call: Any, *arguments: Any) -> None:
    """An answer, or an error that a caller has to expect: anything else is a failure of ours."""
    try:
        call(*arguments)
        made.outcomes["answered"] += 1
    except WfcError as error:
        made.outcomes[error.code] += 1


def flip(made: Storage, random: Random) -> int:
    """One byte, anywhere that is in use. Gives its place."""
    at = random.choice([place for place, byte in enumerate(made.data) if byte])
    data = bytearray(made.data)
    data[at] ^= random.choice([1, 2, 4, 8, 16, 32, 64, 128, 255])
    use(made, bytes(data), "flipped")
    return at


def cut(made: Storage, size: int) -> None:
    use(made, made.data[:size], "cut")
