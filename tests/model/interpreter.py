"""A plain interpreter of the steps language, written from its documents: what a run does, by the simplest means.

It walks the steps as they stand in the YAML, with a Python generator for each flow of control, and knows nothing of
statecharts, modules, stores or snapshots. Only expressions are evaluated by the same code.
"""

from __future__ import annotations

import copy
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.model.flow import (
    DEPTH,
    DeadError,
    FailError,
    Fork,
    ReturnedError,
    Step,
    Thread,
    Tree,
    UnclearError,
    Wait,
    WayError,
)
from tests.model.reading import all_steps, with_defaults
from tests.model.secrets import secret_fields, secrets_in, texts_in
from tests.model.steps import Steps


@dataclass(eq=False)
class Family:
    """A run and its children, and the time."""

    workflows: dict[str, Tree]
    now: float
    record: Callable[[Run], Any]
    """The error of a child that has failed, as the one that is looked at words it; or the state that a child has ended
    with, without the secrets that it has forgotten."""
    parallel_children: int = 100
    ids: int = 0
    """How many expressions have been evaluated: what uuid() is made from."""
    todo: deque[Callable[[], None]] = field(default_factory=deque)
    runs: list[Run] = field(default_factory=list)

    def settle(self) -> None:
        while self.todo:
            self.todo.popleft()()


@dataclass(eq=False)
class Run(Steps):
    family: Family
    workflow: Tree
    scope: Tree
    """The workflow or the task: inputs, initial_state, steps."""
    inputs: dict[str, Any]
    names: dict[str, Any] = field(default_factory=dict)
    parent: Run | None = None
    wait: Wait | None = None
    index: int = 0
    brief: str | None = None
    """The named agent that has the whole task as one brief."""
    asked: tuple[str, ...] = ()
    """What its caller wants to know of it beside its result."""
    unborn: Tree | None = None
    """Why it never begins."""
    status: str = "running"
    result: Any = None
    gives_state: bool = False
    """Whether it has ended without a return: its result is its state."""
    error: tuple[str, str] | None = None
    """Code and step."""
    rivals: list[tuple[str, str]] = field(default_factory=list)
    before_branches: dict[str, Any] | None = None
    """The state before the branches of which one failed while they all began: how far the others came by then is no
    promise."""
    """Errors of branches that failed at the same moment: either may count."""
    pending: dict[str, Wait] = field(default_factory=dict)
    visits: Counter[str] = field(default_factory=Counter)
    jumps: Counter[str] = field(default_factory=Counter)
    deferred: tuple[str, str] | None = None
    """Why it fails at its end."""

    def __post_init__(self) -> None:
        initial = {} if self.brief else self.scope.get("initial_state", {})
        self.state: dict[str, Any] = copy.deepcopy(initial)
        self.depth: int = self.parent.depth + 1 if self.parent else 1
        self.secret_fields = (
            set() if self.brief else secret_fields(self.scope, list(all_steps(self.scope["steps"])))
        )
        self.hidden: set[str] = set()
        """Fields that hold a secret. What they hold in the beginning stands in the file for everybody to see."""
        known = self.parent.secrets if self.parent else set()
        self.secrets: set[str] = {*known, *secrets_in(self.scope["inputs"], self.inputs)}
        self.family.runs.append(self)

    def write(self, values: dict[str, Any]) -> None:
        self.state |= values
        for name in self.secret_fields & set(values):
            self.hidden.add(name)
            self.secrets |= set(texts_in(values[name]))

    # -- what happens to it --------------------------------------------------------

    def start(self) -> None:
        self._resume(Thread(self.one_brief() if self.brief else self.steps_of(self.scope["steps"])))

    def submit(self, visit: str, result: Any, fits: bool) -> bool:
        """An answer to a pending visit. False: it is refused, and the visit stays pending."""
        wait = self.pending[visit]
        if wait.ends_by_itself:
            if wait.due is not None and wait.due > self.family.now:
                return False
            self._over(wait)
        elif wait.items is not None:
            return False
        elif isinstance(result, dict) and set(result) == {"error"} and result["error"]:
            self._answer(wait, error=FailError(_code_of(result["error"]), visit))
        elif isinstance(result, dict) and result.get("timed_out") is True:
            self._answer(wait, error=FailError("timeout", visit))
        elif not fits:
            wait.misfits += 1
            if wait.misfits < wait.misfits_allowed:
                return False
            self._answer(wait, error=FailError("result_misfit", visit, final=True))
        elif wait.fails_on_exit and result["exit_code"] != 0:
            self._answer(wait, error=FailError("exit_code", visit))
        else:
            self._answer(wait, {"stderr": "", **result} if wait.type == "shell" else result)
        self.family.settle()
        return True

    def clock(self) -> None:
        """Time has passed: waits end, deadlines are missed, the longest due first."""
        due = [(one.due, visit) for visit, one in self.pending.items() if one.due is not None]
        for moment, visit in sorted(due):
            if moment <= self.family.now and visit in self.pending:
                self._over(self.pending[visit])
        self.family.settle()

    def due(self) -> float | None:
        return min((one.due for one in self.pending.values() if one.due is not None), default=None)

    def cancel(self) -> None:
        if self.status == "running":
            self._end("cancelled")

    def _over(self, wait: Wait) -> None:
        if not wait.ends_by_itself:
            self.family.todo += [child.cancel for child in wait.children if child is not None]
            self._answer(wait, error=FailError(wait.overdue_code, wait.visit))
        else:
            seconds = wait.parameters["duration_seconds"]
            self._answer(wait, {"resumed": True, "duration": seconds, "duration_seconds": seconds})

    def _answer(self, wait: Wait, result: Any = None, error: FailError | None = None) -> None:
        del self.pending[wait.visit]
        assert wait.thread is not None
        self._resume(wait.thread, result, error)

    # -- flows of control ----------------------------------------------------------

    def _resume(self, thread: Thread, value: Any = None, error: Exception | None = None) -> None:
        try:
            found = thread.flow.throw(error) if error else thread.flow.send(value)
        except StopIteration:
            self._finish(thread)
        except ReturnedError as returned:
            self._end("completed", result=returned.value)
        except DeadError as dead:
            self._end("failed", error=(dead.code, dead.visit))
        except WayError as way:
            self._leave(thread, way)
        else:
            if isinstance(found, Fork):
                self._fork(thread, found)
            else:
                found.thread = thread
                self.pending[found.visit] = found
                if found.items is not None:
                    self._start_more(found)

    def _leave(self, branch: Thread, way: WayError) -> None:
        assert branch.parent is not None, f"{way} leads nowhere"
        self._abandon(branch.parent)
        branch.parent.branches = []
        self._resume(branch.parent, error=way)

    def _fork(self, thread: Thread, fork: Fork) -> None:
        before = dict(self.state)
        thread.branches = branches = [Thread(flow, thread) for flow in fork.branches]
        for branch in branches:
            if self.status == "running" and thread.branches is branches:
                self._resume(branch)
            elif self.status == "failed":
                self._rival(branch)
            if len(branches) > 1 and (self.status == "completed" or thread.branches is not branches):
                raise UnclearError
        if self.status == "failed":
            self.before_branches = before

    def _rival(self, branch: Thread) -> None:
        """Another branch has failed already, but this one began at the same moment."""
        first, self.status = self.error, "running"
        self._resume(branch)
        if self.status == "failed" and self.error is not None:
            self.rivals.append(self.error)
        self.pending.clear()
        self.status, self.error = "failed", first

    def _finish(self, thread: Thread) -> None:
        thread.is_done = True
        if thread.parent is None:
            self._end("completed", result=self.state)
        elif all(branch.is_done for branch in thread.parent.branches):
            self._resume(thread.parent)

    def _abandon(self, thread: Thread) -> None:
        """Nobody wants what the branches of a flow still do."""
        for branch in thread.branches:
            self._abandon(branch)
            for wait in [one for one in self.pending.values() if one.thread is branch]:
                self._drop(wait)

    def _drop(self, wait: Wait) -> None:
        del self.pending[wait.visit]
        for child in wait.children:
            if child is not None:
                self.family.todo.append(child.cancel)

    def _end(self, status: str, result: Any = None, error: tuple[str, str] | None = None) -> None:
        if self.deferred and status != "cancelled":
            status, result, error = "failed", None, self.deferred
        self.gives_state = status == "completed" and result is self.state
        if self.asked and isinstance(result, dict):
            facts = self.scope.get("facts", {})
            result = {**{name: facts[name] for name in self.asked if name in facts}, **result}
        self.status, self.result, self.error = status, result, error
        for wait in list(self.pending.values()):
            self._drop(wait)
        if self.parent is not None:
            self.family.todo.append(self._tell_parent)

    # -- children ------------------------------------------------------------------

    def _tell_parent(self) -> None:
        parent, wait = self.parent, self.wait
        assert parent is not None
        assert wait is not None
        if parent.pending.get(wait.visit) is not wait:
            return
        parent.secrets |= self.secrets
        wait.results[self.index] = self._told()
        parent._start_more(wait)
        for other in list(parent.pending.values()):
            if other.items is not None and other.queued() and other is not wait:
                parent._start_more(other)

    def _told(self) -> dict[str, Any]:
        if self.status != "completed":
            return {"error": self.unborn or self.family.record(self)}
        forgets = self.gives_state and (self.secrets or self.secret_fields)
        return {"value": self.family.record(self) if forgets else self.result}

    def _start_more(self, wait: Wait) -> None:
        room = self.family.parallel_children - sum(one.at_work() for one in self.pending.values())
        room = min(room, 1 - wait.at_work()) if wait.sequential else room
        assert wait.items is not None
        assert wait.begin is not None
        for index in wait.queued():
            if room <= 0:
                break
            made = wait.begin(wait, index)
            if isinstance(made, dict):
                wait.results[index] = {"error": made}
                continue
            wait.children[index] = made
            self.family.todo.append(made.start_if_wanted)
            room -= 1
        if len(wait.results) == len(wait.items):
            self._answer(wait, [wait.results[index] for index in range(len(wait.items))])

    def start_if_wanted(self) -> None:
        if self.is_wanted() and self.unborn:
            self._end("failed", error=(self.unborn["code"], self.unborn["step_id"]))
        elif self.is_wanted():
            self.start()

    def is_wanted(self) -> bool:
        return (
            self.status == "running" and self.parent is not None and self.wait in self.parent.pending.values()
        )

    def child(self, step: Step, wait: Wait, index: int, names: dict[str, Any], inputs: Any) -> Run:
        workflow = self.family.workflows[step["workflow"]] if "workflow" in step else self.workflow
        scope = self.workflow["tasks"][step["task"]] if "task" in step else workflow
        given = inputs if inputs is not None else _filled(scope["inputs"], names["item"])
        if step.get("only_declared"):
            given = {name: value for name, value in given.items() if name in scope["inputs"]}
        agent = step.get("agent") if step.get("agent") != "@task" and step["type"] == "foreach" else None
        whole = with_defaults(scope["inputs"], given)
        made = Run(self.family, workflow, scope, whole, names, self, wait, index, agent)
        made.asked = tuple(step.get("facts", ()))
        deepest = step.get("max_depth", DEPTH)
        if self.depth >= deepest:
            why = f"runs would be nested {self.depth + 1} levels deep, including the outermost; the limit is {deepest}"
            made.unborn = {"code": "depth", "message": why, "step_id": wait.visit}
        return made


def _filled(declared: Tree, item: Any) -> dict[str, Any]:
    """An item as inputs: the only one gets it, an object fills several by name."""
    if len(declared) > 1:
        return {name: value for name, value in item.items() if name in declared}
    return {next(iter(declared)): item}


def _code_of(error: Any) -> str:
    """Whoever has a code of its own for what went wrong says so."""
    has_code = isinstance(error, dict) and {"code", "message"} <= set(error) <= {"code", "message", "hint"}
    return str(error["code"]) if has_code else "agent_error"
