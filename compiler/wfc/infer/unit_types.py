"""The types of a file among the others of its project: a call returns what the workflow that it runs does."""

from __future__ import annotations

from wfc.core.ast import Scope, Workflow
from wfc.core.types import ANY, Property, Record, Type, of_value
from wfc.flow import flows_of
from wfc.infer.workflow import FileTypes, ScopeTypes
from wfc.ir import Chart, Module
from wfc.lazy import remembered_of_files
from wfc.steps.call import Call
from wfc.structs import replace
from wfc.unit import Unit

_DEEPEST_CALL = 5
_underway: list[Unit] = []
"""The files at work, one calling the other."""


@remembered_of_files(128)
def types_of(unit: Unit) -> FileTypes | None:
    """What is known of a file, for its checks. One that is far too large has other worries."""
    if unit.workflow is None or unit.is_hopeless:
        return None
    _underway.append(unit)
    try:
        return FileTypes(unit.workflow, flows_of(unit), lambda step: _called(unit, step))
    finally:
        _underway.remove(unit)


def _called(unit: Unit, step: Call) -> tuple[Scope | None, Type]:
    found = unit.project.named(step.workflow.text) if step.workflow else []
    if len(found) != 1 or found[0].workflow is None:
        return None, ANY
    callee, workflow = found[0], found[0].workflow
    if callee in _underway or len(_underway) > _DEEPEST_CALL:
        return workflow, ANY
    types = types_of(callee)
    return workflow, _with_facts(types.main.returns, step, workflow) if types else ANY


def _with_facts(returns: Type, step: Call, callee: Workflow) -> Type:
    """What a call has: what the workflow gives back, and what it says of itself where the call asks for that."""
    if not isinstance(returns, Record) or not step.facts:
        return returns
    said = callee.facts or {}
    asked = [word.text for word in step.facts if returns.get(word.text) is None]
    more = [
        Property(name, of_value(said[name].data) if name in said else ANY, name in said) for name in asked
    ]
    return replace(returns, properties=(*returns.properties, *more))


def typed_module(unit: Unit) -> Module | None:
    """The IR with inferred types of its fields. They come from the file itself and no other: a module changes
    only when its source does, so what a call returns is any here."""
    module = unit.module
    if module is None or unit.workflow is None:
        return None
    calls = any(isinstance(step, Call) for step in unit.steps)
    types = FileTypes(unit.workflow, flows_of(unit), _not_known) if calls else types_of(unit)
    if types is None:
        return module
    charts = [_typed(chart, found) for chart, found in zip(module.charts, types.scopes, strict=True)]
    tasks = dict(zip(module.tasks, charts[1:], strict=True))
    return replace(module, main=charts[0], tasks=tasks)


def _typed(chart: Chart, found: ScopeTypes) -> Chart:
    kinds = found.field_types()
    fields = [info._replace(type=kinds.get(info.name, info.type)) for info in chart.fields]
    return replace(chart, fields=fields)


def _not_known(step: Call) -> tuple[Scope | None, Type]:
    return None, ANY
