from __future__ import annotations

from typing import TYPE_CHECKING

from wfc.language.steps.base import Step

if TYPE_CHECKING:
    from wfc.lower import Lowering


class Break(Step):
    """Leave the innermost `while`.

    ```yaml
    - id: stop-early
      type: break
      needs_state: [health]
      when: "{{ state.health.exit_code == 0 }}"
    ```
    """

    kind = "break"
    label = "a break step"

    def lower(self, chart: Lowering, after: str) -> None:
        _, end = chart.innermost_loop(after)
        chart.edge(chart.state(self), end)
