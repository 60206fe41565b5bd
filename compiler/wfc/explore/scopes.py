"""Where the values that a condition looks at come from: results of steps, inputs, items of a foreach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from wfc.explore.goals import Goal, Known, solve
from wfc.explore.shapes import Shapes, all_shapes
from wfc.explore.terms import Path, Term, expressions, lone, nest, term_of, terms_in, undo
from wfc_runtime.expr import nodes
from wfc_runtime.machine.ask import Ask
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.effects import Assign, Return
from wfc_runtime.machine.guards import Condition
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.machine.structure import structure_of
from wfc_runtime.registry import Module
from wfc_runtime.service.children import is_briefed

_DEEPEST = 6
BRIEF = "do-task"
"""The one step of a task that a named agent gets as a whole; here also the field that its value goes to."""


@dataclass(frozen=True)
class Aim:
    """Values to be put at a place: in the result of the steps that write a field, or in the inputs (no field)."""

    scope: str
    field: str | None
    place: Path
    values: tuple[Any, ...]


@dataclass(eq=False)
class Scope:
    """A workflow or a task."""

    name: str
    machine: AnyMachine
    parents: list[tuple[Scope, Spawn]] = field(default_factory=list)

    @cached_property
    def texts(self) -> list[Any]:
        """Everything that may hold templates."""
        found: list[Any] = []
        for effect in self.machine.steps.values():
            match effect:
                case Ask():
                    found += [dict(effect.parameters), dict(effect.where)]
                case Assign():
                    found.append(dict(effect.updates))
                case Return():
                    found.append(effect.value)
                case Spawn():
                    found += [effect.items, dict(effect.inputs or {})]
        return [*found, *(condition.text for condition in self.conditions)]

    @cached_property
    def conditions(self) -> list[Condition]:
        return [
            guard
            for node in structure_of(self.machine).nodes.values()
            for edge in node.eventless
            for guard in edge.guards
            if isinstance(guard, Condition)
        ]

    @cached_property
    def trees(self) -> list[nodes.Node]:
        return [tree for text in self.texts for tree in expressions(text)]

    @cached_property
    def shapes(self) -> Shapes:
        found = all_shapes(term for tree in self.trees for term in terms_in(tree))
        for effect in self.machine.steps.values():
            if isinstance(effect, Assign):
                for name, text in effect.updates.items():
                    term = self.term(text, effect)
                    if term is not None:
                        found.same(term, ("state", name))
            elif isinstance(effect, Spawn) and (term := self.term(effect.items)) is not None:
                found.read(term.then_first())
                found.same(term.then_first(), ("item",))
        return found

    def term(self, text: Any, assign: Assign | None = None) -> Term | None:
        expression = lone(text)
        term = term_of(expression) if expression is not None else None
        if term is not None and assign is not None and term.path[0] in assign.updates:
            return Term(("state", *term.path), term.operations)
        return term


class World:
    """The workflow that is explored, its tasks, and all that it calls."""

    def __init__(self, modules: Mapping[str, Module], name: str, defaults: Mapping[str, Any]) -> None:
        self.name = name
        self.modules = modules
        self._defaults = defaults
        self.scopes: dict[str, Scope] = {}
        """What runs step by step: not a task that a named agent gets as a whole."""
        self.briefs: dict[str, list[tuple[Scope, Spawn]]] = {}
        """Tasks that one does, and the steps that give them to it."""
        self._add(name, modules[name].workflow.machine, modules[name])

    def _add(self, name: str, machine: AnyMachine, module: Module) -> Scope:
        if name in self.scopes:
            return self.scopes[name]
        scope = self.scopes[name] = Scope(name, machine)
        for effect in machine.steps.values():
            if not isinstance(effect, Spawn):
                continue
            if effect.task is not None and is_briefed(effect.agent):
                self.briefs.setdefault(effect.task, []).append((scope, effect))
            elif effect.task is not None:
                child = self._add(effect.task, module.workflow.tasks[effect.task], module)
                child.parents.append((scope, effect))
            elif effect.workflow is not None and effect.workflow in self.modules:
                other = self.modules[effect.workflow]
                child = self._add(effect.workflow, other.workflow.machine, other)
                child.parents.append((scope, effect))
        return scope

    def brief_shape(self, task: str) -> Any:
        """What is read of the value that a named agent returns."""
        for scope, spawn in self.briefs.get(task, ()):
            shape = scope.shapes.of(("state", spawn.writes, 0)) if spawn.writes else None
            if shape is not None:
                return shape
        return None

    def known(self, scope: Scope) -> Known:
        def look(path: Path) -> Any:
            if scope.name == self.name and path[0] == "inputs" and len(path) == 2:
                return self._defaults.get(str(path[1]))
            return None

        return look

    def aims(self, scope: Scope, goal: Goal) -> list[Aim]:
        return [aim for path, values in goal.items() for aim in self._sources(scope, path, tuple(values), 0)]

    def wanted(self, scope: Scope, condition: Condition, want: bool) -> list[list[Aim]]:
        """Ways to bring a condition about."""
        expression = lone(condition.text)
        if expression is None:
            return [[]]
        goals = solve(expression, want, self.known(scope))
        return [self.aims(scope, goal) for goal in goals] or [[]]

    # -- sources -----------------------------------------------------------------

    def _sources(self, scope: Scope, path: Path, values: tuple[Any, ...], depth: int) -> Iterator[Aim]:
        if depth > _DEEPEST:
            return
        match path:
            case ("state", str() as name, *rest):
                yield from self._of_field(scope, name, tuple(rest), values, depth)
            case ("inputs", str() as name, *rest):
                if scope.name == self.name:
                    yield Aim(scope.name, None, (name, *rest), values)
                for parent, spawn in scope.parents:
                    yield from self._of_input(parent, spawn, name, tuple(rest), values, depth)
            case ("item", *rest):
                for parent, spawn in scope.parents:
                    yield from self._of_item(parent, spawn, tuple(rest), values, depth)

    def _of_field(
        self, scope: Scope, name: str, rest: Path, values: tuple[Any, ...], depth: int
    ) -> Iterator[Aim]:
        for effect in scope.machine.steps.values():
            if isinstance(effect, Assign) and name in effect.updates:
                yield from self._of_expression(scope, effect.updates[name], rest, values, depth, effect)
            elif effect.writes == name and isinstance(effect, Ask):
                yield Aim(scope.name, name, rest, values)
            elif effect.writes == name and isinstance(effect, Spawn):
                yield from self._of_child(effect, rest, values, depth)

    def _of_expression(
        self,
        scope: Scope,
        text: Any,
        rest: Path,
        values: tuple[Any, ...],
        depth: int,
        assign: Assign | None = None,
    ) -> Iterator[Aim]:
        if isinstance(text, dict) and rest and rest[0] in text:
            yield from self._of_expression(scope, text[rest[0]], rest[1:], values, depth, assign)
            return
        expression = lone(text)
        if expression is None:
            return
        term = scope.term(text, assign)
        if term is not None:
            undone = tuple(undo((nest(value, rest) for value in values), term.operations))
            yield from self._sources(scope, term.path, undone, depth + 1)
        elif not rest and values and isinstance(values[0], bool):
            for goal in solve(expression, values[0], self.known(scope)):
                for path, wanted in goal.items():
                    full = ("state", *path) if assign is not None and path[0] in assign.updates else path
                    yield from self._sources(scope, full, tuple(wanted), depth + 1)

    def _of_child(self, spawn: Spawn, rest: Path, values: tuple[Any, ...], depth: int) -> Iterator[Aim]:
        """The result of a child is what it returns."""
        if not spawn.is_call and not (rest and rest[0] == 0):
            return
        inner = rest if spawn.is_call else rest[1:]
        if spawn.task is not None and is_briefed(spawn.agent):
            yield Aim(spawn.task, BRIEF, inner, values)
            return
        child = self.scopes.get(spawn.task or spawn.workflow or "")
        if child is None:
            return
        for effect in child.machine.steps.values():
            if isinstance(effect, Return):
                yield from self._of_expression(child, effect.value, inner, values, depth + 1)

    def _of_input(
        self, parent: Scope, spawn: Spawn, name: str, rest: Path, values: tuple[Any, ...], depth: int
    ) -> Iterator[Aim]:
        if spawn.inputs is None:
            for inner in (rest, (name, *rest)):
                yield from self._of_item(parent, spawn, inner, values, depth)
            return
        expression = lone(spawn.inputs.get(name))
        term = term_of(expression) if expression is not None else None
        if term is None:
            return
        undone = tuple(undo((nest(value, rest) for value in values), term.operations))
        if term.path[0] == "item":
            yield from self._of_item(parent, spawn, term.path[1:], undone, depth)
        else:
            yield from self._sources(parent, term.path, undone, depth + 1)

    def _of_item(
        self, parent: Scope, spawn: Spawn, rest: Path, values: tuple[Any, ...], depth: int
    ) -> Iterator[Aim]:
        expression = lone(spawn.items)
        term = term_of(expression) if expression is not None else None
        if term is not None:
            undone = tuple(undo(([nest(value, rest)] for value in values), term.operations))
            yield from self._sources(parent, term.path, undone, depth + 1)
