"""The main language: `steps`, each with an `id` and a `type`."""

from __future__ import annotations

from typing import Any, TypeVar

from wfc.dialects.steps.meant_type import TYPE, meant_entry, meant_type
from wfc.dialects.steps.prompt_pair import split_prompt_pair
from wfc.language.ast import Workflow
from wfc.language.shape import Shape
from wfc.language.steps import STEP_TYPES
from wfc.language.steps.base import Step, UnknownStep
from wfc.struct import replace
from wfc.yaml import Entry, Mapping, Node, Scalar


class StepsDialect:
    name = "steps"

    def matches(self, root: Mapping) -> bool:
        return root.entry("steps") is not None

    def to_core(self, root: Mapping) -> Workflow:
        workflow = read_shape(Workflow, root)
        for name, task in workflow.declared_tasks.items():
            task.task_name = name
        return workflow

    def schema(self) -> dict[str, Any]:
        from wfc.language.schema import steps_schema

        return steps_schema()


class _Reader:
    """What fields ask for to read what stands inside them."""

    def shape(self, kind: type[Shape], node: Mapping) -> Any:
        return read_shape(kind, node)

    def step(self, node: Node) -> Step | None:
        return read_step(node) if isinstance(node, Mapping) else None


_READER = _Reader()
_FIELDS = frozenset(name for kind in STEP_TYPES.values() for name in kind.FIELDS)
S = TypeVar("S", bound=Shape)


def read_shape(kind: type[S], node: Mapping) -> S:
    return kind(node, _values(kind, node.entries))


def read_step(node: Mapping) -> Step:
    entries = split_prompt_pair(node)
    misspelt = meant_entry(entries, STEP_TYPES, _FIELDS)
    if misspelt is not None:
        renamed = Entry(replace(misspelt.key, text=TYPE, value=TYPE), misspelt.value)
        entries = [renamed if entry is misspelt else entry for entry in entries]
    kind = next((entry.value for entry in entries if entry.key.text == TYPE), None)
    step_class = (meant_type(kind.text, STEP_TYPES) if isinstance(kind, Scalar) else None) or UnknownStep
    return step_class(node, _values(step_class, entries))


def _values(kind: type[Shape], entries: list[Entry]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for entry in entries:
        field = kind.FIELDS.get(entry.key.text)
        if field is None or field.name in values:
            continue
        value = field.type.read(entry.value, _READER)
        if value is not None:
            values[field.name] = value
    return values


__all__ = ["StepsDialect", "read_step"]
