"""What filters and methods leave of a taint."""

from __future__ import annotations

from collections.abc import Callable

from wfc.analysis.types.builtins import METHODS
from wfc.taint.policy import NUMBERS, Policy
from wfc.taint.values import CLEAN, ITEMS, Taint, join, joined, listed, only, record, worse
from wfc_runtime.expr import nodes

Evaluate = Callable[[nodes.Node], Taint]

_COUNTING = frozenset(
    name
    for methods in METHODS.values()
    for name, signature in methods.items()
    if signature.gives in NUMBERS and name not in ("changed",)
)
_PICKING = frozenset({"first", "last", "max", "min"})
_SAME_ITEMS = frozenset({"list", "reject", "rejectattr", "reverse", "select", "selectattr", "sort", "unique"})
_SPLITTING = frozenset({"split", "rsplit", "splitlines", "partition", "rpartition"})


class Uses:
    """One template's filters and calls, with the means to look at their arguments."""

    def __init__(self, evaluate: Evaluate, policy: Policy) -> None:
        self._evaluate = evaluate
        self._policy = policy

    def filtered(self, node: nodes.Filter) -> Taint:
        base = self._evaluate(node.node) if node.node is not None else CLEAN
        return self._filter(node.name, base, node.args, node.kwargs)

    def _filter(self, name: str, base: Taint, args: list[nodes.Expr], named: list[nodes.Keyword]) -> Taint:
        if name in self._policy.cleaning:
            return CLEAN
        if name in ("default", "d"):
            return join(base, self._argument(args, named, 0, "default_value"))
        if name in _PICKING:
            return base.item if ITEMS in base.parts else only(base.whole)
        if name in _SAME_ITEMS:
            return base.as_list()
        if name in ("split", "batch", "slice"):
            return listed(base.item if name != "split" else only(base.whole), base.whole)
        if name == "map":
            return base.as_list(self._mapped(base.item, args, named))
        if name == "join":
            return only(joined(iter((base.item, *map(self._evaluate, args)))).whole)
        if name.startswith("regex_"):
            return self._regex(name, base, args)
        return self._mixed(base, args, named)

    def _mapped(self, item: Taint, args: list[nodes.Expr], named: list[nodes.Keyword]) -> Taint:
        attribute = next((word.value for word in named if word.key == "attribute"), None)
        if attribute is not None:
            found = item
            path = _text(attribute)
            for key in path.split(".") if path is not None else (None,):
                found = found.get(int(key) if key is not None and key.isdigit() else key)
            return join(found, self._argument([], named, 0, "default"))
        name = _text(args[0]) if args else None
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
        return listed(only(base.whole), base.whole, bounded=name == "regex_search")

    def _mixed(self, base: Taint, args: list[nodes.Expr], named: list[nodes.Keyword]) -> Taint:
        """Text made of all that goes in."""
        flow = base.whole
        for node in (*args, *(word.value for word in named)):
            flow = worse(flow, self._evaluate(node).whole)
        return only(flow)

    def _argument(self, args: list[nodes.Expr], named: list[nodes.Keyword], place: int, name: str) -> Taint:
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
        return CLEAN

    def _method(self, name: str, base: Taint, node: nodes.Call) -> Taint:
        if name == "get" and node.args:
            key = node.args[0].value if isinstance(node.args[0], nodes.Const) else None
            found = base.get(key if isinstance(key, str | int) else None)
            return join(found, joined(map(self._evaluate, node.args[1:])))
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
