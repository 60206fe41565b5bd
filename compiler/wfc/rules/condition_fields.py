"""The conditions of steps: `if` and `when`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wfc.core.fields import CONDITION
from wfc.core.values import Text
from wfc.source import Entry
from wfc.steps.base import Step
from wfc.unit import Unit


@dataclass(frozen=True, slots=True)
class ConditionField:
    step: Step
    name: str
    text: Text

    @property
    def entry(self) -> Entry | None:
        return self.step.node.entry(self.name)


def condition_fields(unit: Unit) -> Iterator[ConditionField]:
    """Every condition of a file, in source order."""
    for step in unit.steps:
        for name, field in step.FIELDS.items():
            value = step.values.get(name)
            if field.type is CONDITION and isinstance(value, Text):
                yield ConditionField(step, name, value)
