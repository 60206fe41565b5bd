from __future__ import annotations

from typing import Any

from wfc.language.fields import ANYTHING, BOOLEAN
from wfc.language.shape import Field
from wfc.language.steps.base import Retried
from wfc.language.steps.protocol import ChartBuilder
from wfc.language.values import Tree


class Return(Retried):
    """End the workflow or task with a value.

    Nothing after it runs, unless its value can't be computed and `on_error` handles that. A workflow that ends without
    `return` completes with its final state; a task without one returns its final state to the foreach. With
    `state: true`, the step ends it with its final state as well.

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
    state = Field(BOOLEAN, "Whether to end with the final state instead of a value.", default=False)
    without = ("when",)

    def returns(self) -> Tree | None:
        return self.value

    def lower(self, chart: ChartBuilder, after: str) -> None:
        chart.perform(self, chart.effect("Return", self, self._value), chart.end, after)

    def _value(self) -> dict[str, Any]:
        return {"state": True} if self.setting("state") else {"value": self.value}
