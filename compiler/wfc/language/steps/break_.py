from __future__ import annotations

from wfc.language.steps.base import Step
from wfc.language.steps.protocol import ChartBuilder


class Break(Step):
    """Leave the innermost `while` or `each`.

    ```yaml
    - id: stop-early
      type: break
      needs_state: [health]
      when: "{{ state.health.exit_code == 0 }}"
    ```
    """

    kind = "break"
    label = "a break step"
    ends_block = True

    def lower(self, chart: ChartBuilder, after: str) -> None:
        _, end = chart.innermost_loop(after)
        chart.edge(chart.state(self), end)
