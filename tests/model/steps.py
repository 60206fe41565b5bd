"""What each step does, as the documents of the language say it. One method per type."""

from __future__ import annotations

from typing import Any

from tests.model.asking import Asking
from tests.model.flow import (
    FailError,
    Flow,
    Fork,
    ReturnedError,
    Step,
    Stop,
    Thread,
    WayError,
)
from tests.model.reading import leads_to, lists_in


class Steps(Asking):
    """The steps of one run, each a flow of control that may wait."""

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
            is_fine, holds = yield from self._attempt(step, lambda: self._holds(step, "when"))
            if not is_fine or not holds:
                return
        yield from getattr(self, f"_do_{step['type']}")(step)

    # -- steps that need nobody ----------------------------------------------------

    def _do_set_state(self, step: Step) -> Flow:
        def work() -> dict[str, Any]:
            made: dict[str, Any] = {}
            for name, text in step["updates"].items():
                made[name] = self._value(step, text, made)
            self.write(made)
            return made

        is_fine, made = yield from self._worked(step, work)
        if is_fine and "output_to" in step:
            self.write({step["output_to"]: made})

    def _do_condition(self, step: Step) -> Flow:
        is_fine, holds = yield from self._worked(step, lambda: self._holds(step, "if"))
        if not is_fine:
            return
        if "output_to" in step:
            self.write({step["output_to"]: holds})
        yield from self.steps_of(step["then"] if holds else step.get("else", []))

    def _do_while(self, step: Step) -> Flow:
        turns = 0

        def another() -> bool:
            nonlocal turns
            visit = self._visit(step["id"])
            self._count(step, turns + 1)
            holds = self._holds(step, "if")
            if holds and turns == step["max_iterations"]:
                # A retry may do as many again.
                turns = 0
                if step.get("at_limit") == "leave":
                    self._count(step, step["max_iterations"])
                    return False
                raise FailError("max_iterations", visit)
            if not holds:
                self._count(step, turns)
            return holds

        thread = self.current
        thread.loops += "count_to" in step
        try:
            while True:
                is_fine, holds = yield from self._attempt(step, another)
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
        finally:
            thread.loops -= "count_to" in step

    def _count(self, step: Step, turns: int) -> None:
        if "count_to" in step:
            self.write({step["count_to"]: turns})

    def _do_each(self, step: Step) -> Flow:
        def listed() -> list[Any]:
            found = self._value(step, step["items"])
            if not isinstance(found, list):
                raise FailError("items")
            if len(found) > step.get("max_items", len(found)):
                raise FailError("max_items")
            return found

        is_fine, items = yield from self._worked(step, listed)
        thread, around = self.current, self.names
        thread.loops += 1
        for index, item in enumerate(items if is_fine else ()):
            self.names = {**around, step.get("as", "item"): item, step.get("index_as", "index"): index}
            try:
                yield from self.steps_of(step["steps"])
            except WayError as way:
                if way.kind == "goto":
                    self.names = around
                    thread.loops -= 1
                    raise
                if way.kind == "break":
                    break
        self.names = around
        thread.loops -= 1

    def _do_change(self, step: Step) -> Flow:
        yield from self._worked(step, lambda: self.write(self.made_by(step, step["changes"])))

    def _do_say(self, step: Step) -> Flow:
        is_fine, said = yield from self._worked(step, lambda: self._value(step, step["message"]))
        if is_fine:
            self.said.append(said)

    def _do_fail(self, step: Step) -> Flow:
        is_fine, _ = yield from self._worked(step, lambda: self._value(step, step["message"]))
        if is_fine:
            # A retry goes back to the last question before it, which is modelled where only conditions are around it.
            gate = self.last_question
            is_known = any(leads_to(steps, gate, step["id"]) for steps in lists_in(self.scope["steps"]))
            yield Stop(step.get("code", "failed"), step["id"], is_unclear=not is_known)
            raise WayError("goto", gate)

    def _do_break(self, step: Step) -> Flow:
        raise WayError(step["type"])
        yield  # a flow like the others

    _do_continue = _do_break

    def _do_goto(self, step: Step) -> Flow:
        while True:
            visit = self._visit(step["id"])
            self.jumps[step["id"]] += 1
            if self.jumps[step["id"]] <= step["max_iterations"]:
                raise WayError("goto", step["target"])
            if "else" in step:
                raise WayError("goto", step["else"])
            yield Stop("max_iterations", visit)
            self.jumps[step["id"]] = 0

    def _do_parallel(self, step: Step) -> Flow:
        again: list[Thread] = []
        while True:
            visit = self._visit(step["id"])
            branches = {name: self.steps_of(block) for name, block in step["branches"].items()}
            try:
                yield Fork(branches, step.get("join", "all"), step.get("after", {}), again)
            except FailError as failure:
                failure.visit = visit
                if not (yield from self._survives(step, failure)):
                    again = failure.branches
                    continue
            return

    def _do_return(self, step: Step) -> Flow:
        is_fine, value = yield from self._worked(step, lambda: self._value(step, step.get("value")))
        if is_fine and step.get("state"):
            raise ReturnedError(self.state)
        if is_fine:
            raise ReturnedError(value)
