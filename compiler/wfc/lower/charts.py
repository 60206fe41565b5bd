"""Lower workflows and tasks to charts: their states and edges, their fields, and which of these are secret.

A file with errors is lowered too: control-flow checks run on the IR.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wfc.ir import FINISHED, Chart, FieldInfo, Make, Module
from wfc.language import types
from wfc.language.ast import Scope, Task, Workflow, walk
from wfc.language.derived import Derivation
from wfc.language.shape import InputDecl
from wfc.language.steps.base import Keeping, Step
from wfc.language.types import Type
from wfc.language.values import Text
from wfc.lower.lowering import Lowering
from wfc.lower.names import machine_name, task_machine_name
from wfc.lower.schedule import Needs, scheduled
from wfc.template import Read
from wfc_runtime.digraph import components

# Secret state fields: those that are marked, and those computed from a secret.


def secret_fields(scope: Scope) -> tuple[str, ...]:
    """The secret fields of a scope, marked ones first, then computed ones in the order in which they are found."""
    inputs = {name: decl for name, decl in scope.declared_inputs.items() if decl.holds_secret()}
    found: dict[str, None] = {}
    for step in scope.walk():
        if isinstance(step, Keeping) and step.secret and step.secret.value:
            found.update(dict.fromkeys(step.writes()))
    # The usual case, in which nothing has to be searched.
    if not inputs and not found:
        return ()
    updates = [update for step in (*scope.walk(), *scope.computed) for update in _updates(step)]
    # A fixpoint: in a loop, a field may be computed from one that a later step computes.
    while new := [name for name, texts in updates if name not in found and _reads(texts, inputs, found)]:
        found.update(dict.fromkeys(new))
    return tuple(found)


def _updates(step: Step) -> Iterator[tuple[str, list[Text]]]:
    """The fields that a step computes, each with the templates that it is computed from."""
    for one in step.partial():
        # A path may be computed from a secret as well, and then tells something about it.
        if one.path:
            yield one.field, [*one.path.texts, *(one.value.texts if one.value else [])]
    computed = step.assigns()
    if computed is None:
        return
    # A derived field is computed from all of its templates.
    if not step.is_step:
        yield step.name, list(step.texts())
        return
    yield from ((name, tree.texts) for name, tree in computed.items())
    output = step.values.get("output_to")
    # `output_to` of such a step keeps all of its values.
    if output is not None and output.text not in computed:
        yield output.text, [text for tree in computed.values() for text in tree.texts]


def _reads(texts: list[Text], inputs: dict[str, InputDecl], fields: dict[str, None]) -> bool:
    return any(_is_secret(read, inputs, fields) for text in texts for read in text.template.reads)


def _is_secret(read: Read, inputs: dict[str, InputDecl], fields: dict[str, None]) -> bool:
    first, *rest = [part.name for part in read.path] or [None]
    if read.root not in ("inputs", "state"):
        # A bare name is an earlier key of the same `updates`.
        return read.root in fields
    known = inputs if read.root == "inputs" else fields
    if not isinstance(first, str):
        # A computed key, or all of `inputs` or `state`: any secret may be in it.
        return bool(known)
    return first in known and (read.root == "state" or inputs[first].holds_secret(*rest))


def lower_workflow(workflow: Workflow, on_failure: str = "", needs: Needs | None = None) -> Module:
    """The IR of a workflow, even of one with errors, because checks run on it.

    `on_failure` is the advice of the source language for a run that failed at a step. With `needs`, the dependencies of
    the main steps, each step begins when what it depends on has ended.
    """
    name = workflow.name.text if workflow.name else ""
    description = workflow.description.text if workflow.description else ""
    expressions = workflow.expressions.text if workflow.expressions else "jinja"
    return Module(
        name=name,
        version=workflow.version.text if workflow.version else "",
        description=description,
        main=_chart(workflow, machine_name(name), name, description, expressions, needs),
        tasks={
            title: _task_chart(task, title, task_machine_name(title, name), expressions)
            for title, task in workflow.declared_tasks.items()
        },
        tags=tuple(word.text for word in workflow.tags or ()),
        author=workflow.author.text if workflow.author else "",
        on_failure=on_failure,
    )


def _task_chart(task: Task, title: str, name: str, expressions: str) -> Chart:
    description = task.description.text if task.description else ""
    return _chart(task, name, title, description, expressions)


def _chart(
    scope: Scope, name: str, title: str, description: str, expressions: str, needs: Needs | None = None
) -> Chart:
    steps = scope.block if needs is None else scheduled(scope.block, needs)
    # The handler is part of the same chart: a state must not have the name of one of its steps.
    lowering = Lowering(list(walk([*steps, *scope.handler])))
    lowering.root.initial = lowering.entry_of(steps, FINISHED)
    lowering.block(steps, FINISHED)
    handler = ""
    if scope.handler or scope.setting("completes_on_failure"):
        # A run that completes after its handler ends as any other; otherwise a state of its own lets it fail.
        end = FINISHED if scope.setting("completes_on_failure") else lowering.free_name("handled")
        handler = lowering.entry_of(scope.handler, end)
        lowering.block(scope.handler, end)
        if end != FINISHED:
            lowering.alone(end, "Handled", {})
    over = ""
    if scope.restarts:
        # The list of errors survives the restart, since it is there to be read afterwards.
        keeps = (collected_in(scope)[:1] or None) if scope.collect_errors else None
        over = lowering.alone(lowering.free_name("starting_over"), "StartOver", {"keeps": keeps})
        lowering.edge(over, lowering.root.initial)
    return Chart(
        name,
        title,
        scope.declared_inputs,
        description,
        state_fields(scope),
        lowering.root,
        secret_fields(scope),
        {name: tree.data for name, tree in (scope.values.get("facts") or {}).items()},
        tuple(lowering.deferred),
        {
            state.id: state.step.belongs_to
            for state in lowering.root.walk()
            if state.step is not None and state.step.belongs_to is not None
        },
        budget.limits() if (budget := scope.values.get("budget")) else {},
        lowering.caught,
        failing=_failing(scope),
        handler=handler,
        starts_over=over,
        time_limit=scope.setting("deadline"),
        internal=tuple(word.text for word in scope.internal or ()),
        loops=lowering.loops,
        at_start={name: tree.data for name, tree in (scope.start_values or {}).items()},
        derived={one.field: _derive(one, scope) for one in in_dependency_order(scope)},
        derived_spans={one.field: one.span for one in in_dependency_order(scope)},
        expressions=expressions,
    )


def collected_in(scope: Scope) -> tuple[Any, ...]:
    """The path of the list that gets the errors of a run."""
    path = scope.collect_errors.data if scope.collect_errors else ()
    return tuple(path) if isinstance(path, list | tuple) else (path,)


def _failing(scope: Scope) -> Make | None:
    completes = bool(scope.setting("completes_on_failure"))
    arguments: dict[str, Any] = {
        "collect": collected_in(scope) or None,
        "restarts": scope.setting("restarts"),
        "handler": True if scope.handler or completes else None,
        "completes": completes or None,
    }
    given = {name: value for name, value in arguments.items() if value is not None}
    return Make("Failing", given) if given else None


# Derived fields.


def in_dependency_order(scope: Scope) -> list[Derivation]:
    """The derived fields, each after those that it reads; in source order where there is a choice, or a cycle."""
    known = {one.field: one for one in scope.derivations}
    graph = {name: [read for read in one.reads if read in known] for name, one in known.items()}
    # Components come in dependency order. Within a cycle, which is an error, the source order is kept.
    return [known[name] for component in components(known, graph) for name in component]


def _derive(one: Derivation, scope: Scope) -> Make:
    own = {word.field for word in scope.derivations}
    # A template that reads all of `state` depends on every field, except on other derived ones.
    whole = [info.name for info in state_fields(scope) if info.name not in own] if one.reads_all else []
    arguments: dict[str, Any] = {
        "value": one.value.data if one.value else None,
        "source": one.from_.data if one.from_ else None,
        "reads": tuple(dict.fromkeys([*one.reads, *whole])),
        "on_error": None if one.setting("on_error") == "use_fallback" else one.setting("on_error"),
        "fallback": one.fallback.data if one.fallback else None,
        "check": one.check.data if one.check else None,
    }
    # A module never repeats a default.
    return Make("Derive", {name: value for name, value in arguments.items() if value not in (None, ())})


def state_fields(scope: Scope) -> list[FieldInfo]:
    """All state fields: those with an initial value, then those that steps write, in source order."""
    initial = scope.initial
    found: dict[str, list[Type]] = {field: [types.of_value(value)] for field, value in initial.items()}
    for step in scope.walk():
        for field, (_, kind) in step.writes().items():
            found.setdefault(field, []).append(kind)
    for one in scope.computed:
        found.setdefault(one.field, []).append(types.ANY)
    for name in collected_in(scope)[:1]:
        found.setdefault(str(name), []).append(types.ANY)
    return [
        FieldInfo(field, merged(kinds), field in initial, initial.get(field))
        for field, kinds in found.items()
    ]


def merged(kinds: list[Type]) -> Type:
    """One type for all values of a field. An empty initial value is ignored if a later type covers it."""
    first, *later = kinds
    # An initial `[]` gives no information about the items that steps append.
    if any(types.covers_empty(kind, first) for kind in later):
        return types.union(*later)
    return types.union(*kinds)
