from __future__ import annotations

from typing import Any

from wfc.language.fields import DELAY, TEXT
from wfc.language.shape import Field
from wfc.language.steps.base import Answered
from wfc.language.steps.protocol import ChartBuilder
from wfc_runtime.contract import WaitResult


class Wait(Answered):
    """Pause the run.

    The action has a time `resume_at`, after which the run continues by itself. No answer is needed.

    ```yaml
    - id: let-dns-settle
      type: wait
      duration_seconds: 30
      message: "Waiting for DNS."
    ```
    """

    without = ("secret",)
    kind = "wait"
    label = "a wait step"
    color = "time"
    result = WaitResult

    duration_seconds = Field(DELAY, "The time to wait, in seconds.", required=True, example=30)
    message = Field(TEXT, "A message for the user.")

    def parameters(self) -> dict[str, object]:
        return {"message": self.message} if self.message else {}

    def lower(self, chart: ChartBuilder, after: str) -> None:
        chart.suspend(self, chart.effect("Ask", self, self.ask), after, "due")

    def ask(self) -> dict[str, Any]:
        return {**super().ask(), "wait_seconds": self.setting("duration_seconds")}
