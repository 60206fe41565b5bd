"""The real thing beside the model: each call is made on the service, told to the model, and the two compared."""

from __future__ import annotations

import json
import sqlite3
from math import ceil
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from tests.model.flow import Tree, Wait
from tests.model.interpreter import Family, Run
from tests.model.steps import moment, with_defaults
from tests.property.answers import answer
from tests.property.grammar import HELPER, to_yaml
from tests.property.inputs import sample
from tests.property.survival import compiled
from tests.runtime.support import Clock
from wfc.check import has_errors
from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.limits import Limits
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store

Reply = dict[str, Any]
Submitted = tuple[Run, str, Any, Reply]
NEEDED = {
    "shell": ["stdout", "stderr", "exit_code"],
    "info": ["acknowledged"],
    "confirm": ["confirmed"],
    "text": ["input"],
    "choice": ["selected"],
    "delegate": ["response"],
}
"""What an answer must have, by kind."""


class World:
    def __init__(
        self, folder: Path, modules: dict[str, str], workflows: dict[str, Tree], parallel_children: int
    ) -> None:
        self._folder = folder
        (folder / "generated").mkdir()
        for name, text in modules.items():
            (folder / "generated" / name).write_bytes(text.encode())
        self.clock = Clock()
        self._limits = Limits(parallel_children=parallel_children)
        self._services = [self._open(), self._open()]
        self._turn = 0
        self.is_caught_up = True
        """Whether the clock has stood still since everybody looked."""
        self.family = Family(workflows, self.clock.now, self._record, parallel_children)
        self.ids: dict[Run, str] = {}
        self.answered: list[Submitted] = []
        self.calls = 0

    def start(self, tree: Tree) -> None:
        given = {name: sample(decl) for name, decl in tree["inputs"].items() if decl.get("required")}
        reply = self.service.start(tree["name"], given)
        self.root = Run(self.family, tree, tree, with_defaults(tree["inputs"], given))
        self.ids[self.root] = reply["workflow_id"]
        self.root.start()
        self.family.settle()
        self.compare()

    # -- servers -------------------------------------------------------------------

    def _open(self) -> SqliteService:
        store = Store(self._folder / "state.db")
        return SqliteService(store, Registry(self._folder / "generated"), self._limits, self.clock)

    @property
    def service(self) -> SqliteService:
        """One of two servers on the same file."""
        self.calls += 1
        return self._services[self._turn]

    def change_server(self) -> None:
        self._turn = 1 - self._turn

    def restart(self) -> None:
        self._services[self._turn].close()
        self._services[self._turn] = self._open()

    def close(self) -> None:
        for service in self._services:
            service.close()

    # -- calls ---------------------------------------------------------------------

    def pass_(self, seconds: float) -> None:
        self.clock.pass_(seconds)
        self.family.now = self.clock.now
        self.is_caught_up = False

    def questions(self) -> list[tuple[Run, Wait]]:
        """What somebody could answer, as far as the model knows."""
        runs = [run for run in self.family.runs if run in self.ids and run.status == "running"]
        return [(run, wait) for run in runs for wait in run.pending.values()]

    def schema_of(self, run: Run, wait: Wait) -> Any:
        """Read without a call, which would move what is due."""
        _, machine, snapshot = self.service.definition(self.ids[run])
        pending = snapshot.pending[wait.visit]
        return machine.steps[pending.state].action(pending).result_schema

    def submit(self, run: Run, wait: Wait, result: Any, fits: bool) -> None:
        visit, before = wait.visit, self._stored()
        is_over_wait = wait.ends_by_itself and wait.due is not None and wait.due <= self.clock.now
        refusal: RefusedError | None = None
        reply: Reply = {}
        try:
            reply = self.service.submit(self.ids[run], visit, result)
        except RefusedError as error:
            refusal = error
        self._find_children()
        if not is_over_wait:
            self._catch_up_model()
        taken = is_pending = run.status == "running" and run.pending.get(visit) is wait
        if is_pending:
            misfits = wait.misfits
            taken = run.submit(visit, result, fits)
            if wait.misfits == misfits and not taken and self.is_caught_up:
                assert self._stored() == before, "a refusal has changed something"
        elif wait.ends_by_itself:
            # A wait that time has ended: late is not wrong.
            taken = True
        assert (refusal is None) == taken, (visit, result, refusal, taken)
        self.compare()
        if taken and is_pending and not wait.ends_by_itself:
            self.answered.append((run, visit, result, reply))

    def submit_again(self, submitted: Submitted) -> None:
        """The same answer gets the same reply, whatever has happened since, and changes nothing."""
        run, visit, result, reply = submitted
        before = self._stored()
        assert self.service.submit(self.ids[run], visit, result) == reply
        assert self._stored() == before

    def submit_stale(self, submitted: Submitted, result: Any) -> None:
        """Another answer to what has been answered, or an answer to what never was."""
        run, visit, was, _ = submitted
        self.look()
        before = self._stored()
        for step_id, given in ((visit, [result, was]), (f"{visit.split('@')[0]}@99", was), ("nothing", was)):
            with pytest.raises(RefusedError) as refused:
                self.service.submit(self.ids[run], step_id, given)
            assert refused.value.code in ("answered", "not_pending", "finished")
        assert self._stored() == before

    def cancel(self, run: Run) -> None:
        before = self._stored()
        try:
            self.service.cancel(self.ids[run], "enough")
        except RefusedError:
            assert run.status in ("completed", "failed")
            assert self._stored() == before
        self._find_children()
        run.cancel()
        self.family.settle()
        self.compare()

    def look(self) -> None:
        """Everybody asks where they are: what is due happens."""
        self.service.status(self.ids[self.root])
        self._find_children()
        self._catch_up_model()
        self.compare()

    def _catch_up_model(self) -> None:
        """The longest due first."""
        now = self.clock.now
        due = sorted(
            (moment, number)
            for number, run in enumerate(self.family.runs)
            if (moment := run.due()) is not None and moment <= now
        )
        for _, number in due:
            self.family.runs[number].clock()

    # -- what there is -------------------------------------------------------------

    def _stored(self) -> list[Any]:
        """All bytes that matter."""
        connection = sqlite3.connect(self._folder / "state.db")
        try:
            return [
                connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()
                for table in ("runs", "fields", "history")
            ]
        finally:
            connection.close()

    def _find_children(self) -> None:
        connection = sqlite3.connect(self._folder / "state.db")
        rows = connection.execute(
            "SELECT c.id, p.id, c.visit, c.position FROM runs c JOIN runs p ON c.parent = p.key"
        ).fetchall()
        connection.close()
        self._children = {(parent, visit, position): child for child, parent, visit, position in rows}

    def _id_of(self, run: Run) -> str:
        if run not in self.ids:
            assert run.parent is not None
            assert run.wait is not None
            self.ids[run] = self._children[self._id_of(run.parent), run.wait.visit, run.index]
        return self.ids[run]

    def _record(self, run: Run) -> Any:
        """A failed child's error in the words of the real one; whether it is the right error is compared."""
        if not hasattr(self, "_children"):
            self._find_children()
        snapshot = self.service.definition(self._id_of(run))[2]
        return snapshot.error

    # -- comparing -----------------------------------------------------------------

    def compare(self) -> None:
        if not self.is_caught_up:
            self.is_caught_up = True
            self.service.status(self.ids[self.root])
            self._catch_up_model()
        self._find_children()
        begun = [run for run in self.family.runs if self._has_begun(run)]
        assert len(begun) == len(self._children) + 1, "children"
        for run in begun:
            self._compare(run)

    def _has_begun(self, run: Run) -> bool:
        """A child that nobody waits for any more when it is its turn is never begun."""
        if run not in self.ids and run.parent in self.ids and run.wait is not None:
            name = self._children.get((self.ids[run.parent], run.wait.visit, run.index))
            if name is not None:
                self.ids[run] = name
        assert run in self.ids or not run.is_wanted()
        return run in self.ids

    def _compare(self, run: Run) -> None:
        name = self._id_of(run)
        reply = self.service.status(name)
        snapshot = self.service.definition(name)[2]
        assert snapshot.status == run.status, (run.status, run.error, snapshot.status, snapshot.error)
        if not run.rivals:
            same("state", snapshot.state, run.state)
        if run.status == "completed":
            same("result", reply["result"], run.result)
        elif run.status == "failed":
            code, visit = reply["error"]["code"], reply["error"]["step_id"].partition("@")[0]
            expected = [run.error, *run.rivals]
            assert (code, visit) in [(one[0], one[1].partition("@")[0]) for one in expected if one], expected
        elif run.status == "running":
            actions = reply.get("actions") or [reply["action"]]
            found = {action["step_id"]: action for action in actions}
            same("pending", sorted(found), sorted(run.pending))
            for visit, wait in run.pending.items():
                self._compare_action(run, wait, found[visit])

    def _compare_action(self, run: Run, wait: Wait, action: Reply) -> None:
        assert action["type"] == wait.type
        parameters, expected = dict(action["parameters"]), dict(wait.parameters)
        if wait.items is not None:
            self._compare_children(run, wait, parameters)
            return
        if wait.ends_by_itself:
            assert wait.due is not None
            expected |= {
                "resume_at": moment(wait.due),
                "seconds_left": max(0, ceil(wait.due - self.clock.now)),
            }
        if run.brief:
            instructions = parameters.pop("instructions")
            assert json.dumps(run.inputs["target"], ensure_ascii=False) in instructions
        else:
            kind = parameters.get("prompt_type", wait.type)
            step = wait.visit.partition("@")[0]
            needed = action.get("result_schema", {}).get("required", [])
            assert needed in (NEEDED.get(kind, []), ["title", "count", "ok"]), (step, needed)
        same("parameters", parameters, expected)

    def _compare_children(self, run: Run, wait: Wait, parameters: Reply) -> None:
        at_work = [
            index
            for index, child in enumerate(wait.children)
            if child is not None and index not in wait.results
        ]
        same("children", [child["index"] for child in parameters["children"]], at_work)
        if "task" in wait.parameters:
            assert wait.items is not None
            shown = [child["item"] for child in parameters["children"]]
            same("items", shown, [wait.items[index] for index in at_work])
            assert parameters["sequential"] == wait.sequential
            queued = sum(child is None for child in wait.children)
            assert parameters.get("queued", 0) == queued
        for index, child in zip(at_work, parameters["children"], strict=True):
            made = wait.children[index]
            assert made is not None
            assert child["workflow_id"] == self._id_of(made)
        name = "task" if "task" in wait.parameters else "workflow"
        assert parameters[name] == wait.parameters[name]


def make_world(folder: Path, tree: Tree, parallel_children: int = 100) -> World | None:
    """A workflow, ready to start; None where the compiler finds an error in it."""
    result = compiled(to_yaml(tree), HELPER)
    if has_errors(result.findings):
        return None
    modules = {module.file_name: module.text for module in result.modules}
    return World(folder, modules, {"helper": yaml.safe_load(HELPER), tree["name"]: tree}, parallel_children)


def same(what: str, found: Any, expected: Any) -> None:
    """As texts, so that 1, 1.0 and true are not the same."""
    one, other = (json.dumps(value, sort_keys=True, ensure_ascii=False) for value in (found, expected))
    assert one == other, f"{what}: {one}, by the model {other}"


def result_for(world: World, run: Run, wait: Wait, random: Random) -> tuple[Any, bool]:
    """An answer, and whether it fits."""
    if wait.items is not None or wait.ends_by_itself:
        return {}, True
    schema = world.schema_of(run, wait)
    slip = random.random()
    if slip < 0.08:
        return {"error": random.choice(["could not", {"why": 1}])}, True
    if slip < 0.12:
        return {"timed_out": True}, True
    if slip < 0.22 and schema:
        return random.choice(["nonsense", {"nonsense": True}, None, 7]), False
    return answer(schema, random), True
