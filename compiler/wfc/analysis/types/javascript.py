"""Types through JavaScript: its methods and functions, `+`, callbacks, and what it takes for true.

The nodes are Jinja's (see `wfc.javascript.tree`), so paths, comparisons and narrowing are inferred as in templates.
Problems that JavaScript does not have, such as comparing null, are left out, and advice is given in its own terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from jinja2 import nodes

from wfc.analysis.types import access
from wfc.analysis.types.builtins import is_int, item_of
from wfc.analysis.types.calls import is_shown_nonempty
from wfc.analysis.types.constants import is_switch, report_stringified, values_of
from wfc.analysis.types.environment import Change, Kind, Problem
from wfc.analysis.types.expressions import Inference, of_texts
from wfc.analysis.types.lattice import (
    EMPTY_LIST,
    NOTHING,
    UNDEFINED,
    always_true,
    base_of,
    describe,
    is_known,
    join,
    kind_of,
    kinds_of,
    least_of,
    options,
    present,
    without,
)
from wfc.analysis.types.narrowing import Outcome
from wfc.javascript import ScriptTemplate
from wfc.javascript.tree import NEW, OTHER, REGEX, SPREAD, TYPEOF, names_of
from wfc.language.types import (
    ANY,
    BOOL,
    INT,
    LIST,
    NULL,
    NUMBER,
    OBJECT,
    TEXT,
    Exact,
    Fixed,
    ListType,
    MapType,
    Record,
    Type,
)
from wfc.struct import replace
from wfc.suggest import nearest

# A property or an item that is missing is undefined, no failure; `?.` and `??` are the language's own defaults.
_HARMLESS = frozenset({Kind.OPTIONAL, Kind.EMPTY, Kind.DEAD_DEFAULT})


class ScriptInference(Inference):
    words_for_bool = ("false", "true")
    _as_value = False
    """Whether `a || b` is inferred for its value, so that `a` is a value with a default and no condition."""

    def type_of(self, node: nodes.Node, guarded: bool = False) -> Type:
        infer = _TYPES.get(type(node))
        if infer is not None:
            return infer(self, node, guarded)
        # The operators of a condition and of a value with a default are the same nodes.
        before, self._as_value = self._as_value, isinstance(node, nodes.And | nodes.Or)
        kind = super().type_of(node, guarded)
        self._as_value = before
        return kind

    def test(self, node: nodes.Node, asked: bool = True) -> Outcome:
        if isinstance(node, nodes.Compare) and _report_loose(self, node):
            return Outcome(BOOL)
        found = super().test(node, asked)
        self._check_truth(node, found.type)
        return found

    def asked(self, condition: nodes.Expr) -> Type:
        if isinstance(condition, nodes.Compare) and _report_loose(self, condition):
            return BOOL
        kind = super().asked(condition)
        self._check_truth(condition, kind)
        return kind

    def _check_truth(self, node: nodes.Node, kind: Type) -> None:
        """Report a list or an object that is used as a condition: even an empty one is true. Likewise `'false'`."""
        is_path = isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem)
        words = values_of(kind)
        # Of a path this is reported already; a single text is a constant condition.
        if isinstance(node, _MADE) and words and len(words) > 1 and is_switch(words):
            report_stringified(self, node, words)
            return
        if self._as_value or not is_path or not is_known(kind) or not kinds_of(kind) <= {"list", "object"}:
            return
        # A record with required properties is reported as constant already.
        if any(always_true(one) and isinstance(one, Record) for one in options(kind)):
            return
        size = "length" if kinds_of(kind) == {"list"} else ""
        shown = self.source(node)
        end = self.template.span(node)[1]
        self.report(
            Kind.CONSTANT,
            node,
            f"`{shown}` is {describe(kind)}: as a condition it is always true, even if it is empty",
            help=f"test its length: `{shown}.length`"
            if size
            else f"test its keys: `Object.keys({shown}).length`",
            changes=(Change(end, end, f".{size}"),) if size else (),
            fix="test the length" if size else "",
        )

    def report(self, kind: Kind, place: nodes.Node | tuple[int, int], message: str, **more: Any) -> None:
        # Only a property or method of null fails: null itself can be compared, added and printed.
        if kind in _HARMLESS or (kind in (Kind.NULLABLE, Kind.UNSET) and isinstance(place, nodes.Node)):
            return
        if (
            kind is Kind.ZERO_DIVISION
            or "|" in more.get("help", "")
            or " is not none " in more.get("help", "")
        ):
            more["help"] = _HELP.get(kind, "")
        if "help" in more:
            more["help"] = more["help"].replace("`== ", "`=== ")
        # Fixes in the notation of Jinja can't be applied to JavaScript.
        if any("|" in change.text for change in more.get("changes", ())):
            more["changes"], more["fix"] = (), ""
        super().report(kind, place, message, **more)


_MADE = (nodes.CondExpr, nodes.Concat, nodes.Call)
"""Expressions that make a text."""
_HELP = {
    Kind.NULLABLE: "test it first, or read it with `?.`",
    Kind.UNSET: "test it first, or read it with `?.`",
    Kind.MISMATCH: "convert it first: `Number(...)`, `String(...)` or `JSON.parse(...)`",
    Kind.STRINGIFIED: "keep the boolean itself, as the value of one `{{ ... }}`, or compare the text",
    Kind.ZERO_DIVISION: "test the divisor first: `n ? x / n : 0`",
}


def _attribute(walk: ScriptInference, node: nodes.Getattr, guarded: bool) -> Type:
    count = len(walk.problems)
    kind = Inference.type_of(walk, node, guarded)
    # The general inference reports the property; this only adds the advice of the language.
    for index, problem in enumerate(walk.problems[count:], count):
        if (
            problem.kind is Kind.PROPERTY
            and not problem.help
            and problem.start == walk.template.token_span(node)[0]
        ):
            walk.problems[index] = _with_help(problem, node.attr)
    return kind


def _with_help(problem: Problem, name: str) -> Problem:
    """A property that texts and lists do not have: `length` or a method was probably meant."""
    near = nearest(name, ["length", *_METHODS["list"], *_METHODS["text"]])
    if near is None:
        return problem
    if near == "length":
        changes = (Change(problem.start, problem.end, near),)
        return replace(problem, help="did you mean `length`?", changes=changes, fix="use length")
    return replace(problem, help=f"`{near}` is a method: write `{near}(...)`")


# Operators.


def _sum(walk: ScriptInference, node: nodes.Add, guarded: bool) -> Type:
    """`a + b` joins text as soon as one operand is text, and adds otherwise."""
    left, right = walk.type_of(node.left), walk.type_of(node.right)
    for operand, kind in ((node.left, left), (node.right, right)):
        if is_known(kind) and kinds_of(kind) <= {"list", "object"}:
            shown = walk.source(operand)
            is_list = kinds_of(kind) == {"list"}
            walk.report(
                Kind.MISMATCH,
                operand,
                f"`{shown}` is {describe(kind)}: `+` makes text of it",
                help="join lists with `concat` or `[...a, ...b]`"
                if is_list
                else "read one of its properties",
            )
            return TEXT
    kinds = kinds_of(left), kinds_of(right)
    if kinds[0] == {"text"} or kinds[1] == {"text"}:
        return TEXT
    # The sum of text and anything is text, and that of unknown values may be.
    if not is_known(left) or not is_known(right) or "text" in kinds[0] | kinds[1]:
        return ANY
    return INT if is_int(left) and is_int(right) else NUMBER


def _compared(walk: ScriptInference, node: nodes.Compare, guarded: bool) -> Type:
    if not _report_loose(walk, node):
        return Inference.type_of(walk, node, guarded)
    return BOOL


def _report_loose(walk: ScriptInference, node: nodes.Compare) -> bool:
    """Report `==` between values of different types, which compares them after conversions."""
    template = walk.template
    if not isinstance(template, ScriptTemplate) or not template.is_loose(node):
        return False
    left, right = node.expr, node.ops[0].expr
    kinds = walk.type_of(left), walk.type_of(right)
    # Comparing with null by `==` is common and means null or undefined.
    if not all(map(is_known, kinds)) or any({NULL, UNDEFINED} & set(options(kind)) for kind in kinds):
        return False
    # Equal kinds compare alike with both operators.
    if kinds_of(kinds[0]) & kinds_of(kinds[1]):
        return False
    place = template.token_span(node)
    sign = template.text[slice(*place)]
    walk.report(
        Kind.LOOSE_EQUALITY,
        place,
        f"`{sign}` compares {describe(kinds[0])} with {describe(kinds[1])} after converting them",
        help=f"convert one of them and use `{sign}=`",
        changes=tuple(_strict(walk, place, sign, (left, kinds[1]), (right, kinds[0]))),
        fix=f"compare values of one type with {sign}=",
    )
    return True


def _strict(
    walk: ScriptInference, place: tuple[int, int], sign: str, *sides: tuple[nodes.Expr, Type]
) -> Iterator[Change]:
    """The changes that make a comparison strict: a constant gets the type of the other side, if it has such a form."""
    for node, wanted in sides:
        value = node.value if isinstance(node, nodes.Const) else None
        if isinstance(value, str) and kinds_of(wanted) == {"number"} and value.isdecimal():
            written = value
        elif type(value) is int and kinds_of(wanted) == {"text"}:
            written = f"'{value}'"
        else:
            continue
        yield Change(*walk.template.span(node), written)
        yield Change(*place, f"{sign}=")
        return


def _listed(walk: ScriptInference, node: nodes.List, guarded: bool) -> Type:
    kinds: list[Type] = []
    least = 0
    for item in node.items:
        if _called_name(item) == SPREAD:
            inner = walk.type_of(item)
            kinds.append(item_of(inner) if kinds_of(inner) == {"list"} else ANY)
            least += least_of(inner) if kinds_of(inner) == {"list"} else 0
        else:
            kinds.append(walk.type_of(item))
            least += 1
    return ListType(join(*kinds), least) if kinds else EMPTY_LIST


def _filtered(walk: ScriptInference, node: nodes.Filter, guarded: bool) -> Type:
    if node.name != "length" or node.node is None:
        if node.name == "shquote" and node.node is not None:
            walk.type_of(node.node)
            return TEXT
        return Inference.type_of(walk, node, guarded)
    # The length alone does not care about an empty item.
    walk.picked.add(id(node.node))
    kind = _present(walk, node, node.node, walk.type_of(node.node, guarded), guarded)
    if not is_known(kind) or kinds_of(kind) & {"text", "list"}:
        return INT
    # An object may have its own property with that name.
    found = [one.get("length") for one in options(kind) if isinstance(one, Record)]
    if any(found):
        return join(*(prop.type for prop in found if prop))
    if any(isinstance(one, MapType) or (isinstance(one, Record) and one.open) for one in options(kind)):
        return ANY
    shown = walk.source(node.node)
    is_object = kinds_of(kind) == {"object"}
    walk.report(
        Kind.PROPERTY,
        walk.template.token_span(node),
        f"`{shown}` is {describe(kind)}: it has no `length`",
        help=f"count its keys: `Object.keys({shown}).length`" if is_object else "",
    )
    return INT


def _present(walk: ScriptInference, node: nodes.Node, operand: nodes.Expr, kind: Type, guarded: bool) -> Type:
    """The type of a value whose property is read: null and undefined have none."""
    if NULL in options(kind) and not guarded:
        field = access.follow(walk, operand).path
        walk.report(
            Kind.NULLABLE,
            walk.template.token_span(node),
            f"`{walk.source(operand)}` {'is' if kind == NULL else 'may be'} null here",
            help=_HELP[Kind.NULLABLE],
            field=str(field[1]) if field and len(field) == 2 and field[0] == "state" else None,
            sure=kind == NULL,
        )
    rest = present(kind)
    return ANY if rest == NOTHING and kind != NOTHING else rest


# Calls.


def _called_name(node: nodes.Node) -> str | None:
    return node.node.name if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) else None


def _called(walk: ScriptInference, node: nodes.Call, guarded: bool) -> Type:
    target = node.node
    if isinstance(target, nodes.Getattr):
        return _method(walk, node, target, guarded)
    name = _called_name(node) or ""
    if name == "<run>":
        function, *args = node.args
        return returned(walk, function, *map(walk.type_of, args))
    kinds = [walk.type_of(arg) for arg in node.args]
    if name == SPREAD:
        return kinds[0] if kinds else ANY
    if name == "JSON.parse":
        return _parsed(walk, node)
    if name == "String" and kinds:
        return of_texts(walk, walk.printed(kinds[0]))
    if name in ("Object.values", "Object.entries") and kinds:
        value = _values_of(kinds[0])
        return ListType(value if name == "Object.values" else Fixed((TEXT, value)))
    if name in ("Math.max", "Math.min", "Math.abs"):
        return INT if kinds and all(map(is_int, kinds)) else NUMBER
    if name == "Array.from" and kinds:
        item = item_of(kinds[0]) if kinds_of(kinds[0]) == {"list"} else ANY
        return ListType(returned(walk, node.args[1], item, INT) if len(node.args) > 1 else item)
    return _FUNCTIONS.get(name, ANY)


def _values_of(kind: Type) -> Type:
    found: list[Type] = []
    for one in options(kind):
        if isinstance(one, Record) and not one.open:
            found += [prop.type for prop in one.properties]
        elif isinstance(one, MapType):
            found.append(one.item)
        else:
            found.append(ANY)
    return join(*found) if found else ANY


def _parsed(walk: ScriptInference, node: nodes.Call) -> Type:
    """`JSON.parse` fails for text that is not JSON, as that of a command or an agent may be, or an empty one."""
    if node.args and not isinstance(node.args[0], nodes.Const):
        walk.report(
            Kind.UNCHECKED_PARSE,
            walk.template.token_span(node),
            f"`{walk.source(node.args[0])}` may not be JSON: then this fails",
            sure=False,
        )
    return ANY


def returned(walk: ScriptInference, function: nodes.Node, *given: Type) -> Type:
    """The type of what a callback returns for arguments of these types."""
    if not isinstance(function, nodes.Macro):
        # `Boolean`, `Number` and the like as a callback, or a function that is not written here.
        return _FUNCTIONS.get(function.name, ANY) if isinstance(function, nodes.Name) else ANY
    before = dict(walk.locals)
    for place, parameter in enumerate(function.args):
        whole = isinstance(parameter, nodes.Name) and place < len(given)
        walk.locals.update(dict.fromkeys(names_of(parameter), given[place] if whole else ANY))
    # Facts about a name of the outer scope say nothing about the parameter of that name.
    facts = walk.facts
    names = {name for parameter in function.args for name in names_of(parameter)}
    walk.facts = {path: kind for path, kind in facts.items() if path[0] not in names}
    kind = walk.type_of(function.body[0]) if function.body else ANY
    walk.locals, walk.facts = before, facts
    return kind


_PICKING = frozenset(
    {"filter", "find", "findLast", "includes", "some", "at", "pop", "shift", "slice", "indexOf"}
)


_INDEXED = frozenset(
    {"every", "filter", "find", "findIndex", "findLast", "findLastIndex", "flatMap", "forEach", "map", "some"}
)
"""Methods that pass the index of the item as the second argument of their callback."""


def _method(walk: ScriptInference, node: nodes.Call, target: nodes.Getattr, guarded: bool) -> Type:
    if target.attr in _PICKING:
        # An empty item elsewhere in the list does no harm.
        walk.picked.add(id(target.node))
    base = _present(walk, target, target.node, walk.type_of(target.node, guarded), guarded)
    known = [one for one in options(base) if kind_of(one) not in ("any", "nothing")]
    if not known or len(known) < len(options(base)):
        _infer_arguments(walk, node, ANY)
        return _ANYWHERE.get(target.attr, ANY)
    having = [one for one in known if target.attr in _METHODS.get(kind_of(one), {})]
    if not having:
        _report_method(walk, target, base)
        _infer_arguments(walk, node, ANY)
        return ANY
    return join(*(_METHODS[kind_of(one)][target.attr](walk, node, one) for one in having))


def _infer_arguments(walk: ScriptInference, node: nodes.Call, item: Type) -> list[Type]:
    """The types of the arguments. The second argument of a callback is an index for `map`, but an item for `reduce`."""
    method = node.node.attr if isinstance(node.node, nodes.Getattr) else ""
    second = INT if method in _INDEXED else ANY
    return [
        returned(walk, arg, item, second) if isinstance(arg, nodes.Macro) else walk.type_of(arg)
        for arg in node.args
    ]


_MEANT = {
    "strip": "trim", "lower": "toLowerCase", "upper": "toUpperCase", "startswith": "startsWith",
    "endswith": "endsWith", "append": "push", "contains": "includes", "splitlines": "split",
    "title": "toUpperCase", "index": "indexOf", "extend": "concat", "items": "entries", "length": "length",
}  # fmt: skip


def _report_method(walk: ScriptInference, target: nodes.Getattr, base: Type) -> None:
    names = sorted({name for one in options(base) for name in _METHODS.get(kind_of(one), {})})
    meant = _MEANT.get(target.attr)
    near = meant if meant in names else nearest(target.attr, names)
    static = (
        f"Object.{target.attr}" if f"Object.{target.attr}" in _FUNCTIONS or target.attr == "entries" else ""
    )
    place = walk.template.token_span(target)
    is_static = bool(static) and kinds_of(base) == {"object"}
    help_ = f"did you mean `{near}`?" if near else ""
    walk.report(
        Kind.PROPERTY,
        place,
        f"`{walk.source(target.node)}` is {describe(base)}: it has no method `{target.attr[:60]}`",
        help=f"write `{static}({walk.source(target.node)})`" if is_static else help_,
        changes=(Change(*place, near),) if near and not is_static else (),
        fix=f"call {near}" if near and not is_static else "",
    )


# Methods: each gives the type of its result.

Method = Callable[[ScriptInference, nodes.Call, Type], Type]


def _gives(kind: Type) -> Method:
    def method(walk: ScriptInference, node: nodes.Call, base: Type) -> Type:
        _infer_arguments(walk, node, item_of(base) if kind_of(base) == "list" else ANY)
        return kind

    return method


def _same(walk: ScriptInference, node: nodes.Call, base: Type) -> Type:
    """A list with some of the items, in some order. A callback of `sort` gets two items."""
    item = item_of(base)
    for arg in node.args:
        if isinstance(arg, nodes.Macro):
            is_sort = isinstance(node.node, nodes.Getattr) and "ort" in node.node.attr
            returned(walk, arg, item, item if is_sort else INT)
        else:
            walk.type_of(arg)
    return ListType(item)


def _mapped(walk: ScriptInference, node: nodes.Call, base: Type) -> Type:
    results = _infer_callbacks(walk, node, item_of(base))
    return ListType(results[0] if results else ANY, least_of(base))


def _flat_mapped(walk: ScriptInference, node: nodes.Call, base: Type) -> Type:
    results = _infer_callbacks(walk, node, item_of(base))
    return ListType(item_of(results[0]) if results and kinds_of(results[0]) == {"list"} else ANY)


def _infer_callbacks(walk: ScriptInference, node: nodes.Call, item: Type) -> list[Type]:
    return [returned(walk, arg, item, INT) for arg in node.args]


def _item(walk: ScriptInference, node: nodes.Call, base: Type) -> Type:
    _infer_arguments(walk, node, item_of(base))
    return join(item_of(base), NULL)


def _concat(walk: ScriptInference, node: nodes.Call, base: Type) -> Type:
    kinds = [walk.type_of(arg) for arg in node.args]
    items = [item_of(kind) if kinds_of(kind) == {"list"} else kind for kind in kinds]
    return ListType(join(item_of(base), *items), least_of(base))


def _reduced(walk: ScriptInference, node: nodes.Call, base: Type) -> Type:
    start = walk.type_of(node.args[1]) if len(node.args) > 1 else item_of(base)
    kind = join(*map(base_of, options(start)))
    # The result of the first turn is the input of the next: only a number or a text stays what it was.
    kept = kind if kinds_of(kind) <= {"number", "text", "bool"} else ANY
    if node.args:
        result = returned(walk, node.args[0], kept, item_of(base), INT)
        kept = join(kept, *map(base_of, options(result))) if kept is not ANY else ANY
    return kept


def _split(walk: ScriptInference, node: nodes.Call, base: Type) -> Type:
    for arg in node.args:
        walk.type_of(arg)
    target = node.node
    assert isinstance(target, nodes.Getattr)
    separator = node.args[0].value if node.args and isinstance(node.args[0], nodes.Const) else None
    is_harmless = always_true(base) or is_shown_nonempty(walk, target.node) or id(node) in walk.picked
    if isinstance(separator, str) and separator and not is_harmless:
        end = walk.template.span(node)[1]
        walk.report(
            Kind.EMPTY_SPLIT,
            (walk.template.token_span(target)[0], end),
            "`split` of an empty text gives `['']`, a list with one empty item",
            help="leave empty items out: `.filter(Boolean)`",
            changes=(Change(end, end, ".filter(Boolean)"),),
            fix="leave empty items out",
        )
    return ListType(TEXT, 1)


def _table(names: str, method: Method) -> dict[str, Method]:
    return dict.fromkeys(names.split(), method)


_METHODS: dict[str, dict[str, Method]] = {
    "list": {
        **_table("filter slice sort toSorted reverse toReversed splice toSpliced fill copyWithin with", _same),
        **_table("find findLast at pop shift", _item),
        **_table("some every includes", _gives(BOOL)),
        **_table("indexOf lastIndexOf findIndex findLastIndex push unshift", _gives(INT)),
        **_table("join toString", _gives(TEXT)),
        **_table("flat entries keys values", _gives(LIST)),
        "map": _mapped, "flatMap": _flat_mapped, "concat": _concat, "forEach": _gives(NULL),
        "reduce": _reduced, "reduceRight": _reduced,
    },
    "text": {
        **_table(
            "trim trimStart trimEnd toLowerCase toUpperCase replace replaceAll slice substring substr padStart padEnd "
            "repeat concat normalize charAt toString",
            _gives(TEXT),
        ),
        **_table("includes startsWith endsWith", _gives(BOOL)),
        **_table("indexOf lastIndexOf search charCodeAt codePointAt localeCompare", _gives(INT)),
        "at": _gives(join(TEXT, NULL)), "match": _gives(join(ListType(join(TEXT, NULL)), NULL)),
        "matchAll": _gives(ANY), "split": _split,
    },
    "number": _table("toFixed toString toPrecision toExponential", _gives(TEXT)),
    "bool": {"toString": lambda walk, node, base: of_texts(walk, walk.printed(base))},
    "object": {"hasOwnProperty": _gives(BOOL), "toString": _gives(TEXT)},
}  # fmt: skip
_ANYWHERE: dict[str, Type] = {
    **dict.fromkeys(("filter", "sort", "toSorted", "map", "flatMap", "split", "reverse"), LIST),
    **dict.fromkeys(("some", "every", "includes", "startsWith", "endsWith", "test"), BOOL),
    **dict.fromkeys(("trim", "toLowerCase", "toUpperCase", "toFixed", "join", "toISOString"), TEXT),
}
"""Methods that return the same kind of value for any receiver."""
_FUNCTIONS: dict[str, Type] = {
    **dict.fromkeys(("now", "uuid", "path_to_key", "String", "JSON.stringify", TYPEOF), TEXT),
    **dict.fromkeys(("encodeURIComponent", "decodeURIComponent", "encodeURI", "decodeURI"), TEXT),
    **dict.fromkeys(
        ("Boolean", "Array.isArray", "Number.isInteger", "Number.isFinite", "isNaN", "isFinite"), BOOL
    ),
    **dict.fromkeys(("Number.isNaN", "Object.hasOwn", "Object.is"), BOOL),
    **dict.fromkeys(("parseInt", "Math.floor", "Math.ceil", "Math.round", "Math.trunc", "Date.now"), INT),
    **dict.fromkeys(("Number", "parseFloat", "Math.sqrt", "Math.pow", "Math.log", "Math.hypot"), NUMBER),
    **dict.fromkeys(("Object.fromEntries", "Object.assign", "Object.groupBy"), OBJECT),
    "Object.keys": ListType(TEXT),
    "Array.of": LIST,
    OTHER: ANY,
    NEW: ANY,
    REGEX: ANY,
}


def _arithmetic(walk: ScriptInference, node: nodes.BinExpr, guarded: bool) -> Type:
    for operand in (node.left, node.right):
        count = len(walk.problems)
        kind = walk.type_of(operand)
        # Inferred again below with the operator around it.
        del walk.problems[count:]
        if is_known(kind) and not kinds_of(kind) & {"number", "bool", "null", "date"}:
            shown = walk.source(operand)
            walk.report(
                Kind.MISMATCH,
                operand,
                f"`{shown}` is {describe(kind)}: `{node.operator}` is for numbers",
                help=f"convert it first: `Number({shown})`" if kinds_of(kind) == {"text"} else "",
            )
            return NUMBER
    kind = Inference.type_of(walk, node, guarded)
    # Division and powers of exact numbers are not worked out, so that no condition counts as constant for them.
    return NUMBER if isinstance(kind, Exact) else without(kind, NULL)


_TYPES: dict[type[nodes.Node], Callable[[ScriptInference, Any, bool], Type]] = {
    nodes.Add: _sum,
    nodes.Getattr: _attribute,
    nodes.Compare: _compared,
    nodes.List: _listed,
    nodes.Filter: _filtered,
    nodes.Call: _called,
    **dict.fromkeys((nodes.Sub, nodes.Mul, nodes.Div, nodes.Mod, nodes.Pow), _arithmetic),
}
