"""Find every name, path and function that a template refers to.

All offsets are positions in the text of the template.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from jinja2 import nodes

from wfc.struct import struct
from wfc_runtime.expr.syntax import Syntax


@struct(frozen=True)
class Part:
    """One step of a path: `.name`, `['name']`, `[0]`, or `[anything else]`, which has no name."""

    name: str | int | None
    start: int
    end: int
    called: bool = False
    """Whether it is a method call, such as `.strip()`."""


@struct(frozen=True, slots=True)
class Read:
    """A name that the template does not bind itself, and the path taken from it.

    `state.build['exit_code']` has the root `state` and the path `build`, `exit_code`. A path ends where the value is
    processed: at a call, a filter or a slice.
    """

    root: str
    path: tuple[Part, ...]
    start: int
    end: int
    guarded: bool = False
    """Whether the template handles its absence, with `default` or a test such as `is defined`."""
    known: int = 0
    """How many of the leading parts are known from a test around it to exist and not to be null."""
    perhaps: bool = False
    """Whether it is read only if a condition has one outcome, or if a loop has items."""

    @property
    def names(self) -> tuple[str | int, ...]:
        """The names of the path, up to the first part without one."""
        found: list[str | int] = []
        for part in self.path:
            if part.name is None:
                break
            found.append(part.name)
        return tuple(found)


@struct(frozen=True)
class Use:
    """A filter, test or function that the template uses by name."""

    name: str
    start: int
    end: int


# Paths: the root and the parts of `state.build['exit_code']`.


@struct(slots=True)
class Access:
    """A path in the tree. Its base is a name, or an expression that has no name."""

    base: nodes.Expr
    parts: list[Part] = field(default_factory=list)
    end: int = 0
    others: list[nodes.Expr] = field(default_factory=list)
    """The expressions between its brackets."""

    @property
    def names(self) -> tuple[str | int | None, ...] | None:
        """The root and the names of the parts, if it has a root."""
        if not isinstance(self.base, nodes.Name):
            return None
        return (self.base.name, *(part.name for part in self.parts))


def unwind(syntax: Syntax, node: nodes.Expr, called: bool = False) -> Access:
    """The path whose last part is this node."""
    parts: list[Part] = []
    others: list[nodes.Expr] = []
    end = 0
    while isinstance(node, (nodes.Getattr, nodes.Getitem)):
        if isinstance(node, nodes.Getattr):
            start, stop = syntax.number_span(node.lineno + 1)  # the name after the dot
            part, stop_all = Part(node.attr, start, stop, called), stop
        elif isinstance(node.arg, nodes.Slice):
            # A slice is a new value: parts after it do not belong to the path before it.
            others += [bound for bound in (node.arg.start, node.arg.stop, node.arg.step) if bound]
            # What precedes the slice is read as a path of its own.
            parts, end, called, node = [], 0, False, node.node
            continue
        else:
            part, stop_all = _subscript(syntax, node)
            if part.name is None:
                others.append(node.arg)
        parts.append(part)
        end = end or stop_all
        called, node = False, node.node
    parts.reverse()
    if isinstance(node, nodes.Name) and not end:
        end = syntax.number_span(node.lineno)[1]
    return Access(node, parts, end, others)


def _subscript(syntax: Syntax, node: nodes.Getitem) -> tuple[Part, int]:
    """The part, and the offset after its closing bracket."""
    opener = node.lineno
    # Jinja gives a bracket and a dot the same node.
    if not syntax.is_bracket(opener):
        # `list.0` is an item too, with a dot.
        start, end = syntax.number_span(opener + 1)
        return Part(node.arg.value if isinstance(node.arg, nodes.Const) else None, start, end), end
    closer = syntax.closer(opener)
    start, end = syntax.number_span(opener + 1)[0], syntax.number_span(closer - 1)[1]
    name = node.arg.value if isinstance(node.arg, nodes.Const) else None
    # Inside the quotes if the text has no escapes, so that a fix can replace the name alone.
    if isinstance(name, str) and closer == opener + 2 and syntax.text[start + 1 : end - 1] == name:
        start, end = start + 1, end - 1
    elif isinstance(name, bool) or not isinstance(name, (str, int)):
        # `x[true]` is not a name.
        name = None
    return Part(name, start, end), syntax.number_span(closer)[1]


# Facts that a test establishes about paths: after `state.a is defined and`, `state.a.b` is a guarded read.

DEFAULTS = frozenset({"default", "d"})
PRESENCE_TESTS = frozenset({"defined", "undefined"})
TOLERANT_FILTERS = DEFAULTS | {"outcome"}
TOLERANT_TESTS = PRESENCE_TESTS | {"ok"}
"""What can be asked of a value that may not be there."""


@struct(frozen=True, slots=True)
class Fact:
    """A path, root first, that exists; if `present`, it is not null either."""

    names: tuple[str | int | None, ...]
    present: bool


Facts = frozenset[Fact]
NO_FACTS: Facts = frozenset()


def facts_of(syntax: Syntax, node: nodes.Node, outcome: bool) -> Facts:
    """The facts that hold where a test is true, or where it is false."""
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
        # A true result means that the value itself was there.
        return _fact(syntax, node.node, True)
    return _fact(syntax, node, True)


def _facts_of_test(syntax: Syntax, node: nodes.Test, outcome: bool) -> Facts:
    if node.name in PRESENCE_TESTS:
        # `is defined` does not exclude null.
        return _fact(syntax, node.node, False) if (node.name == "defined") is outcome else NO_FACTS
    if (node.name == "none" and not outcome) or (node.name == "ok" and outcome):
        return _fact(syntax, node.node, True)
    return NO_FACTS


def _facts_of_comparison(syntax: Syntax, node: nodes.Compare, outcome: bool) -> Facts:
    """The facts of `x != none` and `x == none`."""
    operand = node.ops[0]
    against_null = isinstance(operand.expr, nodes.Const) and operand.expr.value is None
    if len(node.ops) == 1 and against_null and operand.op == ("ne" if outcome else "eq"):
        return _fact(syntax, node.expr, True)
    return NO_FACTS


def _is_empty_default(node: nodes.Filter) -> bool:
    """Whether the default itself is false. Then a true result means that the value exists."""
    return not node.args or (isinstance(node.args[0], nodes.Const) and not node.args[0].value)


def _fact(syntax: Syntax, node: nodes.Node | None, present: bool) -> Facts:
    if not isinstance(node, (nodes.Name, nodes.Getattr, nodes.Getitem)):
        return NO_FACTS
    names = unwind(syntax, node).names
    return NO_FACTS if names is None or None in names else frozenset({Fact(names, present)})


def is_guarded(facts: Facts, root: str, path: list[Part]) -> bool:
    """Whether a test establishes that the whole path exists."""
    names = _named(root, path)
    # The fact may be about a longer path: then the shorter one exists as well.
    return any(fact.names[: len(names)] == names for fact in facts)


def known_parts(facts: Facts, root: str, path: list[Part]) -> int:
    """How many leading parts exist and are not null according to the facts."""
    names = _named(root, path)
    known = 0
    for fact in facts:
        # Where `a.b` is defined `a` is an object, but `a.b` itself may be null.
        solid = fact.names if fact.present else fact.names[:-1]
        shared = 0
        while shared < min(len(names), len(solid)) and names[shared] == solid[shared]:
            shared += 1
        # The root is not one of the parts.
        known = max(known, shared - 1)
    return known


def _named(root: str, path: list[Part]) -> tuple[str | int | None, ...]:
    return (root, *(part.name for part in path if not part.called))


# The walk over the tree. It keeps track of the names that the template binds itself.

# Filters that take the name of a filter or test as text, and the position of that argument.
_NAMED_FILTERS = {"map": 0}
_NAMED_TESTS = {"select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}
# Each read is compared with all facts. Nobody writes more tests around one read, but a generated text might.
_MAX_FACTS = 50


class Walk:
    """Collects reads and uses in one walk over a tree."""

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
        # Facts and branches are visited out of order.
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
        # What holds in an `elif` includes that the conditions before it were false.
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
            # The test sees the loop's variables, but not `loop`.
            self._inner([nodes.Output([node.test], lineno=node.lineno)], targets)
        self._inner(node.body, targets | {"loop"})
        self._inner(node.else_, set())
        self._perhaps = perhaps

    def _inner(self, body: Iterable[nodes.Node], names: set[str]) -> None:
        """Walk statements in an inner scope."""
        outer = self._bound
        self._bound = outer | names
        self._statements(body)
        self._bound = outer

    def _bind(self, target: nodes.Node) -> None:
        if isinstance(target, nodes.NSRef):
            # `{% set ns.field = ... %}` binds nothing: it uses an existing namespace.
            self._access(nodes.Name(target.name, "load", lineno=target.lineno), False)
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
            # The right side of `and` is only evaluated if the left one is true, that of `or` if it is false.
            self._under(facts_of(self._syntax, node.left, isinstance(node, nodes.And)), node.right)
        elif isinstance(node, nodes.CondExpr):
            self._expression(node.test)
            self._under(facts_of(self._syntax, node.test, True), node.expr1, guarded)
            if node.expr2 is not None:
                self._under(facts_of(self._syntax, node.test, False), node.expr2, guarded)
        else:
            for child in node.iter_child_nodes():
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
            # `default` is what makes a missing value harmless.
            self._expression(node.node, node.name in TOLERANT_FILTERS)
        self._arguments(node)
        self._name_argument(node, _NAMED_FILTERS, self.filters)
        self._name_argument(node, _NAMED_TESTS, self.tests)

    def _test(self, node: nodes.Test) -> None:
        self.tests.append(Use(node.name, *self._syntax.token_span(node)))
        self._expression(node.node, node.name in TOLERANT_TESTS)
        self._arguments(node)

    def _arguments(self, node: nodes.Call | nodes.Filter | nodes.Test) -> None:
        for arg in node.args:
            self._expression(arg)
        for keyword in node.kwargs:
            self._expression(keyword.value)

    def _name_argument(self, node: nodes.Filter, places: dict[str, int], uses: list[Use]) -> None:
        """Record the 'upper' in `map('upper')` as a use of a filter."""
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
    return {name for item in target.iter_child_nodes() for name in _names(item)}
