"""Compare two versions of a workflow by meaning, not by notation."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from wfc.analysis.types.workflow import typed_module
from wfc.ir import Chart, Edge, FieldInfo
from wfc.language.ast import Scope, Workflow, walk
from wfc.language.scopes import Block, blocks_of
from wfc.language.shape import InputDecl, Shape, Validation
from wfc.language.steps.base import Step
from wfc.language.types import shown
from wfc.language.values import Literal, Text, Tree, Word, plain
from wfc.project import SourceFile

# Differences as data.


@dataclass(frozen=True, slots=True)
class Detail:
    """One changed key. None means that the key was added or removed."""

    name: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Change:
    what: str
    """workflow, task, step, input, field or edge."""
    how: str
    """added, removed, renamed, moved or changed."""
    name: str
    task: str | None = None
    """The task that it belongs to; None: the workflow itself."""
    note: str = ""
    """In words: the type of a step that was added, where one was moved to."""
    details: tuple[Detail, ...] = ()

    def to_data(self) -> dict[str, Any]:
        found: dict[str, Any] = {"what": self.what, "how": self.how, "name": self.name}
        found |= {"task": self.task} if self.task else {}
        found |= {"note": self.note} if self.note else {}
        if self.details:
            found["details"] = [{"name": one.name, "old": one.old, "new": one.new} for one in self.details]
        return found


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a change is not safe for runs in progress."""

    code: str
    message: str
    steps: tuple[str, ...] = ()
    """The steps in which an affected run waits."""
    task: str | None = None
    blocks: bool = True
    """Whether a run that waits there can't be moved; otherwise it can be moved, but may fail afterwards."""
    runs: tuple[str, ...] = ()
    """The affected runs in the project's store."""

    def to_data(self) -> dict[str, Any]:
        found: dict[str, Any] = {"code": self.code, "message": self.message, "blocks": self.blocks}
        found |= {"steps": list(self.steps)} if self.steps else {}
        found |= {"task": self.task} if self.task else {}
        return found | ({"runs": list(self.runs)} if self.runs else {})


@dataclass(frozen=True, slots=True)
class WorkflowDiff:
    name: str
    old_path: str | None
    new_path: str | None
    changes: list[Change] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    errors: int = 0
    """The errors of the new version, which prevent its compilation."""

    @property
    def status(self) -> str:
        if self.old_path is None:
            return "added"
        if self.new_path is None:
            return "removed"
        return "changed" if self.changes else "same"

    @property
    def safe(self) -> bool:
        """Whether every run in progress can be moved to the new version and has the values that it needs there."""
        return not self.reasons and not self.errors

    def to_data(self) -> dict[str, Any]:
        found: dict[str, Any] = {"workflow": self.name, "status": self.status}
        found |= {"old": self.old_path, "new": self.new_path, "safe": self.safe}
        found |= {"errors": self.errors} if self.errors else {}
        found["changes"] = [change.to_data() for change in self.changes]
        found["reasons"] = [reason.to_data() for reason in self.reasons]
        return found


# Steps and inputs as plain data with defaults filled in: different spellings of the same meaning are equal.

_APART = ("id", "needs_state", "type")
"""Compared separately."""


def step_data(step: Step) -> dict[str, Any]:
    """The fields of a step, without nested steps."""
    found: dict[str, Any] = {"type": step.kind}
    for name, declared in step.FIELDS.items():
        value = step.values.get(name)
        # Nested steps are compared as steps of their own.
        if name in _APART or _holds_steps(value):
            continue
        data = to_plain(value) if value is not None else declared.default
        if data is not None:
            found[name] = data
    if step.included:
        # The text of a file that the step names is part of the module.
        found["text of instructions_file"] = step.included
    return found


def _holds_steps(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(one, Step) or _holds_steps(one) for one in inner)


def to_plain(value: Any) -> Any:
    match value:
        case Text() | Tree():
            return value.data
        case Word():
            return value.text
        case Literal():
            return value.value
        case Shape():
            found = {name: to_plain(value.values[name]) for name in value.FIELDS if name in value.values}
            # A default that is written out means the same as one that is left out.
            defaults = {name: field.default for name, field in value.FIELDS.items()}
            return {name: one for name, one in {**defaults, **found}.items() if one is not None}
        case dict():
            return {key: to_plain(one) for key, one in value.items()}
        case list():
            return [to_plain(one) for one in value]
    return value


def input_data(decl: InputDecl) -> dict[str, Any]:
    """The declaration of an input, with its rules in one mapping wherever they are written."""
    found: dict[str, Any] = {"type": decl.kind, "required": decl.is_required}
    if "default" in decl.values:
        found["default"] = to_plain(decl.values["default"])
    for name in Validation.FIELDS:
        value = to_plain(decl.rule(name))
        if value is not None:
            found[name] = value
    if decl.description:
        found["description"] = decl.description.text
    return found


def differences(old: dict[str, Any], new: dict[str, Any]) -> tuple[Detail, ...]:
    return tuple(
        Detail(name, old.get(name), new.get(name))
        for name in dict.fromkeys([*old, *new])
        # In Python, 1 == True.
        if _typed(old.get(name)) != _typed(new.get(name))
    )


def _typed(value: Any) -> Any:
    """Equality without Python's `True == 1`."""
    match value:
        case dict():
            return {key: _typed(one) for key, one in value.items()}
        case list():
            return [_typed(one) for one in value]
        case bool():
            return ("bool", value)
    return value


# Which step of the old version corresponds to which step of the new one.


@dataclass(frozen=True, slots=True)
class Matching:
    pairs: dict[Step, Step]
    """Old to new: steps with the same id, and steps that only changed their id."""
    added: list[Step]
    removed: list[Step]
    moved: list[Step]
    """The steps of the new version."""
    blocks: dict[Step, Block]
    """The position of each step of the new version."""

    @property
    def renamed(self) -> dict[str, str]:
        return {old.name: new.name for old, new in self.pairs.items() if old.name != new.name}


def match_steps(old: Scope, new: Scope) -> Matching:
    before, after = list(old.walk()), list(new.walk())
    # Reversed, so that the first of several steps with the same name counts.
    by_name = {step.name: step for step in reversed(after)}
    pairs = {step: by_name[step.name] for step in before if step.name in by_name}
    taken = set(pairs.values())
    added = [step for step in after if step not in taken]
    removed = [step for step in before if step not in pairs]
    for gone, come in _renamed(removed, added):
        pairs[gone] = come
    removed = [step for step in removed if step not in pairs]
    added = [step for step in added if step not in set(pairs.values())]
    blocks = blocks_of(new)
    return Matching(pairs, added, removed, list(_moved(blocks_of(old), blocks, pairs)), blocks)


def _renamed(removed: list[Step], added: list[Step]) -> Iterator[tuple[Step, Step]]:
    """Steps that differ only in their id."""
    by_body: dict[str, list[Step]] = {}
    for step in added:
        by_body.setdefault(_body(step), []).append(step)
    for step in removed:
        same = by_body.get(_body(step))
        if same:
            # Each new step is the counterpart of at most one old step.
            yield step, same.pop(0)


def _body(step: Step) -> str:
    inside = [[one.name for one in walk(block)] for block in step.blocks()]
    reads = sorted({word.text for word in step.declared})
    return json.dumps([step_data(step), reads, inside], sort_keys=True, default=str)


def _moved(old: dict[Step, Block], new: dict[Step, Block], pairs: dict[Step, Step]) -> Iterator[Step]:
    """The steps in another list, and a minimal set of moved steps that explains the new order of each list."""
    stayed: dict[tuple[Step | None, str], list[tuple[Step, Step]]] = {}
    for step in (one for one in old if one in pairs):
        same, owner = pairs[step], old[step].owner
        # The list may belong to a step that was renamed.
        key = (pairs.get(owner) if owner else None, _list_name(old[step]))
        if key == (new[same].owner, _list_name(new[same])):
            stayed.setdefault(key, []).append((step, same))
        else:
            yield same
    place = {step: number for number, step in enumerate(new)}
    for steps in stayed.values():
        places = [place[same] for _, same in steps]
        kept = _longest_rise(places)
        yield from (same for number, (_, same) in enumerate(steps) if number not in kept)


def _list_name(block: Block) -> str:
    # Without the name of its owner, which may have changed.
    return block.label.partition(" of ")[0]


def _longest_rise(numbers: list[int]) -> set[int]:
    """The positions of a longest increasing subsequence."""
    ends: list[int] = []
    places: list[int] = []
    before: list[int | None] = []
    for place, number in enumerate(numbers):
        at = bisect_left(ends, number)
        before.append(places[at - 1] if at else None)
        ends[at : at + 1] = [number]
        places[at : at + 1] = [place]
    found: set[int] = set()
    last = places[-1] if places else None
    while last is not None:
        found.add(last)
        last = before[last]
    return found


def compare(old: SourceFile, new: SourceFile) -> list[Change]:
    """All differences. Both files must be workflows."""
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
        if details := differences(
            {**_words(was, "description"), **_settings(was)},
            {**_words(task, "description"), **_settings(task)},
        ):
            changes.append(Change("task", "changed", name, details=details))
        changes += _scope(was, task, before.tasks[name], after.tasks[name], name)
    gone = [name for name in old.workflow.declared_tasks if name not in new.workflow.declared_tasks]
    return changes + [Change("task", "removed", name) for name in gone]


def _headings(old: Workflow, new: Workflow) -> Iterator[Change]:
    before, after = (
        {**_words(scope, "name", "version", "description"), **_settings(scope)} for scope in (old, new)
    )
    if details := differences(before, after):
        yield Change("workflow", "changed", after.get("name", ""), details=details)


_SETTINGS = ("deadline", "restarts", "collect_errors", "completes_on_failure")


def _settings(scope: Scope) -> dict[str, Any]:
    """The settings that apply to a whole run."""
    nodes = {name: scope.node.get(name) for name in _SETTINGS}
    return {name: plain(node) for name, node in nodes.items() if node is not None}


def _words(scope: Scope, *names: str) -> dict[str, str]:
    return {name: scope.values[name].text for name in names if name in scope.values}


def _scope(old: Scope, new: Scope, before: Chart, after: Chart, task: str | None) -> Iterator[Change]:
    yield from _inputs(old, new, task)
    matching = match_steps(old, new)
    yield from _steps(matching, task)
    yield from _fields(_field_data(old, before), _field_data(new, after), task)
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


Fields = dict[str, dict[str, object]]


def _field_data(scope: Scope, chart: Chart) -> Fields:
    """The fields, with what computes those that no step writes."""
    found = {info.name: _field(info) for info in chart.fields}
    for derivation in scope.derivations:
        data: dict[str, object] = plain(derivation.node)
        found.setdefault(derivation.field, {"type": ""}).update(
            {name: value for name, value in data.items() if name != "description"}
        )
    for name, tree in (scope.start_values or {}).items():
        found.setdefault(name, {"type": ""})["at_start"] = tree.data
    return found


def _fields(before: Fields, after: Fields, task: str | None) -> Iterator[Change]:
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
    """The edges with their kinds of condition. The text of a condition is compared as a field of its step."""
    names = {region.end: "end" for region in chart.root.regions()}
    for state in chart.states():
        title = renamed.get(state.title, state.title)
        names[state.id] = f"{title} ({state.kind})" if state.step and state.kind != state.step.kind else title
    for region in chart.root.regions():
        source = "start" if region is chart.root else f"branch {region.title}"
        yield f"{source} -> {names.get(region.initial, region.initial)}"
        for edge in region.edges:
            # A retry is shown as a field, and an edge within one step carries no information.
            if edge.event != "retry" and names[edge.source] != names.get(edge.target):
                how = _how(edge)
                yield f"{names[edge.source]} -> {names.get(edge.target, edge.target)}{how}"


def _how(edge: Edge) -> str:
    if edge.event == "recover":
        return " when it fails"
    if edge.guard is not None and edge.guard.name in ("when", "otherwise"):
        return " if so" if edge.guard.name == "when" else " if not"
    return ""
