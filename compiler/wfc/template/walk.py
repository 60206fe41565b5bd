"""Finds everything a template refers to, with regard to the names that it binds itself."""

from __future__ import annotations

from collections.abc import Iterable

from wfc_runtime.expr import nodes
from wfc_runtime.expr.syntax import Syntax

from .access import unwind
from .facts import DEFAULTS, NO_FACTS, PRESENCE_TESTS, Facts, facts_of, is_guarded, known_parts
from .model import Read, Use

# Filters that take the name of a filter or test as text, and at which place.
_NAMED_FILTERS = {"map": 0}
_NAMED_TESTS = {"select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}
# Each read is held against all facts. No one writes more tests around it; a generated text might.
_MAX_FACTS = 50


class Walk:
    """One walk through a tree; the lists fill up on the way."""

    def __init__(self, syntax: Syntax) -> None:
        self._syntax = syntax
        self._bound: set[str] = set()
        self._facts: Facts = NO_FACTS
        self._perhaps = False
        self.reads: list[Read] = []
        self.filters: list[Use] = []
        self.tests: list[Use] = []
        self.functions: list[Use] = []
        if syntax.ast is not None:
            self._statements(syntax.ast.body)
        for found in (self.reads, self.filters, self.tests, self.functions):
            if len(found) > 1:
                found.sort(key=lambda item: (item.start, item.end))

    def _statements(self, body: Iterable[nodes.Node]) -> None:
        for node in body:
            if isinstance(node, nodes.Output):
                for part in node.nodes:
                    self._expression(part)
            elif isinstance(node, nodes.If):
                self._if(node)
            elif isinstance(node, nodes.For):
                self._for(node)
            elif isinstance(node, nodes.Assign):
                self._expression(node.node)
                self._bind(node.target)
            elif isinstance(node, nodes.AssignBlock):
                self._inner(node.body, set())
                if node.filter is not None:
                    self._expression(node.filter)
                self._bind(node.target)

    def _if(self, node: nodes.If) -> None:
        facts, perhaps = self._facts, self._perhaps
        for branch in (node, *node.elif_):
            self._expression(branch.test)
            self._perhaps = True
            otherwise = self._with(facts_of(self._syntax, branch.test, False))
            self._facts = self._with(facts_of(self._syntax, branch.test, True))
            self._statements(branch.body)
            self._facts = otherwise
        self._statements(node.else_)
        self._facts, self._perhaps = facts, perhaps

    def _for(self, node: nodes.For) -> None:
        self._expression(node.iter)
        targets = _names(node.target)
        perhaps, self._perhaps = self._perhaps, True
        if node.test is not None:
            self._inner([nodes.Output(node.lineno, [node.test])], targets)
        self._inner(node.body, targets | {"loop"})
        self._inner(node.else_, set())
        self._perhaps = perhaps

    def _inner(self, body: Iterable[nodes.Node], names: set[str]) -> None:
        """Statements in a scope of their own."""
        outer = self._bound
        self._bound = outer | names
        self._statements(body)
        self._bound = outer

    def _bind(self, target: nodes.Node) -> None:
        if isinstance(target, nodes.NSRef):
            # `{% set ns.field = ... %}` binds nothing: it uses a namespace that is there.
            self._access(nodes.Name(target.lineno, target.name), False)
        elif isinstance(target, nodes.Tuple):
            for item in target.items:
                self._bind(item)
        else:
            self._bound |= _names(target)

    def _expression(self, node: nodes.Node, guarded: bool = False) -> None:
        if isinstance(node, (nodes.Name, nodes.Getattr, nodes.Getitem)):
            self._access(node, guarded)
        elif isinstance(node, (nodes.Const, nodes.TemplateData)):
            pass
        elif isinstance(node, nodes.Filter):
            self._filter(node)
        elif isinstance(node, nodes.Test):
            self._test(node)
        elif isinstance(node, nodes.Call):
            self._call(node)
        elif isinstance(node, (nodes.And, nodes.Or)):
            self._expression(node.left)
            self._under(facts_of(self._syntax, node.left, isinstance(node, nodes.And)), node.right)
        elif isinstance(node, nodes.CondExpr):
            self._expression(node.test)
            self._under(facts_of(self._syntax, node.test, True), node.expr1, guarded)
            if node.expr2 is not None:
                self._under(facts_of(self._syntax, node.test, False), node.expr2, guarded)
        else:
            for child in node.children():
                self._expression(child)

    def _under(self, facts: Facts, node: nodes.Node, guarded: bool = False) -> None:
        before, perhaps = self._facts, self._perhaps
        self._facts, self._perhaps = self._with(facts), True
        self._expression(node, guarded)
        self._facts, self._perhaps = before, perhaps

    def _with(self, facts: Facts) -> Facts:
        return self._facts | facts if len(self._facts) < _MAX_FACTS else self._facts

    def _access(self, node: nodes.Expr, guarded: bool, called: bool = False) -> None:
        access = unwind(self._syntax, node, called)
        for other in access.others:
            self._expression(other)
        base = access.base
        if not isinstance(base, nodes.Name):
            self._expression(base)
        elif base.name not in self._bound:
            start = self._syntax.number_span(base.lineno)[0]
            facts = self._facts
            safe = guarded or (bool(facts) and is_guarded(facts, base.name, access.parts))
            known = known_parts(facts, base.name, access.parts) if facts else 0
            path = tuple(access.parts)
            self.reads.append(Read(base.name, path, start, access.end, safe, known, self._perhaps))

    def _call(self, node: nodes.Call) -> None:
        target = node.node
        if isinstance(target, nodes.Getattr):
            self._access(target, False, called=True)
        elif isinstance(target, nodes.Name):
            self.functions.append(Use(target.name, *self._syntax.token_span(target)))
        self._arguments(node)

    def _filter(self, node: nodes.Filter) -> None:
        self.filters.append(Use(node.name, *self._syntax.token_span(node)))
        if node.node is not None:
            self._expression(node.node, node.name in DEFAULTS)
        self._arguments(node)
        self._name_argument(node, _NAMED_FILTERS, self.filters)
        self._name_argument(node, _NAMED_TESTS, self.tests)

    def _test(self, node: nodes.Test) -> None:
        self.tests.append(Use(node.name, *self._syntax.token_span(node)))
        self._expression(node.node, node.name in PRESENCE_TESTS)
        self._arguments(node)

    def _arguments(self, node: nodes.Call | nodes.Filter | nodes.Test) -> None:
        for arg in node.args:
            self._expression(arg)
        for keyword in node.kwargs:
            self._expression(keyword.value)

    def _name_argument(self, node: nodes.Filter, places: dict[str, int], uses: list[Use]) -> None:
        """The 'upper' in `map('upper')` is a filter in use as well."""
        place = places.get(node.name)
        if place is None or place >= len(node.args):
            return
        arg = node.args[place]
        if isinstance(arg, nodes.Const) and isinstance(arg.value, str):
            start, end = self._syntax.token_span(arg)
            if self._syntax.text[start + 1 : end - 1] == arg.value:
                start, end = start + 1, end - 1
            uses.append(Use(arg.value, start, end))


def _names(target: nodes.Node) -> set[str]:
    """The names that an assignment binds."""
    if isinstance(target, nodes.Name):
        return {target.name}
    return {name for item in target.children() for name in _names(item)}
