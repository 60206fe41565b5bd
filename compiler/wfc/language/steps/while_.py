from __future__ import annotations

from collections.abc import Iterator

from wfc.language import types
from wfc.language.fields import CONDITION, COUNT, NAME, STEPS, OneOf
from wfc.language.shape import Field
from wfc.language.steps.base import Fallible, Step
from wfc.language.steps.protocol import ChartBuilder, Decision, Variables
from wfc.language.types import Type
from wfc.yaml import Span


class While(Fallible):
    """Repeat steps as long as a condition holds.

    The condition is evaluated before each iteration. `max_iterations` limits the iterations each time the loop is
    entered: if the condition still holds after that, the step fails (`on_error: continue` continues after the loop),
    or with `at_limit: leave` the run continues after the loop.

    ```yaml
    - id: poll
      type: while
      needs_state: [health]
      if: "{{ state.health.stdout != 'ok' }}"
      max_iterations: 10
      steps:
        - {id: check, type: shell, command: ./health, output_to: health}
    ```
    """

    kind = "while"
    label = "a while step"
    repeats = True

    if_ = Field(CONDITION, "The condition for another iteration.", required=True)
    max_iterations = Field(COUNT, "The maximum number of iterations.", required=True, example=10)
    at_limit = Field(
        OneOf(("fail", "leave")),
        "The reaction if the condition still holds after `max_iterations`: the step fails, or the run leaves the loop.",
        default="fail",
    )
    count_to = Field(
        NAME,
        "A state field that gets the number of the iteration, from 1, before the condition is evaluated; after "
        "the loop, the number of iterations.",
        example="turn",
    )
    steps = Field(STEPS, "The steps to repeat.", required=True)

    def blocks(self) -> Iterator[list[Step]]:
        yield self.steps or []

    def decision(self) -> Decision:
        return Decision(self.if_, self.steps or [], [])

    def _writes(self) -> dict[str, tuple[Span, Type]]:
        return {self.count_to.text: (self.count_to.span, types.INT)} if self.count_to else {}

    def lower(self, chart: ChartBuilder, after: str) -> None:
        body = self.steps or []
        # A lambda, since the name of the turn is only known after the next line.
        start = chart.state(self, chart.begin(lambda: turn))
        fields = {"count_to": self.count_to.text} if self.count_to else {}
        turn = chart.state(self, chart.turn(fields), part="turn")
        chart.edge(start, turn)
        leaves = self.setting("at_limit") == "leave"
        guard = chart.guard(self, self.if_, self.setting("max_iterations"), leaves)
        chart.choose(self, turn, guard, chart.entry_of(body, turn), after, after)
        # A loop without a count has no variables, and needs no entry in the module.
        with chart.loop(turn, after, Variables() if self.count_to else None):
            chart.block(body, turn)
