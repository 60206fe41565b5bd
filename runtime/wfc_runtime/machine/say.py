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
        tell(run, state, run.evaluate(self.message, self.reads), self.message_type, self.format)


def tell(run: Run, state: str, value: Json, message_type: str, format: str = "text") -> None:
    """Add a message to the next replies. Raises `StepError` if it is too large for one."""
    text = value if isinstance(value, str) else to_text(value)
    # Rejected instead of cut: a report that is cut silently may hide the sentence that matters.
    size = size_of(text)
    if size > run.limits.action_bytes:
        raise StepError(
            "message_size", f"the message is {size:,} bytes; the limit is {run.limits.action_bytes:,}"
        )
    said = {
        "step_id": run.visit_of(state),
        "message": text,
        "message_type": message_type,
        "format": format,
    }
    run.outcome.said = [*run.outcome.said, said][-MOST:]
    outbox = [*run.snapshot.outbox, said][-MOST:]
    # The count alone does not bound the size of a reply. At least the newest message is always delivered.
    while len(outbox) > 1 and size_of(outbox) > run.limits.action_bytes:
        outbox = outbox[1:]
    run.snapshot.outbox = outbox
