"""Taint of JavaScript expressions: of methods, functions and callbacks. The rest is as in templates."""

from __future__ import annotations

from jinja2 import nodes

from wfc.analysis.taint.expressions import Walk
from wfc.analysis.taint.values import CLEAN, ITEMS, Taint, join, joined, listed, only, worse
from wfc.javascript.tree import REGEX, SPREAD, TYPEOF, names_of

_CLEAN_METHODS = frozenset(
    {"charCodeAt", "codePointAt", "endsWith", "every", "findIndex", "findLastIndex", "hasOwnProperty", "includes",
     "indexOf", "lastIndexOf", "localeCompare", "push", "search", "some", "startsWith", "test", "toFixed", "unshift"}
)  # fmt: skip
_CLEAN_FUNCTIONS = frozenset(
    {"Array.isArray", "Boolean", "Date.now", "Number", "Number.isFinite", "Number.isInteger", "Number.isNaN",
     "isFinite", "isNaN", "now", "parseFloat", "parseInt", "path_to_key", "uuid", REGEX, TYPEOF}
)  # fmt: skip
_SAME_ITEMS = frozenset(
    {"filter", "reverse", "slice", "sort", "splice", "toReversed", "toSorted", "toSpliced", "values"}
)
_PICKING = frozenset({"at", "find", "findLast", "pop", "shift"})


class ScriptWalk(Walk):
    def value(self, node: nodes.Node) -> Taint:
        if self._settled and node in self._settled:
            return CLEAN
        match node:
            case nodes.Call(node=nodes.Getattr() as target):
                return self._method(node, target)
            case nodes.Call(node=nodes.Name(name=name)):
                return self._function(node, name)
            case nodes.Macro():
                return self._callback(node)
            case nodes.List():
                return listed(joined(self._item(item) for item in node.items))
        return super().value(node)

    def _item(self, node: nodes.Expr) -> Taint:
        is_spread = (
            isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name == SPREAD
        )
        return self.value(node).item if is_spread else self.value(node)

    def _callback(self, node: nodes.Node, *given: Taint) -> Taint:
        """The taint of what a function returns for these arguments."""
        if not isinstance(node, nodes.Macro):
            # A function that is not defined here: its result may contain any of its arguments.
            if isinstance(node, nodes.Name) and node.name in _CLEAN_FUNCTIONS | self._names.policy.cleaning:
                return CLEAN
            return only(joined(iter(given)).whole)
        before = dict(self._locals)
        for place, parameter in enumerate(node.args):
            taint = given[place] if place < len(given) else CLEAN
            for name in names_of(parameter):
                # Which part of a value goes to which name of a pattern is not tracked.
                self._locals[name] = taint if isinstance(parameter, nodes.Name) else only(taint.whole)
        # A body with statements may return anything that it was given or uses.
        used = (*given, *map(self.value, node.defaults))
        found = self.value(node.body[0]) if node.body else only(joined(iter(used)).whole)
        self._locals = before
        return found

    def _method(self, node: nodes.Call, target: nodes.Getattr) -> Taint:
        base, name = self.value(target.node), target.attr
        if name in _CLEAN_METHODS:
            return CLEAN
        if name in _SAME_ITEMS and ITEMS in base.parts:
            return base.as_list()
        if name in _PICKING:
            return base.item
        if name == "map":
            return base.as_list(self._callback(node.args[0], base.item, CLEAN) if node.args else None)
        if name == "flatMap":
            return listed(only(self._callback(node.args[0], base.item).whole) if node.args else base.item)
        if name == "join":
            return only(joined(iter((base.item, *map(self.value, node.args)))).whole)
        if name in ("split", "match", "matchAll"):
            return listed(only(base.whole), base.whole)
        if name in ("reduce", "reduceRight"):
            start = self.value(node.args[1]) if len(node.args) > 1 else CLEAN
            made = self._callback(node.args[0], start, base.item) if node.args else CLEAN
            return only(worse(join(start, base).whole, made.whole))
        flow = base.whole
        for argument in node.args:
            flow = worse(flow, self.value(argument).whole)
        return only(flow)

    def _function(self, node: nodes.Call, name: str) -> Taint:
        if name in _CLEAN_FUNCTIONS or name.startswith("Math."):
            return CLEAN
        if name == SPREAD and node.args:
            return self.value(node.args[0])
        if name == "<run>":
            function, *args = node.args
            return self._callback(function, *map(self.value, args))
        given = joined(map(self.value, node.args))
        if name == "Object.keys":
            return listed(only(given.flow), given.flow)
        if name in ("Object.values", "Object.entries", "Array.from"):
            return listed(only(given.whole), given.flow)
        return only(given.whole)
