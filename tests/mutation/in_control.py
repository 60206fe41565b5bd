"""Mistakes in the order of things: loops, branches, returns, choices."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from tests.mutation.in_state import reads
from tests.mutation.seeding import Change, Seed, Where, cut, drop, misspell, mistake, put, replace, step_lines
from wfc.language.ast import Scope
from wfc.language.steps.base import Step
from wfc.language.steps.condition import Condition
from wfc.language.steps.foreach import Foreach
from wfc.language.steps.parallel import Parallel
from wfc.language.steps.prompt import Prompt
from wfc.language.steps.return_ import Return
from wfc.language.steps.set_state import SetState
from wfc.language.steps.shell import Shell
from wfc.language.steps.while_ import While
from wfc.project import SourceFile
from wfc.yaml import Mapping, Sequence


@mistake(Where.STEP)
def drop_the_bound_of_a_loop(file: SourceFile) -> Iterator[Seed]:
    for step in file.steps:
        entry = step.node.entry("max_iterations")
        if entry:
            yield drop(step, step.node, entry)


@mistake(Where.HERE)
def turn_without_end_or_wait(file: SourceFile) -> Iterator[Seed]:
    """After each step but a jump: a jump back to it that nothing waits for and nothing bounds."""
    for scope in file.scopes:
        for step in scope.block:
            if isinstance(step, SetState):
                at = step_lines(step)[1]
                indent = " " * (step.node.span.column - 3)
                text = f"\n{indent}- id: turn\n{indent}  type: goto\n{indent}  target: {step.name}\n"
                yield Seed(step.name, "and again", (Change(at, at, text),))


@mistake(Where.ANYWHERE)
def never_change_what_a_loop_asks(file: SourceFile) -> Iterator[Seed]:
    """The update that would end the loop is missing."""
    for loop in file.steps:
        if not isinstance(loop, While):
            continue
        asked = reads(loop)
        writers = [step for step in _inside(loop) if set(step.writes()) & asked]
        for step in writers:
            if len(writers) == 1 and isinstance(step, SetState):
                node = step.node.get("updates")
                gone = (
                    [entry for entry in node.entries if entry.key.text in asked]
                    if isinstance(node, Mapping)
                    else []
                )
                if isinstance(node, Mapping) and len(gone) < len(node.entries):
                    yield Seed(
                        loop.name,
                        f"{step.name} updates nothing of it",
                        tuple(cut(node, entry) for entry in gone),
                    )


def _inside(step: Step) -> Iterator[Step]:
    for block in step.blocks():
        for nested in block:
            yield nested
            yield from _inside(nested)


@mistake(Where.ANYWHERE)
def return_nothing_on_one_way(file: SourceFile) -> Iterator[Seed]:
    for scope in file.scopes:
        returns = [step for step in scope.walk() if isinstance(step, Return)]
        for step in returns if len(returns) > 1 else ():
            entry = step.node.entry("value")
            if entry:
                yield drop(step, step.node, entry)


@mistake(Where.ANYWHERE)
def return_too_early(file: SourceFile) -> Iterator[Seed]:
    for scope in file.scopes:
        for step in scope.block[1:]:
            at = step_lines(step)[0]
            indent = " " * (step.node.span.column - 3)
            yield Seed(
                step.name,
                "a return before it",
                (Change(at, at, f"{indent}- id: stop-here\n{indent}  type: return\n"),),
            )


@mistake(Where.STEP)
def do_the_same_in_both_branches(file: SourceFile) -> Iterator[Seed]:
    for step in file.steps:
        if isinstance(step, Condition) and step.then and not step.else_ and not any(_inside_of(step.then)):
            source = step.node.span.source.text
            _start, end = step_lines(step)
            block = source[step_lines(step.then[0])[0] : step_lines(step.then[-1])[1]]
            for number, nested in enumerate(step.then):
                block = block.replace(f"id: {nested.name}\n", f"id: other-{number}-of-{step.name}\n")
            indent = " " * (step.node.span.column - 1)
            yield Seed(step.name, "else as then", (Change(end, end, f"{indent}else:\n{block}"),))


def _inside_of(steps: list[Step]) -> Iterator[Step]:
    for step in steps:
        yield from _inside(step)


@mistake(Where.HERE)
def write_one_field_in_two_branches(file: SourceFile) -> Iterator[Seed]:
    for step in file.steps:
        outputs = [
            [nested.value_span("output_to") for nested in block if nested.values.get("output_to")]
            for block in (step.blocks() if isinstance(step, Parallel) else ())
        ]
        for one, other in itertools.pairwise(outputs):
            yield from (replace(step, span, one[0].text) for span in other if one)


@mistake(Where.ANYWHERE)
def rename_an_option(file: SourceFile) -> Iterator[Seed]:
    """What the person can choose is no longer what the branches ask for."""
    for step in file.steps:
        node = step.node.get("options") if isinstance(step, Prompt) else None
        for item in node.items if isinstance(node, Sequence) else ():
            yield replace(step, item.span, misspell(item.span.text))


@mistake(Where.ANYWHERE)
def offer_an_option_that_nobody_handles(file: SourceFile) -> Iterator[Seed]:
    for step in file.steps:
        node = step.node.get("options") if isinstance(step, Prompt) else None
        if isinstance(node, Sequence):
            last = node.items[-1].span
            indent = " " * (last.column - 3)
            yield Seed(
                step.name, "one more option", (Change(last.end, last.end, f"\n{indent}- Something else"),)
            )


@mistake(Where.ANYWHERE)
def forget_the_exit_code(file: SourceFile) -> Iterator[Seed]:
    """The condition that looks at it is gone, and with it what it did; the output is still used."""
    for scope in file.scopes:
        for step in scope.walk():
            name = _only_exit_code(step)
            if name and _looked_at_by(scope, name) == [step] and _used_elsewhere(scope, name, step):
                block = next(block for block in _blocks(scope) if step in block)
                if len(block) > 1 and not _is_target(scope, step):
                    yield Seed(
                        step.name, f"{name}.exit_code is not looked at", (Change(*step_lines(step), ""),)
                    )


def _only_exit_code(step: Step) -> str | None:
    found = reads(step)
    return next(iter(found)) if isinstance(step, Condition) and len(found) == 1 else None


def _looked_at_by(scope: Scope, name: str) -> list[Step]:
    return [
        step for step in scope.walk() if f"{name}.exit_code" in step.node.span.text and not any(_inside(step))
    ] + [
        step
        for step in scope.walk()
        if any(_inside(step)) and f"{name}.exit_code" in step.value_span("if").text
    ]


def _used_elsewhere(scope: Scope, name: str, step: Step) -> bool:
    writes = any(isinstance(other, Shell) and name in other.writes() for other in scope.walk())
    gone = {step, *_inside(step)}
    return writes and any(name in reads(other) for other in scope.walk() if other not in gone)


def _is_target(scope: Scope, step: Step) -> bool:
    names = {step.name, *(nested.name for nested in _inside(step))}
    return any(
        other.values[key].text in names
        for other in scope.walk()
        for key in ("target", "else")
        if other.kind == "goto" and other.values.get(key)
    )


def _blocks(scope: Scope) -> Iterator[list[Step]]:
    yield scope.block
    for step in scope.walk():
        yield from step.blocks()


@mistake(Where.STEP)
def drop_the_bound_of_a_foreach(file: SourceFile) -> Iterator[Seed]:
    for step in file.steps:
        entry = step.node.entry("max_items") if isinstance(step, Foreach) else None
        if entry:
            yield drop(step, step.node, entry)


@mistake(Where.ANYWHERE)
def rename_a_property_of_a_result_schema(file: SourceFile) -> Iterator[Seed]:
    """What the agent sends is no longer what the expressions read."""
    for step in file.steps:
        node = step.node.get("result_schema")
        for mapping in _properties(node) if isinstance(node, Mapping) else ():
            for entry in mapping.entries:
                old, new = entry.key.text, misspell(entry.key.text)
                if not re.search(rf"""[.'"]{old}\b""", file.source.text):
                    continue  # handed on as a whole, and read by nobody here
                yield Seed(
                    step.name,
                    f"schema: {old} -> {new}",
                    (put(entry.key.span, new), *_required(node, old, new)),
                )


def _properties(node: Mapping) -> Iterator[Mapping]:
    for entry in node.entries:
        if isinstance(entry.value, Mapping):
            if entry.key.text == "properties":
                yield entry.value
            yield from _properties(entry.value)


def _required(node: object, old: str, new: str) -> Iterator[Change]:
    if not isinstance(node, Mapping):
        return
    for entry in node.entries:
        if entry.key.text == "required" and isinstance(entry.value, Sequence):
            yield from (put(item.span, new) for item in entry.value.items if item.span.text == old)
        yield from _required(entry.value, old, new)


@mistake(Where.ANYWHERE)
def forget_to_require_a_property(file: SourceFile) -> Iterator[Seed]:
    """The agent may leave out what the expressions read."""
    for step in file.steps:
        for listed in _lists_of_required(step.node.get("result_schema")):
            names = [item.span.text for item in listed.items]
            # Of a schema without `required` there is information only.
            for name in names if len(names) > 1 else ():
                if re.search(rf"""[.'"]{name}\b""", file.source.text):
                    others = ", ".join(other for other in names if other != name)
                    yield replace(step, listed.span, f"[{others}]", of="required")


def _lists_of_required(node: object) -> Iterator[Sequence]:
    for entry in node.entries if isinstance(node, Mapping) else ():
        if entry.key.text == "required" and isinstance(entry.value, Sequence):
            yield entry.value
        yield from _lists_of_required(entry.value)
