"""A plain interpreter of the steps language, written from its documents: what a run does, by the simplest means.

It walks the steps as they stand in the YAML, with a Python generator for each flow of control, and knows nothing of
statecharts, modules, stores or snapshots. Only expressions are evaluated by the same code.
"""

from __future__ import annotations

import copy
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any

from tests.model.changing import Changed, Made
from tests.model.failing import Failing
from tests.model.flow import (
    CANCELLED,
    DEPTH,
    FailError,
    Flow,
    Fork,
    ReturnedError,
    Step,
    Stop,
    Thread,
    Tree,
    UnclearError,
    Wait,
    WayError,
)
from tests.model.reading import all_steps, steps_in, with_defaults
from tests.model.secrets import holds_secret, secret_fields, secrets_in, texts_in
from wfc_runtime.expr import evaluate_condition


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
class Run(Failing):
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
    current: Thread = field(init=False)
    stopped: tuple[Thread, Stop] | None = None
    """Where it failed."""
    left: dict[str, Wait] = field(default_factory=dict)
    """What was pending then."""
    failed_children: dict[str, Wait] = field(default_factory=dict)
    """The children of steps that are retried."""
    retries: int = 0
    shared: dict[str, Any] = field(default_factory=dict)
    """Fields of its parent that it works on, as they were when it began."""
    shared_changes: list[Made] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state: dict[str, Any] = {}
        self.said: list[str] = []
        self.language = str(self.workflow.get("expressions", "jinja"))
        self.depth: int = self.parent.depth + 1 if self.parent else 1
        self.secret_fields = (
            set() if self.brief else secret_fields(self.scope, list(all_steps(steps_in(self.scope))))
        )
        self.hidden: set[str] = set()
        """Fields that hold a secret. What they hold in the beginning stands in the file for everybody to see."""
        known = self.parent.secrets if self.parent else set()
        self.secrets: set[str] = {*known, *secrets_in(self.scope["inputs"], self.inputs)}
        self.family.runs.append(self)
        self._set_limit()
        try:
            self.fill_state()
        except FailError as failure:
            self.unborn = {"code": failure.code, "message": failure.message, "step_id": ""}

    def _set_limit(self) -> None:
        if "deadline" in self.scope:
            self.limit = self.family.now + self.scope["deadline"]

    def fill_state(self) -> None:
        """The state that a run begins with."""
        if self.brief:
            return
        self.state |= copy.deepcopy({**self.scope.get("initial_state", {}), **self.shared})
        for name, text in self.scope.get("start_values", {}).items():
            self.state[name] = self._value({}, text)
        self._derive()

    def _derive(self) -> None:
        """Derived fields, computed again and again until none changes any more."""
        derived = {} if self.brief else self.scope.get("derived", {})
        for _ in derived:
            for name, one in derived.items():
                self.state[name] = self._derived(name, one)

    def _derived(self, name: str, one: Tree) -> Any:
        step = {"needs_state": list(self.state)}
        try:
            names = {"input": self._value(step, one["from"])} if "from" in one else {}
            value = self._value(step, one["value"], names)
            check = {**step, "check": one.get("check")}
            names["output"] = value
            if one.get("check") is None or self._evaluated(evaluate_condition, check, one["check"], names):
                return value
        except FailError:
            if one.get("on_error") == "propagate":
                raise
        return self.state.get(name) if one.get("on_error") == "ignore" else one.get("fallback")

    @property
    def has_secrets(self) -> bool:
        """Whether it forgets something when it ends."""
        return bool(self.secrets or self.hidden) or any(map(holds_secret, self.scope["inputs"].values()))

    def write(self, values: dict[str, Any]) -> None:
        before = dict(self.state)
        self.state |= values
        try:
            self._derive()
        except FailError:
            self.state = before
            raise
        made = (
            values.made if isinstance(values, Changed) else [([name], "set", values[name]) for name in values]
        )
        self.shared_changes += [one for one in made if one[0][0] in self.shared]
        for name in self.secret_fields & set(values):
            self.hidden.add(name)
            self.secrets |= set(texts_in(values[name]))

    # -- what happens to it --------------------------------------------------------

    def start(self) -> None:
        if self.unborn:
            self._end("failed", error=(self.unborn["code"], self.unborn["step_id"]))
            return
        self.begin(self.one_brief() if self.brief else self.steps_of(self.scope["steps"]))

    def begin(self, flow: Flow) -> None:
        self.main = Thread(flow)
        self._resume(self.main)

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
            failure = FailError("exit_code", visit)
            failure.ran = {"stderr": "", **result}
            self._answer(wait, error=failure)
        else:
            self._answer(wait, {"stderr": "", **result} if wait.type == "shell" else result)
        self.family.settle()
        return True

    def clock(self) -> None:
        """Time has passed: waits end, deadlines are missed, the longest due first."""
        due = [(one.due, visit) for visit, one in self.pending.items() if one.due is not None]
        for moment, visit in sorted(due):
            if moment <= min(self.family.now, self.limit) and visit in self.pending:
                self._over(self.pending[visit])
        if self.status == "running" and self.limit <= self.family.now:
            self.limit = inf
            self.fail(Stop("deadline", next(iter(self.pending), ""), is_unclear=True), self.main)
        self.family.settle()

    def due(self) -> float | None:
        moments = [one.due for one in self.pending.values() if one.due is not None]
        return min([*moments, self.limit] if self.limit < inf else moments, default=None)

    def cancel(self) -> None:
        if self.status == "running":
            self._end("cancelled")

    def can_be_retried(self) -> bool:
        """Whether what a retry does is known here: no children were stopped, and nothing else failed."""
        return (
            self.status == "failed"
            and self.stopped is not None
            and not self.stopped[1].is_unclear
            and _can_continue(self.stopped[1].children, self.family.parallel_children)
            and not any(wait.children for wait in self.left.values())
            and not (self.deferred or self.rivals or self.before_branches is not None)
        )

    def retry(self) -> None:
        """Do again what failed, beside all that was pending then."""
        assert self.stopped is not None
        thread, stop = self.stopped
        self.status, self.error, self.stopped = "running", None, None
        self.retries += 1
        self._set_limit()
        self.pending, self.left = self.left, {}
        for wait in self.pending.values():
            if wait.deadline is not None:
                wait.due = self.family.now + wait.deadline
        if stop.children is not None:
            self.failed_children[stop.step_id] = stop.children
        self._resume(thread)

    def continue_children(self, old: Wait, new: Wait) -> None:
        """The children that failed go on under a new visit. The results of the others count."""
        new.children = old.children
        new.results = {index: one for index, one in old.results.items() if "error" not in one}
        for index, child in enumerate(old.children):
            if child is not None and index not in new.results:
                child.wait = new
                self.family.todo.append(child.retry)

    def _over(self, wait: Wait) -> None:
        if wait.until_answer:
            self._answer(wait, None)
        elif not wait.ends_by_itself:
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
        thread.is_begun = True
        self.current = thread
        try:
            found = thread.flow.throw(error) if error else thread.flow.send(value)
        except StopIteration:
            self._finish(thread)
        except ReturnedError as returned:
            self._end("completed", result=returned.value)
        except WayError as way:
            self._leave(thread, way)
        else:
            if isinstance(found, Fork):
                self._fork(thread, found)
            elif isinstance(found, Stop):
                self._stop(thread, found)
            else:
                found.thread = thread
                self.pending[found.visit] = found
                if found.items is not None:
                    self._start_more(found)

    def _stop(self, thread: Thread, stop: Stop) -> None:
        """A flow fails: the branch that it is in, if the others go on; or else the run."""
        branch: Thread | None = thread
        while branch is not None and (branch.parent is None or branch.parent.join == "fail_fast"):
            branch = branch.parent
        if branch is None or branch.parent is None:
            self.fail(stop, thread)
            return
        self._abandon(branch)
        branch.is_done = branch.has_failed = True
        branch.stopped = thread, stop
        self._join(branch.parent)

    def _join(self, thread: Thread) -> None:
        """A branch has ended, and with it perhaps the step that has it."""
        ended = [one for one in thread.branches if one.is_done]
        failed = [one for one in ended if one.has_failed]
        if thread.join == "any" and len(failed) < len(ended):
            self._abandon(thread)
            thread.branches = []
            self._resume(thread)
        elif len(ended) == len(thread.branches):
            failure = FailError("branch_failed") if failed else None
            if failure is not None:
                failure.branches = failed
            self._resume(thread, error=failure)

    def _leave(self, branch: Thread, way: WayError) -> None:
        assert branch.parent is not None, f"{way} leads nowhere"
        self._abandon(branch.parent)
        branch.parent.branches = []
        self._resume(branch.parent, error=way)

    def _fork(self, thread: Thread, fork: Fork) -> None:
        before = dict(self.state)
        thread.branches = branches = fork.again or [
            Thread(flow, thread, name=name, after=fork.after.get(name, []))
            for name, flow in fork.branches.items()
        ]
        thread.join = fork.join
        for branch in fork.again:
            branch.is_done = branch.has_failed = False
        for branch in branches:
            if branch.after:
                continue
            if self.status == "running" and thread.branches is branches:
                self._begin(branch)
            elif self.status == "failed":
                self._rival(branch)
            has_gone_on = self.status == "completed" or thread.branches is not branches
            if has_gone_on and len(branches) > 1 and not all(one.is_done for one in branches):
                raise UnclearError
        if self.status == "failed":
            self.before_branches = before

    def _begin(self, branch: Thread) -> None:
        if branch.stopped is None:
            self._resume(branch)
            return
        thread, stop = branch.stopped
        branch.stopped = None
        if stop.children is not None:
            self.failed_children[stop.step_id] = stop.children
        self._resume(thread)

    def goes_on(self, branch: Thread) -> bool:
        """Whether it is known what becomes of a failed branch when the step around it is retried."""
        assert branch.stopped is not None
        thread, stop = branch.stopped
        return (
            thread is branch
            and not branch.loops
            and not stop.is_unclear
            and _can_continue(stop.children, self.family.parallel_children)
        )

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
            self.finish()
            return
        branches = thread.parent.branches
        done = {one.name for one in branches if one.is_done}
        ready = [one for one in branches if not one.is_begun and one.after and done.issuperset(one.after)]
        for one in ready:
            if self.status == "running" and not one.is_begun:
                self._resume(one)
        if not ready:
            self._join(thread.parent)

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
        if self.gives_state and "internal" in self.scope:
            result = {name: value for name, value in self.state.items() if name not in self.scope["internal"]}
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
        if self.status == "failed" and wait.restarted[self.index] < wait.restarts:
            wait.restarted[self.index] += 1
            del wait.results[self.index]
            wait.children[self.index] = None
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
        room = min(room, wait.at_once - wait.at_work()) if wait.at_once else room
        assert wait.items is not None
        assert wait.begin is not None
        for index in wait.queued():
            if room <= 0 or wait.is_decided():
                break
            made = wait.begin(wait, index)
            if isinstance(made, dict):
                wait.results[index] = {"error": made}
                continue
            wait.children[index] = made
            self.family.todo.append(made.start_if_wanted)
            room -= 1
        if wait.is_decided():
            self.family.todo += [child.cancel for child in wait.children if child is not None]
            self._answer(wait, [wait.results.get(index, CANCELLED) for index in range(len(wait.items))])

    def start_if_wanted(self) -> None:
        if self.is_wanted():
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
        shared = {name: self.state[name] for name in step.get("shares", ()) if name in self.state}
        made = Run(self.family, workflow, scope, whole, names, self, wait, index, agent, shared=shared)
        made.asked = tuple(step.get("facts", ()))
        deepest = step.get("max_depth", DEPTH)
        if self.depth >= deepest:
            why = f"runs would be nested {self.depth + 1} levels deep, including the outermost; the limit is {deepest}"
            made.unborn = {"code": "depth", "message": why, "step_id": wait.visit}
        return made


def _can_continue(wait: Wait | None, at_once: int) -> bool:
    """Whether it is known what becomes of children when their step is retried: each has begun, and there is room for
    all of them."""
    if wait is None:
        return True
    failed = [child for index, child in enumerate(wait.children) if "error" in wait.results[index]]
    return (
        not wait.sequential
        and wait.at_once is None
        and len(failed) <= at_once
        and all(child is not None and child.can_be_retried() for child in failed)
    )


def _filled(declared: Tree, item: Any) -> dict[str, Any]:
    """An item as inputs: the only one gets it, an object fills several by name."""
    if len(declared) > 1:
        return {name: value for name, value in item.items() if name in declared}
    return {next(iter(declared)): item}


def _code_of(error: Any) -> str:
    """Whoever has its own code for what went wrong says so."""
    has_code = isinstance(error, dict) and {"code", "message"} <= set(error) <= {"code", "message", "hint"}
    return str(error["code"]) if has_code else "agent_error"
