"""Work that others do for a step: questions, waits and children, tried as often as the step allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.model.flow import (
    FOREVER,
    MISFITS,
    SERVED,
    TIMEOUTS,
    DeadError,
    FailError,
    Flow,
    ReturnedError,
    Step,
    Tree,
    Wait,
    WayError,
)
from tests.model.reading import all_steps
from wfc_runtime.expr import ExpressionError, evaluate_condition, evaluate_tree

if TYPE_CHECKING:
    from tests.model.interpreter import Family, Run


_GENERAL = {"id", "type", "description", "needs_state", "when", "output_to", "secret", "on_error", "retry"}
_GENERAL |= {"timeout", "deadline", "fails_on_exit", "runner", "result_schema", "validation"}
"""Keys of a step that asks which are not for whoever is asked."""
_ABSENT: dict[str, dict[str, Any]] = {"mcp_call": {"parameters": {}}, "delegate": {"agent": None}}


class Asking:
    """What the steps of one run have others do, and what they read."""

    family: Family
    scope: Tree
    inputs: dict[str, Any]
    names: dict[str, Any]
    state: dict[str, Any]
    brief: str | None
    visits: Counter[str]
    jumps: Counter[str]
    deferred: tuple[str, str] | None

    def child(self, step: Step, wait: Wait, index: int, names: dict[str, Any], inputs: Any) -> Run:
        raise NotImplementedError

    def write(self, values: dict[str, Any]) -> None:
        raise NotImplementedError

    def _attempt(self, step: Step, work: Callable[[], Any]) -> tuple[bool, Any]:
        """Work that needs nobody; whether it was done, and what came of it."""
        try:
            return True, work()
        except FailError as failure:
            self._recover(step, failure)
            return False, None

    def _recover(self, step: Step, failure: FailError) -> None:
        """After a failure the flow goes on behind the step, or where on_error says, or the run fails, now or later."""
        how = step.get("on_error", "fail")
        if how == "defer":
            self.deferred = self.deferred or (failure.code, failure.visit or step["id"])
            return
        if failure.kept is not None and "output_to" in step:
            self.write({step["output_to"]: failure.kept})
        if isinstance(how, dict):
            raise WayError("goto", how["goto"]) from None
        if how == "fail":
            raise DeadError(failure.code, failure.visit or step["id"]) from None

    def _tried(self, step: Step, attempt: Callable[[Step, str], Flow]) -> Flow:
        """Work that others do."""
        is_fine, result = yield from self._repeated(step, attempt)
        if is_fine and "output_to" in step:
            self.write({step["output_to"]: result})

    def _worked(self, step: Step, work: Callable[[], Any]) -> Flow:
        """Work that needs nobody, but may be tried again."""

        def attempt(step: Step, visit: str) -> Flow:
            return work()
            yield

        return (yield from self._repeated(step, attempt))

    def _repeated(self, step: Step, attempt: Callable[[Step, str], Flow]) -> Flow:
        """As often as the step's retry allows; whether it was done, and what came of it."""
        retry = step.get("retry", {"max_attempts": 1})
        for made in range(1, retry["max_attempts"] + 1):
            self.visits[step["id"]] += 1
            count = self.visits[step["id"]]
            visit = step["id"] if count == 1 else f"{step['id']}@{count}"
            try:
                return True, (yield from attempt(step, visit))
            except FailError as failure:
                failure.visit = failure.visit or visit
                if failure.final or made == retry["max_attempts"]:
                    self._recover(step, failure)
                    return False, None
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
            if not step["duration_seconds"]:
                return {"resumed": True, "duration": 0, "duration_seconds": 0}
            due = self.family.now + step["duration_seconds"]
            result = yield Wait(visit, kind, parameters, due, True)
            return result
        if timeout is not None:
            parameters["timeout"] = self._value(step, timeout)
        # The clock alone fails a step only where the author gave it a deadline.
        limit = self.family.now + step["deadline"] if "deadline" in step else None
        allowed = FOREVER if kind == "prompt" else step.get("retry", {}).get("max_attempts", MISFITS)
        wait = Wait(visit, kind, parameters, limit, misfits_allowed=allowed)
        wait.overdue_code = "deadline"
        wait.fails_on_exit = step.get("fails_on_exit", False)
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
        try:
            result = yield Wait("do-task", "delegate", {"agent": self.brief, "timeout": timeout}, None)
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
        limits = {"deadline": step["deadline"]} if "deadline" in step else {}
        if step["type"] == "call" and "timeout" in step:
            limits["timeout"] = shown["timeout"] = float(self._value(step, step["timeout"]))
        due = self.family.now + min(limits.values()) if limits else None
        wait = Wait(visit, step["type"], shown, due, items=items, begin=begin)
        # Where both are the same, the deadline is the one that is reported.
        wait.overdue_code = min(sorted(limits), key=limits.__getitem__, default="")
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


def _item(step: Step, items: list[Any], index: int) -> dict[str, Any]:
    return {} if step["type"] == "call" else {"item": items[index], "index": index}


def _brought(result: dict[str, Any]) -> Any:
    return result.get("value", result)
