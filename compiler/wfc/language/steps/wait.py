from __future__ import annotations

from typing import Any

from wfc.language.fields import BOOLEAN, DELAY, TEXT, Computed
from wfc.language.shape import Field
from wfc.language.steps.base import Answered
from wfc.language.steps.protocol import ChartBuilder
from wfc_runtime.contract import WaitResult


class Wait(Answered):
    """Pause the run.

    The action has a time `resume_at`, after which the run continues automatically. No answer is needed. With
    `until_answer` it waits for an answer of any kind, at most for `duration_seconds` if that is given.

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

    ONE_OF = ("duration_seconds", "until_answer")

    duration_seconds = Field(Computed(DELAY), "The time to wait, in seconds.", example=30)
    until_answer = Field(BOOLEAN, "Whether any answer ends it.", default=False)
    message = Field(TEXT, "A message for the user.")

    def parameters(self) -> dict[str, object]:
        return {"message": self.message} if self.message else {}

    def lower(self, chart: ChartBuilder, after: str) -> None:
        event = "submit" if self.setting("until_answer") else "due"
        chart.suspend(self, chart.effect("Ask", self, self.ask), after, event)

    def result_class(self) -> Any:
        return None if self.setting("until_answer") else WaitResult

    def ask(self) -> dict[str, Any]:
        seconds = self.computed_seconds("duration_seconds")
        if not self.setting("until_answer"):
            return {**super().ask(), "wait_seconds": seconds}
        lapses = {"deadline": seconds, "lapses": True} if seconds else {}
        return {**super().ask(), "instruction": _UNTIL_ANSWER, **lapses}


_UNTIL_ANSWER = "Wait as the message says, then submit any result to continue."
