"""What a test shows about the paths in it: `state.a is defined and state.a.b` reads `state.a.b` knowingly."""

from __future__ import annotations

from typing import NamedTuple

from wfc_runtime.expr import nodes
from wfc_runtime.expr.syntax import Syntax

from .access import unwind
from .model import Part

DEFAULTS = frozenset({"default", "d"})
PRESENCE_TESTS = frozenset({"defined", "undefined"})


class Fact(NamedTuple):
    """A path, root first, that is there; `present` says that it is not null either."""

    names: tuple[str | int | None, ...]
    present: bool


Facts = frozenset[Fact]
NO_FACTS: Facts = frozenset()


def facts_of(syntax: Syntax, node: nodes.Node, outcome: bool) -> Facts:
    """What is known where a test has come out true, or false."""
    if isinstance(node, nodes.Not):
        return facts_of(syntax, node.node, not outcome)
    if isinstance(node, nodes.And if outcome else nodes.Or):
        return facts_of(syntax, node.left, outcome) | facts_of(syntax, node.right, outcome)
    if isinstance(node, nodes.Test):
        return _facts_of_test(syntax, node, outcome)
    if isinstance(node, nodes.Compare):
        return _facts_of_comparison(syntax, node, outcome)
    if not outcome:
        return NO_FACTS
    if isinstance(node, nodes.Filter) and node.name in DEFAULTS and _is_empty_default(node):
        return _fact(syntax, node.node, True)
    return _fact(syntax, node, True)


def _facts_of_test(syntax: Syntax, node: nodes.Test, outcome: bool) -> Facts:
    if node.name in PRESENCE_TESTS:
        return _fact(syntax, node.node, False) if (node.name == "defined") is outcome else NO_FACTS
    if node.name == "none" and not outcome:
        return _fact(syntax, node.node, True)
    return NO_FACTS


def _facts_of_comparison(syntax: Syntax, node: nodes.Compare, outcome: bool) -> Facts:
    """`x != none` and its kin."""
    operand = node.ops[0]
    against_null = isinstance(operand.expr, nodes.Const) and operand.expr.value is None
    if len(node.ops) == 1 and against_null and operand.op == ("ne" if outcome else "eq"):
        return _fact(syntax, node.expr, True)
    return NO_FACTS


def _is_empty_default(node: nodes.Filter) -> bool:
    """Would the default itself be false? Then true means that the value was there."""
    return not node.args or (isinstance(node.args[0], nodes.Const) and not node.args[0].value)


def _fact(syntax: Syntax, node: nodes.Node | None, present: bool) -> Facts:
    if not isinstance(node, (nodes.Name, nodes.Getattr, nodes.Getitem)):
        return NO_FACTS
    names = unwind(syntax, node).names
    return NO_FACTS if names is None or None in names else frozenset({Fact(names, present)})


def is_guarded(facts: Facts, root: str, path: list[Part]) -> bool:
    """Has a test shown that the whole path is there?"""
    names = _named(root, path)
    return any(fact.names[: len(names)] == names for fact in facts)


def known_parts(facts: Facts, root: str, path: list[Part]) -> int:
    """How many leading parts tests have shown to be there and not null."""
    names = _named(root, path)
    known = 0
    for fact in facts:
        # Where `a.b` is defined `a` is an object, but `a.b` itself may be null.
        solid = fact.names if fact.present else fact.names[:-1]
        shared = 0
        while shared < min(len(names), len(solid)) and names[shared] == solid[shared]:
            shared += 1
        known = max(known, shared - 1)
    return known


def _named(root: str, path: list[Part]) -> tuple[str | int | None, ...]:
    return (root, *(part.name for part in path if not part.called))
