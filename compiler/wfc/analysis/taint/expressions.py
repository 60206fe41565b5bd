"""Taint of one template: of its value, and of what each of its expressions inserts into the text.

An expression is evaluated over taints instead of values: an attribute takes a part, an operator or an unknown filter
joins its operands, and a comparison gives a boolean, which is clean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Protocol

from jinja2 import nodes

from wfc.analysis.taint.policy import NUMBERS, Policy
from wfc.analysis.taint.values import CLEAN, ITEMS, Flow, Taint, join, joined, listed, only, record, worse
from wfc.analysis.types.builtins import METHODS
from wfc.struct import struct
from wfc.template import Template

# Filters and methods: the taint that each of them leaves.

Evaluate = Callable[[nodes.Node], Taint]
Named = Sequence[nodes.Keyword | nodes.Pair]
"""Named arguments. Jinja's annotations say Pair for a filter's; its parser only makes Keyword."""

_COUNTING = frozenset(
    name
    for methods in METHODS.values()
    for name, signature in methods.items()
    # `changed` compares values and gives no number.
    if signature.gives in NUMBERS and name not in ("changed",)
)
_PICKING = frozenset({"first", "last", "max", "min"})
_SAME_ITEMS = frozenset({"list", "reject", "rejectattr", "reverse", "select", "selectattr", "sort", "unique"})
_SPLITTING = frozenset({"split", "rsplit", "splitlines", "partition", "rpartition"})


class Uses:
    """The filters and calls of one template, and the evaluation of their arguments."""

    def __init__(self, evaluate: Evaluate, policy: Policy) -> None:
        self._evaluate = evaluate
        self._policy = policy

    def filtered(self, node: nodes.Filter) -> Taint:
        base = self._evaluate(node.node) if node.node is not None else CLEAN
        return self._filter(node.name, base, node.args, node.kwargs)

    def _filter(self, name: str, base: Taint, args: list[nodes.Expr], named: Named) -> Taint:
        # The policy of the sink decides what is harmless: quoting helps in a shell, and not in a path.
        if name in self._policy.cleaning:
            return CLEAN
        if name in ("default", "d"):
            # The default may be untrusted as well.
            return join(base, self._argument(args, named, 0, "default_value"))
        if name in _PICKING:
            # A text as operand gives one of its characters.
            return base.item if ITEMS in base.parts else only(base.whole)
        if name in _SAME_ITEMS:
            return base.as_list()
        if name in ("split", "batch", "slice"):
            return listed(base.item if name != "split" else only(base.whole), base.whole)
        # The numbers that these two add are counted, and not part of a value from outside.
        if name == "entries":
            return listed(record({"key": only(base.whole), "value": base.item}), base.flow, base.bounded)
        if name == "keyed":
            return record({"results": only(self._mixed(base, args, named).whole)})
        if name == "map":
            return base.as_list(self._mapped(base.item, args, named))
        if name == "join":
            return only(joined(iter((base.item, *map(self._evaluate, args)))).whole)
        if name.startswith("regex_"):
            return self._regex(name, base, args)
        return self._mixed(base, args, named)

    def _mapped(self, item: Taint, args: list[nodes.Expr], named: Named) -> Taint:
        attribute = next((word.value for word in named if word.key == "attribute"), None)
        if attribute is not None:
            found = item
            path = _text(attribute)
            for key in path.split(".") if path is not None else (None,):
                found = found.get(int(key) if key is not None and key.isdigit() else key)
            return join(found, self._argument([], named, 0, "default"))
        name = _text(args[0]) if args else None
        # A computed name of a filter may be any filter.
        return self._filter(name, item, args[1:], named) if name is not None else only(item.whole)

    def _regex(self, name: str, base: Taint, args: list[nodes.Expr]) -> Taint:
        constants = [_text(arg) for arg in args[:2]] + [None, None]
        if name == "regex_replace":
            return (
                CLEAN
                if self._policy.characters.strips(constants[0], constants[1])
                else self._mixed(base, args, [])
            )
        if self._policy.characters.picks_safe(constants[0]):
            return listed(CLEAN, base.whole) if name == "regex_findall" else CLEAN
        # A search returns the groups of one match, so its list has a known length.
        return listed(only(base.whole), base.whole, bounded=name == "regex_search")

    def _mixed(self, base: Taint, args: list[nodes.Expr], named: Named) -> Taint:
        """Text that is made of all operands."""
        flow = base.whole
        for node in (*args, *(word.value for word in named)):
            flow = worse(flow, self._evaluate(node).whole)
        return only(flow)

    def _argument(self, args: list[nodes.Expr], named: Named, place: int, name: str) -> Taint:
        found = args[place] if place < len(args) else None
        for word in named:
            if word.key == name:
                found = word.value
        return self._evaluate(found) if found is not None else CLEAN

    def called(self, node: nodes.Call) -> Taint:
        target = node.node
        if isinstance(target, nodes.Getattr):
            return self._method(target.attr, self._evaluate(target.node), node)
        if isinstance(target, nodes.Name) and target.name in ("dict", "namespace"):
            parts = {word.key: self._evaluate(word.value) for word in node.kwargs}
            return join(record(parts), joined(map(self._evaluate, node.args)))
        if isinstance(target, nodes.Name) and target.name == "get" and len(node.args) > 1:
            return self._got(self._evaluate(node.args[0]), node.args[1:])
        if isinstance(target, nodes.Name) and target.name == "render":
            return self._mixed(CLEAN, node.args, node.kwargs)
        return CLEAN

    def _got(self, base: Taint, args: list[nodes.Expr]) -> Taint:
        """The value of a key, or the default."""
        key = args[0].value if isinstance(args[0], nodes.Const) else None
        found = base.get(key if isinstance(key, str | int) else None)
        return join(found, joined(map(self._evaluate, args[1:])))

    def _method(self, name: str, base: Taint, node: nodes.Call) -> Taint:
        if name == "get" and node.args:
            return self._got(base, node.args)
        if name == "values":
            return listed(only(base.whole), base.flow)
        if name == "keys":
            return listed(only(base.flow), base.flow)
        if name in _SPLITTING:
            return listed(only(base.whole), base.whole)
        if name in _COUNTING:
            return CLEAN
        return self._mixed(base, node.args, node.kwargs)


def _text(node: nodes.Node) -> str | None:
    return node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) else None


# Expressions and template text.

_NUMERIC = (nodes.Sub, nodes.Div, nodes.FloorDiv, nodes.Pow, nodes.Neg, nodes.Pos)
_TRUTHS = (nodes.Compare, nodes.Test, nodes.Not, nodes.Const)


class Names(Protocol):
    """The taint of the values that a template may name."""

    def field(self, name: str | None) -> Taint: ...
    def input(self, name: str | None) -> Taint: ...
    def other(self, name: str) -> Taint: ...
    @property
    def policy(self) -> Policy:
        """The policy of the sink."""
        ...

    def settled(self) -> list[nodes.Expr]:
        """Expressions that a condition has compared with constants."""
        ...


@struct(frozen=True)
class Hole:
    """An inserted value: `{{ expression }}`, or an expression in a tag that becomes part of the text."""

    node: nodes.Expr
    taint: Taint
    quoted: Taint | None = None
    """For `... | shquote`: the taint of the quoted value."""
    within: nodes.Node | None = None
    """The outermost `for` or `if` around it."""

    @property
    def flow(self) -> Flow | None:
        return self.taint.whole


@struct(slots=True)
class Literal:
    """Text between holes."""

    text: str


@struct(slots=True)
class Choice:
    """Alternatives, of which one is inserted. A loop is one alternative that may be left out."""

    ways: list[list[Piece]] = field(default_factory=list)


Piece = Literal | Hole | Choice


class Walk:
    """The evaluation of one template."""

    def __init__(self, template: Template, names: Names) -> None:
        self._template = template
        self._names = names
        self._locals: dict[str, Taint] = {}
        self._uses = Uses(self.value, names.policy)
        self._outermost: nodes.Node | None = None
        self._settled = names.settled()

    def result(self) -> Taint:
        """The taint of the value of the template."""
        expression = self._template.expression
        if expression is not None:
            return self.value(expression)
        flow = None
        for hole in holes_in(self.pieces()):
            flow = worse(flow, hole.flow)
        return only(flow)

    def pieces(self) -> list[Piece]:
        """The parts of the text, in order."""
        return self._pieces(self._template.ast.body) if self._template.ast is not None else []

    def _pieces(self, body: Iterable[nodes.Node]) -> list[Piece]:
        found: list[Piece] = []
        for node in body:
            match node:
                case nodes.Output():
                    found += [self._piece(part) for part in node.nodes]
                case nodes.If() | nodes.For():
                    outermost, self._outermost = self._outermost, self._outermost or node
                    found.append(self._if(node) if isinstance(node, nodes.If) else self._for(node))
                    self._outermost = outermost
                case nodes.Assign():
                    self._bind(node.target, self.value(node.node))
                case nodes.AssignBlock():
                    # The block is rendered to text, so its parts are joined.
                    flow = None
                    for hole in holes_in(self._pieces(node.body)):
                        flow = worse(flow, hole.flow)
                    self._bind(node.target, only(flow))
        return found

    def _piece(self, node: nodes.Node) -> Piece:
        if isinstance(node, nodes.TemplateData):
            return Literal(node.data)
        if not isinstance(node, nodes.Expr):
            return Literal("")
        quoted = None
        if isinstance(node, nodes.Filter) and node.name == "shquote" and node.node is not None:
            # The taint of the value inside the quotes is needed for what quoting does not prevent.
            quoted = self.value(node.node)
        return Hole(node, self.value(node), quoted, self._outermost)

    def _if(self, node: nodes.If) -> Choice:
        branches = [node.body, *(branch.body for branch in node.elif_), node.else_]
        return Choice([self._pieces(body) for body in branches])

    def _for(self, node: nodes.For) -> Choice:
        before = dict(self._locals)
        self._bind(node.target, self.value(node.iter).item)
        # Positions in a loop are numbers.
        self._locals["loop"] = CLEAN
        body = self._pieces(node.body)
        self._locals = before
        return Choice([body, self._pieces(node.else_)])

    def _bind(self, target: nodes.Node, taint: Taint) -> None:
        match target:
            case nodes.Name():
                self._locals[target.name] = taint
            case nodes.NSRef():
                known = self._locals.get(target.name, CLEAN)
                self._locals[target.name] = join(known, record({target.attr: taint}))
            case nodes.Tuple():
                for item in target.items:
                    # Which item goes to which name is not tracked.
                    self._bind(item, only(taint.whole))

    # -- expressions -----------------------------------------------------------

    def value(self, node: nodes.Node) -> Taint:
        # A condition on the path has shown that the expression is one of some constants.
        if self._settled and node in self._settled:
            return CLEAN
        match node:
            case nodes.Name():
                return self._name(node.name)
            case nodes.Getattr():
                return self._part(node.node, node.attr)
            case nodes.Getitem():
                return self._subscript(node)
            case nodes.Filter():
                return self._uses.filtered(node)
            case nodes.Call():
                return self._uses.called(node)
            case nodes.CondExpr():
                other = self.value(node.expr2) if node.expr2 is not None else CLEAN
                return join(self.value(node.expr1), other)
            case nodes.And() | nodes.Or():
                return join(self.value(node.left), self.value(node.right))
            case nodes.List() | nodes.Tuple():
                return listed(joined(map(self.value, node.items)))
            case nodes.Dict():
                return self._dict(node)
            case nodes.Add():
                return self._sum(self.value(node.left), self.value(node.right))
        if isinstance(node, _TRUTHS + _NUMERIC):
            return CLEAN
        return only(joined(map(self.value, node.iter_child_nodes())).whole)

    def _sum(self, left: Taint, right: Taint) -> Taint:
        """The taint of `left + right`: concatenated lists or texts."""
        if ITEMS in left.parts or ITEMS in right.parts:
            return join(left.as_list(), right.as_list())
        return only(join(left, right).whole)

    def _dict(self, node: nodes.Dict) -> Taint:
        parts = [(pair.key, self.value(pair.value)) for pair in node.items]
        keys = [key.value if isinstance(key, nodes.Const) else None for key, _ in parts]
        if all(isinstance(key, str) for key in keys):
            return record({str(key): part for key, (_, part) in zip(keys, parts, strict=True)})
        # With a computed key, every property may have any of the values.
        return only(joined(part for _, part in parts).whole)

    def _name(self, name: str) -> Taint:
        if name in self._locals:
            return self._locals[name]
        if name == "state":
            return self._names.field(None)
        return self._names.input(None) if name == "inputs" else self._names.other(name)

    def _part(self, node: nodes.Node, key: str | int | None) -> Taint:
        if isinstance(node, nodes.Name) and node.name not in self._locals and isinstance(key, str):
            if node.name == "state":
                return self._names.field(key)
            if node.name == "inputs":
                return self._names.input(key)
        return self.value(node).get(key)

    def _subscript(self, node: nodes.Getitem) -> Taint:
        if isinstance(node.arg, nodes.Slice):
            base, cut = self.value(node.node), node.arg
            is_short = cut.stop is not None or isinstance(cut.start, nodes.Neg)
            return base.short() if is_short and not base.is_clean else base
        key = node.arg.value if isinstance(node.arg, nodes.Const) else None
        return self._part(node.node, key if isinstance(key, str | int) else None)


def holes_in(pieces: Iterable[Piece]) -> Iterable[Hole]:
    for piece in pieces:
        if isinstance(piece, Hole):
            yield piece
        elif isinstance(piece, Choice):
            for way in piece.ways:
                yield from holes_in(way)
