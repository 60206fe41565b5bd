"""Narrowing: the types of paths after `and`, `or`, `not`, `is ...` and comparisons, by outcome.

Each expression has an `Outcome`: its type, the facts that hold if it is true, and those that hold if it is false. `not`
swaps the two. `a and b` is inferred with `b` in the environment that the truth of `a` gives; it is true if the facts of
both hold, and false if either is false, so only what both alternatives agree on remains (`Facts.or_`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from jinja2 import nodes

from wfc.analysis.types import calls, operators
from wfc.analysis.types.access import Reached, follow, may_have, with_part
from wfc.analysis.types.constants import check_constant, check_null_test
from wfc.analysis.types.environment import Held, Path
from wfc.analysis.types.lattice import (
    UNDEFINED,
    falsy,
    join,
    kind_of,
    kinds_of,
    options,
    present,
    truthy,
    without,
)
from wfc.language.types import BOOL, NULL, Exact, Type
from wfc.struct import struct
from wfc.template.reads import DEFAULTS, PRESENCE_TESTS, TOLERANT_TESTS

if TYPE_CHECKING:
    from wfc.analysis.types.expressions import Inference


_NOWHERE: Mapping[Path, Type] = MappingProxyType({})


@struct(frozen=True)
class Facts:
    """Narrower types of paths, and the conditions themselves for facts that a type can't express."""

    paths: Mapping[Path, Type] = _NOWHERE
    held: tuple[Held, ...] = ()

    def and_(self, other: Facts) -> Facts:
        if not self.paths and not self.held:
            return other
        if not other.paths and not other.held:
            return self
        # The other facts were inferred with these assumed, so for the same path the other type is the narrower one.
        return Facts({**self.paths, **other.paths}, self.held + other.held)

    def or_(self, other: Facts) -> Facts:
        """The facts that hold if at least one of the two sets holds."""
        # Conditions are dropped, since there is no way to say that one of two holds.
        if not self.paths or not other.paths:
            return NO_FACTS
        both = {
            path: join(kind, other.paths[path]) for path, kind in self.paths.items() if path in other.paths
        }
        return Facts(both) if both else NO_FACTS


NO_FACTS = Facts()


@struct(frozen=True)
class Outcome:
    """The type of an expression, and the facts that hold if it is true and if it is false."""

    type: Type
    true: Facts = NO_FACTS
    false: Facts = NO_FACTS


_KIND_TESTS = {
    "string": {"text"}, "mapping": {"object"}, "number": {"number", "bool"}, "integer": {"number"},
    "float": {"number"}, "boolean": {"bool"}, "true": {"bool"}, "false": {"bool"}, "none": {"null"},
    "sequence": {"list", "object", "text"}, "iterable": {"list", "object", "text"},
}  # fmt: skip
_PARTIAL = frozenset({"integer", "float", "true", "false"})
"""Tests that a value of the right kind can still fail."""


def outcome(walk: Inference, node: nodes.Node, asked: bool) -> Outcome:
    if isinstance(node, nodes.Not):
        inner = walk.test(node.node)
        return Outcome(BOOL, inner.false, inner.true)
    if isinstance(node, nodes.And | nodes.Or):
        return _both(walk, node, asked)
    if isinstance(node, nodes.Test):
        return _test(walk, node)
    if isinstance(node, nodes.Compare):
        return _comparison(walk, node)
    if isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem):
        return _path(walk, node, asked)
    if isinstance(node, nodes.Filter) and node.name in DEFAULTS and node.node is not None:
        return _defaulted(walk, node, node.node)
    kind = walk.type_of(node)
    return Outcome(kind, *_held(node)) if isinstance(node, nodes.Expr) else Outcome(kind)


def asked_type(walk: Inference, node: nodes.Expr) -> Type:
    """The type of a whole condition, whose facts are not needed."""
    if isinstance(node, nodes.Compare):
        return operators.compared(walk, node, guarded=False)
    if isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem):
        reached = follow(walk, node)
        check_constant(walk, node, reached.path)
        return reached.type
    return outcome(walk, node, asked=True).type


def _held(node: nodes.Expr) -> tuple[Facts, Facts]:
    return Facts(held=(Held(node, True),)), Facts(held=(Held(node, False),))


def _both(walk: Inference, node: nodes.And | nodes.Or, asked: bool) -> Outcome:
    is_and = isinstance(node, nodes.And)
    left = walk.test(node.left)
    # Jinja evaluates the right side only if the left one has not decided: its facts hold there.
    before = walk.assume(left.true if is_and else left.false)
    right = walk.test(node.right, asked)
    walk.facts, walk.held = before
    if is_and:
        return Outcome(
            join(falsy(left.type), right.type),
            left.true.and_(right.true),
            left.false.or_(left.true.and_(right.false)),
        )
    return Outcome(
        join(truthy(left.type), right.type),
        left.true.or_(left.false.and_(right.true)),
        left.false.and_(right.false),
    )


def _path(walk: Inference, node: nodes.Expr, asked: bool) -> Outcome:
    reached = follow(walk, node)
    if asked:
        check_constant(walk, node, reached.path)
    yes, no = _held(node)
    return Outcome(
        reached.type,
        _narrow(walk, reached, truthy(reached.type)).and_(yes),
        _narrow(walk, reached, falsy(reached.type)).and_(no),
    )


def _narrow(walk: Inference, reached: Reached, kind: Type, *, there: bool = True) -> Facts:
    """A narrower type for a path. If its end is present, so is every part that leads to it."""
    path = reached.path
    if path is None:
        return NO_FACTS
    paths: dict[Path, Type] = {path: kind}
    # From two on, since a path of one is the root itself, `state` or `inputs`, which always exists.
    for length in range(2, len(path)) if there else ():
        before = walk.facts.get(path[:length], walk.seen.get(path[:length]))
        if before is not None and present(before) != before:
            paths[path[:length]] = present(before)
    return Facts(paths)


def _defaulted(walk: Inference, node: nodes.Filter, operand: nodes.Expr) -> Outcome:
    """`x | default(false)` is true only if `x` was present, because the default itself is false."""
    reached = follow(walk, operand, guarded=True)
    kind = calls.applied(walk, node, reached.type)
    empty = not node.args or (isinstance(node.args[0], nodes.Const) and not node.args[0].value)
    # With another default the result may be true although `x` was missing, so nothing follows for `x`.
    if not empty:
        return Outcome(kind, *_held(node))
    return Outcome(kind, _narrow(walk, reached, truthy(reached.type)).and_(_held(operand)[0]), _held(node)[1])


def _test(walk: Inference, node: nodes.Test) -> Outcome:
    reached = follow(walk, node.node, guarded=node.name in TOLERANT_TESTS)
    yes, no = _held(node)
    if node.name == "ok":
        calls.tested(walk, node, without(reached.type, UNDEFINED))
        return Outcome(BOOL, _narrow(walk, reached, without(reached.type, UNDEFINED, NULL)).and_(yes), no)
    calls.tested(walk, node, reached.type)
    if node.name in PRESENCE_TESTS:
        there = _narrow(walk, reached, without(reached.type, UNDEFINED))
        # A path that is undefined proves nothing about the parts that lead to it: any of them may be the missing one.
        gone = _narrow(walk, reached, UNDEFINED, there=False)
        # `a.b is defined` also tells alternatives of `a` apart: those that have `b`, and those that may lack it.
        if reached.path is not None and len(reached.path) > 1:
            base = reached.path[:-1]
            kind = walk.facts.get(base, walk.seen.get(base))
            if kind is not None:
                with_, without_ = _having(walk, Reached(kind, base), reached.path[-1])
                there, gone = with_.and_(there), without_.and_(gone)
        return Outcome(BOOL, *((there, gone) if node.name == "defined" else (gone, there)))
    if node.name == "none":
        check_null_test(walk, node.node)
    wanted = _KIND_TESTS.get(node.name)
    if wanted is None:
        return Outcome(BOOL, yes, no)
    fitting, other = _split(reached.type, lambda option: kind_of(option) in wanted)
    # A number that fails `is integer` is still a number: the false outcome rules out nothing.
    if node.name in _PARTIAL:
        other = reached.type
    return Outcome(BOOL, _narrow(walk, reached, fitting).and_(yes), _narrow(walk, reached, other).and_(no))


def _having(walk: Inference, reached: Reached, name: object) -> tuple[Facts, Facts]:
    """The facts for an object that has a property of that name, and for one that does not."""
    if reached.path is None or not isinstance(name, str) or "object" not in kinds_of(reached.type):
        return NO_FACTS, NO_FACTS
    having = join(*(with_part(one, name) for one in options(reached.type) if may_have(one, name, True)))
    lacking = join(*(one for one in options(reached.type) if may_have(one, name, False)))
    return _narrow(walk, reached, having), _narrow(walk, reached, lacking, there=False)


def _split(kind: Type, fits: Callable[[Type], bool]) -> tuple[Type, Type]:
    """Split the alternatives by a predicate. `ANY` is on both sides."""
    known = [option for option in options(kind) if kind_of(option) not in ("any", "nothing")]
    open_ = [option for option in options(kind) if option not in known]
    yes = [option for option in known if fits(option)]
    no = [option for option in known if option not in yes]
    return join(*open_, *yes), join(*open_, *no)


def _comparison(walk: Inference, node: nodes.Compare) -> Outcome:
    reached, last = operators.check(walk, node)
    yes, no = _held(node)
    operand = node.ops[0]
    if len(node.ops) == 1 and operand.op in ("in", "notin") and isinstance(node.expr, nodes.Const):
        there, gone = _having(walk, last, node.expr.value)
        return Outcome(BOOL, *((there, gone) if operand.op == "in" else (gone, there)))
    if len(node.ops) > 1 or operand.op not in ("eq", "ne") or not isinstance(operand.expr, nodes.Const):
        return Outcome(BOOL, yes, no)
    same, other = (_narrow(walk, reached, kind) for kind in _compared(reached.type, operand.expr.value))
    if operand.op == "ne":
        same, other = other, same
    return Outcome(BOOL, same.and_(yes), other.and_(no))


def _compared(kind: Type, value: object) -> tuple[Type, Type]:
    """The part of a type that may equal a value, and the part that may differ from it."""
    if value is None:
        return _split(kind, lambda option: option == NULL)
    # Only an exact value can be excluded: `x != 'a'` leaves every other text possible.
    other = join(*(one for one in options(kind) if not (isinstance(one, Exact) and one.value == value)))
    return present(kind), other
