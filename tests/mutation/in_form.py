"""Mistakes that the schema knows.

All steps of a type are read by one schema: to seed the same key of each again and again would only flatter the rate. So
each key of each kind of shape has its turn once.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.mutation.seeding import Seed, Where, add_line, cut, misspell, mistake, put, replace, title
from wfc.language.shape import InputDecl, Shape
from wfc.language.values import Literal
from wfc.project import SourceFile
from wfc.yaml import Entry, Mapping, Scalar, Sequence


def _keys(file: SourceFile) -> Iterator[tuple[Shape, Entry]]:
    for shape in file.shapes:
        for entry in shape.node.entries:
            if entry.key.text in shape.FIELDS:
                yield shape, entry


@mistake(Where.HERE, once=True)
def misspell_a_key(file: SourceFile) -> Iterator[Seed]:
    for shape, entry in _keys(file):
        yield replace(shape, entry.key.span, misspell(entry.key.text), of=shape.label)


@mistake(Where.ANYWHERE, once=True)
def drop_a_required_key(file: SourceFile) -> Iterator[Seed]:
    for shape, entry in _keys(file):
        if shape.FIELDS[entry.key.text].required:
            change = cut(shape.node, entry)
            yield Seed(title(shape), f"{shape.label}: no {entry.key.text}", (change,))


@mistake(Where.HERE, once=True)
def give_a_key_the_wrong_type(file: SourceFile) -> Iterator[Seed]:
    """A number with a unit, a boolean in words, text where a list belongs."""
    for shape, entry in _keys(file):
        key, value = entry.key.text, shape.values.get(entry.key.text)
        if isinstance(value, Literal):
            wrong = "maybe" if isinstance(value.value, bool) else f"{value.node.text}s"
            yield Seed(title(shape), f"{shape.label}: {key} is wrong", (put(value.span, wrong),))
        elif isinstance(entry.value, Mapping | Sequence) and key not in (
            "default",
            "value",
            "on_error",
            "enum",
        ):
            yield Seed(title(shape), f"{shape.label}: {key} is text", (put(entry.value.span, "some text\n"),))


@mistake(Where.HERE, once=True)
def misspell_a_step_type(file: SourceFile) -> Iterator[Seed]:
    for step in file.steps:
        yield replace(step, step.value_span("type"), misspell(step.kind))


@mistake(Where.HERE, once=True)
def misspell_a_word_of_the_language(file: SourceFile) -> Iterator[Seed]:
    """`prompt_type: confrim`, `on_error: contnue`, `type: strng`."""
    for shape in file.shapes:
        for key in (
            "prompt_type",
            "on_error",
            "item_type",
            *(["type"] if isinstance(shape, InputDecl) else []),
        ):
            node = shape.node.get(key)
            if isinstance(node, Scalar):
                yield replace(shape, node.span, misspell(node.text), of=f"{shape.label}, {key}")


@mistake(Where.HERE)
def break_a_default(file: SourceFile) -> Iterator[Seed]:
    """A default outside of its own limits or of another type."""
    for scope in file.scopes:
        for name, decl in scope.declared_inputs.items():
            node = decl.node.get("default")
            if not isinstance(node, Scalar):
                continue
            wrong = {"number": "a few", "boolean": '"perhaps"', "string": "[]"}[decl.kind]
            yield replace(f"input {name}", node.span, wrong)
            if decl.rule_value("max") is not None:
                yield replace(f"input {name}", node.span, str(decl.rule_value("max") + 1))
            if decl.rule_value("min") is not None:
                yield replace(f"input {name}", node.span, str(decl.rule_value("min") - 1))
            if decl.rule_value("enum"):
                yield replace(f"input {name}", node.span, misspell(node.text))


@mistake(Where.STEP, once=True)
def use_a_key_of_another_step_type(file: SourceFile) -> Iterator[Seed]:
    """`options` on a shell step, `command` on a delegate, and so on."""
    for step in file.steps:
        for key, value in (("options", "[a, b]"), ("command", "make"), ("duration_seconds", "5")):
            if key not in step.FIELDS:
                yield Seed(step.name, f"{key} on {step.kind}", (add_line(step, f"{key}: {value}"),))
