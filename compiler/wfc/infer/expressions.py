"""The type of an expression, found by one walk through its tree. Nothing is ever evaluated.

What can't be known is any, and any is silent: a problem is only reported where every value that can come to a
place makes it one, or where one that is known to come there does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wfc.core.types import ANY, NULL, OBJECT, TEXT, ListType, Property, Record, Type
from wfc.infer import access, arithmetic, comparison, statements, testing, uses
from wfc.infer.environment import Environment, Held, Path
from wfc.infer.facts import Facts, Outcome
from wfc.infer.problems import Kind, Problem
from wfc.infer.terms import EMPTY_LIST, EMPTY_OBJECT, UNDEFINED, exact, join
from wfc.template import Template
from wfc_runtime.expr import nodes

_LONGEST_QUOTE = 60


class Inference:
    """One walk through one template; problems collect on the way."""

    def __init__(self, template: Template, environment: Environment) -> None:
        self.template = template
        self.environment = environment
        self.problems: list[Problem] = []
        self.locals: dict[str, Type] = {}
        """What `set` and `for` have bound."""
        self.facts: Mapping[Path, Type] = {}
        self.held: tuple[Held, ...] = ()
        self.seen: dict[Path, Type] = {}
        """The type of each path that was read, before tests made it narrower."""
        self.picked: set[int] = set()
        """Nodes of which only some items are taken."""
        self.place: tuple[int, int] = (0, 0)
        """Where the filter at work stands."""
        if environment.given:
            self._take_for_granted()

    def _take_for_granted(self) -> None:
        """What the conditions on the way here have shown."""
        bare = self.environment.bare()
        for given in self.environment.given:
            self.held += (Held(given.node, given.outcome),)
            if given.narrows:
                other = Inference(given.template, bare)
                other.facts = self.facts
                test = other.test(given.node, asked=False)
                self.assume(test.true if given.outcome else test.false)

    def infer(self) -> Type:
        """The type of what the template gives."""
        template = self.template
        if template.is_literal:
            return exact(template.text)
        if template.ast is None:
            return ANY
        expression = template.expression
        return self.type_of(expression) if expression else statements.rendered(self, template.ast.body)

    def type_of(self, node: nodes.Node, guarded: bool = False) -> Type:
        """`guarded`: whoever asks copes with a value that is not there."""
        infer = _TYPES.get(type(node))
        return infer(self, node, guarded) if infer else ANY

    def test(self, node: nodes.Node, asked: bool = True) -> Outcome:
        """The same for an expression whose truth is looked at, if it is asked for, and what that shows."""
        return testing.outcome(self, node, asked)

    def asked(self, condition: nodes.Expr) -> Type:
        """The type of a condition that is the whole template."""
        return testing.asked_type(self, condition)

    def under(self, facts: Facts, node: nodes.Node, guarded: bool = False) -> Type:
        before = self.assume(facts)
        kind = self.type_of(node, guarded)
        self.facts, self.held = before
        return kind

    def assume(self, facts: Facts) -> tuple[Mapping[Path, Type], tuple[Held, ...]]:
        """Take facts for granted from here on. Returns what to put back afterwards."""
        before = self.facts, self.held
        if facts.paths:
            self.facts = {**self.facts, **facts.paths}
        if facts.held:
            self.held += facts.held
        return before

    def holds(self, node: nodes.Node) -> bool:
        """Whether a test around this place has found the very same expression to be true."""
        return any(held.outcome and held.node == node for held in self.held)

    def source(self, node: nodes.Node) -> str:
        """The expression as a message quotes it."""
        start, end = self.template.span(node)
        text = " ".join(self.template.text[start:end].split())
        return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 3] + "..."

    def report(self, kind: Kind, place: nodes.Node | tuple[int, int], message: str, **more: Any) -> None:
        start, end = self.template.span(place) if isinstance(place, nodes.Node) else place
        self.problems.append(Problem(kind, start, end, message, held=self.held, **more))


def _const(walk: Inference, node: nodes.Const, guarded: bool) -> Type:
    return NULL if node.value is None else exact(node.value)


def _list(walk: Inference, node: nodes.List | nodes.Tuple, guarded: bool) -> Type:
    kinds = [walk.type_of(item) for item in node.items]
    return ListType(join(*kinds)) if kinds else EMPTY_LIST


def _dict(walk: Inference, node: nodes.Dict, guarded: bool) -> Type:
    found: dict[Any, Type] = {}
    for pair in node.items:
        walk.type_of(pair.key)
        key = pair.key.value if isinstance(pair.key, nodes.Const) else None
        found[key] = walk.type_of(pair.value)
    if not all(isinstance(key, str) for key in found):
        return OBJECT
    if not found:
        return EMPTY_OBJECT
    return Record("", tuple(Property(name, kind) for name, kind in found.items()), open=False)


def _condition(walk: Inference, node: nodes.CondExpr, guarded: bool) -> Type:
    test = walk.test(node.test)
    yes = walk.under(test.true, node.expr1, guarded)
    if node.expr2 is None:
        # Without an else there is nothing, which is null as a value.
        return join(yes, UNDEFINED if guarded else NULL)
    return join(yes, walk.under(test.false, node.expr2, guarded))


def _concat(walk: Inference, node: nodes.Concat, guarded: bool) -> Type:
    for part in node.nodes:
        walk.type_of(part)
    return TEXT


def _tested(walk: Inference, node: nodes.Node, guarded: bool) -> Type:
    return walk.test(node, asked=False).type


def _path(walk: Inference, node: nodes.Expr, guarded: bool) -> Type:
    return access.follow(walk, node, guarded).type


_TYPES: dict[type[nodes.Node], Callable[[Inference, Any, bool], Type]] = {
    nodes.Name: _path,
    nodes.Getattr: _path,
    nodes.Getitem: _path,
    nodes.Const: _const,
    nodes.List: _list,
    nodes.Tuple: _list,
    nodes.Dict: _dict,
    nodes.And: _tested,
    nodes.Or: _tested,
    nodes.Not: _tested,
    nodes.Test: _tested,
    nodes.Compare: comparison.compared,
    nodes.Concat: _concat,
    nodes.CondExpr: _condition,
    nodes.Call: uses.called,
    nodes.Filter: uses.filtered,
    nodes.Neg: arithmetic.signed,
    nodes.Pos: arithmetic.signed,
    **dict.fromkeys(
        (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow),
        arithmetic.computed,
    ),
}
