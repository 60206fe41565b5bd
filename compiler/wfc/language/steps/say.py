from __future__ import annotations

from wfc.language.fields import TEXT, WORD, OneOf
from wfc.language.shape import Field
from wfc.language.steps.base import Retried
from wfc.language.steps.protocol import ChartBuilder


class Say(Retried):
    """Tell the user something, and continue at once.

    The next reply has the message in `messages`, and so has every further reply until the agent submits the next
    result. For a message that must be acknowledged, use a `prompt` with `prompt_type: info`.

    ```yaml
    - id: tell-progress
      type: say
      needs_state: [results]
      message: "{{ state.results | length }} results so far."
    ```
    """

    kind = "say"
    label = "a say step"
    color = "message"

    message = Field(TEXT, "The message.", required=True, example="The build has started.")
    message_type = Field(
        WORD, "The kind of message, such as `info`, `success`, `warning` or `error`.", default="info"
    )
    format = Field(OneOf(("text", "markdown", "code")), "How the message is written.", default="text")

    def lower(self, chart: ChartBuilder, after: str) -> None:
        chart.perform(self, chart.effect("Say", self, self._say), after)

    def _say(self) -> dict[str, object]:
        return {
            "message": self.message,
            "message_type": None if self.setting("message_type") == "info" else self.setting("message_type"),
            "format": None if self.setting("format") == "text" else self.setting("format"),
        }
