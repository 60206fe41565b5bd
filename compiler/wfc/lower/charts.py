"""Workflows and tasks as charts."""

from __future__ import annotations

from wfc.ir import FINISHED, Chart, FieldInfo, Module
from wfc.language import types
from wfc.language.ast import Scope, Task, Workflow
from wfc.language.types import Type
from wfc.lower.lowering import Lowering
from wfc.lower.names import machine_name
from wfc.lower.secrets import secret_fields


def lower_workflow(workflow: Workflow) -> Module:
    """The IR of a workflow. It is there for one with mistakes too: checks look at it."""
    name = workflow.name.text if workflow.name else ""
    description = workflow.description.text if workflow.description else ""
    return Module(
        name=name,
        version=workflow.version.text if workflow.version else "",
        description=description,
        main=_chart(workflow, machine_name(name), name, description),
        tasks={title: _task_chart(task, title) for title, task in workflow.declared_tasks.items()},
        tags=tuple(word.text for word in workflow.tags or ()),
        author=workflow.author.text if workflow.author else "",
        on_failure=workflow.on_failure,
    )


def _task_chart(task: Task, title: str) -> Chart:
    return _chart(task, machine_name(title), title, task.description.text if task.description else "")


def _chart(scope: Scope, name: str, title: str, description: str) -> Chart:
    lowering = Lowering(list(scope.walk()))
    lowering.root.initial = lowering.entry_of(scope.block, FINISHED)
    lowering.block(scope.block, FINISHED)
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
    )


def state_fields(scope: Scope) -> list[FieldInfo]:
    """Every field that is there at the start or written by a step, in the order of first mention."""
    initial = scope.initial
    found: dict[str, list[Type]] = {field: [types.of_value(value)] for field, value in initial.items()}
    for step in scope.walk():
        for field, (_, kind) in step.writes().items():
            found.setdefault(field, []).append(kind)
    return [
        FieldInfo(field, merged(kinds), field in initial, initial.get(field))
        for field, kinds in found.items()
    ]


def merged(kinds: list[Type]) -> Type:
    """One type for all that is written. What is empty at the start says nothing beside what comes later."""
    first, *later = kinds
    if any(types.covers_empty(kind, first) for kind in later):
        return types.union(*later)
    return types.union(*kinds)
