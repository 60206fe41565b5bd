"""`python -m tests.replay.record [WORKFLOW ...]`: runs of the shipped workflows, recorded anew.

An agent works each on a real service: with the answers that `wfc explore` found, as few sets of them as go by every
edge that it came by, with some that are mostly what it hopes for, and then clumsily, with errors, misfits, passed
deadlines, and a cancel where it takes too long.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from tests.replay.recording import FOLDER, Recorded, encode, place_of, standing, write
from tests.support import ROOT, is_sampled
from tests.torture.agent import Agent, Direct
from tests.torture.clock import clock_of
from tests.unit.explore.support import search_in
from wfc.author.explore.trial import Trace
from wfc.workspace.files import select
from wfc.workspace.loading import load_project
from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.events import Event, Outcome
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.service.sqlite.unit_of_work import LoadedRun, UnitOfWork
from wfc_runtime.store import Store

GENERATED = ROOT / "generated"
_MADE_UP = ("hopeful", "clumsy-1", "clumsy-2")


def _mission(
    name: str, agents: str, checkpoints: str, files: str, *criteria: str, proved: str = ""
) -> dict[tuple[str, str], list[Any]]:
    """Answers with which a mission completes: every agent reports success, and the person approves."""
    report = {"status": "success", "summary": "Done.", "evidence": dict.fromkeys(criteria, "seen")}
    answers: dict[str, Any] = dict.fromkeys(agents.split(), report)
    answers |= {f"{phase}-checkpoint": {"selected": "approve"} for phase in checkpoints.split()}
    answers |= {f"{phase}-outputs": {"found": ["x"], "missing": []} for phase in files.split()}
    nothing = {"changed": [], "by_agent": {}, "outside_scope": [], "total": 0, "outside_total": 0}
    answers |= {f"{phase}-before": {"head": None, "files": {}} for phase in proved.split()}
    answers |= {f"{phase}-changes": nothing for phase in proved.split()}
    return {(name, step): [answer] for step, answer in answers.items()}


_HOPES: dict[str, dict[tuple[str, str], list[Any]]] = {
    "audit-security": _mission(
        "audit-security",
        "model audit-security-reviewer audit-access-auditor audit-supply-auditor report fix",
        "report",
        "report",
        "each finding that the report marks for fixing has a fix",
        "each fix has a test that fails without it",
    ),
    "build-feature": _mission(
        "build-feature",
        "design build-developer build-test-author integrate review-code-reviewer review-test-reviewer repair",
        "design review",
        "design",
        "tests pass",
        "checks pass",
        "every finding of the review is fixed or explained",
        "all tests pass",
    ),
    "overhaul-docs": _mission(
        "overhaul-docs",
        "inventory outline write-tutorial-writer write-guide-writer write-reference-writer edit",
        "outline edit",
        "outline write",
        "no link leads nowhere",
        "every example was run",
        proved="inventory outline write edit",
    ),
    "release-notes": {
        ("release-notes", "remember"): [{"path": "x", "created": True, "merged_data": {"version": "1.2.3"}}]
    },
    "pr-automation": {
        ("pr-automation", "fetch-pr"): [
            {
                "stdout": '{"title": "Add", "body": null, "state": "OPEN", "isDraft": false, "changedFiles": 3, '
                '"headRefOid": "abc"}',
                "stderr": "",
                "exit_code": 0,
            }
        ]
    },
}
"""Without these no made-up answers lead to the end."""
_PATIENCE = 40
"""After so many calls a clumsy agent cancels."""


@dataclass
class ToldAgent(Agent):
    """Has its answers by task or workflow, and step; where they are used up it makes some up."""

    service: SqliteService = field(kw_only=True)
    answers: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    given: Counter[tuple[str, str]] = field(default_factory=Counter)

    def _submit(self, server: Any, run: str, step_id: str, result: Any) -> None:
        row = self.service.store.queries.run(run)
        assert row is not None
        key = (row.task or row.workflow, step_id.partition("@")[0])
        told = self.answers.get(key, [])[self.given[key] :]
        self.given[key] += 1
        self._try(server, run, step_id, told[0] if told else result)

    def _try(self, server: Any, run: str, step_id: str, result: Any) -> None:
        try:
            super()._submit(server, run, step_id, result)
        except RefusedError:
            # A result that does not fit, or a deadline that has passed. Both are in the recording.
            return


class ClumsyAgent(ToldAgent):
    """Does wrong what can be done wrong."""

    def _submit(self, server: Any, run: str, step_id: str, result: Any) -> None:
        slip = Random(f"{self.seed}{self.calls}").random()
        if self.calls > _PATIENCE:
            self.service.cancel(self.run, "it takes too long")
            return
        if slip < 0.1:
            with (self.folder / "clock").open("ab") as clock:
                clock.write(b"." * 4000)
        result = {"error": "it can't be done"} if slip > 0.85 else "nonsense" if slip > 0.7 else result
        self._try(server, run, step_id, result)


def record(workflow: str, label: str, folder: Path, trace: Trace | None = None) -> list[Recorded]:
    """One run from its start to its end, with all that its children did."""
    runs: dict[str, Recorded] = {}
    enter = UnitOfWork.record

    def tap(self: UnitOfWork, loaded: LoadedRun, event: Event, outcome: Outcome, *more: Any) -> Any:
        row = loaded.row
        about = Recorded(label, row.id, row.workflow, row.task, row.agent)
        events = runs.setdefault(row.id, about).events
        # A call that is refused after time has moved the run is worked again, without what was refused.
        del events[row.version :]
        events.append((encode(event), standing(outcome.snapshot)))
        return enter(self, loaded, event, outcome, *more)

    numbers = itertools.count(1)
    service = SqliteService(
        Store(folder / "state.db"),
        Registry(GENERATED),
        clock=clock_of(folder),
        make_id=lambda: f"{label}-{next(numbers)}",
    )
    kind = ClumsyAgent if label.startswith("clumsy") else ToldAgent
    agent = kind(folder, workflow, lambda: Direct(service), seed=label, service=service)
    if trace:
        agent.inputs, agent.answers = trace.inputs, trace.answers
    else:
        agent.answers = _HOPES.get(workflow, {})
    try:
        with patch.object(UnitOfWork, "record", tap):
            agent.work()
        rows = {run: service.store.queries.run(run) for run in runs}
    finally:
        service.close()
    assert all(row and row.version == len(runs[run].events) for run, row in rows.items())
    return list(runs.values())


def explored(workflow: str) -> list[Trace]:
    """Trials that together go by every edge that the exploration came by."""
    _, files = load_project(select((str(ROOT / "workflows"),)))
    search = search_in(next(file for file in files.values() if file.name == workflow), runs=200)
    search.go()
    left, chosen = set(search.covered), []
    traces: Sequence[Trace] = list({id(trace): trace for trace in search.covered.values()}.values())
    while left:
        best = max(traces, key=lambda trace: len(left & set(trace.taken)))
        left -= set(best.taken)
        chosen.append(best)
    return chosen


def record_all(workflow: str, traces: Sequence[Trace]) -> list[Recorded]:
    named = [(f"way-{number}", trace) for number, trace in enumerate(traces, 1)]
    found: list[Recorded] = []
    with tempfile.TemporaryDirectory(prefix="wfc-record-") as folder:
        for label, trace in (*named, *((label, None) for label in _MADE_UP)):
            place = Path(folder) / label
            place.mkdir()
            found += record(workflow, label, place, trace)
    return found


def main(wanted: list[str]) -> int:
    names = [name for module in Registry(GENERATED).modules() if is_sampled(name := module.workflow.name)]
    unknown = [name for name in wanted if name not in names]
    if unknown:
        print(f"there is no workflow {', '.join(unknown)}; there are {', '.join(names)}", file=sys.stderr)
        return 2
    if not wanted:
        for path in FOLDER.glob("*.json"):
            if path not in map(place_of, names):
                path.unlink()
    for name in wanted or names:
        traces = explored(name)
        recorded = record_all(name, traces)
        write(place_of(name), recorded)
        events = sum(len(one.events) for one in recorded)
        print(
            f"{name}: {len(traces) + len(_MADE_UP)} ways, {len(recorded)} runs, {events} events", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
