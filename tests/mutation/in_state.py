"""Mistakes in what is declared, written and read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tests.mutation.seeding import (
    Change,
    Seed,
    Where,
    add_line,
    cut,
    drop,
    misspell,
    mistake,
    put,
    replace,
    step_lines,
)
from wfc.language.ast import Scope
from wfc.language.steps.base import Step
from wfc.language.steps.set_state import SetState
from wfc.language.values import state_use
from wfc.project import SourceFile
from wfc.yaml import Mapping, Sequence


def reads(step: Step) -> set[str]:
    """The fields that a step's own expressions read."""
    return {name for text in step.texts() for name in state_use(text.template).fields}


def readers(scope: Scope, name: str) -> list[Step]:
    return [step for step in scope.walk() if name in reads(step)]


def _lists(file: SourceFile) -> Iterator[tuple[Step, Sequence]]:
    for step in file.steps:
        node = step.node.get("needs_state")
        if isinstance(node, Sequence):
            yield step, node


@mistake(Where.STEP)
def drop_a_needs_state_entry(file: SourceFile) -> Iterator[Seed]:
    for step, node in _lists(file):
        for name in step.declared:
            left = ", ".join(word.text for word in step.declared if word is not name)
            yield Seed(step.name, f"no {name.text} in needs_state", (put(node.span, f"[{left}]"),))


@mistake(Where.STEP)
def drop_needs_state(file: SourceFile) -> Iterator[Seed]:
    for step, _ in _lists(file):
        entry = step.node.entry("needs_state")
        assert entry
        yield drop(step, step.node, entry)


@mistake(Where.HERE)
def misspell_a_needs_state_entry(file: SourceFile) -> Iterator[Seed]:
    for step in file.steps:
        for word in step.declared:
            yield replace(step, word.span, misspell(word.text))


@mistake(Where.HERE)
def list_a_field_that_is_not_read(file: SourceFile) -> Iterator[Seed]:
    for scope in file.scopes:
        fields = {name for step in scope.walk() for name in step.writes()}
        for step in scope.walk():
            other = next((name for name in sorted(fields) if name not in reads(step)), None)
            node = step.node.get("needs_state")
            if other and isinstance(node, Sequence):
                yield Seed(
                    step.name,
                    f"{other} listed too",
                    (Change(node.span.end - 1, node.span.end - 1, f", {other}"),),
                )


@mistake(Where.ANYWHERE)
def delete_an_initial_field(file: SourceFile) -> Iterator[Seed]:
    yield from _without_one(file, "initial_state", "initial state")


@mistake(Where.HERE)
def declare_an_initial_field_for_nothing(file: SourceFile) -> Iterator[Seed]:
    yield from _with_one_more(file, "initial_state", "initial field", "leftover: 0")


@mistake(Where.ANYWHERE)
def delete_an_input(file: SourceFile) -> Iterator[Seed]:
    yield from _without_one(file, "inputs", "inputs")


@mistake(Where.HERE)
def declare_an_input_for_nothing(file: SourceFile) -> Iterator[Seed]:
    yield from _with_one_more(file, "inputs", "input", "leftover: {type: string}")


def _mappings(file: SourceFile, key: str) -> Iterator[tuple[Scope, Mapping]]:
    for scope in file.scopes:
        node = scope.node.get(key)
        if isinstance(node, Mapping):
            yield scope, node


def _without_one(file: SourceFile, key: str, what: str) -> Iterator[Seed]:
    for scope, node in _mappings(file, key):
        yield from (drop(f"{what} of {scope.known_as}", node, entry) for entry in node.entries)


def _with_one_more(file: SourceFile, key: str, what: str, line: str) -> Iterator[Seed]:
    for scope, node in _mappings(file, key):
        first = node.entries[0].key.span
        text = f"{line}\n{' ' * (first.column - 1)}"
        yield Seed(scope.known_as, f"one more {what}", (Change(first.start, first.start, text),))


def _outputs(file: SourceFile) -> Iterator[tuple[Scope, Step]]:
    """Steps that keep a result which someone reads."""
    for scope in file.scopes:
        for step in scope.walk():
            word = step.values.get("output_to")
            if word is not None and readers(scope, word.text):
                yield scope, step


@mistake(Where.ANYWHERE)
def drop_output_to(file: SourceFile) -> Iterator[Seed]:
    for _, step in _outputs(file):
        entry = step.node.entry("output_to")
        assert entry
        yield drop(step, step.node, entry)


@mistake(Where.ANYWHERE)
def misspell_output_to(file: SourceFile) -> Iterator[Seed]:
    for _, step in _outputs(file):
        span = step.value_span("output_to")
        yield replace(step, span, misspell(span.text))


@mistake(Where.ANYWHERE)
def misspell_an_update(file: SourceFile) -> Iterator[Seed]:
    """The new value goes to a field that nobody reads."""
    for step in file.steps:
        node = step.node.get("updates") if isinstance(step, SetState) else None
        for entry in node.entries if isinstance(node, Mapping) else ():
            yield replace(step, entry.key.span, misspell(entry.key.text))


@mistake(Where.ANYWHERE)
def drop_an_update(file: SourceFile) -> Iterator[Seed]:
    for scope in file.scopes:
        for step in scope.walk():
            node = step.node.get("updates") if isinstance(step, SetState) else None
            if isinstance(node, Mapping) and len(node.entries) > 1:
                for entry in node.entries:
                    if entry.key.text not in scope.initial:
                        yield drop(step, node, entry)


@mistake(Where.ANYWHERE)
def read_an_update_too_early(file: SourceFile) -> Iterator[Seed]:
    """Two updates change places, and the first reads the second."""
    for step in file.steps:
        node = step.node.get("updates") if isinstance(step, SetState) else None
        entries = node.entries if isinstance(node, Mapping) else []
        for one, other in itertools.pairwise(entries):
            roots = {
                read.root for text in step.texts() if text.node is other.value for read in text.template.reads
            }
            if one.key.text in roots and isinstance(node, Mapping):
                first, second = cut(node, one), cut(node, other)
                source = step.node.span.source.text
                swapped = source[second.start : second.end] + source[first.start : first.end]
                yield Seed(
                    step.name,
                    f"{other.key.text} before {one.key.text}",
                    (Change(first.start, second.end, swapped),),
                )


@mistake(Where.ANYWHERE)
def delete_the_step_that_writes(file: SourceFile) -> Iterator[Seed]:
    for scope, step in _outputs(file):
        initial = scope.initial
        block = next(block for block in _blocks(scope) if step in block)
        if len(block) > 1 and not set(step.writes()) & initial.keys():
            yield Seed(step.name, "no such step", (Change(*step_lines(step), ""),))


@mistake(Where.ANYWHERE)
def read_before_it_is_written(file: SourceFile) -> Iterator[Seed]:
    """Two neighbouring steps change places, and the first needs what the second writes."""
    for scope in file.scopes:
        for block in _blocks(scope):
            for one, other in itertools.pairwise(block):
                if set(one.writes()) & reads(other) - scope.initial.keys():
                    source = one.node.span.source.text
                    first, second = step_lines(one), step_lines(other)
                    swapped = source[slice(*second)] + source[first[1] : second[0]] + source[slice(*first)]
                    yield Seed(one.name, f"{other.name} comes first", (Change(first[0], second[1], swapped),))


@mistake(Where.ANYWHERE)
def skip_a_step_whose_result_is_needed(file: SourceFile) -> Iterator[Seed]:
    for scope, step in _outputs(file):
        word = step.values["output_to"].text
        if word not in scope.initial and "when" not in step.values:
            change = add_line(step, """when: "{{ now().isoformat() < '2030' }}" """.rstrip())
            yield Seed(step.name, "only under a condition", (change,))


def _blocks(scope: Scope) -> Iterator[list[Step]]:
    yield scope.block
    for step in scope.walk():
        yield from step.blocks()
