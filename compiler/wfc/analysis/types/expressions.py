"""The type of an expression, found by one walk through its tree. Nothing is evaluated.

A type that cannot be determined is `any`, and `any` reports nothing: a problem is reported only where every possible
value causes it, or where a value that is known to occur does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from jinja2 import nodes

from wfc.analysis.types import access, calls, narrowing, operators
from wfc.analysis.types.access import LOOP
from wfc.analysis.types.builtins import item_of
from wfc.analysis.types.constants import values_of
from wfc.analysis.types.environment import TIGHT, Environment, Held, Kind, Path, Problem
from wfc.analysis.types.lattice import (
    EMPTY_LIST,
    EMPTY_OBJECT,
    UNDEFINED,
    describe,
    exact,
    is_known,
    join,
    kinds_of,
    options,
)
from wfc.analysis.types.narrowing import Facts, Outcome
from wfc.analysis.types.operators import report_null
from wfc.language.types import ANY, BOOL, NULL, OBJECT, TEXT, Exact, Fixed, ListType, Property, Record, Type
from wfc.language.values import Text, quoted
from wfc.template import Template

# Template text: loops, branches and `set`, in order.

_SHORT = 120
_MOST_TEXTS = 4


def rendered(walk: Inference, body: Sequence[nodes.Node]) -> Type:
    """The type of rendered text: a choice of known texts if there are few, otherwise text."""
    return of_texts(walk, _statements(walk, body))


def of_texts(walk: Inference, texts: set[str] | None) -> Type:
    # Known texts matter for comparisons such as `state.mode == 'fast'`, in which long texts do not occur.
    if texts is None or len(walk.template.text) > _SHORT:
        return TEXT
    return join(*map(exact, sorted(texts)))


def _statements(walk: Inference, body: Iterable[nodes.Node]) -> set[str] | None:
    """Infer statements in order. Returns the texts that they can render, if these are few and known."""
    # The empty text is the neutral element of joining.
    texts: set[str] | None = {""}
    for node in body:
        texts = _joined(texts, _statement(walk, node))
    return texts


def _joined(before: set[str] | None, after: set[str] | None) -> set[str] | None:
    # Each alternative of a part multiplies the texts of the whole, hence the small limit.
    if before is None or after is None or len(before) * len(after) > _MOST_TEXTS:
        return None
    return {one + other for one in before for other in after}


def _statement(walk: Inference, node: nodes.Node) -> set[str] | None:
    match node:
        case nodes.Output():
            return _output(walk, node)
        case nodes.If():
            return _if(walk, node)
        case nodes.For():
            # The number of iterations is unknown, and so is the text.
            _for(walk, node)
            return None
        case nodes.Assign():
            _bind(walk, node.target, walk.type_of(node.node))
        case nodes.AssignBlock():
            before = dict(walk.locals)
            _statements(walk, node.body)
            # `{% set x %}...{% endset %}` has its own scope, as in Jinja.
            walk.locals = before
            _bind(walk, node.target, TEXT)
    return {""}


def _output(walk: Inference, node: nodes.Output) -> set[str] | None:
    texts: set[str] | None = {""}
    for part in node.nodes:
        if isinstance(part, nodes.TemplateData):
            texts = _joined(texts, {part.data}) if texts is not None else None
        else:
            kind = walk.type_of(part)
            texts = _joined(texts, walk.printed(kind)) if texts is not None else None
    return texts


def _if(walk: Inference, node: nodes.If) -> set[str] | None:
    outer = walk.facts, walk.held
    start = dict(walk.locals)
    ends: list[dict[str, Type]] = []
    texts: set[str] | None = set()
    for branch in (node, *node.elif_):
        test = walk.test(branch.test)
        before = walk.assume(test.true)
        walk.locals = dict(start)
        texts = _either(texts, _statements(walk, branch.body))
        ends.append(walk.locals)
        walk.facts, walk.held = before
        # The next `elif` and the `else` are evaluated only if this test was false, and so they accumulate.
        walk.assume(test.false)
    walk.locals = dict(start)
    texts = _either(texts, _statements(walk, node.else_))
    ends.append(walk.locals)
    walk.facts, walk.held = outer
    names = dict.fromkeys(name for end in ends for name in end)
    # A name that only some branches set keeps its type: reading it otherwise is an undefined name, which is another
    # rule's.
    walk.locals = {name: join(*(end[name] for end in ends if name in end)) for name in names}
    return texts


def _either(before: set[str] | None, after: set[str] | None) -> set[str] | None:
    both = None if before is None or after is None else before | after
    return None if both is None or len(both) > _MOST_TEXTS else both


def _for(walk: Inference, node: nodes.For) -> None:
    if node.test is not None:
        # The loop filters its items, so an empty item of a split text does no harm.
        walk.picked.add(id(node.iter))
    kind = walk.type_of(node.iter)
    check_walkable(walk, node.iter, kind)
    outer, facts = dict(walk.locals), (walk.facts, walk.held)
    # Before the test of the loop, which uses its variables.
    _bind(walk, node.target, item_of(kind))
    if node.test is not None:
        walk.assume(walk.test(node.test).true)
    # Bound after the target: the test of the loop is evaluated before there is a `loop`.
    walk.locals["loop"] = LOOP
    _statements(walk, node.body)
    walk.facts, walk.held = facts
    # Names that the loop sets do not leave it.
    walk.locals = dict(outer)
    _statements(walk, node.else_)
    walk.locals = outer


def check_walkable(walk: Inference, node: nodes.Node, kind: Type) -> None:
    """Report a loop over a text, which would iterate over characters, or over a value that can't be iterated."""
    if not is_known(kind) or kinds_of(kind) & {"list", "object"}:
        if NULL in options(kind):
            report_null(walk, node, kind)
        return
    if kind == NULL:
        report_null(walk, node, kind)
        return
    words = f"`{walk.source(node)}` is {describe(kind)}"
    if "text" in kinds_of(kind):
        hint = f"split it first, as `{walk.source(node)}.splitlines()` does"
        walk.report(Kind.NOT_A_LIST, node, f"{words}: the loop would iterate over its characters", help=hint)
    else:
        walk.report(Kind.NOT_A_LIST, node, f"{words}: it can't be iterated")


def _bind(walk: Inference, target: nodes.Node, kind: Type) -> None:
    if isinstance(target, nodes.Name):
        walk.locals[target.name] = kind
        # Facts about an outer variable of the same name do not apply to the new one.
        walk.facts = {path: fact for path, fact in walk.facts.items() if path[0] != target.name}
    elif isinstance(target, nodes.Tuple):
        for place, item in enumerate(target.items):
            _bind(walk, item, join(*(_place_of(option, place) for option in options(kind))))


def _place_of(option: Type, place: int) -> Type:
    if isinstance(option, Fixed):
        return option.items[place] if place < len(option.items) else ANY
    return item_of(option) if kinds_of(option) == {"list"} else ANY


# Expressions.


class Inference:
    """The inference of one template. Problems are collected in `problems`."""

    words_for_bool = ("False", "True")
    """How false and true are rendered: in Python's words, which differ from YAML's."""

    def __init__(self, template: Template, environment: Environment, text: Text | None = None) -> None:
        self.template = template
        self.text = text
        """The text from which messages quote."""
        self.environment = environment
        self.problems: list[Problem] = []
        self.locals: dict[str, Type] = {}
        """The types of names that `set` and `for` have bound."""
        self.facts: Mapping[Path, Type] = {}
        self.held: tuple[Held, ...] = ()
        self.seen: dict[Path, Type] = {}
        """The type of each path that was read, without narrowing."""
        self.picked: set[int] = set()
        """The ids of nodes of which only some items are used."""
        self.place: tuple[int, int] = (0, 0)
        """The place of the filter that is being inferred."""
        if environment.given:
            self._take_for_granted()

    def _take_for_granted(self) -> None:
        """Narrow types by the conditions that hold at this point."""
        bare = self.environment.bare()
        for given in self.environment.given:
            self.held += (Held(given.node, given.outcome),)
            if given.narrows:
                # The condition belongs to another template, whose positions mean nothing in this one: problems found
                # there are dropped, since that template reports them itself.
                other = type(self)(given.template, bare)
                other.facts = self.facts
                test = other.test(given.node, asked=False)
                self.assume(test.true if given.outcome else test.false)

    def infer(self) -> Type:
        """The type of the template's value."""
        template = self.template
        if template.is_literal:
            return exact(template.text)
        if template.ast is None:
            return ANY
        expression = template.expression
        return self.type_of(expression) if expression else rendered(self, template.ast.body)

    def type_of(self, node: nodes.Node, guarded: bool = False) -> Type:
        """The type of an expression. `guarded` says that a missing value is handled."""
        infer = _TYPES.get(type(node))
        return infer(self, node, guarded) if infer else ANY

    def test(self, node: nodes.Node, asked: bool = True) -> Outcome:
        """The outcome of an expression whose truth is used: its type, and the facts for true and false."""
        return narrowing.outcome(self, node, asked)

    def asked(self, condition: nodes.Expr) -> Type:
        """The type of a template that is a condition as a whole."""
        return narrowing.asked_type(self, condition)

    def under(self, facts: Facts, node: nodes.Node, guarded: bool = False) -> Type:
        before = self.assume(facts)
        kind = self.type_of(node, guarded)
        self.facts, self.held = before
        return kind

    def assume(self, facts: Facts) -> tuple[Mapping[Path, Type], tuple[Held, ...]]:
        """Assume facts from here on. Returns the previous ones, which the caller restores."""
        before = self.facts, self.held
        if facts.paths:
            # A new mapping, so that the caller can restore the old one.
            self.facts = {**self.facts, **facts.paths}
        if facts.held:
            self.held += facts.held
        return before

    def holds(self, node: nodes.Node) -> bool:
        """Whether a surrounding test has shown that the same expression is true."""
        return any(held.outcome and held.node == node for held in self.held)

    def source(self, node: nodes.Node) -> str:
        """The source of an expression, as messages quote it."""
        if self.text is not None:
            return self.text.quote(node)
        start, end = self.template.span(node)
        return quoted(self.template.text[start:end])

    def as_operand(self, node: nodes.Node) -> str:
        """The source of an expression as an operand in advice, in parentheses if it needs them."""
        text = self.source(node)
        return text if isinstance(node, TIGHT) else f"({text})"

    def printed(self, kind: Type) -> set[str] | None:
        """The texts that a value is rendered as; None if they are not known."""
        if kind == BOOL:
            return set(self.words_for_bool)
        if isinstance(kind, Exact) and kind.kind == "bool":
            return {self.words_for_bool[bool(kind.value)]}
        values = values_of(kind)
        return set(values) if values else None

    def report(self, kind: Kind, place: nodes.Node | tuple[int, int], message: str, **more: Any) -> None:
        start, end = self.template.span(place) if isinstance(place, nodes.Node) else place
        self.problems.append(Problem(kind, start, end, message, held=self.held, **more))


def _const(walk: Inference, node: nodes.Const, guarded: bool) -> Type:
    return NULL if node.value is None else exact(node.value)


def _list(walk: Inference, node: nodes.List | nodes.Tuple, guarded: bool) -> Type:
    kinds = [walk.type_of(item) for item in node.items]
    return ListType(join(*kinds), len(kinds)) if kinds else EMPTY_LIST


def _dict(walk: Inference, node: nodes.Dict, guarded: bool) -> Type:
    found: dict[Any, Type] = {}
    for pair in node.items:
        walk.type_of(pair.key)
        key = pair.key.value if isinstance(pair.key, nodes.Const) else None
        found[key] = walk.type_of(pair.value)
    # With a computed key the set of properties is unknown.
    if not all(isinstance(key, str) for key in found):
        return OBJECT
    if not found:
        return EMPTY_OBJECT
    return Record("", tuple(Property(name, kind) for name, kind in found.items()), open=False)


def _condition(walk: Inference, node: nodes.CondExpr, guarded: bool) -> Type:
    test = walk.test(node.test)
    yes = walk.under(test.true, node.expr1, guarded)
    if node.expr2 is None:
        # Without an `else` the value is undefined, which is null when it is stored.
        return join(yes, UNDEFINED if guarded else NULL)
    return join(yes, walk.under(test.false, node.expr2, guarded))


def _concat(walk: Inference, node: nodes.Concat, guarded: bool) -> Type:
    texts: set[str] | None = {""}
    for part in node.nodes:
        texts = _joined(texts, walk.printed(walk.type_of(part)))
    return of_texts(walk, texts)


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
    nodes.Compare: operators.compared,
    nodes.Concat: _concat,
    nodes.CondExpr: _condition,
    nodes.Call: calls.called,
    nodes.Filter: calls.filtered,
    nodes.Neg: operators.signed,
    nodes.Pos: operators.signed,
    **dict.fromkeys(
        (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow),
        operators.computed,
    ),
}
