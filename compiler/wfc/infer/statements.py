"""Text with holes: loops, branches and `set` followed from top to bottom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from wfc.core.types import ANY, BOOL, NULL, TEXT, Exact, Fixed, Type
from wfc.infer.comparison import report_null
from wfc.infer.constant import values_of
from wfc.infer.lookup import LOOP
from wfc.infer.problems import Kind
from wfc.infer.results import item_of
from wfc.infer.terms import exact, is_known, join, kinds_of, options
from wfc.infer.views import describe
from wfc_runtime.expr import nodes

if TYPE_CHECKING:
    from wfc.infer.expressions import Inference

_SHORT = 120
_MOST_TEXTS = 4


def rendered(walk: Inference, body: Sequence[nodes.Node]) -> Type:
    """The type of rendered text: the few texts that it can be, or just text."""
    texts = _statements(walk, body)
    if texts is None or len(walk.template.text) > _SHORT:
        return TEXT
    return join(*map(exact, sorted(texts)))


def _statements(walk: Inference, body: Iterable[nodes.Node]) -> set[str] | None:
    """Goes through statements; gives the texts that they can make, where these are few and known."""
    texts: set[str] | None = {""}
    for node in body:
        texts = _joined(texts, _statement(walk, node))
    return texts


def _joined(before: set[str] | None, after: set[str] | None) -> set[str] | None:
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
            _for(walk, node)
            return None
        case nodes.Assign():
            _bind(walk, node.target, walk.type_of(node.node))
        case nodes.AssignBlock():
            before = dict(walk.locals)
            _statements(walk, node.body)
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
            texts = _joined(texts, _printed(kind)) if texts is not None else None
    return texts


def _printed(kind: Type) -> set[str] | None:
    """What a value looks like in text."""
    if kind == BOOL:
        return {"True", "False"}
    if isinstance(kind, Exact) and kind.kind == "bool":
        return {str(kind.value)}
    values = values_of(kind)
    return set(values) if values else None


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
        walk.assume(test.false)
    walk.locals = dict(start)
    texts = _either(texts, _statements(walk, node.else_))
    ends.append(walk.locals)
    walk.facts, walk.held = outer
    names = dict.fromkeys(name for end in ends for name in end)
    walk.locals = {name: join(*(end[name] for end in ends if name in end)) for name in names}
    return texts


def _either(before: set[str] | None, after: set[str] | None) -> set[str] | None:
    both = None if before is None or after is None else before | after
    return None if both is None or len(both) > _MOST_TEXTS else both


def _for(walk: Inference, node: nodes.For) -> None:
    if node.test is not None:
        walk.picked.add(id(node.iter))
    kind = walk.type_of(node.iter)
    check_walkable(walk, node.iter, kind)
    outer, facts = dict(walk.locals), (walk.facts, walk.held)
    _bind(walk, node.target, item_of(kind))
    if node.test is not None:
        walk.assume(walk.test(node.test).true)
    walk.locals["loop"] = LOOP
    _statements(walk, node.body)
    walk.facts, walk.held = facts
    walk.locals = dict(outer)
    _statements(walk, node.else_)
    walk.locals = outer


def check_walkable(walk: Inference, node: nodes.Node, kind: Type) -> None:
    """Text has characters to go through, but nobody means those; numbers have nothing."""
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
        walk.report(Kind.NOT_A_LIST, node, f"{words}: the loop would go through its characters", help=hint)
    else:
        walk.report(Kind.NOT_A_LIST, node, f"{words}: there is nothing in it to go through")


def _bind(walk: Inference, target: nodes.Node, kind: Type) -> None:
    if isinstance(target, nodes.Name):
        walk.locals[target.name] = kind
        walk.facts = {path: fact for path, fact in walk.facts.items() if path[0] != target.name}
    elif isinstance(target, nodes.Tuple):
        for place, item in enumerate(target.items):
            _bind(walk, item, join(*(_place_of(option, place) for option in options(kind))))


def _place_of(option: Type, place: int) -> Type:
    if isinstance(option, Fixed):
        return option.items[place] if place < len(option.items) else ANY
    return item_of(option) if kinds_of(option) == {"list"} else ANY
