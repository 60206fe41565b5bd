from __future__ import annotations

from wfc.language import types
from wfc.language.fields import UPDATES
from wfc.language.shape import Field
from wfc.language.steps.base import Keeping, Retried
from wfc.language.steps.protocol import Bindings, ChartBuilder
from wfc.language.types import Type, type_of
from wfc.language.values import Tree
from wfc.yaml import Mapping, Span


class SetState(Keeping, Retried):
    """Write computed values to the state.

    All updates are written together, or none. In a value, a bare name is an earlier key of the same `updates`. A value
    that is a single `{{ expr }}` keeps its type: a number stays a number.

    ```yaml
    - id: tally
      type: set_state
      needs_state: [results]
      updates:
        total: "{{ state.results | length }}"
        share: "{{ 100 / total if total else 0 }}"
    ```
    """

    kind = "set_state"
    label = "a set_state step"
    color = "state"

    updates = Field(UPDATES, "State fields and their new values.", required=True)

    def _writes(self) -> dict[str, tuple[Span, Type]]:
        node = self.node.get("updates")
        keys = {entry.key.text: entry.key.span for entry in node.entries} if isinstance(node, Mapping) else {}
        updates = {
            name: (keys.get(name, self.span), type_of(tree.data))
            for name, tree in (self.updates or {}).items()
        }
        return {**updates, **super()._writes()}

    def result_type(self) -> Type:
        return types.OBJECT

    def assigns(self) -> dict[str, Tree]:
        return self.updates or {}

    def bindings(self) -> Bindings | None:
        return Bindings("updates", self.updates, in_order=True) if self.updates else None

    def lower(self, chart: ChartBuilder, after: str) -> None:
        chart.perform(self, chart.effect("Assign", self, lambda: {"updates": self.updates}), after)
