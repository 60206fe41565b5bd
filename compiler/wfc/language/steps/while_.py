from __future__ import annotations

from collections.abc import Iterator

from wfc.language.fields import CONDITION, COUNT, STEPS
from wfc.language.shape import Field
from wfc.language.steps.base import Fallible, Step
from wfc.language.steps.protocol import ChartBuilder, Decision


class While(Fallible):
    """Repeat steps as long as a condition holds.

    The condition is evaluated before each iteration. `max_iterations` limits the iterations each time the loop is
    entered: if the condition still holds after that, the step fails (`on_error: continue` continues after the loop).

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
    steps = Field(STEPS, "The steps to repeat.", required=True)

    def blocks(self) -> Iterator[list[Step]]:
        yield self.steps or []

    def decision(self) -> Decision:
        return Decision(self.if_, self.steps or [], [])

    def lower(self, chart: ChartBuilder, after: str) -> None:
        body = self.steps or []
        start = chart.state(self, chart.begin(lambda: turn))
        turn = chart.state(self, part="turn")
        chart.edge(start, turn)
        guard = chart.guard(self, self.if_, self.setting("max_iterations"))
        chart.choose(self, turn, guard, chart.entry_of(body, turn), after, after)
        with chart.loop(turn, after):
            chart.block(body, turn)
