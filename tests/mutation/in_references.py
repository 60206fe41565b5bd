"""Names of steps, tasks, agents and workflows that lead nowhere or elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tests.mutation.seeding import Seed, Where, drop, misspell, mistake, put, replace
from wfc.language.steps.base import Recovery, Step
from wfc.language.steps.call import Call
from wfc.language.steps.foreach import Foreach
from wfc.language.steps.goto import Goto
from wfc.project import SourceFile
from wfc.yaml import Mapping, Scalar, Span


@mistake(Where.HERE)
def give_a_step_the_id_of_another(file: SourceFile) -> Iterator[Seed]:
    for scope in file.scopes:
        steps = list(scope.walk())
        for before, step in itertools.pairwise(steps):
            yield replace(step, step.span, before.name)


def _jumps(file: SourceFile) -> Iterator[tuple[Step, Span]]:
    """Every place that names a step to go to."""
    for step in file.steps:
        if isinstance(step, Goto):
            yield from ((step, word.span) for word in (step.target, step.else_) if word)
        recovery = step.values.get("on_error")
        if isinstance(recovery, Recovery) and recovery.goto:
            yield step, recovery.goto.span


@mistake(Where.HERE)
def misspell_a_target(file: SourceFile) -> Iterator[Seed]:
    for step, span in _jumps(file):
        yield replace(step, span, misspell(span.text))


@mistake(Where.HERE)
def aim_a_jump_into_a_block(file: SourceFile) -> Iterator[Seed]:
    """The target is a step inside a branch or loop that the jump is not in."""
    seen: set[Span] = set()
    for scope in file.scopes:
        for owner in scope.walk():
            for block in owner.blocks():
                for step, span in _jumps(file):
                    if step in scope.walk() and block and not _is_within(step, block) and span not in seen:
                        seen.add(span)
                        yield replace(step, span, block[0].name)


def _is_within(step: Step, block: list[Step]) -> bool:
    return any(
        step is nested or any(_is_within(step, inner) for inner in nested.blocks()) for nested in block
    )


@mistake(Where.HERE)
def aim_a_jump_at_itself(file: SourceFile) -> Iterator[Seed]:
    for step in file.steps:
        if isinstance(step, Goto) and step.target:
            yield replace(step, step.target.span, step.name)


@mistake(Where.ANYWHERE)
def exchange_target_and_else(file: SourceFile) -> Iterator[Seed]:
    for step in file.steps:
        if isinstance(step, Goto) and step.target and step.else_:
            target, other = step.target.span, step.else_.span
            yield Seed(step.name, "target <-> else", (put(target, other.text), put(other, target.text)))


@mistake(Where.HERE)
def misspell_a_task(file: SourceFile) -> Iterator[Seed]:
    for step in file.steps:
        if isinstance(step, Foreach) and step.task:
            yield replace(step, step.task.span, misspell(step.task.text))


@mistake(Where.HERE)
def misspell_a_called_workflow(file: SourceFile) -> Iterator[Seed]:
    for step in file.steps:
        if isinstance(step, Call) and step.workflow:
            yield replace(step, step.workflow.span, misspell(step.workflow.text))


@mistake(Where.HERE)
def write_an_agent_wrong(file: SourceFile) -> Iterator[Seed]:
    """Without its sign, in capitals, with an underscore."""
    for step in file.steps:
        node = step.node.get("agent")
        if isinstance(node, Scalar):
            for wrong in (node.text[1:], node.text.title(), f"{node.text}_2"):
                yield replace(step, node.span, f'"{wrong}"')


def _bindings(file: SourceFile) -> Iterator[tuple[Step, Mapping]]:
    for step in file.steps:
        node = step.node.get("with") if isinstance(step, Foreach | Call) else None
        if isinstance(node, Mapping):
            yield step, node


@mistake(Where.STEP)
def leave_an_argument_out(file: SourceFile) -> Iterator[Seed]:
    for step, node in _bindings(file):
        needed = _needed(file, step)
        for entry in node.entries:
            if entry.key.text in needed:
                yield drop(step, node, entry)


def _needed(file: SourceFile, step: Step) -> set[str]:
    if isinstance(step, Foreach) and step.task and file.workflow:
        declared = file.workflow.declared_tasks[step.task.text].declared_inputs
    elif isinstance(step, Call) and step.workflow:
        called = file.project.named(step.workflow.text)[0].workflow
        declared = called.declared_inputs if called else {}
    else:
        return set()
    return {name for name, decl in declared.items() if decl.is_required}


@mistake(Where.HERE)
def misspell_an_argument(file: SourceFile) -> Iterator[Seed]:
    for step, node in _bindings(file):
        for entry in node.entries:
            yield replace(step, entry.key.span, misspell(entry.key.text))


@mistake(Where.HERE)
def compute_what_must_be_named(file: SourceFile) -> Iterator[Seed]:
    """The tool, task, agent or workflow comes from a value."""
    for step in file.steps:
        for key in ("tool", "task", "agent", "workflow"):
            node = step.node.get(key)
            if isinstance(node, Scalar):
                yield replace(step, node.span, '"{{ uuid() }}"')
