"""Messages that need no answer. They are part of every reply until the agent submits the next result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wfc_runtime.contract import Json
from wfc_runtime.errors import StepError
from wfc_runtime.machine.effects import Effect
from wfc_runtime.machine.values import size_of, to_text

if TYPE_CHECKING:
    from wfc_runtime.machine.run import Run

MOST = 100
"""Messages that wait for the next submit; the oldest are dropped, since a loop may say something in each turn."""


@dataclass(frozen=True, kw_only=True)
class Say(Effect):
    """Tell the user something, and continue."""

    message: Json
    message_type: str = "info"
    format: str = "text"

    @property
    def texts(self) -> list[Json]:
        return [self.message]

    def enter(self, run: Run, state: str) -> None:
        value = run.evaluate(self.message, self.reads)
        text = value if isinstance(value, str) else to_text(value)
        size = size_of(text)
        if size > run.limits.action_bytes:
            raise StepError(
                "message_size", f"the message is {size:,} bytes; the limit is {run.limits.action_bytes:,}"
            )
        said = {
            "step_id": run.visit_of(state),
            "message": text,
            "message_type": self.message_type,
            "format": self.format,
        }
        run.outcome.said = [*run.outcome.said, said][-MOST:]
        outbox = [*run.snapshot.outbox, said][-MOST:]
        while len(outbox) > 1 and size_of(outbox) > run.limits.action_bytes:
            outbox = outbox[1:]
        run.snapshot.outbox = outbox
