"""The interface between editors and a dialect, and tools for texts that are being typed.

Such a text is mostly broken YAML, so completion works from the lines above the cursor, and takes names and types from
the last version that could be read.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from wfc.language.ast import Scope, Workflow
from wfc.language.dialect import Parsed
from wfc.language.shape import InputDecl, Shape
from wfc.language.steps.base import Step
from wfc.language.steps.protocol import Child
from wfc.language.types import Type
from wfc.language.values import Word
from wfc.yaml import Span


@dataclass(frozen=True, slots=True)
class Suggestion:
    text: str
    kind: str
    """field, input, property, step, task, workflow, type, key, value, filter, test, function or name."""
    detail: str = ""
    doc: str = ""


@dataclass(frozen=True, slots=True)
class StepUse:
    """A place that names a step, in a file that is translated."""

    name: str
    span: Span
    is_definition: bool = False
    title: str = ""
    """The first line of its hover text."""
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A place that names a part of a step's result, such as `succeeded` in `${blocks.build.succeeded}`."""

    step: str
    span: Span
    doc: str
    """Empty for a part without documentation, such as a declared output."""


class OpenFile(Protocol):
    """The last readable version of an open document, with the analyses that a dialect can't do itself."""

    @property
    def parsed(self) -> Parsed | None: ...

    def workflows(self) -> Iterable[str]:
        """The names of the project's workflows."""

    def called(self, name: str) -> Workflow | None:
        """The workflow of that name in the project."""

    def step_named(self, name: str) -> tuple[Scope, Step] | None: ...

    def fields(self, scope: Scope | None) -> dict[str, Type]:
        """The state fields of a scope with their types."""

    def names_given(self, scope: Scope | None, starting: Child | None) -> dict[str, Type]:
        """`item` and the like: in a task, or in the `with` of the step that starts its runs."""

    def type_of_path(
        self, scope: Scope, path: Sequence[str | int | None], starting: Child | None
    ) -> Type | None:
        """The type at the end of a path, root first; None where nothing is known."""


# The mapping around the cursor, by the indentation of the lines above it.

_TYPE = re.compile(r"^\s*(?:- )?type:\s*['\"]?(\w+)")
_FLOW = re.compile(r"^\s*- \{([^{}]*,)?\s*[a-z_]*$")
_FLOW_KEY = re.compile(r"(?:^|,)\s*([a-z_]+):\s*['\"]?(\w*)")


def siblings(above: list[str], indent: int) -> tuple[set[str], str]:
    """The keys above the cursor in the same mapping, and the `type` among them."""
    keys: set[str] = set()
    kind = ""
    for line in reversed(above):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        depth = column_of(line)
        if depth < indent:
            break
        if depth == indent:
            keys.add(line.strip().removeprefix("- ").partition(":")[0])
            typed = _TYPE.match(line)
            kind = kind or (typed[1] if typed else "")
            if line.lstrip().startswith("- "):
                break
    return keys, kind


def parents(above: list[str]) -> Iterator[tuple[str, str]]:
    """The keys around the mapping or list at the cursor, innermost first, each with the `type` beside it."""
    column = column_of(above[-1])
    for number in range(len(above) - 2, -1, -1):
        line = above[number]
        if line.strip() and column_of(line) < column:
            key = line.strip().removeprefix("- ").partition(":")[0]
            yield key, siblings(above[:number], column_of(line))[1]
            column = column_of(line)


def flow_keys(line: str) -> dict[str, str] | None:
    """The keys before the cursor, with their values, in a list item of the form `- {id: go, `; otherwise None."""
    found = _FLOW.match(line)
    return dict(_FLOW_KEY.findall(found[1] or "")) if found else None


def fields_of(shape: type[Shape], there: Container[str]) -> Iterator[Suggestion]:
    """The fields that the mapping does not have yet."""
    for name, field in shape.FIELDS.items():
        if name not in there:
            need = "required" if field.required else ""
            yield Suggestion(name, "key", need, f"{field.doc} Takes {field.type.words}.")


def column_of(line: str) -> int:
    """The column of a line's key, after the dash of a list item."""
    bare = line.lstrip()
    return len(line) - len(bare) + (2 if bare.startswith("- ") else 0)


def inputs_suggested(inputs: dict[str, InputDecl], there: Container[str] = ()) -> Iterator[Suggestion]:
    """The declared inputs that the mapping does not have yet."""
    for name, declared in inputs.items():
        if name not in there:
            yield Suggestion(name, "input", text_of(declared.type), text_of(declared.description))


def text_of(word: Word | None) -> str:
    return word.text if word else ""
