"""Filters, tests, functions and methods where they are used: what they are used on, and what comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wfc.core.types import ANY, NULL, Record, Type
from wfc.infer import checks
from wfc.infer.access import follow
from wfc.infer.comparison import EQUALITY_TESTS, check_equality, check_membership, check_order, report_null
from wfc.infer.lookup import LOOP
from wfc.infer.missing import place_of, subject
from wfc.infer.problems import Change, Kind
from wfc.infer.signatures import FILTERS, FUNCTIONS, METHODS, TESTS, Signature
from wfc.infer.splits import note_consumer
from wfc.infer.terms import NOTHING, UNDEFINED, is_known, join, kind_of, kinds_of, options, without
from wfc.infer.use import Use, result_of, works_on
from wfc.infer.views import describe
from wfc.suggest import did_you_mean, nearest
from wfc.template.facts import DEFAULTS
from wfc_runtime.expr import nodes

if TYPE_CHECKING:
    from wfc.infer.expressions import Inference

_ORDER = {"gt": ">", "greaterthan": ">", ">": ">", "ge": ">=", ">=": ">=", "lt": "<", "lessthan": "<",
          "<": "<", "le": "<=", "<=": "<="}  # fmt: skip


def filtered(walk: Inference, node: nodes.Filter, guarded: bool) -> Type:
    if node.node is None:
        return ANY
    note_consumer(walk, node)
    operand = walk.type_of(node.node, guarded=node.name in DEFAULTS)
    kind = applied(walk, node, operand)
    if UNDEFINED not in options(kind) or guarded:
        return kind
    checks.check_item(walk, node)
    return without(kind, UNDEFINED)


def applied(walk: Inference, node: nodes.Filter, operand: Type) -> Type:
    """What a filter makes of a value of that type."""
    signature = FILTERS.get(node.name)
    if signature is None:
        for arg in node.args:
            walk.type_of(arg)
        return ANY
    use = Use(walk, node.name, signature, operand)
    use.read_arguments(node)
    use.check_arguments()
    if node.name in DEFAULTS:
        checks.check_default(walk, node, use)
        return result_of(use)
    if operand == NOTHING:
        return result_of(use)
    if node.node is not None and not _check_operand(walk, node, node.node, operand, signature):
        return signature.gives if not callable(signature.gives) else ANY
    walk.place = walk.template.token_span(node)
    checks.check_filter(walk, node, use)
    use.operand = without(operand, NULL)
    return result_of(use)


def _check_operand(
    walk: Inference, node: nodes.Filter | nodes.Test, operand: nodes.Expr, kind: Type, signature: Signature
) -> bool:
    """Whether the value is one that this can work on, as far as is known."""
    takes = signature.takes
    if not takes or not is_known(kind):
        return True
    kinds = kinds_of(kind)
    if signature.walks and kinds == {"text"}:
        words = f"`{walk.source(operand)}` is text: `{node.name}` would go through its characters"
        walk.report(Kind.NOT_A_LIST, operand, words, help="split it first, as `.splitlines()` does")
        return False
    if kinds & takes:
        if NULL in options(kind) and "null" not in takes:
            report_null(walk, operand, kind)
        return True
    if kind == NULL:
        report_null(walk, operand, kind)
        return False
    walk.report(
        Kind.MISMATCH,
        operand,
        f"`{walk.source(operand)}` is {describe(kind)}: `{node.name}` {works_on(signature)}",
        help=_property_meant(walk, operand, kind, takes),
    )
    return False


def _property_meant(walk: Inference, node: nodes.Expr, kind: Type, takes: frozenset[str]) -> str:
    """Of a result, the property that would do."""
    if not isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem):
        return ""
    for option in options(kind):
        if isinstance(option, Record):
            fitting = [
                prop.name for prop in option.properties if kinds_of(prop.type) & takes and prop.required
            ]
            if fitting:
                return f"did you mean `{walk.source(node)}.{fitting[0]}`?"
    return ""


def tested(walk: Inference, node: nodes.Test, operand: Type) -> None:
    signature = TESTS.get(node.name)
    if signature is None:
        for arg in node.args:
            walk.type_of(arg)
        return
    use = Use(walk, node.name, signature, operand)
    use.read_arguments(node)
    left = (node.node, operand)
    if node.name in _ORDER and use.positional:
        check_order(walk, left, use.positional[0], _ORDER[node.name], node)
    elif node.name in EQUALITY_TESTS and use.positional:
        check_equality(walk, left, use.positional[0], EQUALITY_TESTS[node.name], node)
    elif node.name == "in" and use.positional:
        check_membership(walk, left, use.positional[0])
    else:
        use.check_arguments()
        _check_operand(walk, node, node.node, operand, signature)


def called(walk: Inference, node: nodes.Call, guarded: bool) -> Type:
    target = node.node
    if isinstance(target, nodes.Getattr):
        return _method(walk, node, target)
    signature = FUNCTIONS.get(target.name) if isinstance(target, nodes.Name) else None
    if signature is None or not isinstance(target, nodes.Name):
        for arg in node.args:
            walk.type_of(arg)
        return ANY
    use = Use(walk, target.name, signature, NOTHING)
    use.read_arguments(node)
    use.check_arguments()
    return result_of(use)


def _method(walk: Inference, node: nodes.Call, target: nodes.Getattr) -> Type:
    note_consumer(walk, node)
    base = follow(walk, target.node)
    name = target.attr
    if NULL in options(base.type):
        report_null(walk, target.node, base.type)
    present = [one for one in options(base.type) if one not in (NULL, UNDEFINED)]
    having = [(one, signature) for one in present for signature in _signatures(one, name)]
    if not having:
        for arg in node.args:
            walk.type_of(arg)
        if present:
            _no_such_method(walk, target, present)
        return ANY
    use = Use(walk, name, having[0][1], ANY)
    use.read_arguments(node)
    use.check_arguments()
    checks.check_method(walk, node, target, base.type, use)
    found: list[Type] = []
    for one, signature in having:
        use.operand, use.signature = one, signature
        found.append(result_of(use))
    return join(*found)


def _signatures(option: Type, name: str) -> list[Signature]:
    """The methods of that name that a value has; of one that is not known, all there are."""
    kind = "loop" if option == LOOP else kind_of(option)
    tables = METHODS.values() if kind in ("any", "nothing") else [METHODS.get(kind, {})]
    return [table[name] for table in tables if name in table]


def _no_such_method(walk: Inference, target: nodes.Getattr, present: list[Type]) -> None:
    place = place_of(walk, target)
    kinds = {"loop" if one == LOOP else kind_of(one) for one in present}
    known = [name for kind in sorted(kinds) for name in METHODS.get(kind, {})]
    near = nearest(target.attr, known)
    words = subject(walk, target.node, present)
    if kinds & {"any", "nothing"}:
        words, hint = f"`{walk.source(target.node)}` can have", "no value has a method of that name"
    else:
        hint = did_you_mean(target.attr, known) if near else _instead(target.attr)
    walk.report(
        Kind.PROPERTY,
        place,
        f"{words} no method `{target.attr[:60]}`",
        help=hint,
        changes=(Change(*place, near),) if near else (),
        fix=f"call {near}" if near else "",
    )


_INSTEAD = {
    "append": "values never change; a longer list is `list + [item]`",
    "extend": "values never change; a longer list is `list + other`",
    "update": "values never change; `dict(object, name=value)` is a copy with changes",
    "format": "write `'%s' | format(value)`, or join texts with `~`",
    "trim": "write `.strip()` or `| trim`",
    "length": "write `| length`",
    "encode": "text stays text; `| urlencode`, `| hash` and `| shquote` give other forms of it",
}


def _instead(name: str) -> str:
    return _INSTEAD.get(name, "")
