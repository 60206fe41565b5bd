"""Compiles the tree of an expression into a function that computes it.

Each node becomes a closure over the closures of its operands. Closures are faster to make than Python code, fast to
run, and give a template no access to anything that is not in this package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jinja2 import nodes

from .access import call_method, cut, find_attribute, find_item, find_name
from .builtins import apply, call_function, find_filter, find_function, find_test
from .errors import ExpressionError
from .operators import BINARY, COMPARISONS, affirm, negate
from .run import Frame
from .syntax import MACRO
from .values import Macro, Undefined, Value, defined, text_of, truth

Eval = Callable[[Frame], Value]
_ABSENT = object()


def build(node: nodes.Node) -> Eval:
    """The function that computes an expression."""
    return _BUILDERS[type(node)](node)


def _placed(node: nodes.Node, compute: Eval) -> Eval:
    """The same function, except that errors without a position get this node's."""

    def placed(frame: Frame) -> Value:
        try:
            return compute(frame)
        except ExpressionError as error:
            # The innermost node that knows the position wins; nodes around it must not overwrite it.
            if error.node is None:
                error.node = node
            raise

    return placed


def _name(node: nodes.Name) -> Eval:
    name = node.name

    def load(frame: Frame) -> Value:
        # A sentinel, because null is a value that a name can be bound to.
        value = frame.names.get(name, _ABSENT)
        return find_name(frame.run, name, node) if value is _ABSENT else value

    return load


def _const(node: nodes.Const) -> Eval:
    value = node.value
    return lambda frame: value


def _getattr(node: nodes.Getattr) -> Eval:
    base, name = build(node.node), node.attr

    def get(frame: Frame) -> Value:
        value = base(frame)
        # The fast path of nearly every access. A key comes before a method of the same name: `state.items` is the
        # field.
        if type(value) is dict and name in value:
            return value[name]
        return find_attribute(frame.run, value, name, node)

    return get


def _getitem(node: nodes.Getitem) -> Eval:
    base = build(node.node)
    if isinstance(node.arg, nodes.Slice):
        parts = [build(part) if part else None for part in (node.arg.start, node.arg.stop, node.arg.step)]

        def slice_(frame: Frame) -> Value:
            bounds = [part(frame) if part else None for part in parts]
            return cut(frame.run, base(frame), *bounds)

        return _placed(node, slice_)
    key = build(node.arg)
    return _placed(node, lambda frame: find_item(frame.run, base(frame), key(frame), node))


def _list(node: nodes.List | nodes.Tuple) -> Eval:
    items = [build(item) for item in node.items]

    def make(frame: Frame) -> list[Value]:
        # Charged before the items are computed, so that a bomb fails before it allocates.
        frame.run.make_list(len(items))
        return [defined(item(frame)) for item in items]

    return make


def _dict(node: nodes.Dict) -> Eval:
    pairs = [(build(pair.key), build(pair.value)) for pair in node.items]

    def make(frame: Frame) -> dict[Any, Value]:
        frame.run.make_list(len(pairs), slots=12)
        made = {}
        for key, value in pairs:
            name = defined(key(frame))
            # Python would raise a TypeError, which names a class that authors do not know.
            if isinstance(name, (list, dict)):
                raise ExpressionError("a list or an object can't be a key", "type")
            made[name] = defined(value(frame))
        return made

    return _placed(node, make)


def _binary(node: nodes.BinExpr) -> Eval:
    left, right, compute = build(node.left), build(node.right), BINARY[node.operator or ""]
    return _placed(node, lambda frame: compute(frame.run, left(frame), right(frame)))


def _and(node: nodes.And) -> Eval:
    left, right = build(node.left), build(node.right)

    def both(frame: Frame) -> Value:
        value = left(frame)
        # The operand itself and not a boolean, as in Jinja: `a or 'x'` is a common fallback.
        return right(frame) if truth(value) else value

    return both


def _or(node: nodes.Or) -> Eval:
    left, right = build(node.left), build(node.right)

    def either(frame: Frame) -> Value:
        value = left(frame)
        return value if truth(value) else right(frame)

    return either


def _not(node: nodes.Not) -> Eval:
    inner = build(node.node)
    return lambda frame: not truth(inner(frame))


def _sign(node: nodes.Neg | nodes.Pos) -> Eval:
    inner, compute = build(node.node), negate if isinstance(node, nodes.Neg) else affirm
    return _placed(node, lambda frame: compute(inner(frame)))


def _concat(node: nodes.Concat) -> Eval:
    parts = [build(part) for part in node.nodes]

    def join(frame: Frame) -> str:
        texts = [text_of(frame.run, part(frame)) for part in parts]
        frame.run.make_text(sum(map(len, texts)))
        return "".join(texts)

    return _placed(node, join)


def _compare(node: nodes.Compare) -> Eval:
    first = build(node.expr)
    rest = [(COMPARISONS[operand.op], build(operand.expr)) for operand in node.ops]

    def compare(frame: Frame) -> bool:
        left = first(frame)
        for holds, operand in rest:
            right = operand(frame)
            if not holds(frame.run, left, right):
                return False
            # A chain such as `0 <= x < 10`: each operand is evaluated once.
            left = right
        return True

    return _placed(node, compare)


def _condition(node: nodes.CondExpr) -> Eval:
    test, yes = build(node.test), build(node.expr1)
    no = build(node.expr2) if node.expr2 else None

    def choose(frame: Frame) -> Value:
        if truth(test(frame)):
            return yes(frame)
        return no(frame) if no else Undefined(lambda: "the `if` has no `else`", node, blank=True)

    return choose


def _arguments(
    args: Sequence[nodes.Expr], kwargs: Sequence[nodes.Node]
) -> Callable[[Frame], tuple[list[Value], dict[str, Value]]]:
    positional = [build(arg) for arg in args]
    # Jinja's annotations say Pair for a filter's arguments, but its parser only makes Keyword.
    named = {arg.key: build(arg.value) for arg in kwargs if isinstance(arg, nodes.Keyword)}

    def collect(frame: Frame) -> tuple[list[Value], dict[str, Value]]:
        values = [arg(frame) for arg in positional]
        return values, {key: arg(frame) for key, arg in named.items()}

    return collect


def _call(node: nodes.Call) -> Eval:
    arguments = _arguments(node.args, node.kwargs)
    target = node.node
    if isinstance(target, nodes.Getattr):
        base, name = build(target.node), target.attr
        return _placed(target, lambda frame: call_method(frame.run, base(frame), name, *arguments(frame)))
    assert isinstance(target, nodes.Name)
    if target.ctx == MACRO:
        return _placed(node, lambda frame: _call_macro(frame, target.name, *arguments(frame)))
    # Resolved when the template is compiled, so that an unknown name fails even in a branch that is not taken.
    builtin = _found(find_function, target.name, target)
    return _placed(node, lambda frame: call_function(frame.run, builtin, *arguments(frame)))


def _call_macro(frame: Frame, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    found = frame.names.get(name)
    if not isinstance(found, Macro):
        raise ExpressionError(f"the macro `{name}` comes later", "undefined")
    return found.call(args, kwargs)


def _filter(node: nodes.Filter) -> Eval:
    assert node.node is not None
    return build_filter(node, build(node.node))


def build_filter(node: nodes.Filter, operand: Eval) -> Eval:
    """The function that applies the filter of a node to the operand."""
    builtin = _found(find_filter, node.name, node)
    arguments = _arguments(node.args, node.kwargs)
    return _placed(node, lambda frame: apply(frame.run, builtin, operand(frame), *arguments(frame)))


def _test(node: nodes.Test) -> Eval:
    builtin = _found(find_test, node.name, node)
    operand, arguments = build(node.node), _arguments(node.args, node.kwargs)
    return _placed(node, lambda frame: apply(frame.run, builtin, operand(frame), *arguments(frame)))


def _found(find: Callable[[str], Any], name: str, node: nodes.Node) -> Any:
    try:
        return find(name)
    except ExpressionError as error:
        error.node = node
        raise


_BUILDERS: dict[type[nodes.Node], Callable[[Any], Eval]] = {
    nodes.Name: _name,
    nodes.Const: _const,
    nodes.Getattr: _getattr,
    nodes.Getitem: _getitem,
    nodes.List: _list,
    nodes.Tuple: _list,
    nodes.Dict: _dict,
    nodes.And: _and,
    nodes.Or: _or,
    nodes.Not: _not,
    nodes.Neg: _sign,
    nodes.Pos: _sign,
    nodes.Concat: _concat,
    nodes.Compare: _compare,
    nodes.CondExpr: _condition,
    nodes.Call: _call,
    nodes.Filter: _filter,
    nodes.Test: _test,
    **dict.fromkeys(
        (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow), _binary
    ),
}
