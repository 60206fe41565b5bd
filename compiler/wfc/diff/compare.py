"""Two versions of a workflow held against each other. How they are written is no difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from wfc.analysis.types.workflow import typed_module
from wfc.core.ast import Scope, Workflow
from wfc.core.nesting import Block
from wfc.core.type_text import shown
from wfc.diff.matching import Matching, match_steps
from wfc.diff.model import Change, Detail
from wfc.diff.plain import differences, input_data, step_data
from wfc.ir import Chart, Edge, FieldInfo
from wfc.steps.base import Step
from wfc.unit import Unit


def compare(old: Unit, new: Unit) -> list[Change]:
    """All that differs. Both have to be workflows."""
    before, after = typed_module(old), typed_module(new)
    if before is None or after is None or old.workflow is None or new.workflow is None:
        return []
    changes = list(_headings(old.workflow, new.workflow))
    changes += _scope(old.workflow, new.workflow, before.main, after.main, None)
    for name, task in new.workflow.declared_tasks.items():
        was = old.workflow.declared_tasks.get(name)
        if was is None:
            changes.append(Change("task", "added", name))
            continue
        if details := differences(_words(was, "description"), _words(task, "description")):
            changes.append(Change("task", "changed", name, details=details))
        changes += _scope(was, task, before.tasks[name], after.tasks[name], name)
    gone = [name for name in old.workflow.declared_tasks if name not in new.workflow.declared_tasks]
    return changes + [Change("task", "removed", name) for name in gone]


def _headings(old: Workflow, new: Workflow) -> Iterator[Change]:
    before, after = (_words(scope, "name", "version", "description") for scope in (old, new))
    if details := differences(before, after):
        yield Change("workflow", "changed", after.get("name", ""), details=details)


def _words(scope: Scope, *names: str) -> dict[str, str]:
    return {name: scope.values[name].text for name in names if name in scope.values}


def _scope(old: Scope, new: Scope, before: Chart, after: Chart, task: str | None) -> Iterator[Change]:
    yield from _inputs(old, new, task)
    matching = match_steps(old, new)
    yield from _steps(matching, task)
    yield from _fields(before.fields, after.fields, task)
    yield from _edges(before, after, matching.renamed, task)


def _inputs(old: Scope, new: Scope, task: str | None) -> Iterator[Change]:
    before = {name: input_data(decl) for name, decl in old.declared_inputs.items()}
    after = {name: input_data(decl) for name, decl in new.declared_inputs.items()}
    for name, data in after.items():
        if name not in before:
            need = "required" if data["required"] else "optional"
            yield Change("input", "added", name, task, f"{data['type']}, {need}")
        elif details := differences(before[name], data):
            yield Change("input", "changed", name, task, details=details)
    yield from (Change("input", "removed", name, task) for name in before if name not in after)


# -- steps -------------------------------------------------------------------


def _steps(matching: Matching, task: str | None) -> Iterator[Change]:
    olds = {new: old for old, new in matching.pairs.items()}
    added, moved = set(matching.added), set(matching.moved)
    for step, block in matching.blocks.items():
        old = olds.get(step)
        if step in added:
            yield Change("step", "added", step.name, task, f"{step.kind}, {_place(step, block)}")
        if old is None:
            continue
        if old.name != step.name:
            yield Change("step", "renamed", step.name, task, details=(Detail("id", old.name, step.name),))
        if step in moved:
            yield Change("step", "moved", step.name, task, _place(step, block))
        details = (*differences(step_data(old), step_data(step)), *_access(old, step))
        if details:
            yield Change("step", "changed", step.name, task, details=details)
    yield from (Change("step", "removed", step.name, task, step.kind) for step in matching.removed)


def _access(old: Step, new: Step) -> Iterator[Detail]:
    for name, before, after in (
        ("reads", _reads(old), _reads(new)),
        ("writes", list(old.writes()), list(new.writes())),
    ):
        if set(before) != set(after):
            yield Detail(name, before, after)


def _reads(step: Step) -> list[str]:
    return list(dict.fromkeys(word.text for word in step.declared))


def _place(step: Step, block: Block) -> str:
    number = block.steps.index(step)
    inside = f" in {block.label.replace('`', '')}" if block.owner else ""
    return f"after {block.steps[number - 1].name}{inside}" if number else f"first{inside or ' of all'}"


# -- fields and edges --------------------------------------------------------


def _fields(old: list[FieldInfo], new: list[FieldInfo], task: str | None) -> Iterator[Change]:
    before = {info.name: _field(info) for info in old}
    after = {info.name: _field(info) for info in new}
    for name, data in after.items():
        if name not in before:
            yield Change("field", "added", name, task, str(data["type"]))
        elif details := differences(before[name], data):
            yield Change("field", "changed", name, task, details=details)
    yield from (Change("field", "removed", name, task) for name in before if name not in after)


def _field(info: FieldInfo) -> dict[str, object]:
    return {"type": shown(info.type), **({"initial": info.default} if info.initial else {})}


def _edges(old: Chart, new: Chart, renamed: dict[str, str], task: str | None) -> Iterator[Change]:
    before, after = Counter(_ways(old, renamed)), Counter(_ways(new, {}))
    for how, found in (("added", after - before), ("removed", before - after)):
        yield from (Change("edge", how, way, task) for way in found)


def _ways(chart: Chart, renamed: dict[str, str]) -> Iterator[str]:
    """Who leads to whom, and when. What a condition says in detail is a field of its step."""
    names = {region.end: "end" for region in chart.root.regions()}
    for state in chart.states():
        title = renamed.get(state.title, state.title)
        names[state.id] = f"{title} ({state.kind})" if state.step and state.kind != state.step.kind else title
    for region in chart.root.regions():
        source = "start" if region is chart.root else f"branch {region.title}"
        yield f"{source} -> {names.get(region.initial, region.initial)}"
        for edge in region.edges:
            if edge.event != "retry" and names[edge.source] != names.get(edge.target):
                how = _how(edge)
                yield f"{names[edge.source]} -> {names.get(edge.target, edge.target)}{how}"


def _how(edge: Edge) -> str:
    if edge.event == "recover":
        return " when it fails"
    if edge.guard is not None and edge.guard.name in ("when", "otherwise"):
        return " if so" if edge.guard.name == "when" else " if not"
    return ""
