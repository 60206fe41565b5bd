"""Whether the real thing is where the model is."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from math import ceil
from pathlib import Path
from typing import Any

from tests.model.flow import Wait
from tests.model.interpreter import Family, Run
from tests.model.likeness import HIDDEN, Likeness
from tests.model.reading import moment
from tests.model.secrets import TOKEN
from tests.runtime.support import Clock
from wfc_runtime.service.sqlite import SqliteService

Reply = dict[str, Any]
NEEDED = {
    "shell": ["stdout", "exit_code"],
    "info": ["acknowledged"],
    "confirm": ["confirmed"],
    "text": ["input"],
    "choice": ["selected"],
    "delegate": ["response"],
    "create_file": ["path", "size_bytes", "created"],
    "read_file": ["content", "path", "size_bytes", "found"],
    "render_template": ["content"],
    "create_worktree": ["worktree_path", "branch", "created"],
    "read_json_state": ["data", "path", "found"],
    "write_json_state": ["path", "size_bytes"],
    "merge_json_state": ["path", "created", "merged_data"],
}
"""What an answer must have, by kind."""
TOLD = ("code", "message", "step_id", "hint")
"""What a parent gets of the error of a child."""


class Comparing:
    """Everything that can be seen of a run, held against the model of it."""

    clock: Clock
    state: Path
    family: Family
    ids: dict[Run, str]

    def __init__(self) -> None:
        self.likeness = Likeness()

    @property
    def service(self) -> SqliteService:
        raise NotImplementedError

    def compare_all(self) -> None:
        self.find_children()
        begun = [run for run in self.family.runs if self._has_begun(run)]
        assert len(begun) == len(self._children) + 1, "children"
        for run in begun:
            self._compare(run)
        self._look_for_secrets(begun)

    # -- what there is -------------------------------------------------------------

    def stored(self) -> list[Any]:
        """All bytes that matter."""
        tables = ("runs", "fields", "history")
        return [self._rows(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables]

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        with closing(sqlite3.connect(self.state)) as connection:
            return connection.execute(sql, values).fetchall()

    def find_children(self) -> None:
        sql = "SELECT c.id, p.id, c.visit, c.position FROM runs c JOIN runs p ON c.parent = p.key"
        self._children = {
            (parent, visit, position): child for child, parent, visit, position in self._rows(sql)
        }

    def _id_of(self, run: Run) -> str:
        if run not in self.ids:
            assert run.parent is not None
            assert run.wait is not None
            self.ids[run] = self._children[self._id_of(run.parent), run.wait.visit, run.index]
        return self.ids[run]

    def told_by(self, run: Run) -> Any:
        """A failed child's error in the words of the real one, or its state as that one hides what is in it. Whether it
        is the right one is compared."""
        self.find_children()
        snapshot = self.service.definition(self._id_of(run))[2]
        if run.status == "completed":
            return snapshot.result
        # A parent does not get the values that an expression of its child failed with.
        return snapshot.error and {name: one for name, one in snapshot.error.items() if name in TOLD}

    # -- comparing -----------------------------------------------------------------

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
            self._compare_state(run, snapshot.state)
        if run.status == "completed":
            self._same(run, run.gives_state)("result", reply["result"], run.result)
        elif run.status == "failed":
            code, visit = reply["error"]["code"], reply["error"]["step_id"].partition("@")[0]
            expected = [run.error, *run.rivals]
            assert (code, visit) in [(one[0], one[1].partition("@")[0]) for one in expected if one], expected
        elif run.status == "running":
            actions = reply.get("actions") or [reply["action"]]
            found = {action["step_id"]: action for action in actions}
            self.likeness.same("pending", sorted(found), sorted(run.pending))
            for visit, wait in run.pending.items():
                self._compare_action(run, wait, found[visit])

    def _compare_state(self, run: Run, state: dict[str, Any]) -> None:
        self._same(run, run.status != "running")("state", state, self._reached(run, state))
        if run.status != "running":
            shown = {name: state[name] for name in run.hidden if state.get(name, HIDDEN) != HIDDEN}
            assert not shown, shown

    def _reached(self, run: Run, state: dict[str, Any]) -> dict[str, Any]:
        """The model's state, less what branches may not have come to when one of them failed."""
        before = run.before_branches
        if before is None:
            return run.state
        undone = {name for name in run.state if state.get(name) == before.get(name)}
        kept = {name: value for name, value in run.state.items() if name not in undone}
        return {**kept, **{name: before[name] for name in undone if name in before}}

    def _same(self, run: Run, may_be_hidden: bool) -> Callable[[str, Any, Any], None]:
        """A run that has ended has forgotten its secrets."""
        hides = may_be_hidden and (run.secrets or run.secret_fields)
        return self.likeness.same_or_hidden if hides else self.likeness.same

    def _compare_action(self, run: Run, wait: Wait, action: Reply) -> None:
        assert action["type"] == wait.type
        parameters = dict(action["parameters"])
        expected = {name: value for name, value in wait.parameters.items() if value is not None}
        shown = parameters.pop("deadline", None)
        assert (shown is None) or (wait.due is not None)
        if wait.items is not None:
            self._compare_children(wait, parameters)
            self.likeness.same("timeout", parameters.get("timeout"), expected.get("timeout"))
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
            needed = action.get("result_schema", {}).get("required", [])
            usual = NEEDED.get(kind, []) + (["outputs"] if "outputs" in parameters else [])
            assert needed in (usual, ["title", "count", "ok"]), (wait.visit, needed)
            assert action.get("result_schema", {}).get("writeOnly", False) == wait.is_secret
        self.likeness.same("parameters", parameters, expected)

    def _compare_children(self, wait: Wait, parameters: Reply) -> None:
        at_work = [
            index
            for index, child in enumerate(wait.children)
            if child is not None and index not in wait.results
        ]
        self.likeness.same("children", [child["index"] for child in parameters["children"]], at_work)
        if "task" in wait.parameters:
            assert wait.items is not None
            shown = [child["item"] for child in parameters["children"]]
            self.likeness.same("items", shown, [wait.items[index] for index in at_work])
            assert parameters["sequential"] == wait.sequential
            assert parameters.get("queued", 0) == len(wait.queued())
        for index, child in zip(at_work, parameters["children"], strict=True):
            made = wait.children[index]
            assert made is not None
            assert child["workflow_id"] == self._id_of(made)
        name = "task" if "task" in wait.parameters else "workflow"
        assert parameters[name] == wait.parameters[name]

    def _look_for_secrets(self, runs: list[Run]) -> None:
        """The history never has one, nor has what anybody is shown of a run."""
        tokens = sorted({text for run in runs for text in run.secrets if text.startswith(TOKEN)})
        if not tokens:
            return
        kept = str(self._rows("SELECT data, told FROM history"))
        shown = [[self.service.history(name), self.service.state(name)] for name in map(self._id_of, runs)]
        for token in tokens:
            assert token not in kept, f"the history has {token}"
            assert token not in str(shown), f"{token} is shown"
