"""The same world with servers that do some of the work themselves: real commands and real files."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from tests.model.flow import Tree, Wait
from tests.model.likeness import HIDDEN
from tests.model.reading import all_steps
from tests.model.world import Submitted, World
from tests.support import wait_until
from wfc_runtime.execute import Grant, can_execute
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.service.sqlite.serving import ServingService
from wfc_runtime.store import Store

_SERVED = (
    "SELECT history.rowid, runs.id, history.visit, data FROM history JOIN runs ON runs.key = history.run "
    "WHERE history.rowid > ? AND actor = 'server' AND kind = 'submitted' ORDER BY history.rowid"
)


class ServingWorld(World):
    """After each call it waits until the servers have done all that they can; then the model is told what they have
    reported, in the order in which they did."""

    def __init__(
        self, folder: Path, modules: dict[str, str], workflows: dict[str, Tree], parallel_children: int
    ) -> None:
        (folder / "work").mkdir()
        self._grant = Grant(folder / "work", commands=("echo *",))
        self._told_of = 0
        self.served = 0
        super().__init__(folder, modules, workflows, parallel_children)

    def open(self) -> SqliteService:
        registry = Registry(self.folder / "generated")
        return ServingService(Store(self.state), registry, self._grant, self.limits, self.clock)

    def submit_again(self, submitted: Submitted) -> None:
        """Nothing is done twice. What a server has done since is in the reply."""
        run, visit, result, _ = submitted
        before = self.stored()
        assert self.service.submit(self.ids[run], visit, result)["workflow_id"] == self.ids[run]
        assert self.stored() == before

    def figures(self) -> dict[str, int]:
        return {**super().figures(), "served": self.served}

    def follow(self) -> None:
        self._wait_for_servers()
        for number, name, visit, data in self._rows(_SERVED, self._told_of):
            self._told_of = number
            self.find_children()
            for run in self.family.runs:
                self._has_begun(run)
            run = next(run for run, known in self.ids.items() if known == name)
            if self.is_over:
                return
            result = self._whole(run.pending[visit], json.loads(data)["result"])
            if HIDDEN in json.dumps(result):
                # The history keeps no secrets, so there is nothing to tell.
                self.is_over = True
                return
            result = self.likeness.as_in_the_model(result)
            self.served += 1
            with self._told():
                assert run.submit(visit, result, fits=True), f"{visit} was not taken"
        left = [wait.visit for _, wait in self.questions() if self._is_ours(wait)]
        assert not left, f"no server has done {left}"

    def _is_ours(self, wait: Wait) -> bool:
        return wait.is_served and can_execute({"type": wait.type, "parameters": wait.parameters}, self._grant)

    def _wait_for_servers(self) -> None:
        service = self.service
        assert isinstance(service, ServingService)
        row = service.store.queries.run(self.ids[self.root])
        assert row is not None
        root = row.root
        wait_until(
            lambda: not (service.look(root).runnables or service.workers.at_work()),
            "the end of what servers do",
        )

    def _whole(self, wait: Wait, result: Any) -> Any:
        """A result from the history, with the secrets that are hidden in it there."""
        assert wait.is_served, f"{wait.visit} is the agent's"
        if result == HIDDEN or "error" in result:
            return result
        whole: dict[str, Any] = {}
        if wait.type == "shell":
            command = wait.parameters["command"]
            said = " ".join(shlex.split(command)[1:])
            whole = {"stdout": f"{said}\n", "exit_code": 0, "command_executed": command}
        if wait.type == "render_template":
            whole = {"content": wait.parameters["variables"]["made"]}
        for name, expected in whole.items():
            if HIDDEN in str(result[name]):
                self.likeness.same_or_hidden(name, result[name], expected)
                result[name] = expected
            else:
                self.likeness.same(name, result[name], expected)
        return result


def without_pauses(tree: Tree) -> Tree:
    """Before a server tries again it waits in its own time, which nobody can turn."""
    scopes = [tree, *tree.get("tasks", {}).values()]
    for step in (step for scope in scopes for step in all_steps(scope["steps"])):
        step.get("retry", {}).pop("delay_seconds", None)
    return tree
