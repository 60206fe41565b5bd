"""The branches of every machine, and where the values that decide them come from."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from jinja2 import nodes

from wfc.author.explore.solve import (
    JSON,
    Goal,
    Known,
    Path,
    Term,
    constant,
    expressions,
    is_constant,
    lone,
    nest,
    normal,
    sample,
    solve,
    term_of,
    terms_in,
    undo,
)
from wfc.caching import cached_property
from wfc_runtime.expr import ExpressionError
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.effects import Ask, Assign, Fail, Return
from wfc_runtime.machine.interpreter import Condition, Edge, Node, structure_of
from wfc_runtime.machine.run import evaluator
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.plan.counting import condition_of, counted, edges_of
from wfc_runtime.registry import Module
from wfc_runtime.service.children import is_briefed

# Shapes: the parts of a value that later steps read, which determine its form.

_LISTS = frozenset(
    {
        "first",
        "last",
        "join",
        "map",
        "select",
        "reject",
        "selectattr",
        "rejectattr",
        "sum",
        "sort",
        "unique",
        "list",
    }
)
_SAME = frozenset(
    {"trim", "strip", "default", "list", "sort", "unique", "selectattr", "rejectattr", "reverse"}
)
_DEEPEST = 8


class Shapes:
    """The places that the expressions of one scope read."""

    def __init__(self) -> None:
        self._inside: dict[Path, dict[str | int, None]] = {}
        self._leaves: dict[Path, Any] = {}
        self._same: dict[Path, list[Path]] = {}

    def read(self, term: Term) -> None:
        for place in _places(term):
            for number in range(1, len(place)):
                self._inside.setdefault(place[:number], {})[place[number]] = None

    def compared(self, path: Path, value: Any) -> None:
        """A constant with which the value is compared: the value should be of the same type."""
        self.read(Term(path))
        # The first constant counts: it decides the type, and one is enough for that.
        self._leaves.setdefault(path, value)

    def same(self, term: Term, path: Path) -> None:
        """The value of an expression is stored at a path and read from there."""
        *_, place = _places(term)
        self._same.setdefault(place, []).append(path)

    def of(self, path: Path, depth: int = 0) -> Any:
        """A value with all parts that are read; None if nothing is read."""
        # Values may refer to each other in a cycle of steps.
        if depth > _DEEPEST:
            return None
        found = self._own(path, depth)
        for other in self._same.get(path, ()):
            found = both(found, self.of(other, depth + 1))
        return self._leaves.get(path) if found is None else found

    def _own(self, path: Path, depth: int) -> Any:
        inside = self._inside.get(path, {})
        if JSON in inside:
            # The text must be valid JSON with these parts in it.
            return json.dumps(self.of((*path, JSON), depth + 1) or {})
        if 0 in inside:
            return [self._leaf((*path, 0), depth)]
        names = [name for name in inside if isinstance(name, str)]
        return {name: self._leaf((*path, name), depth) for name in names} if names else None

    def _leaf(self, path: Path, depth: int) -> Any:
        value = self.of(path, depth + 1)
        # Something that is not empty, so that conditions on it can be true.
        return "x" if value is None else value


def both(one: Any, other: Any) -> Any:
    """A value that has what two have. Where they differ, the first counts."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {**other, **{key: both(value, other.get(key)) for key, value in one.items()}}
    if isinstance(one, list) and isinstance(other, list) and one and other:
        return [both(one[0], other[0]), *one[1:]]
    return other if one is None else one


def _places(term: Term) -> Iterator[Path]:
    """The paths that a term reads; the last one is that of its value."""
    place = term.path
    yield place
    for operation in term.operations:
        name = operation.name
        if name in _LISTS:
            yield (*place, 0)
        attribute = operation.argument(0) if name in ("selectattr", "rejectattr") else None
        if name in ("map", "sum", "min", "max", "sort", "unique"):
            # The number is beyond all arguments: these filters take the attribute by name only.
            attribute = operation.argument(9, "attribute")
        if isinstance(attribute, str):
            yield (*place, 0, *attribute.split("."))
        if name in ("first", "last"):
            place = (*place, 0)
        elif name == "at" or (name == "get" and isinstance(operation.argument(0), str)):
            place = (*place, operation.argument(0))
        elif name == "parse_json":
            place = (*place, JSON)
        elif name in ("length", "count") and JSON in place:
            # Something reads the length of the parsed JSON, so the JSON should be a list with an element.
            yield (*place, 0)
            return
        elif name not in _SAME:
            return
        yield place


def all_shapes(terms: Iterable[Term]) -> Shapes:
    found = Shapes()
    for term in terms:
        found.read(term)
    return found


# Sources of values: results of steps, inputs, items of a foreach.

_DEEPEST_SOURCE = 6
BRIEF = "do-task"
"""The pseudo-step of a task that a named agent gets as a whole; also the field of its value."""


@dataclass(frozen=True, slots=True)
class Aim:
    """Values for a path: in the results of the steps that write a field, or in the inputs (no field)."""

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
        """All values that may contain templates."""
        found: list[Any] = []
        for effect in self.machine.steps.values():
            match effect:
                case Ask():
                    found += [dict(effect.parameters), dict(effect.where)]
                case Assign():
                    found.append(dict(effect.updates))
                case Return():
                    found.append(effect.value)
                case Fail():
                    found += [effect.code, effect.message]
                case Spawn():
                    found += [effect.items, dict(effect.inputs or {})]
            found += effect.texts
        found += [one for derive in self.machine.derived.values() for one in (derive.value, derive.source)]
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
    def needed_inputs(self) -> dict[str, str]:
        """The required inputs, each with its type."""
        schema = self.machine.inputs.model_json_schema(by_alias=True)
        found = {name: schema["properties"][name] for name in schema.get("required", ())}
        return {name: str({**one, **one.get("anyOf", [{}])[-1]}.get("type")) for name, one in found.items()}

    @cached_property
    def trees(self) -> list[nodes.Node]:
        return [tree for text in self.texts for tree in expressions(text, self.machine.expressions)]

    @cached_property
    def shapes(self) -> Shapes:
        found = all_shapes(term for tree in self.trees for term in terms_in(tree))
        for effect in self.machine.steps.values():
            if isinstance(effect, Assign):
                for name, text in effect.updates.items():
                    term = self.term(text, effect)
                    if term is not None:
                        found.same(term, ("state", name))
                    for key, inner in text.items() if isinstance(text, dict) else ():
                        if (part := self.term(inner, effect)) is not None:
                            found.same(part, ("state", name, key))
            elif isinstance(effect, Spawn) and (term := self.term(effect.items)) is not None:
                found.read(term.then_first())
                found.same(term.then_first(), ("item",))
        for tree in self.trees:
            for term, value in _examples(tree):
                found.compared(normal(term).path, value)
        return found

    def lone(self, text: Any) -> nodes.Expr | None:
        """The expression of a lone `{{ }}`."""
        return lone(text, self.machine.expressions)

    def term(self, text: Any, assign: Assign | None = None) -> Term | None:
        expression = self.lone(text)
        term = term_of(expression) if expression is not None else None
        # In an `Assign`, the name of one of its keys stands for the field that this key sets.
        if term is not None and assign is not None and term.path[0] in assign.updates:
            return Term(("state", *term.path), term.operations)
        return term


def _examples(tree: nodes.Node) -> Iterator[tuple[Term, Any]]:
    """Examples of the values that comparisons and calculations expect, which set the types of generated values."""
    for compared in tree.find_all(nodes.Compare):
        left, op, right = compared.expr, compared.ops[0].op, compared.ops[0].expr
        for one, other in ((left, right), (right, left)):
            term = term_of(one)
            value = constant(other) if is_constant(other) else 1 if op in _ORDERING else None
            if term is None or op in ("in", "notin") or not isinstance(value, int | float | str):
                continue
            if all(operation.name in _ARITHMETIC for operation in normal(term).operations):
                yield term, value
    for computed in tree.find_all(nodes.BinExpr):
        if computed.operator in _ARITHMETIC:
            terms = (term_of(side) for side in (computed.left, computed.right))
            yield from ((term, 1) for term in terms if term is not None)
    for applied in tree.find_all(nodes.Filter):
        if applied.name == "sum" and applied.node is not None and (term := term_of(applied.node)) is not None:
            named = {str(one.key): constant(one.value) for one in applied.kwargs}
            attribute = str(named.get("attribute") or "")
            inner = Term((*normal(term).path, 0, *(attribute.split(".") if attribute else ())))
            yield inner, 1


_EXAMPLES = {"string": "x", "number": 1, "integer": 1, "boolean": False, "array": [], "object": {}}
_ORDERING = ("lt", "lteq", "gt", "gteq")
_ARITHMETIC = frozenset({"round", "abs", "+", "-", "*", "/", "//", "%", "r+", "r-", "r*", "r/"})


class World:
    """The explored workflow, its tasks, and all workflows that it calls."""

    def __init__(self, modules: Mapping[str, Module], name: str, defaults: Mapping[str, Any]) -> None:
        self.name = name
        self.modules = modules
        self._defaults = defaults
        self.scopes: dict[str, Scope] = {}
        """The scopes that run step by step, without tasks that a named agent gets as a whole."""
        self.briefs: dict[str, list[tuple[Scope, Spawn]]] = {}
        """Tasks that a named agent executes, and the steps that start them."""
        self._add(name, modules[name].workflow.machine, modules[name])
        for scope in self.scopes.values():
            for parent, spawn in scope.parents:
                self._shape_inputs(parent, spawn, scope)

    def _shape_inputs(self, parent: Scope, spawn: Spawn, child: Scope) -> None:
        """Generate values of the types that the inputs of a child have."""
        needed = child.needed_inputs
        for name, kind in needed.items():
            example = _EXAMPLES.get(kind)
            if spawn.inputs is None:
                # A single input may be the item itself.
                term = Term(("item", name)) if len(needed) > 1 and not spawn.is_call else None
            else:
                term = parent.term(spawn.inputs.get(name))
            if term is not None and example is not None and not normal(term).operations:
                parent.shapes.compared(normal(term).path, example)

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
        """The parts that are read of the value that a named agent returns."""
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
        """Alternative goals that make a condition true."""
        expression = scope.lone(condition.text)
        if expression is None:
            return [[]]
        goals = solve(expression, want, self.known(scope))
        return [self.aims(scope, goal) for goal in goals] or [[]]

    # -- sources -----------------------------------------------------------------

    def _sources(self, scope: Scope, path: Path, values: tuple[Any, ...], depth: int) -> Iterator[Aim]:
        if depth > _DEEPEST_SOURCE:
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
        expression = scope.lone(text)
        if expression is None:
            return
        term = scope.term(text, assign)
        if term is not None:
            yield from self._through(scope, normal(term), rest, values, depth)
        elif not rest and values and isinstance(values[0], bool):
            # The field holds the value of a condition, so the condition is solved for the value that the
            # field should have.
            for goal in solve(expression, values[0], self.known(scope)):
                for path, wanted in goal.items():
                    full = ("state", *path) if assign is not None and path[0] in assign.updates else path
                    yield from self._sources(scope, full, tuple(wanted), depth + 1)

    def _through(
        self, scope: Scope, term: Term, rest: Path, values: tuple[Any, ...], depth: int
    ) -> Iterator[Aim]:
        """The sources of the value at a path inside the value of a term."""
        if term.operations:
            undone = tuple(undo((nest(value, rest) for value in values), term.operations))
            yield from self._sources(scope, term.path, undone, depth + 1)
        else:
            yield from self._sources(scope, (*term.path, *rest), values, depth + 1)

    def _of_child(self, spawn: Spawn, rest: Path, values: tuple[Any, ...], depth: int) -> Iterator[Aim]:
        """The result of a child is its returned value."""
        # The result of a foreach is a list, and only its first element is aimed at.
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
            child = self.scopes.get(spawn.task or "")
            # An item that is not an object can only be a single input.
            whole = [rest] if child is None or len(child.needed_inputs) < 2 else []
            # Whether an item fills one input or several by name may depend on the item, so both are tried.
            for inner in (*whole, (name, *rest)):
                yield from self._of_item(parent, spawn, inner, values, depth)
            return
        expression = parent.lone(spawn.inputs.get(name))
        term = term_of(expression) if expression is not None else None
        if term is None:
            return
        term = normal(term)
        if term.path[0] == "item":
            undone = tuple(undo((nest(value, rest) for value in values), term.operations))
            yield from self._of_item(parent, spawn, term.path[1:], undone, depth)
        else:
            yield from self._through(parent, term, rest, values, depth)

    def _of_item(
        self, parent: Scope, spawn: Spawn, rest: Path, values: tuple[Any, ...], depth: int
    ) -> Iterator[Aim]:
        expression = parent.lone(spawn.items)
        term = term_of(expression) if expression is not None else None
        if term is not None:
            yield from self._through(parent, normal(term), (0, *rest), values, depth)


# Values worth trying, taken from all expressions: constants and their neighbours, texts that match
# patterns.

Place = tuple[str, str | None]
"""A scope, and the field that a step's result goes to; None: the inputs."""
_MOST = 40
_BROKEN_JSON = ("[]", "{}", "null", "7", "not json")


class Pool:
    """The values to try, by field and path inside the result."""

    def __init__(self, world: World) -> None:
        self._found: dict[Place, dict[Path, dict[str, Any]]] = {}
        for scope in world.scopes.values():
            for path, value in _mined(world, scope):
                for aim in world.aims(scope, {path: [value]}):
                    for one in aim.values:
                        self._add((aim.scope, aim.field), aim.place, one)

    def of(self, scope: str, field: str | None) -> dict[Path, list[Any]]:
        places = self._found.get((scope, field), {})
        return {path: list(values.values()) for path, values in places.items()}

    def _add(self, place: Place, path: Path, value: Any) -> None:
        values = self._found.setdefault(place, {}).setdefault(path, {})
        if len(values) < _MOST:
            values.setdefault(json.dumps(value, sort_keys=True, default=str), value)


def _mined(world: World, scope: Scope) -> Iterator[tuple[Path, Any]]:
    known = world.known(scope)
    conditions = [scope.lone(condition.text) for condition in scope.conditions]
    atoms: list[nodes.Node] = [one for one in conditions if one is not None]
    for tree in scope.trees:
        atoms += tree.find_all((nodes.Compare, nodes.Test))
    for atom in atoms:
        for want in (True, False):
            for goal in solve(atom, want, known):
                for path, values in goal.items():
                    yield from ((path, value) for value in values)
    for tree in scope.trees:
        for term in terms_in(tree):
            yield from ((term.path, value) for value in _samples(term, scope))


def _samples(term: Term, scope: Scope) -> Iterator[Any]:
    """Texts that the operations on a value accept, and some that they do not."""
    for number, operation in enumerate(term.operations):
        before = term.operations[:number]
        match operation.name:
            case "parse_json":
                yield from undo(_BROKEN_JSON, before)
                shape = scope.shapes.of(term.path)
                if isinstance(shape, str):
                    yield shape
                    read = json.loads(shape) if shape[:1] in "[{" else None
                    if isinstance(read, list):
                        yield json.dumps(read * 2)
            case "regex_search" | "regex_match":
                for group in (None, "0", "50", "100"):
                    made = sample(str(operation.argument(0)), group=group)
                    if made is not None:
                        yield from undo([made], before)
            case "split":
                separator = str(operation.argument(0) or " ")
                yield from undo([f"a{separator}b"], before)
            case "int" | "float":
                yield from undo(["7"], before)


# Branches, and a path that leads to each.

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, eq=False)
class Branch:
    scope: Scope
    edge: Edge
    kind: str
    """then, else, jump, used up, or on error."""
    is_possible: bool
    """Whether the branch is reachable in the chart, conditions aside."""

    @property
    def step(self) -> str:
        return self.edge.source.title


class Chart:
    """The branches of one scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.structure = structure_of(scope.machine)
        self._out: dict[str, list[Edge]] = {}
        for _, edge in edges_of(self.structure):
            if edge.domain is not None:
                self._out.setdefault(edge.source.id, []).append(edge)
        self._before = self._search()

    def branches(self) -> Iterator[Branch]:
        for node in self.structure.nodes.values():
            for edge in node.eventless:
                choice = condition_of(edge)
                if choice is not None and choice.text is True:
                    yield self._branch(edge, "jump", True)
                elif choice is not None:
                    yield self._branch(
                        edge, "then", _constant(choice.text, self.structure.expressions) is not False
                    )
                elif edge is not node.eventless[0]:
                    yield self._branch(
                        edge, "else", _constant(_first_text(node), self.structure.expressions) is not True
                    )
            # A condition that can't be evaluated is a failure of its step, which has its own edge.
            recovery = node.on.get("recover", ()) if node.id in self.structure.steps else ()
            for edge in recovery or (node.on.get("recover", ()) if _is_counted(node) else ()):
                kind = "used up" if _is_counted(node) else "on error"
                yield self._branch(edge, kind, True)

    def _branch(self, edge: Edge, kind: str, possible: bool) -> Branch:
        return Branch(self.scope, edge, kind, possible and edge.source.id in self._before)

    def way_to(self, state: str) -> list[Edge]:
        """A shortest path from the start to a state; empty if none is needed or none exists."""
        found: list[Edge] = []
        at = self._before.get(state)
        while at is not None:
            edge, state = at
            found.append(edge)
            at = self._before.get(edge.source.id)
        return found[::-1]

    def _search(self) -> dict[str, tuple[Edge, str] | None]:
        before: dict[str, tuple[Edge, str] | None] = {}
        todo = deque(_leaves(self.structure.root))
        for node in todo:
            before[node.id] = None
        while todo:
            node = todo.popleft()
            for edge in [*self._out.get(node.id, ()), *self._joins(node)]:
                for target in _leaves(edge.target):
                    if target.id not in before:
                        # An edge that begins at the parallel step leaves from the end of a branch here, or
                        # `way_to` would lose the branch.
                        before[target.id] = (
                            (edge, node.id) if edge.source is node else (_from(edge, node), node.id)
                        )
                        todo.append(target)
        return before

    def _joins(self, node: Node) -> list[Edge]:
        """From the end of a branch, the flow continues after the step around it."""
        around = node.parent.parent if node.is_final and node.parent else None
        return self._out.get(around.id, []) if around is not None and around.is_parallel else []


def _is_counted(node: Node) -> bool:
    return any(counted(one) for one in node.eventless)


def _from(edge: Edge, node: Node) -> Edge:
    return replace(edge, source=node)


def _leaves(node: Node) -> list[Node]:
    if not node.children:
        return [node]
    return [leaf for child in node.initial for leaf in _leaves(child)]


def _first_text(node: Node) -> object:
    condition = condition_of(node.eventless[0])
    return condition.text if condition is not None and condition.most is None else None


def _constant(text: object, language: str) -> bool | None:
    """The value of a condition that reads nothing; None for all others."""
    if text is None:
        return None
    if any(True for tree in expressions(text, language) for _ in terms_in(tree)):
        return None
    try:
        return bool(evaluator(language).evaluate_condition(text, {}, now=_NOW, uuid_seed=""))
    except ExpressionError:
        return None
