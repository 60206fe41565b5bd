from __future__ import annotations

from wfc.language.steps.base import Step
from wfc.language.steps.protocol import ChartBuilder


class Continue(Step):
    """Continue with the next iteration of the innermost `while`, or with the next item of the innermost `each`.

    ```yaml
    - id: skip-the-rest
      type: continue
      needs_state: [build]
      when: "{{ state.build.exit_code != 0 }}"
    ```
    """

    kind = "continue"
    label = "a continue step"
    ends_block = True

    def lower(self, chart: ChartBuilder, after: str) -> None:
        turn, _ = chart.innermost_loop(after)
        chart.edge(chart.state(self), turn)
