"""What each step does, as the documents of the language say it. One method per type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.model.asking import Asking
from tests.model.flow import (
    DeadError,
    FailError,
    Flow,
    Fork,
    ReturnedError,
    Step,
    WayError,
)

if TYPE_CHECKING:
    pass


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
            is_fine, holds = self._attempt(step, lambda: self._holds(step, "when"))
            if not is_fine or not holds:
                return
        yield from getattr(self, f"_do_{step['type']}")(step)

    # -- steps that need nobody ----------------------------------------------------

    def _do_set_state(self, step: Step) -> Flow:
        def work() -> dict[str, Any]:
            made: dict[str, Any] = {}
            for name, text in step["updates"].items():
                made[name] = self._value(step, text, made)
            return made

        is_fine, made = yield from self._worked(step, work)
        if is_fine:
            self.write(made)
            if "output_to" in step:
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
        is_fine, value = yield from self._worked(step, lambda: self._value(step, step.get("value")))
        if is_fine:
            raise ReturnedError(value)
