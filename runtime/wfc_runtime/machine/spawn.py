"""The effect that starts child machines and waits for them: a foreach, or a call of another workflow."""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from wfc_runtime.contract import Json, is_named
from wfc_runtime.errors import RefusedError, StepError
from wfc_runtime.folders import CALL_FOLDER
from wfc_runtime.machine.change import Resolved
from wfc_runtime.machine.effects import Action, Effect, moment, seconds_of
from wfc_runtime.machine.events import Child, Reopen
from wfc_runtime.machine.failing import collected
from wfc_runtime.machine.snapshot import Pending
from wfc_runtime.machine.values import size_of
from wfc_runtime.results import describe

if TYPE_CHECKING:
    from wfc_runtime.machine.run import Run


SHARED, TIME_LIMIT = "shared fields", "time limit"
"""Names in a child's scope that no expression can have: the values of the fields that it works on, and its limit."""
FACTS = "facts"
"""The name in a child's scope under which its caller lists the facts that it asks for."""


@dataclass(frozen=True, kw_only=True)
class Spawn(Effect):
    """Suspend until child machines have ended: one per item, or a single one if there are no items."""

    done = "joined"

    task: str | None = None
    workflow: str | None = None
    """The name of the called workflow, or an expression for it if `among` lists the possible names."""
    among: Sequence[str] = ()
    """The names that a computed name may be; `*` in them stands for any characters."""
    items: Json = None
    inputs: Mapping[str, Json] | None = None
    """Expressions for the child's inputs. None: the item itself supplies them."""
    agent: str | None = None
    sequential: bool = False
    max_parallel: int | None = None
    """The maximum number of children at the same time."""
    max_items: int | None = None
    join: Literal["all", "fail_fast", "any"] = "all"
    """When the visit ends: with all children, with the first that fails, or with the first that succeeds."""
    timeout: Json = None
    """The timeout of a call in seconds: a number or an expression."""
    deadline: float | str | None = None
    """Seconds after which the step fails if its children have not ended."""
    max_depth: int | None = None
    """The maximum nesting depth of runs, for a workflow that calls itself."""
    only_declared: bool = False
    """Whether a called workflow gets only inputs that it declares."""
    model: str | None = None
    """The model of the agents that do the children's actions, as the project names it."""
    tools: Sequence[str] | None = None
    """The tools that those agents get. None: as many as the operator allows."""
    session: str | None = None
    """The conversation that the children's agents continue."""
    isolation: str | None = None
    """`worktree`: each child's agents work in its own git worktree."""
    budget: Mapping[str, float] | None = None
    """The budget of all children of one visit: usd, tokens, steps, seconds."""
    shares: Sequence[str] = ()
    """Fields that the children work on: each sees the values from its start and its own changes, and all changes are
    made in the order of the items when the children have ended."""
    child_retries: int = 0
    """How often a child that failed is started again."""
    child_errors: Sequence[Json] = ()
    """The path of a list that gets the errors of failed children."""
    child_deadline: float | str | None = None
    """Seconds after which a child fails if it has not ended, or an expression for them."""
    numbered: bool = False
    """Whether children also have the names `total` and `task_id`."""
    prompt: Json = None
    """A text for the agents that do the children's actions, before the rules of wfc."""
    facts: Sequence[str] = ()
    """The facts about a called workflow to add to its result."""

    @property
    def is_call(self) -> bool:
        return self.items is None

    # -- entering --------------------------------------------------------------

    def enter(self, run: Run, state: str) -> None:
        # A retried run continues with the children it had; their items must not be evaluated again.
        if state in run.resumed:
            pending = self._resumed(run, run.resumed.pop(state))
        elif self.is_call:
            inputs = run.evaluate(dict(self.inputs or {}), self.reads)
            pending = Pending(state, inputs=[inputs], children=[None])
            if self.among:
                pending.parameters = {"workflow": self._chosen(run)}
            if self.timeout is not None:
                seconds = seconds_of(run, self.timeout, self.reads, "timeout")
                pending.parameters = {**pending.parameters, "timeout": seconds}
        else:
            items = self._items(run)
            # With `any`, an empty list has no winner, and succeeding without a value would hide that.
            if not items and self.join == "any":
                raise StepError("items", "`items` is empty, so that no child can succeed")
            # Nothing to wait for: no visit is created, and the next step gets an empty list.
            if not items:
                run.put(self, [])
                run.go_on("joined", state)
                return
            pending = Pending(state, items=items, children=[None] * len(items))
            if self.prompt is not None:
                pending.parameters = {"prompt": run.evaluate(self.prompt, self.reads)}
            # Evaluated for all items before the first child starts, so that every child sees the same state.
            # A sequential child may use the results before it, so its inputs are computed when it starts.
            if self.inputs is not None and not self.sequential:
                pending.inputs = [self._prepared(run, pending, index) for index in range(len(items))]
        self.restart(run, pending)
        pending.since = run.event.at if self.budget else None
        visit = run.suspend(pending, 0)
        # After `suspend`: a failure has to find the visit among the pending ones.
        self._check_size(run, pending)
        self.start_more(run, visit)

    def _chosen(self, run: Run) -> str:
        """The computed name of the workflow. Only names that the module lists are called."""
        name = run.evaluate({"workflow": self.workflow}, self.reads)["workflow"]
        if not isinstance(name, str) or not any(is_named(name, one) for one in self.among):
            listed = ", ".join(f"`{one}`" for one in self.among)
            raise StepError(
                "workflow", f"{describe(name)} is not a workflow that may be called here: {listed}"
            )
        return name

    def _workflow(self, pending: Pending) -> str | None:
        return pending.parameters.get("workflow") or self.workflow

    def restart(self, run: Run, pending: Pending) -> None:
        limits = [pending.parameters["timeout"]] if "timeout" in pending.parameters else []
        if self.deadline is not None:
            limits.append(seconds_of(run, self.deadline, self.reads, "deadline"))
        # Both may be set; whichever comes first applies.
        pending.deadline = run.event.at + min(limits) if limits else None

    def _resumed(self, run: Run, before: Pending) -> Pending:
        """A visit as it was, with the children that are retried or started again waited for again."""
        assert isinstance(run.event, Reopen)
        pending = before.copy()
        for index, child in enumerate(before.children):
            if child is not None and "error" in child:
                if child.get("was") in run.event.reopen:
                    # `was` is the id of the failed child: it continues as the same run.
                    pending.children[index] = _awaited_again(child)
                elif run.event.renews:
                    pending.children[index] = None
                    # Its inputs failed to compute before, and may succeed now that the state has changed.
                    if before.inputs is not None and before.inputs[index] is None:
                        pending.inputs = list(pending.inputs or ())
                        pending.inputs[index] = self._prepared(run, pending, index)
        run.outcome.reopened += [str(one["run"]) for one in pending.children if one and "run" in one]
        return pending

    def _items(self, run: Run) -> list[Json]:
        items = run.evaluate(self.items, self.reads)
        if not isinstance(items, list):
            raise StepError("items", f"`items` gave {describe(items)}, not a list")
        if self.max_items is not None and len(items) > self.max_items:
            raise StepError(
                "max_items", f"`items` gave {len(items):,} items; max_items is {self.max_items:,}"
            )
        return items

    def _check_size(self, run: Run, pending: Pending) -> None:
        """Check the size of items, inputs and results, which count like the state that they will become."""
        size = size_of([pending.items, pending.inputs, pending.children])
        if size > run.state_bytes:
            raise StepError(
                "state_size",
                f"the items and results would be {size:,} bytes; the limit is {run.state_bytes:,}",
                "Let tasks write large data to files and return the paths.",
            )

    # -- children --------------------------------------------------------------

    def start_more(self, run: Run, visit: str) -> None:
        """Start as many queued children as allowed; the visit ends when none is queued or running."""
        pending = run.snapshot.pending[visit]
        # The limit is for the whole run: two foreach steps in parallel branches share it.
        room = run.limits.parallel_children - sum(map(at_work, run.snapshot.pending.values()))
        most = 1 if self.sequential else self.max_parallel
        if most is not None:
            room = min(room, most - at_work(pending))
        # Checked before anything is started: a child that ended may already decide the visit.
        if any(map(self._decides, pending.children)):
            self._decide(run, visit, pending)
            return
        for index, child in enumerate(pending.children):
            if room <= 0:
                return
            if child is None and self._start(run, visit, pending, index):
                room -= 1
            elif self._decides(pending.children[index]):
                # The inputs of this child could not be computed.
                self._decide(run, visit, pending)
                return
        # Nothing queued, since the loop above found room for all, and nothing at work: the visit is complete.
        if not at_work(pending):
            self._join(run, visit, pending)

    def _decides(self, child: dict[str, Json] | None) -> bool:
        """Whether the visit ends with the result of this child."""
        if child is None or self.join == "all":
            return False
        return "error" in child if self.join == "fail_fast" else "value" in child

    def _decide(self, run: Run, visit: str, pending: Pending) -> None:
        """End the visit before all children have ended. The others are cancelled, or are not started."""
        run.stop_children(visit, pending)
        for index, child in enumerate(pending.children):
            # Marked like a failed child, but recognised by `_join`: it was not at fault.
            if child is None or "run" in child:
                pending.children[index] = dict(_LEFT)
        self._join(run, visit, pending)

    def _start(self, run: Run, visit: str, pending: Pending, index: int) -> bool:
        if pending.inputs is not None:
            inputs = pending.inputs[index]
        else:
            inputs = None if self.inputs is None else self._prepared(run, pending, index)
        # `_prepared` has recorded the error in this place.
        if pending.children[index] is not None:
            return False
        child = Child(
            id=_child_id(run.event.id, visit, index),
            visit=visit,
            index=index,
            task=self.task,
            workflow=self._workflow(pending),
            agent=self.agent,
            inputs=inputs,
            scope={**self._scope(pending, index), **self._given(run)},
            max_depth=self.max_depth,
            only_declared=self.only_declared,
            # A child gets inputs that were computed from large values, so its limit is raised as well.
            served=run.snapshot.room > 0,
        )
        pending.children[index] = {"run": child.id}
        run.outcome.started.append(child)
        return True

    # Under names that no expression can spell, so a task can't read or shadow them.
    def _given(self, run: Run) -> dict[str, Json]:
        """Values for a child that its expressions can't read: shared fields and its time limit."""
        state = run.snapshot.state
        shared = {name: state[name] for name in self.shares if name in state}
        given: dict[str, Json] = {SHARED: shared} if self.shares else {}
        if self.child_deadline is not None:
            given[TIME_LIMIT] = seconds_of(run, self.child_deadline, self.reads, "child_deadline")
        # The tasks of a called workflow are part of it; the workflows that it calls are not.
        if self.task is not None and CALL_FOLDER in run.snapshot.scope:
            given[CALL_FOLDER] = run.snapshot.scope[CALL_FOLDER]
        return given

    def _prepared(self, run: Run, pending: Pending, index: int) -> dict[str, Json] | None:
        """The inputs of a child. If they can't be computed, that child fails; the others continue."""
        try:
            found: dict[str, Json] = run.evaluate(
                dict(self.inputs or {}), self.reads, self._scope(pending, index)
            )
            return found
        except StepError as error:
            pending.children[index] = {"error": run.record(pending.state, error)}
            return None

    def _scope(self, pending: Pending, index: int) -> dict[str, Json]:
        if pending.items is None:
            return {FACTS: list(self.facts)} if self.facts else {}
        scope: dict[str, Json] = {"item": pending.items[index], "index": index}
        if self.numbered:
            scope |= {"total": len(pending.items), "task_id": f"{self.task}_{index}"}
        if self.sequential:
            scope["previous"] = [_result(child) for child in pending.children[:index]]
        return scope

    def ended(self, run: Run, visit: str, index: int, result: dict[str, Json]) -> None:
        """Record the result of a child, and end the visit if no other child is needed."""
        pending = run.snapshot.pending[visit]
        # A repeated or late report: its place already has a result, or the child was never started.
        if not 0 <= index < len(pending.children) or "run" not in (pending.children[index] or {}):
            raise RefusedError("not_pending", f"`{visit}` has no running child {index}")
        was = pending.children[index]
        assert was is not None
        # The id is kept only for failed children, which are the ones that can be retried.
        ended = {**result, "was": was["run"]} if "error" in result else dict(result)
        worktree, value = ended.pop("worktree", None), ended.get("value")
        if worktree and self.isolation is None:
            # The worktree belongs to the run, or to a foreach around it.
            run.snapshot.worktree = worktree
        elif worktree and isinstance(value, dict) and "worktree" not in value:
            ended["value"] = {**value, "worktree": worktree}
        if "made" in was:
            ended |= {"made": was["made"]}
        pending.children[index] = ended
        if "error" in result and self._starts_again(pending, index):
            pending.children[index] = None
        try:
            self._check_size(run, pending)
        except StepError as error:
            run.fail(pending.state, error)
            return
        self.start_more(run, visit)

    def _starts_again(self, pending: Pending, index: int) -> bool:
        tries = pending.tries or [0] * len(pending.children)
        if not self.child_retries or tries[index] >= self.child_retries:
            return False
        # A new list, since copies of a snapshot share the old one.
        pending.tries = [count + (place == index) for place, count in enumerate(tries)]
        return True

    def retried(self, run: Run, visit: str, index: int) -> None:
        """Wait again for a failed child while other children are at work."""
        pending = run.snapshot.pending[visit]
        child = pending.children[index]
        assert child is not None
        # Its successors may have used its result as `previous`, so it can't be replaced while they run.
        if self.sequential:
            raise RefusedError(
                "sequential",
                f"`{visit}` executes its children one after the other, and another one is at work",
                "Retry this one when the others have ended.",
            )
        pending.children[index] = _awaited_again(child)
        run.outcome.reopened.append(str(child["was"]))

    def _join(self, run: Run, visit: str, pending: Pending) -> None:
        values = [_result(child) for child in pending.children]
        # Without the children that were only left behind: the count in the message is of real failures.
        failed = [
            child["error"]
            for child in pending.children
            if child and "error" in child and child["error"] != _LEFT["error"]
        ]
        value = values[0] if self.is_call else values
        # Also if some children failed: what the others changed in the parent's fields was done.
        if self.shares or self.child_errors:
            try:
                run.change(self._made_by_children(run, pending))
            except StepError as misfit:
                run.fail(pending.state, misfit)
                return
            # A failed step can be retried with the same children: no change may be made twice.
            pending.children = [_with_changes_made(child) for child in pending.children]
        # The first in the order of the items, not of time: a replay then gives the same value.
        if self.join == "any":
            won = [child["value"] for child in pending.children if child and "value" in child]
            value = won[0] if won else None
            failed = [] if won else failed
        if not failed:
            run.complete(visit, value, "joined")
            return
        first = failed[0]["message"] if isinstance(failed[0], dict) else failed[0]
        count = (
            f"`{self._workflow(pending)}` failed"
            if self.is_call
            else f"{len(failed)} of {len(values)} children failed"
        )
        error = StepError("child_failed", f"{count}: {first}")
        # A recovery step, or a person who looks at the failed run, needs the results of the other children. If the
        # failure is only deferred, a result would look like success.
        # A retry starts over, so nothing is stored between the attempts.
        if not run.will_retry(pending.state) and pending.state not in run.structure.deferred:
            try:
                run.put(self, value, is_failed=True)
            except StepError as too_large:
                error = too_large
        run.fail(pending.state, error)

    def _made_by_children(self, run: Run, pending: Pending) -> list[Resolved]:
        """The changes of shared fields and the collected errors, in the order of the items."""
        found: list[Resolved] = []
        for index, child in enumerate(pending.children):
            assert child is not None
            found += [Resolved.from_data(one) for one in child.get("changes", ())[child.get("made", 0) :]]
            error = child.get("error")
            is_new = "collected" not in child and error != _LEFT["error"]
            if self.child_errors and isinstance(error, dict) and is_new:
                record = {
                    "index": index,
                    "task_id": f"{self.task}_{index}",
                    "item": pending.items[index] if pending.items else None,
                    **{name: error.get(name) for name in ("code", "message", "step_id")},
                }
                found.append(collected(run, record, self.child_errors, self.reads))
        return found

    # -- the action for the agent ----------------------------------------------

    def action(self, pending: Pending) -> Action:
        children: list[dict[str, Json]] = []
        for index, child in enumerate(pending.children):
            if child is not None and "run" in child:
                # Only running children: an agent can work on nothing else.
                one: dict[str, Json] = {"workflow_id": child["run"], "index": index}
                if pending.items is not None:
                    one["item"] = pending.items[index]
                children.append(one)
        timing: dict[str, Json] = {}
        if self.deadline is not None and pending.deadline is not None:
            timing = {"deadline": moment(pending.deadline)}
        if self.is_call:
            parameters = {"workflow": self.workflow, "children": children, **pending.parameters, **timing}
            return Action("call", parameters)
        parameters = {
            "task": self.task,
            "agent": self.agent,
            "sequential": self.sequential,
            **({"isolation": self.isolation} if self.isolation else {}),
            "children": children,
            **timing,
            **pending.parameters,
        }
        return Action("foreach", parameters)

    def answer(self, run: Run, visit: str, result: Json) -> None:
        raise RefusedError(
            "children",
            f"`{visit}` takes no result: it continues automatically when its children have ended",
            "Execute the children that its action lists, each with its own workflow_id.",
        )

    def due(self, run: Run, visit: str) -> None:
        """Fail the step because its time is up; its children are cancelled."""
        pending = run.snapshot.pending[visit]
        timeout, subject = pending.parameters.get("timeout"), f"`{self._workflow(pending) or self.task}`"
        fixed = None if isinstance(self.deadline, str) else self.deadline
        if timeout is not None and (self.deadline is None or (fixed is not None and timeout < fixed)):
            message = f"{subject} did not end within {timeout:g} seconds"
            error = StepError("timeout", message, "Raise the step's timeout, or give it a retry.")
        else:
            message = f"{subject} did not end within the deadline" + (
                f" of {fixed:g} seconds" if fixed else ""
            )
            # The shorter one has fired. Naming the wrong key would send the author to the wrong setting.
            hint = "Raise the step's `deadline`, or use `on_error` to say how to continue."
            error = StepError("deadline", message, hint)
        run.fail(pending.state, error)


def at_work(pending: Pending) -> int:
    return sum(1 for child in pending.children if child is not None and "run" in child)


def _with_changes_made(child: dict[str, Json] | None) -> dict[str, Json] | None:
    """A child that has ended, after its changes were made and its error was collected."""
    if child is None or not ("changes" in child or "error" in child):
        return child
    made = {"made": len(child["changes"])} if "changes" in child else {}
    rest = {name: value for name, value in child.items() if name != "changes"}
    return {**rest, **made, **({"collected": True} if "error" in child else {})}


def _awaited_again(child: dict[str, Json]) -> dict[str, Json]:
    """A failed child that is retried. The changes that it made before have been made here."""
    return {"run": child["was"], **({"made": child["made"]} if "made" in child else {})}


_LEFT: dict[str, Json] = {"error": {"code": "cancelled", "message": "the step ended before this child did"}}
_ERROR_KEYS = ("code", "message", "step_id", "hint")


def _result(child: dict[str, Json] | None) -> Json:
    assert child is not None
    error = child.get("error")
    if isinstance(error, dict):
        # The expression that failed and the values that it read are for people who look at the run. In the state
        # they would take up room and could reach later steps.
        return {"error": {key: error[key] for key in _ERROR_KEYS if key in error}}
    return {"error": error} if "error" in child else child.get("value")


def _child_id(event_id: str, visit: str, index: int) -> str:
    """As hard to guess as the parent's id, which can't be derived from it."""
    digest = sha256(f"{event_id}\0{visit}\0{index}".encode()).digest()
    return b32encode(digest[:16]).decode().rstrip("=").lower()
