from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from wfc.language.fields import BLOCK, CONDITION
from wfc.language.shape import Field
from wfc.language.steps.base import Keeping, Retried, Step
from wfc.language.steps.protocol import ChartBuilder, Decision
from wfc.language.values import Tree

if TYPE_CHECKING:
    from wfc.ir import Effect, Guard


class Condition(Keeping, Retried):
    """Choose between two lists of steps.

    `if` is evaluated once. If it is true, the steps of `then` run, otherwise those of `else`, if any. `output_to` keeps
    the value of the condition.

    ```yaml
    - id: check-tests
      type: condition
      needs_state: [tests]
      if: "{{ state.tests.exit_code == 0 }}"
      then:
        - {id: ship, type: shell, command: make ship}
      else:
        - {id: tell, type: prompt, prompt_type: info, message: "Tests failed."}
    ```
    """

    without = ("secret",)
    kind = "condition"
    label = "a condition step"

    if_ = Field(CONDITION, "The condition.", required=True, example="{{ state.tests.exit_code == 0 }}")
    then = Field(BLOCK, "The steps to run if it is true.", required=True)
    else_ = Field(BLOCK, "The steps to run if it is false.")

    def blocks(self) -> Iterator[list[Step]]:
        yield self.then or []
        yield self.else_ or []

    def decision(self) -> Decision:
        return Decision(self.if_, self.then or [], self.else_ or [])

    def assigns(self) -> dict[str, Tree]:
        return {self.output_to.text: Tree(self.if_.node)} if self.output_to and self.if_ else {}

    def lower(self, chart: ChartBuilder, after: str) -> None:
        # Both lists lead to the step after the condition, even if they are empty.
        then, other = self.then or [], self.else_ or []
        name = chart.state(self, self._keep(chart))
        chart.choose(
            self, name, self._guard(chart), chart.entry_of(then, after), chart.entry_of(other, after), after
        )
        chart.block(then, after)
        chart.block(other, after)

    def _keep(self, chart: ChartBuilder) -> Effect | None:
        """With `output_to` the condition is evaluated once and stored, and the choice is made by the stored value."""
        # A retry needs an effect that can fail, even if nothing is kept.
        if not self.output_to and not self.retry:
            return None
        updates = {self.output_to.text: self.if_} if self.output_to else {}
        return chart.effect("Assign", self, lambda: {"updates": updates}, keeps=False)

    def _guard(self, chart: ChartBuilder) -> Guard:
        if not self.output_to:
            return chart.guard(self, self.if_)
        return chart.guard_on(self.output_to.text)
