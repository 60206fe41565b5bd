from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wfc.language import types
from wfc.language.fields import COUNT, ITEMS, NAME, STEPS
from wfc.language.shape import Field
from wfc.language.steps.base import Fallible, Step
from wfc.language.steps.protocol import ChartBuilder, Variables
from wfc.language.types import Type
from wfc.yaml import Span


class Each(Fallible):
    """Repeat steps for each item of a list, one after the other, on the workflow's own state.

    `items` is evaluated once. Inside, the item is called `item` and its index, from 0, `index`; `as` and `index_as`
    give them other names, which nested loops need. `break` leaves the loop, `continue` starts the next item. To
    work on items in parallel or in runs of their own, use `foreach`.

    ```yaml
    - id: build-modules
      type: each
      needs_state: [modules]
      items: "{{ state.modules }}"
      as: module
      steps:
        - {id: build-module, type: shell, command: "make {{ module | shquote }}", output_to: built}
    ```
    """

    kind = "each"
    label = "an each step"
    repeats = True

    items = Field(ITEMS, "The list, usually one expression.", required=True, example="{{ state.files }}")
    as_ = Field(NAME, "The name of the item inside.", default="item", example="file")
    index_as = Field(NAME, "The name of the index inside.", default="index")
    max_items = Field(COUNT, "The maximum number of items; with more, the step fails.", example=50)
    item_to = Field(NAME, "A state field that gets the item before each iteration, and null after the loop.")
    index_to = Field(
        NAME, "A state field that gets the index before each iteration, and null after the loop."
    )
    steps = Field(STEPS, "The steps to repeat.", required=True)

    def blocks(self) -> Iterator[list[Step]]:
        yield self.steps or []

    def names_inside(self) -> Variables:
        return Variables(str(self.setting("as")), str(self.setting("index_as")), self.items)

    def _writes(self) -> dict[str, tuple[Span, Type]]:
        given = {"item_to": types.ANY, "index_to": types.union(types.INT, types.NULL)}
        return {
            self.values[name].text: (self.values[name].span, kind)
            for name, kind in given.items()
            if name in self.values
        }

    def lower(self, chart: ChartBuilder, after: str) -> None:
        body = self.steps or []
        # Reserved first, because the effect before the turn refers to it.
        turn = chart.part(self, "turn")
        # A failure while the list is evaluated continues after the loop.
        chart.perform(self, chart.effect("EachItem", self, lambda: self._each(turn)), turn, after)
        fields = {name: self.values[name].text for name in ("item_to", "index_to") if name in self.values}
        chart.state(self, chart.turn(fields), part="turn")
        guard = chart.next_item(self.setting("max_items"))
        chart.choose(self, turn, guard, chart.entry_of(body, turn), after, after)
        with chart.loop(turn, after, self.names_inside()):
            chart.block(body, turn)

    def _each(self, turn: str) -> dict[str, Any]:
        return {"loop": turn, "items": self.items, "max_items": self.setting("max_items")}
