"""Whether runs in progress can continue with a new version, by the rules of `wfc runs migrate`.

A run is never moved automatically: it continues with the version it was started with. The question is whether every
run, whichever step it waits in, can be migrated, and whether it will then have the values that the remaining steps
need.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from wfc.analysis.control_flow import Flow, FlowEdge, flows_of
from wfc.analysis.types.workflow import ScopeTypes, types_of
from wfc.author.diff.compare import Reason, match_steps
from wfc.caching import cached_property
from wfc.ir import State, written_by
from wfc.language.types import Type, union
from wfc.project import SourceFile
from wfc_runtime.machine import Ask, Delay, Spawn
from wfc_runtime.machine.chart import AnyMachine, Workflow
from wfc_runtime.machine.interpreter import Node, structure_of
from wfc_runtime.machine.snapshot import Pending, Snapshot
from wfc_runtime.machine.step import blocking_steps
from wfc_runtime.results import narrowed, of

# Liveness: the fields and inputs that steps after a waiting step read.


class Needs:
    """One scope of one version. Liveness, solved once for all of its nodes."""

    def __init__(self, flow: Flow, types: ScopeTypes) -> None:
        self.flow = flow
        self.types = types
        self._live: dict[str, frozenset[str]] = dict.fromkeys([*flow.states, *_ends(flow)], frozenset())
        # Nodes in reverse order of the flow settle first, but any order ends with the same result.
        todo = list(self._live)
        while todo:
            node = todo.pop()
            found = self._reads(node) | (self._onward(node) - self._writes(node))
            if found != self._live[node]:
                self._live[node] = found
                # Only nodes before a changed one can change.
                todo += [edge.source for edge in flow.into.get(node, ())]

    @cached_property
    def kinds(self) -> dict[str, Type]:
        """The type of each field."""
        return self.types.field_types()

    def after(self, node: str) -> frozenset[str]:
        """The fields that are read, once a step has its result, before anything writes them."""
        return self._onward(node) - self._writes(node)

    def is_set(self, node: str, field: str) -> bool:
        """Whether a field is always written before a node is reached."""
        definitions = self.types.inference.definitions
        if field not in definitions.by_field:
            return False
        mask = self.types.states.mask_at(node, field)
        # A definition "unset" that reaches the node means that some path has not written the field.
        return bool(mask) and not mask & definitions.unset(field)

    def inputs_after(self, node: str, names: Iterable[str]) -> dict[str, str]:
        """The inputs, of those given, that steps after a node can read, each with one such step."""
        wanted = set(names)
        found: dict[str, str] = {}
        if not wanted:
            return found
        for later in self.flow.reach([edge.target for edge in self.flow.out.get(node, ())]):
            step = self.flow.step(later)
            for text in step.texts() if step else ():
                for read in text.template.reads:
                    name = read.path[0].name if read.root == "inputs" and read.path else None
                    if isinstance(name, str) and name in wanted and step is not None:
                        found.setdefault(name, step.name)
        return found

    def reader(self, node: str, field: str) -> str | None:
        """A step that reads a field after a node."""
        for later in self.flow.reach([edge.target for edge in self.flow.out.get(node, ())]):
            step = self.flow.step(later)
            if step is not None and field in self._reads(later):
                return step.name
        return None

    def _onward(self, node: str) -> frozenset[str]:
        return frozenset().union(*(self._live[edge.target] for edge in self.flow.out.get(node, ())))

    def _reads(self, node: str) -> frozenset[str]:
        state = self.flow.states.get(node)
        effect = frozenset(state.effect.reads) if state and state.effect else frozenset()
        return effect.union(*(_guard_reads(edge) for edge in self.flow.out.get(node, ())))

    def _writes(self, node: str) -> frozenset[str]:
        state = self.flow.states.get(node)
        return _written(state) if state else frozenset()


def _ends(flow: Flow) -> list[str]:
    return [flow.end, *(end for ends in flow.branch_ends.values() for end in ends)]


def _guard_reads(edge: FlowEdge) -> tuple[str, ...]:
    return edge.guard.reads if edge.guard else ()


def _written(state: State) -> frozenset[str]:
    if state.effect is None:
        return frozenset()
    return frozenset(written_by(state.effect))


_WAITING = (Ask, Spawn, Delay)
_SHOWN = 3
"""The steps that a message names; `steps` has all of them."""


def reasons(old: SourceFile, new: SourceFile, was: Workflow, now: Workflow) -> list[Reason]:
    """Why the change is not safe; empty if it is. The arguments are the two compiled versions."""
    if was.name != now.name:
        message = f"the workflow was called {was.name}: its runs find no current version to move to"
        return [Reason("workflow_renamed", message)]
    found: list[Reason] = []
    for task in (None, *was.tasks):
        if task is None:
            found += _scope(old, new, was.machine, now.machine, None)
        elif task not in now.tasks:
            found.append(Reason("task_gone", f"the task {task} is gone: its runs can't be moved", task=task))
        elif _is_followed(was, task):
            # A run of a briefed task waits in the step of its brief, which does not change.
            found += _scope(old, new, was.tasks[task], now.tasks[task], task)
    return _gathered(found)


def _gathered(found: list[Reason]) -> list[Reason]:
    """Merge equal reasons of several steps; `*` in a message stands for the steps."""
    steps: dict[Reason, dict[str, None]] = {}
    for one in found:
        # By everything except the steps.
        steps.setdefault(replace(one, steps=()), {}).update(dict.fromkeys(one.steps))
    return [
        replace(one, message=one.message.replace("*", _either(list(names))), steps=tuple(names))
        for one, names in steps.items()
    ]


def _either(names: list[str]) -> str:
    shown = names if len(names) <= _SHOWN else [*names[:_SHOWN], f"{len(names) - _SHOWN} other steps"]
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _is_followed(workflow: Workflow, task: str) -> bool:
    """Whether the task is executed step by step. A named agent gets it as one brief."""
    machines = [workflow.machine, *workflow.tasks.values()]
    spawns = [effect for one in machines for effect in one.steps.values() if isinstance(effect, Spawn)]
    return any(spawn.task == task and spawn.agent in (None, "@task") for spawn in spawns)


def _scope(
    old: SourceFile, new: SourceFile, was: AnyMachine, now: AnyMachine, task: str | None
) -> Iterator[Reason]:
    renamed = _renamed(old, new, task)
    before, after = _needs(old, task), _needs(new, task)
    for node in structure_of(was).nodes.values():
        effect = was.steps.get(node.id)
        if not isinstance(effect, _WAITING):
            continue
        if blocking_steps(now, _waiting_in(node, effect), was):
            yield _in_the_way(now, node, renamed, task)
            continue
        if isinstance(effect, Ask) and _result_changed(effect, now.steps[node.id]):
            message = (
                "* expects a different result now: the answer of an agent that was asked before may not fit"
            )
            yield Reason("result_changed", message, (node.name,), task, blocks=False)
        if not isinstance(effect, Delay) and before is not None and after is not None:
            yield from _data(node, before, after, task)


def _in_the_way(now: AnyMachine, node: Node, renamed: dict[str, str], task: str | None) -> Reason:
    name = node.name
    if name in renamed:
        message = f"{name} was renamed to {renamed[name]}: a run that waits there can't be moved; keep its id"
        return Reason("step_renamed", message, (name,), task)
    if node.id not in now.steps:
        return Reason("step_gone", f"{name} is gone: a run that waits there can't be moved", (name,), task)
    message = (
        f"{name} is a different kind of step now, or in another branch: a run that waits there can't be moved"
    )
    return Reason("step_changed", message, (name,), task)


def _waiting_in(node: Node, effect: Any) -> Snapshot:
    """The snapshot of a run that waits there, with all parallel branches at their ends."""
    active = {node.id: node, **{one.id: one for one in node.ancestors}}
    for one in list(active.values()):
        if one.is_parallel:
            for branch in one.children:
                if branch.id not in active:
                    end = next(child for child in branch.children if child.is_final)
                    active |= {branch.id: branch, end.id: end}
    ordered = sorted(active.values(), key=lambda one: one.order)
    pending = Pending(node.id, children=[{"run": ""}] if isinstance(effect, Spawn) else [])
    if isinstance(effect, Delay) or (isinstance(effect, Ask) and effect.wait_seconds is not None):
        # A snapshot of a wait needs a time, whichever.
        pending.resume_at = 0.0
    return Snapshot(configuration=[one.id for one in ordered], pending={node.name: pending})


def _result_changed(was: Ask, now: Any) -> bool:
    assert isinstance(now, Ask)
    before, after = (_without_words(narrowed(of(ask.result), ask.where)) for ask in (was, now))
    # An answer that fits the old schema may not fit the new one; without a new one, everything fits.
    return after is not None and before != after


def _without_words(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_words(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    # The keys of `properties` are names that the author chose, and one of them may be "title".
    return {
        key: {name: _without_words(one) for name, one in value.items()}
        if key == "properties" and isinstance(value, dict)
        else _without_words(value)
        for key, value in schema.items()
        if key not in ("title", "description") or not isinstance(value, str)
    }


# -- what later steps need -----------------------------------------------------


def _needs(file: SourceFile, task: str | None) -> Needs | None:
    types = types_of(file)
    if types is None:
        return None
    number = 0 if task is None else 1 + list(_tasks(file)).index(task)
    return Needs(flows_of(file)[number][1], types.scopes[number])


def _tasks(file: SourceFile) -> dict[str, Any]:
    return dict(file.workflow.declared_tasks) if file.workflow else {}


def _renamed(old: SourceFile, new: SourceFile, task: str | None) -> dict[str, str]:
    scopes = [file.workflow if task is None else _tasks(file).get(task) for file in (old, new)]
    return match_steps(scopes[0], scopes[1]).renamed if scopes[0] and scopes[1] else {}


def _data(node: Node, before: Needs, after: Needs, task: str | None) -> Iterator[Reason]:
    was, now = before.kinds, after.kinds
    for field in sorted(after.after(node.id)):
        # The new version itself has the field on some paths only, and handles that.
        if not after.is_set(node.id, field):
            continue
        if not before.is_set(node.id, field):
            message = f"a run that waits in * may have no {field}, which {after.reader(node.id, field)} reads"
            yield Reason("field_missing", message, (node.name,), task, blocks=False)
        elif union(now[field], was[field]) != union(now[field]):
            # The old type adds values that the new version does not expect.
            message = f"a run that waits in * has {field} of its old type, and {after.reader(node.id, field)} reads it"
            yield Reason("field_type", message, (node.name,), task, blocks=False)
    known = before.types.scope.declared_inputs
    added = [name for name in after.types.scope.declared_inputs if name not in known]
    for name, reader in sorted(after.inputs_after(node.id, added).items()):
        message = f"a run that waits in * was started without the input {name}, which {reader} reads"
        yield Reason("input_missing", message, (node.name,), task, blocks=False)
