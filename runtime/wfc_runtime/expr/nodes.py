"""The tree of a template.

Kinds and fields of nodes are those of Jinja's own tree, which its parser makes and `taken_over` turns into this one.
Most templates are read without that parser (`wfc_runtime.expr.plain`), and then nothing of Jinja is imported at all,
which would take longer than reading a hundred of them.

`lineno` is the number of a token, from which `wfc_runtime.expr.syntax` leads to the text; or NOWHERE.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar

N = TypeVar("N", bound="Node")

NOWHERE = -1
"""The place of a node that no token stands for: of what something is compared with, and of one that was made up."""


class Node:
    """Two are equal if they say the same, wherever they stand."""

    fields: ClassVar[tuple[str, ...]] = ()
    lineno: int

    def children(self) -> list[Node]:
        """What stands directly in a node, in the order of its fields."""
        found: list[Node] = []
        for name in self.fields:
            value = getattr(self, name)
            if isinstance(value, Node):
                found.append(value)
            elif isinstance(value, list):
                found += [item for item in value if isinstance(item, Node)]
        return found

    def find_all(self, kind: type[N] | tuple[type[N], ...]) -> Iterator[N]:
        """What stands anywhere in a node, from top to bottom."""
        for child in self.children():
            if isinstance(child, kind):
                yield child
            yield from child.find_all(kind)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.fields)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join([f'{name}={getattr(self, name)!r}' for name in self.fields])})"
        )


class Expr(Node):
    """Has a value."""


class Template(Node):
    fields = ("body",)

    def __init__(self, lineno: int, body: list[Node]) -> None:
        self.lineno = lineno
        self.body = body


# -- statements ----------------------------------------------------------------


class Output(Node):
    fields = ("nodes",)

    def __init__(self, lineno: int, nodes: list[Expr]) -> None:
        self.lineno = lineno
        self.nodes = nodes


class For(Node):
    fields = ("target", "iter", "body", "else_", "test", "recursive")

    def __init__(
        self,
        lineno: int,
        target: Expr,
        iter: Expr,
        body: list[Node],
        else_: list[Node],
        test: Expr | None,
        recursive: bool,
    ) -> None:
        self.lineno = lineno
        self.target = target
        self.iter = iter
        self.body = body
        self.else_ = else_
        self.test = test
        self.recursive = recursive


class If(Node):
    fields = ("test", "body", "elif_", "else_")

    def __init__(self, lineno: int, test: Expr, body: list[Node], elif_: list[If], else_: list[Node]) -> None:
        self.lineno = lineno
        self.test = test
        self.body = body
        self.elif_ = elif_
        self.else_ = else_


class Macro(Node):
    fields = ("name", "args", "defaults", "body")

    def __init__(
        self, lineno: int, name: str, args: list[Name], defaults: list[Expr], body: list[Node]
    ) -> None:
        self.lineno = lineno
        self.name = name
        self.args = args
        self.defaults = defaults
        self.body = body


class FilterBlock(Node):
    fields = ("body", "filter")

    def __init__(self, lineno: int, body: list[Node], filter: Filter) -> None:
        self.lineno = lineno
        self.body = body
        self.filter = filter


class With(Node):
    fields = ("targets", "values", "body")

    def __init__(self, lineno: int, targets: list[Expr], values: list[Expr], body: list[Node]) -> None:
        self.lineno = lineno
        self.targets = targets
        self.values = values
        self.body = body


class Block(Node):
    fields = ("name", "body", "scoped", "required")

    def __init__(self, lineno: int, name: str, body: list[Node], scoped: bool, required: bool) -> None:
        self.lineno = lineno
        self.name = name
        self.body = body
        self.scoped = scoped
        self.required = required


class Assign(Node):
    fields = ("target", "node")

    def __init__(self, lineno: int, target: Expr, node: Expr) -> None:
        self.lineno = lineno
        self.target = target
        self.node = node


class AssignBlock(Node):
    fields = ("target", "filter", "body")

    def __init__(self, lineno: int, target: Expr, filter: Filter | None, body: list[Node]) -> None:
        self.lineno = lineno
        self.target = target
        self.filter = filter
        self.body = body


# -- values --------------------------------------------------------------------


class Name(Expr):
    fields = ("name", "ctx")

    def __init__(self, lineno: int, name: str, ctx: str = "load") -> None:
        self.lineno = lineno
        self.name = name
        self.ctx = ctx

    def children(self) -> list[Node]:
        return []


class NSRef(Expr):
    """What `{% set ns.x = ... %}` sets."""

    fields = ("name", "attr")

    def __init__(self, lineno: int, name: str, attr: str) -> None:
        self.lineno = lineno
        self.name = name
        self.attr = attr


class Const(Expr):
    fields = ("value",)

    def __init__(self, lineno: int, value: Any) -> None:
        self.lineno = lineno
        self.value = value

    def children(self) -> list[Node]:
        return []


class TemplateData(Expr):
    """Text around the holes."""

    fields = ("data",)

    def __init__(self, lineno: int, data: str) -> None:
        self.lineno = lineno
        self.data = data


class Tuple(Expr):
    fields = ("items", "ctx")

    def __init__(self, lineno: int, items: list[Expr], ctx: str) -> None:
        self.lineno = lineno
        self.items = items
        self.ctx = ctx


class List(Expr):
    fields = ("items",)

    def __init__(self, lineno: int, items: list[Expr]) -> None:
        self.lineno = lineno
        self.items = items


class Pair(Node):
    fields = ("key", "value")

    def __init__(self, lineno: int, key: Expr, value: Expr) -> None:
        self.lineno = lineno
        self.key = key
        self.value = value


class Dict(Expr):
    fields = ("items",)

    def __init__(self, lineno: int, items: list[Pair]) -> None:
        self.lineno = lineno
        self.items = items


class Keyword(Node):
    """A named argument."""

    fields = ("key", "value")

    def __init__(self, lineno: int, key: str, value: Expr) -> None:
        self.lineno = lineno
        self.key = key
        self.value = value


class CondExpr(Expr):
    fields = ("test", "expr1", "expr2")

    def __init__(self, lineno: int, test: Expr, expr1: Expr, expr2: Expr | None) -> None:
        self.lineno = lineno
        self.test = test
        self.expr1 = expr1
        self.expr2 = expr2


class Call(Expr):
    fields = ("node", "args", "kwargs", "dyn_args", "dyn_kwargs")

    def __init__(
        self,
        lineno: int,
        node: Expr,
        args: list[Expr],
        kwargs: list[Keyword],
        dyn_args: None = None,
        dyn_kwargs: None = None,
    ) -> None:
        self.lineno = lineno
        self.node = node
        self.args = args
        self.kwargs = kwargs
        self.dyn_args = dyn_args
        self.dyn_kwargs = dyn_kwargs


class _Applied(Expr):
    fields = ("node", "name", "args", "kwargs", "dyn_args", "dyn_kwargs")

    def __init__(
        self,
        lineno: int,
        node: Expr,
        name: str,
        args: list[Expr],
        kwargs: list[Keyword],
        dyn_args: None = None,
        dyn_kwargs: None = None,
    ) -> None:
        self.lineno = lineno
        self.node = node
        self.name = name
        self.args = args
        self.kwargs = kwargs
        self.dyn_args = dyn_args
        self.dyn_kwargs = dyn_kwargs


class Filter(_Applied):
    node: Expr | None  # type: ignore[assignment]
    """None for the filter of a block: what it works on is the body."""


class Test(_Applied):
    pass


class Getitem(Expr):
    fields = ("node", "arg", "ctx")

    def __init__(self, lineno: int, node: Expr, arg: Expr, ctx: str = "load") -> None:
        self.lineno = lineno
        self.node = node
        self.arg = arg
        self.ctx = ctx


class Getattr(Expr):
    fields = ("node", "attr", "ctx")

    def __init__(self, lineno: int, node: Expr, attr: str, ctx: str = "load") -> None:
        self.lineno = lineno
        self.node = node
        self.attr = attr
        self.ctx = ctx

    def children(self) -> list[Node]:
        return [self.node]


class Slice(Expr):
    fields = ("start", "stop", "step")

    def __init__(self, lineno: int, start: Expr | None, stop: Expr | None, step: Expr | None = None) -> None:
        self.lineno = lineno
        self.start = start
        self.stop = stop
        self.step = step


class Concat(Expr):
    fields = ("nodes",)

    def __init__(self, lineno: int, nodes: list[Expr]) -> None:
        self.lineno = lineno
        self.nodes = nodes


class Operand(Node):
    fields = ("op", "expr")

    def __init__(self, lineno: int, op: str, expr: Expr) -> None:
        self.lineno = lineno
        self.op = op
        self.expr = expr


class Compare(Expr):
    fields = ("expr", "ops")

    def __init__(self, lineno: int, expr: Expr, ops: list[Operand]) -> None:
        self.lineno = lineno
        self.expr = expr
        self.ops = ops


class BinExpr(Expr):
    fields = ("left", "right")
    operator: ClassVar[str]

    def __init__(self, lineno: int, left: Expr, right: Expr) -> None:
        self.lineno = lineno
        self.left = left
        self.right = right


class Mul(BinExpr):
    operator = "*"


class Div(BinExpr):
    operator = "/"


class FloorDiv(BinExpr):
    operator = "//"


class Add(BinExpr):
    operator = "+"


class Sub(BinExpr):
    operator = "-"


class Mod(BinExpr):
    operator = "%"


class Pow(BinExpr):
    operator = "**"


class And(BinExpr):
    operator = "and"


class Or(BinExpr):
    operator = "or"


class UnaryExpr(Expr):
    fields = ("node",)
    operator: ClassVar[str]

    def __init__(self, lineno: int, node: Expr) -> None:
        self.lineno = lineno
        self.node = node


class Not(UnaryExpr):
    operator = "not"


class Neg(UnaryExpr):
    operator = "-"


class Pos(UnaryExpr):
    operator = "+"
