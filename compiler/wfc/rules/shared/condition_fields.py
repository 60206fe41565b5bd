"""The conditions of steps: `if` and `when`."""

from __future__ import annotations

from wfc.caching import cached_per_file
from wfc.language.fields import CONDITION
from wfc.language.steps.base import Step
from wfc.language.values import Text
from wfc.project import SourceFile
from wfc.struct import struct
from wfc.yaml import Entry


@struct(frozen=True)
class ConditionField:
    step: Step
    name: str
    text: Text

    @property
    def entry(self) -> Entry | None:
        return self.step.node.entry(self.name)


@cached_per_file(8)
def condition_fields(unit: SourceFile) -> list[ConditionField]:
    """Every condition of a file, in source order."""
    return [
        ConditionField(step, name, value)
        for step in unit.steps
        for name, value in step.values.items()
        if isinstance(value, Text) and step.FIELDS[name].type is CONDITION
    ]
