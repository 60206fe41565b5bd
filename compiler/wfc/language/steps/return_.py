from __future__ import annotations

from wfc.language.fields import ANYTHING
from wfc.language.shape import Field
from wfc.language.steps.base import Retried
from wfc.language.steps.protocol import ChartBuilder
from wfc.language.values import Tree


class Return(Retried):
    """End the workflow or task with a value.

    Nothing after it runs, unless its value can't be computed and `on_error` handles that. A workflow that ends without
    `return` completes with its final state; a task without one returns its final state to the foreach.

    ```yaml
    - id: done
      type: return
      needs_state: [plan]
      value:
        approved: true
        plan: "{{ state.plan.response }}"
    ```
    """

    kind = "return"
    label = "a return step"
    color = "end"
    ends_block = True

    value = Field(ANYTHING, "The value, with templates in its strings.")
    without = ("when",)

    def returns(self) -> Tree | None:
        return self.value

    def lower(self, chart: ChartBuilder, after: str) -> None:
        chart.perform(self, chart.effect("Return", self, lambda: {"value": self.value}), chart.end, after)
