"""Durable steps answered from outside: ours, those of engines that people know, and the least that SQLite can do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.bench import chart, contest
from tests.bench.contest import PEERS, Engine, Figures
from tests.bench.measure import Row, UnmeasuredError
from tests.bench.venvs import CannotInstallError

_TO_FLOOR = 2.5


def rows() -> Iterator[Row]:
    figures, missing = _measured()
    runs = {"one": "one run", "many": f"{figures['runs']} runs at once"}
    found = {engine["name"]: engine for engine in figures["engines"]}
    for key, label in runs.items():
        measured = found["wfc"][key]["to_floor"]
        detail = f"{_clients(found['wfc']['clients'])}: {found['wfc']['about']}" if key == "many" else ""
        yield Row(f"wfc, {label}: a step, to a bare transaction", measured, _TO_FLOOR, detail=detail)
    for peer in PEERS:
        for key, label in runs.items():
            name = f"{peer.title}, {label}: steps a second, to wfc"
            if peer.name not in found:
                yield Row(name, None, 1, detail=missing[peer])
                continue
            engine = found[peer.name]
            detail = f"a step takes {engine[key]['to_floor']:.1f}x a bare transaction"
            detail += f", and {engine[key]['processor_to_wfc']:.1f}x the processor time of wfc's"
            if key == "many":
                detail += f"; {_clients(engine['clients'])}"
            yield Row(name, 1 / engine[key]["to_wfc"], 1, digits=2, detail=detail)
    if missing:
        raise UnmeasuredError(f"not compared with {', '.join(peer.title for peer in missing)}")


def write() -> list[Path]:
    """The chart in the README, from what `rows` has measured."""
    figures, missing = _measured()
    if missing:
        raise UnmeasuredError("the chart stays as it was: it shows all of them or none")
    return chart.write(figures)


@cache
def _measured() -> tuple[Figures, dict[Engine, str]]:
    pythons: dict[Engine, Path] = {}
    missing: dict[Engine, str] = {}
    for peer in PEERS:
        try:
            pythons[peer] = contest.python_of(peer, _progress)
        except CannotInstallError as error:
            missing[peer] = str(error)
    return contest.measure(pythons, _progress), missing


def _progress(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)


def _clients(count: int) -> str:
    return "one client takes turns" if count == 1 else f"{count} clients, each a thread"
