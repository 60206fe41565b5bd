"""The real thing beside the model: each call is made on the service, told to the model, and the two compared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from tests.model.comparing import Comparing, Reply
from tests.model.flow import Tree, UnclearError, Wait
from tests.model.interpreter import Family, Run
from tests.model.reading import with_defaults
from tests.model.secrets import with_tokens
from tests.property.answers import answer
from tests.property.grammar import HELPER, to_yaml
from tests.property.inputs import sample
from tests.property.survival import compiled
from tests.runtime.support import Clock
from wfc.checker import has_errors
from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.values import Limits
from wfc_runtime.registry import Registry
from wfc_runtime.results import problems
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store

Submitted = tuple[Run, str, Any, Reply]


class World(Comparing):
    def __init__(
        self, folder: Path, modules: dict[str, str], workflows: dict[str, Tree], parallel_children: int
    ) -> None:
        super().__init__()
        self.folder = folder
        self.state = folder / "state.db"
        (folder / "generated").mkdir()
        for name, text in modules.items():
            (folder / "generated" / name).write_bytes(text.encode())
        self.clock = Clock()
        self.limits = Limits(parallel_children=parallel_children)
        self._services = [self.open(), self.open()]
        self._turn = 0
        self._is_caught_up = True
        """Whether the clock has stood still since everybody looked."""
        self.is_over = False
        """Whether the model can't tell any more what must happen."""
        self.family = Family(workflows, self.clock.now, self.told_by, parallel_children)
        self.ids: dict[Run, str] = {}
        self.answered: list[Submitted] = []
        self.calls = 0

    def start(self, tree: Tree) -> None:
        given = {name: _given(name, decl) for name, decl in tree["inputs"].items() if decl.get("required")}
        said = {name: _said(tree["inputs"][name], value) for name, value in given.items()}
        reply = self.service.start(tree["name"], said)
        self.root = Run(self.family, tree, tree, with_defaults(tree["inputs"], given))
        self.ids[self.root] = reply["workflow_id"]
        with self._told():
            self.root.start()
            self.family.settle()
        self.compare()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """The model hears of something."""
        try:
            yield
        except UnclearError:
            self.is_over = True

    def figures(self) -> dict[str, int]:
        """What has been looked at, to be added up."""
        ended = "unclear" if self.is_over else self.root.status if hasattr(self, "root") else "refused"
        found = {"workflows": 1, "calls": self.calls, "runs": len(self.family.runs), ended: 1}
        return {**found, "retries": sum(run.retries for run in self.family.runs)}

    # -- servers -------------------------------------------------------------------

    def open(self) -> SqliteService:
        store = Store(self.state)
        return SqliteService(store, Registry(self.folder / "generated"), self.limits, self.clock)

    @property
    def service(self) -> SqliteService:
        """One of two servers on the same file."""
        self.calls += 1
        return self._services[self._turn]

    def change_server(self) -> None:
        self._turn = 1 - self._turn

    def restart(self) -> None:
        self._services[self._turn].close()
        self._services[self._turn] = self.open()

    def close(self) -> None:
        for service in self._services:
            service.close()

    # -- calls ---------------------------------------------------------------------

    def pass_(self, seconds: float) -> None:
        self.clock.pass_(seconds)
        self.family.now = self.clock.now
        self._is_caught_up = False

    def questions(self) -> list[tuple[Run, Wait]]:
        """What somebody could answer, as far as the model knows."""
        runs = [run for run in self.family.runs if run in self.ids and run.status == "running"]
        return [(run, wait) for run in runs for wait in run.pending.values() if not self.is_over]

    def schema_of(self, run: Run, wait: Wait) -> Any:
        """Read without a call, which would move what is due."""
        _, machine, snapshot = self.service.definition(self.ids[run])
        pending = snapshot.pending[wait.visit]
        return machine.steps[pending.state].action(pending).result_schema

    def submit(self, run: Run, wait: Wait, result: Any, fits: bool) -> None:
        visit, before = wait.visit, self.stored()
        is_over_wait = wait.ends_by_itself and wait.due is not None and wait.due <= self.clock.now
        refusal: RefusedError | None = None
        reply: Reply = {}
        try:
            reply = self.service.submit(self.ids[run], visit, result)
        except RefusedError as error:
            refusal = error
        self.find_children()
        if not is_over_wait:
            self._catch_up_model()
        taken = is_pending = run.status == "running" and run.pending.get(visit) is wait
        if is_pending:
            misfits = wait.misfits
            with self._told():
                taken = run.submit(visit, result, fits)
            if wait.misfits == misfits and not taken and self._is_caught_up:
                assert self.stored() == before, "a refusal has changed something"
        elif wait.ends_by_itself:
            # A wait that time has ended: late is not wrong.
            taken = True
        assert (refusal is None) == taken or self.is_over, (visit, result, refusal, taken)
        self.compare()
        if taken and is_pending and not wait.ends_by_itself:
            self.answered.append((run, visit, result, reply))

    def submit_again(self, submitted: Submitted) -> None:
        """The same answer again gets the reply of now, and changes nothing."""
        run, visit, result, _ = submitted
        before = self.stored()
        again = self.service.submit(self.ids[run], visit, result)
        assert again.pop("repeated") is True
        now = self.service.next_step(self.ids[run])
        assert again == now, (again, now)
        assert self.stored() == before

    def submit_stale(self, submitted: Submitted, result: Any) -> None:
        """Another answer to what has been answered, or an answer to what never was."""
        run, visit, was, _ = submitted
        self.look()
        before = self.stored()
        for step_id, given in ((visit, [result, was]), (f"{visit.split('@')[0]}@99", was), ("nothing", was)):
            with pytest.raises(RefusedError) as refused:
                self.service.submit(self.ids[run], step_id, given)
            assert refused.value.code in ("answered", "not_pending", "finished")
        assert self.stored() == before

    def cancel(self, run: Run) -> None:
        before = self.stored()
        try:
            self.service.cancel(self.ids[run], "enough")
        except RefusedError:
            assert run.status in ("completed", "failed")
            assert self.stored() == before
        self.find_children()
        with self._told():
            run.cancel()
            self.family.settle()
        self.compare()

    def can_retry(self) -> bool:
        return not self.is_over and (self.root.status != "failed" or self.root.can_be_retried())

    def retry(self, is_named: bool) -> None:
        """Only a run that failed is retried; the same visit again changes nothing."""
        name, before = self.ids[self.root], self.stored()
        visit = self.service.status(name)["error"]["step_id"] if self.root.status == "failed" else ""
        refusal: RefusedError | None = None
        reply: Reply = {}
        try:
            reply = self.service.retry(name, visit if is_named else "")
        except RefusedError as error:
            refusal = error
        if refusal is not None or reply.get("repeated"):
            assert self.stored() == before, "a retry that did nothing has changed something"
            forgets = any(run.has_secrets for run in self.family.runs)
            assert refusal is None or refusal.code == ("secrets" if visit else "not_failed"), refusal
            assert forgets if visit else (refusal is None) == bool(self.root.retries), (visit, refusal)
            return
        assert visit, "a run was retried that had not failed"
        self.find_children()
        with self._told():
            self.root.retry()
            self.family.settle()
        self._is_caught_up = False
        self.compare()
        before = self.stored()
        assert self.service.retry(name, visit)["repeated"] is True
        assert self.stored() == before

    def look(self) -> None:
        """A server's ticker comes by: what is due happens."""
        self.service.tick()
        self.find_children()
        self._catch_up_model()
        self.compare()

    def compare(self) -> None:
        if not self._is_caught_up:
            self._is_caught_up = True
            self.service.tick()
            self._catch_up_model()
        self.follow()
        if not self.is_over:
            self.compare_all()

    def follow(self) -> None:
        """Tell the model what else has happened: nothing, where nobody but the agent does anything."""

    def _catch_up_model(self) -> None:
        """The longest due first."""
        now = self.clock.now
        due = sorted(
            (moment, number)
            for number, run in enumerate(self.family.runs)
            if (moment := run.due()) is not None and moment <= now
        )
        with self._told():
            for _, number in due:
                self.family.runs[number].clock()


def _given(name: str, decl: Tree) -> Any:
    """A value for an input. That of a secret can be looked for, if it may be any text."""
    is_free = set(decl) <= {"type", "required", "description", "secret"}
    return with_tokens(sample(decl), len(name)) if decl.get("secret") and is_free else sample(decl)


def _said(decl: Tree, value: Any) -> Any:
    """The same as text, where that is taken for what it says."""
    return json.dumps(value) if decl.get("convert") and not isinstance(value, str) else value


def make_world(
    folder: Path, tree: Tree, parallel_children: int = 100, kind: type[World] = World
) -> World | None:
    """A workflow, ready to start; None where the compiler finds an error in it."""
    result = compiled(to_yaml(tree), HELPER)
    if has_errors(result.findings):
        return None
    modules = {name: text for module in result.modules for name, text in module.files.items()}
    return kind(folder, modules, {"helper": yaml.safe_load(HELPER), tree["name"]: tree}, parallel_children)


def result_for(world: World, run: Run, wait: Wait, random: Random) -> tuple[Any, bool]:
    """An answer, and whether it fits."""
    if wait.items is not None or wait.ends_by_itself:
        return {}, True
    schema = world.schema_of(run, wait)
    slip = random.random()
    if slip < 0.08:
        return {"error": random.choice(["could not", {"why": 1}, {"code": "mine", "message": "no"}])}, True
    if slip < 0.12:
        return {"timed_out": True}, True
    if slip < 0.22 and schema:
        return random.choice(["nonsense", {"nonsense": True}, None, 7]), False
    found = answer(schema, random)
    if wait.is_secret:
        marked = with_tokens(found, random.randrange(10**6))
        found = found if problems(marked, schema) else marked
    return found, True
