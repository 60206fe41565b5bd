from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wfc.language.changes import CHANGES, Update, lowered
from wfc.language.shape import Field
from wfc.language.steps.base import Handling, Retried
from wfc.language.steps.protocol import ChartBuilder
from wfc.language.types import Type
from wfc.language.values import Tree
from wfc.yaml import Span


class Change(Handling, Retried):
    """Change parts of state fields: append to a list, count, set a key of an object.

    All changes are written together, or none. Every expression sees the state from before the step. A part that is not
    there yet is created: an `increment` then counts from 0, and an `append` begins a list.

    ```yaml
    - id: note-result
      type: change
      needs_state: [build]
      changes:
        - {path: attempts, operation: increment}
        - {path: [log, entries], operation: append, value: "{{ state.build.exit_code }}"}
    ```
    """

    kind = "change"
    label = "a change step"
    color = "state"

    changes = Field(CHANGES, "The changes, in order.", required=True)

    def _writes(self) -> dict[str, tuple[Span, Type]]:
        own = {one.field: (one.field_span, one.kind) for one in self.changes or [] if one.path}
        return {**super()._writes(), **own}

    def assigns(self) -> dict[str, Tree] | None:
        whole = [one for one in self.changes or [] if one.is_whole and one.value is not None]
        # Only if nothing else changes the same fields.
        if len(whole) < len(self.changes or ()) or len({one.field for one in whole}) < len(whole):
            return None
        return {one.field: one.value for one in whole if one.value is not None}

    def partial(self) -> Iterator[Update]:
        yield from super().partial()
        yield from self.changes or []

    def lower(self, chart: ChartBuilder, after: str) -> None:
        chart.perform(
            self,
            chart.effect("ChangeFields", self, self._arguments, keeps=False),
            after,
        )

    def _arguments(self) -> dict[str, Any]:
        return {
            "updates": lowered(self.changes),
            "error_changes": lowered(self.error_changes),
            "failure_message": self.values.get("failure_message"),
        }
