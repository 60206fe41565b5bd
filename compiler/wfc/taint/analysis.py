"""Taint through a whole file: each step puts what it makes of what it reads into variables, until none changes.

A variable is a definition of a state field, an input of a task, what a task gets as `item` and `previous`, or what a
scope returns. A step is looked at again only when a variable that it read has changed, and a variable can
change a few times at most, so that the work is nearly linear in the number of steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from wfc.analysis.types.conditions import Place
from wfc.analysis.types.workflow import FileTypes, ScopeTypes, types_of
from wfc.caching import cached_per_file
from wfc.language.ast import Scope, Task
from wfc.language.scopes import runners
from wfc.language.steps.base import Step
from wfc.language.values import Text, Tree
from wfc.project import SourceFile
from wfc.taint.effects import outcome_of
from wfc.taint.expressions import Piece, Walk
from wfc.taint.names import Names, Variable
from wfc.taint.policy import SHELL, Policy
from wfc.taint.sources import within
from wfc.taint.values import CLEAN, Flow, Level, Taint, join, joined, listed, record
from wfc.yaml import Node, Scalar, Sequence

_DEEPEST_CALL = 5
_underway: list[SourceFile] = []


def taint_of(unit: SourceFile, policy: Policy = SHELL) -> FileTaint | None:
    """Where what comes from outside gets to in a file, as far as it does harm there."""
    return _taint_of(unit, policy)


@cached_per_file(128)
def _taint_of(unit: SourceFile, policy: Policy) -> FileTaint | None:
    types = types_of(unit)
    if types is None or unit.workflow is None:
        return None
    _underway.append(unit)
    try:
        return FileTaint(unit, types, policy)
    finally:
        _underway.remove(unit)


class FileTaint:
    def __init__(self, unit: SourceFile, types: FileTypes, policy: Policy) -> None:
        self._unit = unit
        self.policy = policy
        self.scopes: dict[Scope, ScopeTypes] = {found.scope: found for found in types.scopes}
        self._homes: dict[Step, ScopeTypes] = {
            step: found for found in types.scopes for step in found.scope.walk()
        }
        self.tasks = {scope.task_name: scope for scope in self.scopes if isinstance(scope, Task)}
        self._places: dict[Step, dict[Scalar, Place]] = {}
        self._run_by = runners(unit.workflow) if unit.workflow else {}
        self._values: dict[Variable, Taint] = {}
        self._readers: dict[Variable, dict[Step, None]] = {}
        self._field_readers: dict[tuple[Scope, str], dict[Step, int]] = {}
        """The steps that read a field, each with the definitions that reach it."""
        self._tainted: dict[tuple[Scope, str], int] = {}
        """The definitions of a field that put something there which is not to be trusted."""
        self._job: Step | None = None
        self._ends_without_return = {
            scope: _ends_without_return(found) for scope, found in self.scopes.items()
        }
        self._solve()

    def _solve(self) -> None:
        todo = deque(self._homes)
        waiting = set(todo)
        while todo:
            step = self._job = todo.popleft()
            waiting.discard(step)
            for variable, taint in outcome_of(step, self, self._homes[step]):
                known = self._values.get(variable, CLEAN)
                found = join(known, taint)
                if found is known:
                    continue
                self._values[variable] = found
                fresh = [reader for reader in self._readers_of(variable) if reader not in waiting]
                todo.extend(fresh)
                waiting.update(fresh)
        self._job = None

    def _readers_of(self, variable: Variable) -> Iterable[Step]:
        match variable:
            case ("field", scope, number):
                definition = self.scopes[scope].inference.definitions.all[number]
                place = scope, definition.field
                self._tainted[place] = self._tainted.get(place, 0) | definition.bit
                readers = self._field_readers.get(place, {})
                return [step for step, mask in readers.items() if mask & definition.bit]
            case _:
                return self._readers.get(variable, ())

    def read_field(self, home: ScopeTypes, field: str, mask: int) -> Taint:
        """What some definitions of a field put there. Of the many that there may be only those that taint it count."""
        place = home.scope, field
        if self._job is not None:
            readers = self._field_readers.setdefault(place, {})
            readers[self._job] = readers.get(self._job, 0) | mask
        tainted = home.inference.definitions.of_mask(self._tainted.get(place, 0) & mask)
        return joined(self._values["field", home.scope, way.number] for way in tainted)

    def read(self, variable: Variable) -> Taint:
        if self._job is not None:
            self._readers.setdefault(variable, {})[self._job] = None
        return self._values.get(variable, CLEAN)

    # -- what steps ask --------------------------------------------------------

    def tree(self, step: Step, node: Node, names: Mapping[str, Taint]) -> Taint:
        """A value of the file, with templates in its strings."""
        if isinstance(node, Scalar):
            return self._scalar(step, node, names)
        if isinstance(node, Sequence):
            return listed(joined(self.tree(step, item, names) for item in node.items))
        return record({entry.key.text: self.tree(step, entry.value, names) for entry in node.entries})

    def _scalar(self, step: Step, node: Scalar, names: Mapping[str, Taint]) -> Taint:
        text = Text(node)
        if not text.is_text or text.template.ast is None:
            return CLEAN
        found = Walk(text.template, self.names(step, node, names)).result()
        kind = None if found.is_clean else self._homes[step].inference.visit(step).types.get(node)
        return found if kind is None else within(found, kind)

    def names(self, step: Step, node: Scalar, names: Mapping[str, Taint]) -> Names:
        home = self._homes[step]
        if step not in self._places:
            self._places[step] = {one.text.node: one for one in home.inference.texts(step).all}
        return Names(self, home, self._places[step].get(node), names)

    def pieces(self, step: Step, text: Text) -> list[Piece]:
        """A text of a step, with what each hole puts into it."""
        return Walk(text.template, self.names(step, text.node, {})).pieces()

    def value(self, step: Step, tree: Tree) -> Taint:
        return self.tree(step, tree.node, {})

    def returned(self, scope: Scope) -> Taint:
        """What a scope gives back: a value that a step returns, or its state where it just ends."""
        found = self.read(("return", scope))
        if self._ends_without_return[scope]:
            home = self.scopes[scope]
            masks = home.inference.definitions.masks
            fields = {name: self.read_field(home, name, mask) for name, mask in masks.items()}
            found = join(found, record(fields))
        return found

    def called(self, name: str, given: Taint) -> Taint | None:
        """What another workflow returns; its inputs are what it is given. None where that can't be known."""
        found = self._unit.project.named(name)
        if len(found) != 1 or found[0] in _underway or len(_underway) > _DEEPEST_CALL:
            return None
        taint = taint_of(found[0], self.policy)
        workflow = found[0].workflow
        return _with_inputs(taint.returned(workflow), given.whole) if taint and workflow else None

    def is_run(self, task: Task) -> bool:
        return task.task_name in self._run_by


def _ends_without_return(found: ScopeTypes) -> bool:
    states = found.inference.states
    flow = states.flow
    return any(edge.source in states.reach and not flow.returns(edge) for edge in flow.into.get(flow.end, ()))


def _with_inputs(taint: Taint, given: Flow | None) -> Taint:
    """A value of another workflow as its caller sees it: an input there is what was given here."""
    flow = given if taint.flow is not None and taint.flow.level is Level.INPUT else taint.flow
    return record({key: _with_inputs(part, given) for key, part in taint.parts.items()}, flow)
