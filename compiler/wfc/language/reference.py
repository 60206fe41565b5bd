"""Reference pages of the step types and their fields, as data.

`wfc explain` prints them, editors show them on hover, and the documentation is built from them.
"""

from __future__ import annotations

import inspect
from dataclasses import asdict, dataclass
from typing import Any

from wfc.language import types
from wfc.language.fields import OneOf
from wfc.language.shape import Shape
from wfc.language.steps import STEP_TYPES
from wfc.language.steps.base import Keeping, Step
from wfc.language.types import Record, Type
from wfc.language.values import Word
from wfc.yaml import Mapping, Scalar, Source

_NOWHERE = Source("", "").start
_WORDS: dict[Type, str] = {types.ANY: "anything", types.LIST: "list"}


@dataclass(frozen=True, slots=True)
class FieldPage:
    name: str
    takes: str
    required: bool
    default: Any
    doc: str


@dataclass(frozen=True, slots=True)
class PropertyPage:
    name: str
    type: str
    optional: bool


@dataclass(frozen=True, slots=True)
class ResultPage:
    """The result of a step, which `output_to` keeps."""

    where: str
    """The setting that has this result, such as `prompt_type: confirm`; empty for the result without one."""
    type: str
    properties: list[PropertyPage]


@dataclass(frozen=True, slots=True)
class StepPage:
    name: str
    doc: str
    fields: list[FieldPage]
    results: list[ResultPage]

    @property
    def summary(self) -> str:
        return self.doc.split("\n", 1)[0]

    def to_data(self) -> dict[str, Any]:
        return {"kind": "step", "name": self.name, "summary": self.summary, **asdict(self)}


def find_step(topic: str) -> StepPage | None:
    """A step type by its name."""
    kind = STEP_TYPES.get(topic.strip().lower().replace("-", "_"))
    return step_page(kind) if kind else None


def step_page(kind: type[Step]) -> StepPage:
    return StepPage(kind.kind, inspect.cleandoc(kind.__doc__ or ""), fields_of(kind), _results(kind))


def fields_of(shape: type[Shape]) -> list[FieldPage]:
    fields = [
        FieldPage(name, field.type.words, field.required, field.default, field.doc)
        for name, field in shape.FIELDS.items()
    ]
    # Required fields first. The sort is stable, so the others keep the order of declaration.
    return sorted(fields, key=lambda field: not field.required)


def _results(kind: type[Step]) -> list[ResultPage]:
    """The result of a step, or one for each choice of the fields that it depends on. The usual result comes first."""
    if not issubclass(kind, Keeping):
        return []
    plain = kind(Mapping(_NOWHERE), {}).result_type()
    found: list[tuple[str, Type]] = []
    chosen = False
    for name, field in kind.FIELDS.items():
        if isinstance(field.type, OneOf):
            made = [(f"{name}: {choice}", _with(kind, name, choice)) for choice in field.type.choices]
            if any(result != plain for _, result in made):
                found += made
                chosen = chosen or field.required
    # A step without any of these fields has the plain result, unless one of them is required.
    if not chosen and all(result != plain for _, result in found):
        found.insert(0, ("", plain))
    return [_result(*one) for one in sorted(found, key=lambda one: one[1] != plain)]


def _with(kind: type[Keeping], field: str, choice: str) -> Type:
    word = Word(Scalar(_NOWHERE, choice, choice, ""))
    return kind(Mapping(_NOWHERE), {field: word}).result_type()


def _result(where: str, kind: Type) -> ResultPage:
    if not isinstance(kind, Record):
        return ResultPage(where, _WORDS.get(kind, str(kind)), [])
    properties = [PropertyPage(prop.name, str(prop.type), not prop.required) for prop in kind.properties]
    return ResultPage(where, "object", properties)
