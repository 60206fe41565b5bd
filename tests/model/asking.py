"""Work that others do for a step: questions, waits and children, tried as often as the step allows."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.model.changing import Changed, changed, path_of
from tests.model.flow import (
    FOREVER,
    MISFITS,
    NOTHING,
    SERVED,
    TIMEOUTS,
    DeadError,
    FailError,
    Flow,
    ReturnedError,
    Step,
    Stop,
    Thread,
    Tree,
    Wait,
    WayError,
)
from tests.model.reading import all_steps
from wfc_runtime import javascript
from wfc_runtime.expr import ExpressionError, evaluate_condition, evaluate_tree

if TYPE_CHECKING:
    from tests.model.interpreter import Family, Run


_GENERAL = {"id", "type", "description", "needs_state", "when", "output_to", "secret", "on_error", "retry"}
_GENERAL |= {"changes", "error_changes", "fallback", "output_format", "result", "evidence", "otherwise"}
_GENERAL |= {"input_type", "default", "error_message", "until_answer"}
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
    said: list[str]
    """What the user has been told since the last answer."""
    language: str
    """That of its expressions."""
    failed_children: dict[str, Wait]
    last_question: str = ""
    """The prompt that was answered last."""

    current: Thread
    """What goes on at the moment."""

    def goes_on(self, branch: Thread) -> bool:
        raise NotImplementedError

    def continue_children(self, old: Wait, new: Wait) -> None:
        raise NotImplementedError

    def child(self, step: Step, wait: Wait, index: int, names: dict[str, Any], inputs: Any) -> Run:
        raise NotImplementedError

    def write(self, values: dict[str, Any]) -> None:
        raise NotImplementedError

    def _attempt(self, step: Step, work: Callable[[], Any]) -> Flow:
        """Work that needs nobody; whether it was done, and what came of it."""
        while True:
            try:
                return True, work()
            except FailError as failure:
                if (yield from self._survives(step, failure)):
                    return False, None

    def _survives(self, step: Step, failure: FailError) -> Flow:
        """Whether the flow goes on after a failure. If not, the run fails, and does the step again when it is
        retried."""
        try:
            self._recover(step, failure)
        except DeadError as dead:
            # Children or branches may have been stopped with it.
            unknown = not all(self.goes_on(branch) for branch in failure.branches)
            is_unclear = (
                "join" in step
                or unknown
                or (step["type"] in ("foreach", "call") and failure.code in ("deadline", "timeout"))
            )
            yield Stop(dead.code, dead.visit, step["id"], is_unclear, failure.children)
            return False
        return True

    def _recover(self, step: Step, failure: FailError) -> None:
        """After a failure the flow goes on behind the step, or where on_error says, or the run fails, now or later."""
        how = step.get("on_error", "fail")
        if how != "fail" and "error_changes" in step:
            error = {"code": failure.code, "message": failure.message, "step_id": failure.visit or step["id"]}
            self.write(self.made_by(step, step["error_changes"], {"error": error}))
        if how == "continue" and failure.ran is not None and "changes" in step:
            self.write(self.made_by(step, step["changes"], {"result": failure.ran}))
        if how == "defer":
            self.deferred = self.deferred or (failure.code, failure.visit or step["id"])
            return
        if failure.kept is not NOTHING and "output_to" in step:
            self.write({step["output_to"]: failure.kept})
        if isinstance(how, dict):
            raise WayError("goto", how["goto"]) from None
        if how == "fail":
            raise DeadError(failure.code, failure.visit or step["id"]) from None

    def _tried(self, step: Step, attempt: Callable[[Step, str], Flow]) -> Flow:
        """Work that others do."""
        is_fine, result = yield from self._repeated(step, attempt)
        if is_fine and "output_to" in step:
            is_fine, _ = yield from self._attempt(step, lambda: self.write({step["output_to"]: result}))
        if is_fine and "changes" in step:
            yield from self._attempt(
                step, lambda: self.write(self.made_by(step, step["changes"], {"result": result}))
            )

    def _worked(self, step: Step, work: Callable[[], Any]) -> Flow:
        """Work that needs nobody, but may be tried again."""

        def attempt(step: Step, visit: str) -> Flow:
            return work()
            yield

        return (yield from self._repeated(step, attempt))

    def _repeated(self, step: Step, attempt: Callable[[Step, str], Flow]) -> Flow:
        """As often as the step's retry allows; whether it was done, and what came of it."""
        retry = step.get("retry", {"max_attempts": 1})
        made = 0
        while True:
            made += 1
            visit = self._visit(step["id"])
            try:
                return True, (yield from attempt(step, visit))
            except FailError as failure:
                failure.visit = failure.visit or visit
                if failure.final or made == retry["max_attempts"]:
                    if "fallback" in step:
                        return True, self._fallback(step)
                    if (yield from self._survives(step, failure)):
                        return False, None
                    made = 0
                    continue
            delay = float(retry.get("delay_seconds", 0) * retry.get("backoff", 1) ** (made - 1))
            if delay:
                parameters = {"duration_seconds": delay, "attempt": made + 1}
                yield Wait(f"{visit}@retry", "wait", parameters, self.family.now + delay, True)

    def _fallback(self, step: Step) -> Any:
        """What stands for the result of a step that has failed for good; of a command, its output."""
        value = self._value(step, step["fallback"])
        return {"stdout": value, "stderr": "", "exit_code": 0} if step["type"] == "shell" else value

    def _visit(self, step_id: str) -> str:
        self.visits[step_id] += 1
        count = self.visits[step_id]
        return step_id if count == 1 else f"{step_id}@{count}"

    # -- steps that ask ------------------------------------------------------------

    def _asked(self, step: Step, visit: str) -> Flow:
        kind = step["type"]
        timeout = step.get("timeout", TIMEOUTS.get(kind))
        own = {name: value for name, value in step.items() if name not in _GENERAL}
        until_answer = step.get("until_answer", False)
        if kind == "wait" and not until_answer and not self._value(step, step["duration_seconds"]):
            # Nobody sees its message, so that is not rendered.
            return {"resumed": True, "duration": 0, "duration_seconds": 0}
        parameters = self._value(step, {**_ABSENT.get(kind, {}), **own})
        if kind == "wait":
            seconds = parameters.get("duration_seconds")
            due = self.family.now + seconds if seconds is not None else None
            if until_answer:
                parameters.pop("duration_seconds", None)
            result = yield Wait(visit, kind, parameters, due, not until_answer, until_answer)
            return result
        if timeout is not None:
            parameters["timeout"] = self._value(step, timeout)
        # The clock alone fails a step only where the author gave it a deadline.
        limit = self.family.now + step["deadline"] if "deadline" in step else None
        allowed = FOREVER if kind == "prompt" else step.get("retry", {}).get("max_attempts", MISFITS)
        wait = Wait(visit, kind, parameters, limit, misfits_allowed=allowed, deadline=step.get("deadline"))
        wait.overdue_code = "deadline"
        wait.fails_on_exit = step.get("fails_on_exit", False)
        wait.is_secret = step.get("secret", False)
        wait.is_served = step.get("runner") == "server" or kind in SERVED
        result = yield wait
        if kind == "prompt":
            self.last_question = step["id"]
        return (
            {**result, "value": parsed(step["output_format"], result)} if "output_format" in step else result
        )

    def _do_shell(self, step: Step) -> Flow:
        yield from self._tried(step, self._asked)

    _do_mcp_call = _do_prompt = _do_wait = _do_delegate = _do_shell
    _do_create_file = _do_read_file = _do_render_template = _do_create_worktree = _do_shell
    _do_check_files = _do_shell
    _do_read_json_state = _do_write_json_state = _do_merge_json_state = _do_shell
    _do_edit_file = _do_http_call = _do_sql = _do_shell

    def one_brief(self) -> Flow:
        """The whole task as one piece of work."""
        steps = list(all_steps(self.scope["steps"]))
        limits = [step.get("timeout", TIMEOUTS.get(step["type"], 0)) for step in steps]
        timeout = max(300, sum(one for one in limits if not isinstance(one, str)))
        parameters = {"agent": self.brief, "timeout": timeout}
        while True:
            try:
                result = yield Wait(self._visit("do-task"), "delegate", parameters, None)
                break
            except FailError as failure:
                yield Stop(failure.code, failure.visit)
        self.write({"value": result})
        raise ReturnedError(result)

    # -- steps that have children --------------------------------------------------

    def _spawned(self, step: Step, visit: str) -> Flow:
        if "choose" in step:
            step = {**step, "workflow": self._chosen(step)}
        old = self.failed_children.pop(step["id"], None)
        items = self._value(step, step["items"]) if "items" in step else [None]
        items = items if old is None else old.items
        if not isinstance(items, list):
            raise FailError("items")
        if len(items) > step.get("max_items", len(items)):
            raise FailError("max_items")
        if not items:
            return []

        def prepared(index: int, names: dict[str, Any]) -> Any:
            if "with" not in step:
                return {} if step["type"] == "call" else None
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
        wait.at_once = step.get("max_parallel")
        wait.join = step.get("join", "all")
        wait.restarts = step.get("on_child_error", {}).get("retries", 0)
        if old is not None:
            self.continue_children(old, wait)
        results = yield wait
        self._take_over(step, wait)
        if step.get("join") == "any" and any("value" in one for one in results):
            return next(one["value"] for one in results if "value" in one)
        values = [_brought(one) for one in results]
        kept = values[0] if step["type"] == "call" else values
        if step.get("join") == "any":
            kept = None
        if any("error" in one for one in results):
            failure = FailError("child_failed", visit, kept)
            failure.children = wait
            raise failure
        return kept

    def _chosen(self, step: Step) -> str:
        """The name of a workflow that only the run knows."""
        name = self._value(step, step["choose"])
        patterns = (re.escape(one).replace(r"\*", ".*") for one in step["among"])
        if not isinstance(name, str) or not any(re.fullmatch(one, name) for one in patterns):
            raise FailError("choose")
        if name not in self.family.workflows:
            raise FailError("unknown_workflow")
        return name

    def _take_over(self, step: Step, wait: Wait) -> None:
        """What children have changed, and the errors of those that failed for good, in the order of the items."""
        assert wait.items is not None
        place = step.get("on_child_error", {}).get("collect")
        for index, child in enumerate(wait.children):
            if child is not None:
                self.write(changed(self.state, child.shared_changes))
                # A child that is retried makes none of them twice.
                child.shared_changes = []
            error = wait.results.get(index, {}).get("error")
            if place is not None and error is not None:
                shown = {"index": index, "item": wait.items[index], **error}
                if child is not None:
                    shown["task_id"] = str(self.family.runs.index(child))
                self.write(changed(self.state, [(path_of(place), "append", shown)]))

    def _do_foreach(self, step: Step) -> Flow:
        yield from self._tried(step, self._spawned)

    _do_call = _do_foreach

    # -- expressions ---------------------------------------------------------------

    def made_by(self, step: Step, changes: list[Tree], names: dict[str, Any] | None = None) -> Changed:
        """The fields that the changes of a step leave. Every expression sees the state from before it."""
        made = []
        for one in changes:
            keys = [self._value(step, key, names) for key in path_of(one["path"])]
            made.append((keys, one.get("operation", "set"), self._value(step, one.get("value"), names)))
        return changed(self.state, made)

    def _value(self, step: Step, text: Any, names: dict[str, Any] | None = None) -> Any:
        return self._evaluated(evaluate_tree, step, text, names)

    def _holds(self, step: Step, key: str) -> bool:
        return bool(self._evaluated(evaluate_condition, step, step[key], None))

    def _evaluated(self, how: Any, step: Step, text: Any, names: dict[str, Any] | None) -> Any:
        fields = {name: self.state[name] for name in step.get("needs_state", ()) if name in self.state}
        context = {**self.names, **(names or {}), "state": fields, "inputs": self.inputs}
        if self.language == "javascript":
            how = {
                evaluate_tree: javascript.evaluate_tree,
                evaluate_condition: javascript.evaluate_condition,
            }[how]
        try:
            now = datetime.fromtimestamp(self.family.now, UTC)
            self.family.ids += 1
            return how(text, context, now=now, uuid_seed=str(self.family.ids), hidden=frozenset())
        except ExpressionError as error:
            raise FailError("expression", message=str(error)) from None


def parsed(form: str, result: Tree) -> Any:
    """The output of a command by its format."""
    out = result["stdout"]
    match form:
        case "lines":
            return out.removesuffix("\n").split("\n") if out else []
        case "json":
            try:
                return json.loads(out)
            except ValueError:
                raise FailError("output_format") from None
        case "key_value":
            pairs = (re.match(r"\s*([^=:]+?)\s*[=:]\s*(.*?)\s*$", line) for line in out.split("\n"))
            return {pair[1]: pair[2] for pair in pairs if pair}
    return out


def _item(step: Step, items: list[Any], index: int) -> dict[str, Any]:
    if step["type"] == "call":
        return {}
    numbers = {"total": len(items), "task_id": f"{step['task']}_{index}"} if step.get("numbered") else {}
    return {"item": items[index], "index": index, **numbers}


def _brought(result: dict[str, Any]) -> Any:
    return result.get("value", result)
