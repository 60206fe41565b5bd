from __future__ import annotations

from typing import TYPE_CHECKING

from wfc.language.steps.base import Step

if TYPE_CHECKING:
    from wfc.lower import Lowering


class Continue(Step):
    """Go on with the next turn of the innermost `while`.

    ```yaml
    - id: skip-the-rest
      type: continue
      needs_state: [build]
      when: "{{ state.build.exit_code != 0 }}"
    ```
    """

    kind = "continue"
    label = "a continue step"

    def lower(self, chart: Lowering, after: str) -> None:
        turn, _ = chart.innermost_loop(after)
        chart.edge(chart.state(self), turn)
