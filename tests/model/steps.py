"""What each step does, as the documents of the language say it. One method per type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from datetime import UTC, datetime
from math import ceil
from typing import TYPE_CHECKING, Any

from tests.model.flow import (
    GRACE,
    MISFITS,
    SERVED,
    TIMEOUTS,
    DeadError,
    FailError,
    Flow,
    Fork,
    ReturnedError,
    Step,
    Tree,
    Wait,
    WayError,
)
from wfc_runtime.expr import ExpressionError, evaluate_condition, evaluate_tree

if TYPE_CHECKING:
    from tests.model.interpreter import Family, Run


_GENERAL = {"id", "type", "description", "needs_state", "when", "output_to", "secret", "on_error", "retry"}
_GENERAL |= {"timeout", "runner", "result_schema", "validation"}
"""Keys of a step that asks which are not for whoever is asked."""
_ABSENT: dict[str, dict[str, Any]] = {"mcp_call": {"parameters": {}}, "delegate": {"agent": None}}


class Steps:
    """The steps of one run, each a flow of control that may wait."""

    family: Family
    scope: Tree
    inputs: dict[str, Any]
    names: dict[str, Any]
    state: dict[str, Any]
    brief: str | None
    visits: Counter[str]
    jumps: Counter[str]

    def child(self, step: Step, wait: Wait, index: int, names: dict[str, Any], inputs: Any) -> Run:
        raise NotImplementedError

    def write(self, values: dict[str, Any]) -> None:
        raise NotImplementedError

    def steps_of(self, steps: list[Step]) -> Flow:
        place = 0
        while place < len(steps):
            try:
                yield from self._step(steps[place])
                place += 1
            except WayError as way:
                ids = [step["id"] for step in steps]
                if way.kind != "goto" or way.target not in ids:
                    raise
                place = ids.index(way.target)

    def _step(self, step: Step) -> Flow:
        if "when" in step:
            is_fine, holds = self._attempt(step, lambda: self._holds(step, "when"))
            if not is_fine or not holds:
                return
        yield from getattr(self, f"_do_{step['type']}")(step)

    def _attempt(self, step: Step, work: Callable[[], Any]) -> tuple[bool, Any]:
        """Work that needs nobody; whether it was done, and what came of it."""
        try:
            return True, work()
        except FailError as failure:
            self._recover(step, failure)
            return False, None

    def _recover(self, step: Step, failure: FailError) -> None:
        """After a failure the flow goes on behind the step, or where on_error says, or the run fails."""
        how = step.get("on_error", "fail")
        if failure.kept is not None and "output_to" in step:
            self.write({step["output_to"]: failure.kept})
        if isinstance(how, dict):
            raise WayError("goto", how["goto"]) from None
        if how == "fail":
            raise DeadError(failure.code, failure.visit or step["id"]) from None

    def _tried(self, step: Step, attempt: Callable[[Step, str], Flow]) -> Flow:
        """Work that others do, as often as the step's retry allows."""
        retry = step.get("retry", {"max_attempts": 1})
        for made in range(1, retry["max_attempts"] + 1):
            self.visits[step["id"]] += 1
            count = self.visits[step["id"]]
            visit = step["id"] if count == 1 else f"{step['id']}@{count}"
            try:
                result = yield from attempt(step, visit)
                if "output_to" in step:
                    self.write({step["output_to"]: result})
                return
            except FailError as failure:
                failure.visit = failure.visit or visit
                if failure.final or made == retry["max_attempts"]:
                    self._recover(step, failure)
                    return
            delay = float(retry.get("delay_seconds", 0) * retry.get("backoff", 1) ** (made - 1))
            if delay:
                parameters = {"duration_seconds": delay, "attempt": made + 1}
                yield Wait(f"{visit}@retry", "wait", parameters, self.family.now + delay, True)

    # -- steps that ask ------------------------------------------------------------

    def _asked(self, step: Step, visit: str) -> Flow:
        kind = step["type"]
        timeout = step.get("timeout", TIMEOUTS.get(kind))
        own = {name: value for name, value in step.items() if name not in _GENERAL}
        parameters = self._value(step, {**_ABSENT.get(kind, {}), **own})
        if kind == "wait":
            due = self.family.now + step["duration_seconds"]
            result = yield Wait(visit, kind, parameters, due, True)
            return result
        if timeout is not None:
            parameters["timeout"] = self._value(step, timeout)
        # A server keeps to the timeout itself, and nobody knows beforehand one that is computed.
        is_known = isinstance(timeout, (int, float)) and step.get("runner") != "server"
        limit = self.family.now + timeout + GRACE if is_known else None
        allowed = step.get("retry", {}).get("max_attempts", MISFITS)
        wait = Wait(visit, kind, parameters, limit, misfits_allowed=allowed)
        wait.is_secret = step.get("secret", False)
        wait.is_served = step.get("runner") == "server" or kind in SERVED
        return (yield wait)

    def _do_shell(self, step: Step) -> Flow:
        yield from self._tried(step, self._asked)

    _do_mcp_call = _do_prompt = _do_wait = _do_delegate = _do_shell
    _do_create_file = _do_read_file = _do_render_template = _do_create_worktree = _do_shell
    _do_read_json_state = _do_write_json_state = _do_merge_json_state = _do_shell

    def one_brief(self) -> Flow:
        """The whole task as one piece of work."""
        steps = list(all_steps(self.scope["steps"]))
        limits = [step.get("timeout", TIMEOUTS.get(step["type"], 0)) for step in steps]
        timeout = max(300, sum(one for one in limits if not isinstance(one, str)))
        due = self.family.now + timeout + GRACE
        try:
            result = yield Wait("do-task", "delegate", {"agent": self.brief, "timeout": timeout}, due)
        except FailError as failure:
            raise DeadError(failure.code, "do-task") from None
        self.write({"value": result})
        raise ReturnedError(result)

    # -- steps that have children --------------------------------------------------

    def _spawned(self, step: Step, visit: str) -> Flow:
        items = self._value(step, step["items"]) if "items" in step else [None]
        if not isinstance(items, list):
            raise FailError("items")
        if len(items) > step.get("max_items", len(items)):
            raise FailError("max_items")
        if not items:
            return []

        def prepared(index: int, names: dict[str, Any]) -> Any:
            if "with" not in step:
                return None
            try:
                return self._value(step, step["with"], names)
            except FailError as failure:
                if step["type"] == "call":
                    raise
                return failure

        # Side by side, all are prepared at once.
        given = [prepared(index, _item(step, items, index)) for index in range(len(items))]

        def begin(wait: Wait, index: int) -> Run | Tree:
            names = _item(step, items, index)
            inputs = given[index]
            if step.get("sequential"):
                names["previous"] = [_brought(wait.results[before]) for before in range(index)]
                inputs = prepared(index, names)
            if isinstance(inputs, FailError):
                return {"code": inputs.code, "message": inputs.message, "step_id": visit}
            return self.child(step, wait, index, names, inputs)

        shown: Tree = {"workflow": step["workflow"]} if "workflow" in step else {"task": step["task"]}
        due = None
        if step["type"] == "call" and "timeout" in step:
            shown["timeout"] = float(self._value(step, step["timeout"]))
            due = self.family.now + shown["timeout"]
        wait = Wait(visit, step["type"], shown, due, items=items, begin=begin)
        wait.children, wait.sequential = [None] * len(items), step.get("sequential", False)
        results = yield wait
        values = [_brought(one) for one in results]
        kept = values[0] if step["type"] == "call" else values
        if any("error" in one for one in results):
            raise FailError("child_failed", visit, kept)
        return kept

    def _do_foreach(self, step: Step) -> Flow:
        yield from self._tried(step, self._spawned)

    _do_call = _do_foreach

    # -- steps that need nobody ----------------------------------------------------

    def _do_set_state(self, step: Step) -> Flow:
        def work() -> dict[str, Any]:
            made: dict[str, Any] = {}
            for name, text in step["updates"].items():
                made[name] = self._value(step, text, made)
            return made

        is_fine, made = self._attempt(step, work)
        if is_fine:
            self.write(made)
            if "output_to" in step:
                self.write({step["output_to"]: made})
        yield from ()

    def _do_condition(self, step: Step) -> Flow:
        is_fine, holds = self._attempt(step, lambda: self._holds(step, "if"))
        if not is_fine:
            return
        if "output_to" in step:
            self.write({step["output_to"]: holds})
        yield from self.steps_of(step["then"] if holds else step.get("else", []))

    def _do_while(self, step: Step) -> Flow:
        turns = 0

        def another() -> bool:
            holds = self._holds(step, "if")
            if holds and turns == step["max_iterations"]:
                raise FailError("max_iterations")
            return holds

        while True:
            is_fine, holds = self._attempt(step, another)
            if not is_fine or not holds:
                return
            turns += 1
            try:
                yield from self.steps_of(step["steps"])
            except WayError as way:
                if way.kind == "goto":
                    raise
                if way.kind == "break":
                    return

    def _do_break(self, step: Step) -> Flow:
        raise WayError(step["type"])
        yield  # a flow like the others

    _do_continue = _do_break

    def _do_goto(self, step: Step) -> Flow:
        self.jumps[step["id"]] += 1
        if self.jumps[step["id"]] <= step["max_iterations"]:
            raise WayError("goto", step["target"])
        if "else" in step:
            raise WayError("goto", step["else"])
        raise DeadError("max_iterations", step["id"])
        yield

    def _do_parallel(self, step: Step) -> Flow:
        yield Fork([self.steps_of(steps) for steps in step["branches"].values()])

    def _do_return(self, step: Step) -> Flow:
        is_fine, value = self._attempt(step, lambda: self._value(step, step.get("value")))
        if is_fine:
            raise ReturnedError(value)
        yield from ()

    # -- expressions ---------------------------------------------------------------

    def _value(self, step: Step, text: Any, names: dict[str, Any] | None = None) -> Any:
        return self._evaluated(evaluate_tree, step, text, names)

    def _holds(self, step: Step, key: str) -> bool:
        return bool(self._evaluated(evaluate_condition, step, step[key], None))

    def _evaluated(self, how: Any, step: Step, text: Any, names: dict[str, Any] | None) -> Any:
        fields = {name: self.state[name] for name in step.get("needs_state", ()) if name in self.state}
        context = {**self.names, **(names or {}), "state": fields, "inputs": self.inputs}
        try:
            now = datetime.fromtimestamp(self.family.now, UTC)
            self.family.ids += 1
            return how(text, context, now=now, uuid_seed=str(self.family.ids), hidden=frozenset())
        except ExpressionError as error:
            raise FailError("expression", message=str(error)) from None


def all_steps(steps: list[Step]) -> Generator[Step, None, None]:
    for step in steps:
        yield step
        branches = step.get("branches", {}).values()
        for block in (step.get("then", []), step.get("else", []), step.get("steps", []), *branches):
            if isinstance(block, list):
                yield from all_steps(block)


def with_defaults(declared: Tree, given: dict[str, Any]) -> dict[str, Any]:
    """What is given, and the defaults of what is not, objects inside too. What has neither is null."""
    whole: dict[str, Any] = {}
    for name, decl in declared.items():
        value = whole[name] = given.get(name, decl.get("default"))
        properties = decl.get("properties") or decl.get("validation", {}).get("properties")
        if properties and isinstance(value, dict):
            declared_ones = with_defaults(properties, value)
            whole[name] = {
                **declared_ones,
                **{key: one for key, one in value.items() if key not in declared_ones},
            }
    return whole


def moment(at: float) -> str:
    return datetime.fromtimestamp(ceil(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _item(step: Step, items: list[Any], index: int) -> dict[str, Any]:
    return {} if step["type"] == "call" else {"item": items[index], "index": index}


def _brought(result: dict[str, Any]) -> Any:
    return result.get("value", result)
