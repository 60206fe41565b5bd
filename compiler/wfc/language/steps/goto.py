from __future__ import annotations

from collections.abc import Iterator

from wfc.language.fields import COUNT, WORD
from wfc.language.shape import Field
from wfc.language.steps.base import Step
from wfc.language.steps.protocol import ChartBuilder
from wfc.language.values import Word


class Goto(Step):
    """Jump to another step.

    The target is in the same list or in a list around it, never inside a branch or another task. `max_iterations`
    limits the number of jumps in a run; after that the run continues at `else`, or fails.

    ```yaml
    - id: try-again
      type: goto
      target: improve
      max_iterations: 3
      else: give-up
    ```
    """

    kind = "goto"
    label = "a goto step"
    ends_block = True

    target = Field(WORD, "The id of the step to go to.", required=True, example="improve")
    max_iterations = Field(COUNT, "The maximum number of jumps.", required=True, example=3)
    else_ = Field(WORD, "The step to continue with after the last jump.")

    def jumps(self) -> Iterator[tuple[str, Word]]:
        if self.target:
            yield "target", self.target
        if self.else_:
            yield "else", self.else_

    def jump(self) -> Word | None:
        return self.target

    def lower(self, chart: ChartBuilder, after: str) -> None:
        name = chart.state(self)
        jumps = chart.at_most(self.setting("max_iterations"))
        chart.edge(name, chart.target(self.target, after), guard=jumps)
        if self.else_:
            # The count is exhausted: the guard fails, and `else` is the recovery.
            chart.edge(name, chart.target(self.else_, after), "recover")
