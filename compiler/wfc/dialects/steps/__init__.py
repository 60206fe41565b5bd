"""The main language: `steps`, each with an `id` and a `type`."""

from __future__ import annotations

from collections import abc
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from wfc.caching import cached, pattern
from wfc.dialects.base import Dialect, mark_scripts
from wfc.language.ast import Workflow
from wfc.language.dialect import Language, OldSpelling, Parsed
from wfc.language.shape import Shape
from wfc.language.steps import STEP_TYPES
from wfc.language.steps.base import Step, UnknownStep
from wfc.language.steps.prompt import PROMPT_KINDS
from wfc.struct import replace
from wfc.suggest import only_near
from wfc.yaml import Entry, Mapping, Node, Scalar

if TYPE_CHECKING:
    from wfc.dialects.editing import OpenFile, Suggestion

# Typo recovery: if the key `type` or its value is misspelled, the step is still read as the type that was probably
# meant, so that one mistake does not hide the findings in the rest of the step.

TYPE = "type"
_LONGEST = 24
"""Longer words are not compared: no type is that long, and the comparison is quadratic."""
T = TypeVar("T")


def recover_entry(entries: list[Entry], types: Collection[str], fields: Collection[str]) -> Entry | None:
    """The entry with a misspelled key `type`: the only one with a similar key and a known type as its value."""
    if any(entry.key.text == TYPE for entry in entries):
        return None
    meant = [
        entry
        for entry in entries
        if isinstance(entry.value, Scalar)
        and entry.value.text in types
        and entry.key.text not in fields
        and _nearly(entry.key.text, (TYPE,))
    ]
    return meant[0] if len(meant) == 1 else None


def recover_type(name: str, types: abc.Mapping[str, T]) -> T | None:
    """The type of that name, or the only one with a similar name."""
    return types.get(name) or types.get(_nearly(name, tuple(types)) or "")


@cached(4096)
def _nearly(name: str, known: tuple[str, ...]) -> str | None:
    return only_near(name, known) if len(name) <= _LONGEST else None


# The old spelling of a prompt: `type: prompt` and `type: confirm` in one step.

PROMPT_TYPE = "prompt_type"


def prompt_pair(node: Mapping) -> tuple[Entry, Entry] | None:
    """The two `type` entries of an old prompt (the kind of step first), or None if it is not one."""
    types = [entry for entry in node.entries if entry.key.text == "type"]
    if len(types) != 2 or node.entry(PROMPT_TYPE) is not None:
        return None
    step = [entry for entry in types if isinstance(entry.value, Scalar) and entry.value.text == "prompt"]
    kind = [entry for entry in types if isinstance(entry.value, Scalar) and entry.value.text in PROMPT_KINDS]
    return (step[0], kind[0]) if len(step) == 1 and len(kind) == 1 else None


def split_prompt_pair(node: Mapping) -> list[Entry]:
    """The entries with the second `type` of an old prompt read as `prompt_type`."""
    pair = prompt_pair(node)
    if pair is None:
        return node.entries
    _, kind = pair
    renamed = Entry(replace(kind.key, text=PROMPT_TYPE, value=PROMPT_TYPE), kind.value)
    return [renamed if entry is kind else entry for entry in node.entries]


# The dialect.


class StepsLanguage(Language):
    # `${inputs.name}` of the blocks language, `$inputs.name`, and one brace where two are needed. Other `$...` are
    # variables of the shell, which commands may use.
    foreign_reference = pattern(
        r"(?:(?<!\{)\$?\{\s*(?=[\w.-]+\s*\}(?!\}))|\$\(?)((?:inputs|state)\.[A-Za-z_][\w.-]*(?<=\w))(?:\s*[})])?"
    )

    def old_spelling(self, node: Mapping) -> OldSpelling | None:
        pair = prompt_pair(node)
        return OldSpelling(*pair, PROMPT_TYPE) if pair else None


LANGUAGE = StepsLanguage()


class StepsDialect(Dialect):
    name = "steps"

    def matches(self, root: Mapping) -> bool:
        return root.entry("steps") is not None

    def parse(self, root: Mapping) -> Parsed:
        return Parsed(read_workflow(root), LANGUAGE)

    def schema(self) -> dict[str, Any]:
        from wfc.language.schema import steps_schema

        return steps_schema()

    def complete(self, file: OpenFile, text: str, offset: int) -> Iterable[Suggestion]:
        from wfc.dialects.steps import editing

        return editing.complete(file, text, offset)

    def page(self, shape: Shape, kind: str) -> str:
        from wfc.language.reference import find_step

        page = find_step(kind) if isinstance(shape, Step) else None
        return page.doc if page else ""


class _Reader:
    """Reads nested shapes and steps for field types."""

    def shape(self, kind: type[Shape], node: Mapping) -> Any:
        return read_shape(kind, node)

    def step(self, node: Node) -> Step | None:
        return read_step(node) if isinstance(node, Mapping) else None


_READER = _Reader()
_FIELDS = frozenset(name for kind in STEP_TYPES.values() for name in kind.FIELDS)
S = TypeVar("S", bound=Shape)


def read_workflow(root: Mapping) -> Workflow:
    expressions = root.get("expressions")
    if isinstance(expressions, Scalar) and expressions.text == "javascript":
        mark_scripts(root)
    workflow = read_shape(Workflow, root)
    for name, task in workflow.declared_tasks.items():
        task.task_name = name
    return workflow


def read_shape(kind: type[S], node: Mapping) -> S:
    return kind(node, _values(kind, node.entries))


def read_step(node: Mapping) -> Step:
    entries = split_prompt_pair(node)
    misspelt = recover_entry(entries, STEP_TYPES, _FIELDS)
    if misspelt is not None:
        renamed = Entry(replace(misspelt.key, text=TYPE, value=TYPE), misspelt.value)
        entries = [renamed if entry is misspelt else entry for entry in entries]
    kind = next((entry.value for entry in entries if entry.key.text == TYPE), None)
    step_class = (recover_type(kind.text, STEP_TYPES) if isinstance(kind, Scalar) else None) or UnknownStep
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
