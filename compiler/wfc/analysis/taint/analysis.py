"""Taint of a whole file, as a fixpoint over variables.

A source is a value from outside: an input, an answer, the output of a command, the text of a file. Taint is propagated
from sources through templates (`expressions`) and steps (`effects`) into variables; rules ask for the taint of a sink,
such as a shell command. A variable is a definition of a state field, an input of a task, its `item` or `previous`, the
item of a loop, or the result of a scope.

All variables start clean. A worklist evaluates each step and joins the result to the variables that it writes; a step
is evaluated again only if a variable that it read has changed. A variable can only get worse, and only a few times, so
the work is nearly linear in the number of steps. A value is clean again if its type (a number, a boolean), a validation
pattern, a filter of the policy such as `shquote`, or a comparison with constants on the path rules out harm.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from jinja2 import nodes

from wfc.analysis.taint.effects import of_declaration, outcome_of, within
from wfc.analysis.taint.expressions import Piece, Walk
from wfc.analysis.taint.policy import SHELL, Policy
from wfc.analysis.taint.values import CLEAN, Flow, Level, Taint, join, joined, listed, only, record
from wfc.analysis.types.conditions import Place
from wfc.analysis.types.environment import Given
from wfc.analysis.types.workflow import FileTypes, ScopeTypes, types_of
from wfc.caching import cached_per_file
from wfc.language.ast import Scope, Task
from wfc.language.dialect import Language
from wfc.language.scopes import loop_variables, runners
from wfc.language.shape import InputDecl
from wfc.language.steps.base import Step
from wfc.language.steps.protocol import Variables
from wfc.language.values import Text, Tree
from wfc.project import SourceFile
from wfc.template import Template
from wfc.yaml import Node, Scalar, Sequence

# Guards: expressions that a condition on the path has compared with constants can have no other value.

_SAME = {("eq", True), ("ne", False), ("in", True), ("notin", False)}


def settled_by(clauses: Iterable[Given]) -> list[nodes.Expr]:
    """The expressions that are known to be constants: `x` where `x == 'a'` or `x in ['a', 'b']` is true."""
    found = (_settled(clause.node, clause.outcome) for clause in clauses)
    return [node for node in found if node is not None]


def _settled(node: nodes.Expr, outcome: bool) -> nodes.Expr | None:
    if not isinstance(node, nodes.Compare) or len(node.ops) != 1:
        return None
    operand = node.ops[0]
    if (operand.op, outcome) not in _SAME:
        return None
    if operand.op in ("eq", "ne"):
        # A comparison with another variable proves nothing.
        return node.expr if isinstance(operand.expr, nodes.Const) else None
    listed = operand.expr
    known = isinstance(listed, nodes.List | nodes.Tuple) and all(
        isinstance(item, nodes.Const) for item in listed.items
    )
    return node.expr if known else None


# The names that a template may use, and the variable behind each.

Variable = tuple[Any, ...]


class File(Protocol):
    policy: Policy
    language: Language

    def read(self, variable: Variable) -> Taint: ...
    def read_field(self, home: ScopeTypes, field: str, mask: int) -> Taint: ...
    def is_run(self, task: Task) -> bool: ...


class Names:
    """The taint of the names that a template may use."""

    def __init__(
        self,
        file: File,
        home: ScopeTypes,
        place: Place | None,
        names: Mapping[str, Taint],
        loops: tuple[Variables, ...] = (),
    ) -> None:
        self._file, self._home, self._place, self._own = file, home, place, names
        self._loops = loops

    @property
    def policy(self) -> Policy:
        return self._file.policy

    def settled(self) -> list[nodes.Expr]:
        if self._place is None:
            return []
        return settled_by(self._home.states.clauses_at(self._place.node, self._place.names))

    def field(self, name: str | None) -> Taint:
        masks = self._home.inference.definitions.masks
        if name is None:
            # The whole state is as bad as its worst field.
            return only(joined(self.field(field) for field in masks).whole)
        # Without a place, every definition of the field may reach the template.
        mask = self._home.states.mask_at(self._place.node, name) if self._place else 0
        return self._file.read_field(self._home, name, mask or masks.get(name, 0))

    def input(self, name: str | None) -> Taint:
        scope = self._home.scope
        if name is None:
            return only(joined(self.input(one) for one in scope.declared_inputs).whole)
        decl = scope.declared_inputs.get(name)
        if decl is None:
            return CLEAN
        # A task that nothing runs is treated like a workflow: its inputs come from outside.
        if isinstance(scope, Task) and self._file.is_run(scope):
            return of_declaration(decl, self._file.read(("input", scope, name)), self.policy)
        return _given_at_start(scope, name, decl, self.policy, self._file.language)

    def other(self, name: str) -> Taint:
        if name in self._own:
            return self._own[name]
        for loop in reversed(self._loops):
            if name in (loop.item, loop.index):
                is_item = name == loop.item and loop.items is not None
                return self._file.read(("item", loop.items)) if is_item else CLEAN
        # `index`, `total` and the like are numbers or made by the runtime.
        is_child = isinstance(self._home.scope, Task) and name in ("item", "previous")
        return self._file.read((name, self._home.scope)) if is_child else CLEAN


@cached_per_file(128)
def _given_at_start(scope: Scope, name: str, decl: InputDecl, policy: Policy, language: Language) -> Taint:
    return of_declaration(decl, only(_input_flow(scope, name, language)), policy)


def _input_flow(scope: Scope, name: str, language: Language) -> Flow:
    span = next(
        (key.span for key in _keys(scope.node.get("inputs")) if key.text == name), scope.key_span("inputs")
    )
    words = "a run input"
    return Flow(
        Level.INPUT, words, f"`{language.name_of('inputs', name)}` is supplied when a run starts", span
    )


def _keys(node: Node | None) -> Iterator[Scalar]:
    return iter(()) if node is None or isinstance(node, Scalar | Sequence) else (e.key for e in node.entries)


# The analysis.

_DEEPEST_CALL = 5
# Workflows that are being analysed, to detect recursion.
_underway: list[SourceFile] = []


def taint_of(file: SourceFile, policy: Policy = SHELL) -> FileTaint | None:
    """The taint of the values of a file under a policy; None if its types are not known."""
    return _taint_of(file, policy)


@cached_per_file(128)
def _taint_of(file: SourceFile, policy: Policy) -> FileTaint | None:
    types = types_of(file)
    if types is None or file.workflow is None:
        return None
    # Removed even after an error, so that a later analysis does not take the file for recursive.
    _underway.append(file)
    try:
        return FileTaint(file, types, policy)
    finally:
        _underway.remove(file)


class FileTaint:
    def __init__(self, file: SourceFile, types: FileTypes, policy: Policy) -> None:
        self._file = file
        self.policy = policy
        self.language = file.language
        self.scopes: dict[Scope, ScopeTypes] = {found.scope: found for found in types.scopes}
        self._homes: dict[Step, ScopeTypes] = {
            step: found for found in types.scopes for step in (*found.scope.computed, *found.scope.walk())
        }
        self.tasks = {scope.task_name: scope for scope in self.scopes if isinstance(scope, Task)}
        self._places: dict[Step, dict[Scalar, Place]] = {}
        self._loops = {step: found for scope in self.scopes for step, found in loop_variables(scope).items()}
        self._run_by = runners(file.workflow) if file.workflow else {}
        self._values: dict[Variable, Taint] = {}
        self._readers: dict[Variable, dict[Step, None]] = {}
        self._field_readers: dict[tuple[Scope, str], dict[Step, int]] = {}
        """The steps that read a field, each with the definitions that reach it."""
        self._tainted: dict[tuple[Scope, str], int] = {}
        """The definitions of a field that are tainted."""
        self._job: Step | None = None
        self._ends_without_return = {
            scope: _ends_without_return(found) for scope, found in self.scopes.items()
        }
        self._solve()

    def _solve(self) -> None:
        todo = deque(self._homes)
        waiting = set(todo)
        while todo:
            # Reads during the evaluation are recorded for this step.
            step = self._job = todo.popleft()
            waiting.discard(step)
            for variable, taint in outcome_of(step, self, self._homes[step]):
                known = self._values.get(variable, CLEAN)
                found = join(known, taint)
                # `join` returns its first operand itself if nothing is added: identity is enough to see the fixpoint.
                if found is known:
                    continue
                self._values[variable] = found
                # A step that is already queued will see the new value anyway.
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
                # Only the steps that this definition reaches: other readers of the field see other values.
                readers = self._field_readers.get(place, {})
                return [step for step, mask in readers.items() if mask & definition.bit]
            case _:
                return self._readers.get(variable, ())

    def read_field(self, home: ScopeTypes, field: str, mask: int) -> Taint:
        """The joined taint of some definitions of a field. Only tainted ones are visited: there may be many others."""
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
        """The taint of a value of the file, with templates in its strings."""
        if isinstance(node, Scalar):
            return self._scalar(step, node, names)
        if isinstance(node, Sequence):
            return listed(joined(self.tree(step, item, names) for item in node.items))
        return record({entry.key.text: self.tree(step, entry.value, names) for entry in node.entries})

    def _scalar(self, step: Step, node: Scalar, names: Mapping[str, Taint]) -> Taint:
        text = Text(node)
        if not text.is_text or text.template.ast is None:
            return CLEAN
        found = _walk(text.template, self.names(step, node, names)).result()
        # The inferred type may rule out harm, as for `{{ text | length }}`.
        kind = None if found.is_clean else self._homes[step].inference.visit(step).types.get(node)
        return found if kind is None else within(found, kind)

    def names(self, step: Step, node: Scalar, names: Mapping[str, Taint]) -> Names:
        home = self._homes[step]
        if step not in self._places:
            self._places[step] = {one.text.node: one for one in home.inference.texts(step).all}
        return Names(self, home, self._places[step].get(node), names, self._loops.get(step, ()))

    def pieces(self, step: Step, text: Text) -> list[Piece]:
        """The parts of a template: literal text, and the taint of each inserted value."""
        return _walk(text.template, self.names(step, text.node, {})).pieces()

    def value(self, step: Step, tree: Tree) -> Taint:
        return self.tree(step, tree.node, {})

    def returned(self, scope: Scope) -> Taint:
        """The taint of a scope's result: a returned value, or the state if it can end without a return."""
        found = self.read(("return", scope))
        if self._ends_without_return[scope]:
            home = self.scopes[scope]
            masks = home.inference.definitions.masks
            fields = {name: self.read_field(home, name, mask) for name, mask in masks.items()}
            found = join(found, record(fields))
        return found

    def called(self, name: str, given: Taint) -> Taint | None:
        """The taint of another workflow's result, given that of its inputs; None if that can't be known."""
        found = self._file.project.named(name)
        # Recursion and very deep chains are cut: the caller then takes the result for untrusted.
        # Several workflows with that name are an error, and which one is called is not known.
        if len(found) != 1 or found[0] in _underway or len(_underway) > _DEEPEST_CALL:
            return None
        taint = taint_of(found[0], self.policy)
        workflow = found[0].workflow
        return _with_inputs(taint.returned(workflow), given.whole) if taint and workflow else None

    def is_run(self, task: Task) -> bool:
        return task.task_name in self._run_by


def _walk(template: Template, names: Names) -> Walk:
    """The evaluation of a template, by the language of its expressions."""
    if template.language == "javascript":
        # Imported here: few files need it.
        from wfc.analysis.taint.javascript import ScriptWalk

        return ScriptWalk(template, names)
    return Walk(template, names)


def _ends_without_return(found: ScopeTypes) -> bool:
    states = found.inference.states
    flow = states.flow
    return any(edge.source in states.reach and not flow.returns(edge) for edge in flow.into.get(flow.end, ()))


def _with_inputs(taint: Taint, given: Flow | None) -> Taint:
    """A value of another workflow as its caller sees it: its inputs are the values that the caller gave."""
    # The callee's inputs are untrusted in themselves; here it is known what the caller gave.
    flow = given if taint.flow is not None and taint.flow.level is Level.INPUT else taint.flow
    return record({key: _with_inputs(part, given) for key, part in taint.parts.items()}, flow)
