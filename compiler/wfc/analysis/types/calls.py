"""Calls of filters, tests, functions and methods: arguments checked against signatures, and the type of the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import nodes

from wfc.analysis.types import operators
from wfc.analysis.types.access import (
    FAILED_CHILD,
    LOOP,
    Found,
    find_item,
    find_property,
    follow,
    inside_quotes,
    may_have,
    no_such_part,
    place_of,
    report_fraction,
    subject,
    with_part,
)
from wfc.analysis.types.builtins import FILTERS, FUNCTIONS, METHODS, TESTS, Signature, is_fraction
from wfc.analysis.types.emptiness import THROUGH, check_item
from wfc.analysis.types.environment import TIGHT, Change, Kind, mentions, path_of, stripped
from wfc.analysis.types.lattice import (
    NOTHING,
    UNDEFINED,
    WORDS,
    always_true,
    describe,
    is_known,
    join,
    kind_of,
    kinds_of,
    options,
    truthy,
    without,
)
from wfc.analysis.types.operators import (
    EQUALITY_TESTS,
    check_equality,
    check_membership,
    check_order,
    report_null,
)
from wfc.caching import cached_property
from wfc.language.types import ANY, INT, NULL, NUMBER, Record, Type
from wfc.suggest import did_you_mean, nearest
from wfc.template.reads import DEFAULTS, TOLERANT_FILTERS

if TYPE_CHECKING:
    from wfc.analysis.types.expressions import Inference


# One call, its arguments matched to the signature.

_TRUTH = frozenset({"text", "bool", "null"})
_ORDER = ("text", "number", "bool", "list", "object", "date")
_KINDS = {"string": {"text"}, "mapping": {"object"}, "number": {"number", "bool"}, "none": {"null"}}


class Use:
    """One use of a builtin: its arguments by parameter, whether they were given by position or by name."""

    def __init__(self, walk: Inference, name: str, signature: Signature, operand: Type) -> None:
        self.walk = walk
        self.name = name
        self.signature = signature
        self.operand = operand
        self.positional: list[tuple[nodes.Expr, Type]] = []
        self.keywords: list[tuple[nodes.Keyword, Type]] = []

    def read_arguments(self, node: nodes.Call | nodes.Filter | nodes.Test) -> None:
        self.positional = [(arg, self.walk.type_of(arg)) for arg in node.args]
        # Jinja's annotations say Pair for some of them, but its parser only ever makes Keyword.
        pairs: Any = node.kwargs
        self.keywords = [(pair, self.walk.type_of(pair.value)) for pair in pairs]

    @property
    def named(self) -> dict[str, Type]:
        return {keyword.key: kind for keyword, kind in self.keywords}

    @cached_property
    def _by_name(self) -> dict[str, tuple[nodes.Expr, Type]]:
        parameters = self.signature.parameters
        found = {parameter.name: given for parameter, given in zip(parameters, self.positional, strict=False)}
        return found | {keyword.key: (keyword.value, kind) for keyword, kind in self.keywords}

    def given(self, name: str) -> Type | None:
        return self._by_name[name][1] if name in self._by_name else None

    def constant(self, name: str) -> object:
        node = self._by_name[name][0] if name in self._by_name else None
        return node.value if isinstance(node, nodes.Const) else None

    # -- arguments -------------------------------------------------------------

    def check_arguments(self) -> None:
        signature, walk = self.signature, self.walk
        form = f"{self.name}({', '.join(parameter.name for parameter in signature.parameters)})"
        if not signature.rest:
            for node, _ in self.positional[len(signature.parameters) :]:
                walk.report(Kind.MISMATCH, node, f"too many arguments: the signature is `{form}`")
                # The first surplus argument is enough.
                return
            known = [parameter.name for parameter in signature.parameters]
            for keyword, _ in self.keywords:
                if keyword.key not in known:
                    place = self._key_place(keyword)
                    hint = did_you_mean(keyword.key, known)
                    message = f"`{self.name}` has no argument `{keyword.key}`: the signature is `{form}`"
                    walk.report(Kind.MISMATCH, place, message, help=hint)
                    return
        for parameter in signature.parameters:
            given = self._by_name.get(parameter.name)
            if given is not None:
                self._check_argument(parameter.name, parameter.takes, *given)

    def _key_place(self, keyword: nodes.Keyword) -> tuple[int, int]:
        """The place of an argument's name. The tree of Jinja has only the place of its value."""
        start = self.walk.template.span(keyword.value)[0]
        end = len(self.walk.template.text[:start].rstrip().removesuffix("=").rstrip())
        return end - len(keyword.key), end

    def _check_argument(self, name: str, takes: frozenset[str], node: nodes.Expr, kind: Type) -> None:
        if takes and is_known(kind) and not kinds_of(kind) & takes:
            words = f"`{self.walk.source(node)}` is {describe(kind)}"
            wanted = " or ".join(WORDS[kind] for kind in _ORDER if kind in takes)
            self.walk.report(Kind.MISMATCH, node, f"{words}: `{name}` of `{self.name}` takes {wanted}")

    # -- items -----------------------------------------------------------------

    def part(self, item: Type, argument: str, default: Type | None = None) -> Type:
        """The type of the part of each item that `attribute='a.b'` selects; without it, that of the item."""
        if argument not in self._by_name:
            return item
        path = self.constant(argument)
        # Only constant paths are followed; a comma separates several attributes.
        if not isinstance(path, str | int) or isinstance(path, bool) or "," in str(path):
            return ANY
        node = self._by_name[argument][0]
        return self._along(item, str(path), node, default)

    def _along(self, item: Type, path: str, node: nodes.Expr, default: Type | None) -> Type:
        start, end = inside_quotes(self.walk, node)
        for name in path.split("."):
            found = find_item(item, int(name)) if name.isdecimal() else find_property(item, name)
            place = (start, min(start + len(name), end))
            # With a default, a missing part is not a problem.
            if default is None:
                self._check_part(name, place, found)
            kinds = [found.type] if found.types else []
            gone = found.lacking or found.optional or found.null
            item = join(*kinds, *([default] if default is not None and gone else [])) if kinds else ANY
            start += len(name) + 1
        return item

    def _check_part(self, name: str, place: tuple[int, int], found: Found) -> None:
        if not found.types and found.lacking:
            no_such_part(self.walk, place, name, found.lacking)
        elif FAILED_CHILD in found.lacking:
            self.walk.report(
                Kind.PROPERTY,
                place,
                f"an item has no `{name}` if the child failed: then it is `{{error}}`",
                help=f"leave those out first: `| selectattr('{name}', 'defined')`",
                sure=False,
            )
        elif found.optional is not None:
            self.walk.report(
                Kind.OPTIONAL,
                place,
                f"`{name}` may be missing: not every item has it",
                help=f"leave those out first: `| selectattr('{name}', 'defined')`",
                sure=False,
                only_possible=not found.says_required,
            )

    def applied_to_each(self, item: Type) -> Type:
        """The type of an item after a filter was applied to it, as in `map('upper')`."""
        first = self.positional[0][0]
        name = first.value if isinstance(first, nodes.Const) else None
        signature = FILTERS.get(name) if isinstance(name, str) else None
        if signature is None:
            return ANY
        inner = Use(self.walk, str(name), signature, item)
        inner.positional, inner.keywords = self.positional[1:], self.keywords
        inner.check_arguments()
        # Checked here, since the items and not the list are the operand.
        if signature.takes and is_known(item) and not kinds_of(item) & signature.takes:
            self.walk.report(
                Kind.MISMATCH,
                inside_quotes(self.walk, first),
                f"each item is {describe(item)}: `{name}` {works_on(signature)}",
            )
        # Items that the filter would leave undefined do not occur in the list.
        return without(result_of(inner), UNDEFINED)

    def passing(self, item: Type) -> Type:
        """The type of the items that `select`, `reject`, `selectattr` or `rejectattr` keeps."""
        wanted = self.name.startswith("select")
        by_part = self.name.endswith("attr")
        name = self.constant("test")
        if self.given("test") is not None and not isinstance(name, str):
            # A computed test keeps unknown items.
            return item
        if not by_part:
            return self._of_kind(item, name, wanted)
        path = self.constant("attribute")
        if name in ("defined", "undefined") and isinstance(path, str):
            there = wanted == (name == "defined")
            first = path.split(".")[0]
            self._check_presence(item, first)
            left = [
                with_part(one, first) if there else one
                for one in options(item)
                if may_have(one, first, there)
            ]
            return join(*left)
        part = self.part(item, "attribute")
        rest = self.positional[2:]
        if name in EQUALITY_TESTS and rest and "attribute" in self._by_name:
            check_equality(
                self.walk, (self._by_name["attribute"][0], part), rest[0], EQUALITY_TESTS[str(name)]
            )
        return item

    def _check_presence(self, item: Type, name: str) -> None:
        """Report `selectattr('sumary', 'defined')` if the items have a `summary`: it keeps nothing."""
        found = find_property(item, name)
        if found.lacking and not found.types and not found.null and not found.loose:
            start, _ = inside_quotes(self.walk, self._by_name["attribute"][0])
            no_such_part(self.walk, (start, start + len(name)), name, found.lacking, guarded=True)

    def _of_kind(self, item: Type, name: object, wanted: bool) -> Type:
        if name is None:
            return truthy(item) if wanted else item
        if name not in _KINDS:
            return item
        kinds = _KINDS[str(name)] | {"any", "nothing"}
        fits = [one for one in options(item) if (kind_of(one) in kinds) == wanted or kind_of(one) == "any"]
        return join(*fits)

    def added(self, start: Type | None, item: Type) -> Type:
        """The type of the sum of the items."""
        if item == NOTHING:
            return start or INT
        # Null items are reported elsewhere.
        total = operators.combined("+", start or INT, without(item, NULL))
        if total is None and kinds_of(item) <= {"bool"}:
            return INT
        if total is None:
            self.walk.report(
                Kind.MISMATCH,
                self.walk.place,
                f"each item is {describe(item)}: they can't be added up",
                help="`join` puts texts together" if kinds_of(item) == {"text"} else "",
            )
            return ANY
        return join(start or INT, total) if start is not None else total


def result_of(use: Use) -> Type:
    gives = use.signature.gives
    return gives(use) if callable(gives) else gives


def works_on(signature: Signature) -> str:
    if signature.takes == _TRUTH:
        return "takes booleans, or texts such as `true`"
    words = {"number": "numbers", "list": "lists", "object": "objects", "date": "dates"}
    *most, last = [words.get(one, one) for one in _ORDER if one in signature.takes and one != "bool"]
    return f"works on {', '.join(most)} and {last}" if most else f"works on {last}"


# Splitting a text that may be empty gives one empty part, not an empty list.

_PICKERS = frozenset({"first", "last", "select", "reject"})


def note_consumer(walk: Inference, node: nodes.Filter | nodes.Call) -> None:
    """Remember lists of which only some items are used: there an empty text among the parts does no harm."""
    # Other filters use every item, and so also the empty one.
    if not isinstance(node, nodes.Filter) or node.name not in _PICKERS:
        return
    inner = node.node
    while inner is not None:
        walk.picked.add(id(inner))
        inner = inner.node if isinstance(inner, nodes.Filter) and inner.name in THROUGH else None


def check_split(walk: Inference, node: nodes.Filter | nodes.Call, operand: nodes.Expr, use: Use) -> None:
    """Report the splitting of a text that may be empty: the result is one empty text, not an empty list."""
    separator = use.constant("sep")
    if not isinstance(separator, str) or id(node) in walk.picked or kinds_of(use.operand) != {"text"}:
        return
    # A literal text, or one that a condition has shown not to be empty.
    if all(always_true(option) for option in options(use.operand)) or is_shown_nonempty(walk, operand):
        return
    walk.report(
        Kind.EMPTY_SPLIT,
        _split_place(walk, node),
        "`split` of an empty text gives `['']`, a list with one empty item",
        **_split_fix(walk, node, operand, separator),
    )


def _split_place(walk: Inference, node: nodes.Filter | nodes.Call) -> tuple[int, int]:
    end = walk.template.span(node)[1]
    named = node.node if isinstance(node, nodes.Call) else node
    return walk.template.token_span(named)[0], end


def _split_fix(
    walk: Inference, node: nodes.Filter | nodes.Call, operand: nodes.Expr, separator: str
) -> dict[str, object]:
    start, end = walk.template.span(operand)
    first, last = walk.template.span(node)
    text = walk.template.text[start:end]
    text = text if isinstance(operand, TIGHT) else f"({text})"
    what = "`.splitlines()` gives `[]` for it" if separator == "\n" else "test the text first"
    hint = f"supply a fallback: `... if {text} else []`" if len(text) <= 40 else what
    # A fix that repeats a long text is worse than the mistake.
    if "\n" in text or len(text) > 80:
        return {"help": hint}
    # The fix does not use `splitlines()`, which also splits at form feeds and other characters.
    around = (Change(first, first, "("), Change(last, last, f" if {text} else [])"))
    return {"help": hint, "changes": around, "fix": "use an empty list for an empty text", "safe": True}


def is_shown_nonempty(walk: Inference, operand: nodes.Expr) -> bool:
    """Whether a test has shown, or a declaration says, that the text is not empty."""
    base = stripped(operand)
    path = path_of(base)
    if path is not None and path in walk.environment.around.nonempty:
        return True
    return any(mentions(held.node, base) for held in walk.held)


# Mistakes specific to some filters and methods: defaults without effect, parsed prose.


def check_filter(walk: Inference, node: nodes.Filter, use: Use) -> None:
    if node.name == "parse_json" and node.node is not None:
        _check_parse(walk, node, node.node)
    elif node.name == "split" and node.node is not None:
        check_split(walk, node, node.node, use)


def check_method(walk: Inference, node: nodes.Call, target: nodes.Getattr, base: Type, use: Use) -> None:
    if target.attr in ("split", "rsplit") and kinds_of(base) == {"text"}:
        use.operand = base
        check_split(walk, node, target.node, use)


# -- default -------------------------------------------------------------------


def check_default(walk: Inference, node: nodes.Filter, use: Use) -> None:
    """Report a default for a value that is never undefined."""
    kind, operand = use.operand, node.node
    if (
        operand is None
        # `default(x, true)` also applies to empty values, which this analysis does not follow.
        or use.given("boolean") is not None
        or not is_known(kind)
        or UNDEFINED in options(kind)
    ):
        return
    # The author has narrowed the value and may want the default for the other case.
    if _was_tested(walk, operand):
        return
    text = walk.source(operand)
    place = walk.template.token_span(node)
    # The fix removes the filter together with the `|` before it.
    start = len(walk.template.text[: walk.template.text.rfind("|", 0, place[0])].rstrip())
    end = _end_of(walk, node)
    if NULL in options(kind):
        closing = walk.template.text[:end].endswith(")") and node.args
        walk.report(
            Kind.DEAD_DEFAULT,
            place,
            f"`{text}` is null where it has no value, and `default` leaves null as it is",
            help="`default(..., true)` also replaces null and empty values",
            changes=(Change(end - 1, end - 1, ", true"),) if closing else (),
            fix="let the default replace null" if closing else "",
        )
        return
    walk.report(
        Kind.DEAD_DEFAULT,
        place,
        f"`{text}` is always defined, so this default is never used",
        help="remove it; for a value that may be empty, write `default(..., true)`",
        changes=(Change(start, end, ""),),
        fix="remove the default",
        safe=True,
    )


def _end_of(walk: Inference, node: nodes.Filter) -> int:
    """The offset at which a filter ends. The tree has no place for an empty pair of parentheses after it."""
    end = walk.template.span(node)[1]
    rest = walk.template.text[end:].lstrip()
    if node.args or node.kwargs or not rest.startswith("("):
        return end
    return len(walk.template.text) - len(rest) + rest.index(")") + 1


def _was_tested(walk: Inference, node: nodes.Expr) -> bool:
    """Whether a surrounding test has narrowed the type: the default may be meant for the wider one."""
    path = path_of(node)
    return path is not None and any(path[:length] in walk.facts for length in range(1, len(path) + 1))


# -- parse_json ------------------------------------------------------------------


def _check_parse(walk: Inference, node: nodes.Filter, operand: nodes.Expr) -> None:
    """Report `parse_json` of text that an agent wrote."""
    operand = stripped(operand)
    path = path_of(operand)
    base = walk.seen.get(path[:-1]) if path and path[-1] == "response" else None
    if base is None or not any(
        isinstance(one, Record) and one.name == "DelegateResult" for one in options(base)
    ):
        return
    walk.report(
        Kind.UNCHECKED_PARSE,
        walk.template.token_span(node),
        f"`{walk.source(operand)}` is text that an agent wrote: this step fails if it is not JSON",
        field=str(path[1]) if path and path[0] == "state" else None,
        sure=False,
    )


# The inference of each kind of call.

_ORDER_TESTS = {"gt": ">", "greaterthan": ">", ">": ">", "ge": ">=", ">=": ">=", "lt": "<", "lessthan": "<",
          "<": "<", "le": "<=", "<=": "<="}  # fmt: skip


def filtered(walk: Inference, node: nodes.Filter, guarded: bool) -> Type:
    if node.node is None:
        return ANY
    note_consumer(walk, node)
    operand = walk.type_of(node.node, guarded=node.name in TOLERANT_FILTERS)
    # Before `default`, undefined is what the filter is about.
    if node.name not in DEFAULTS:
        operand = without(operand, UNDEFINED)
    kind = applied(walk, node, operand)
    if UNDEFINED not in options(kind) or guarded:
        return kind
    check_item(walk, node, operand)
    return without(kind, UNDEFINED)


def applied(walk: Inference, node: nodes.Filter, operand: Type) -> Type:
    """The type of a filter's result for an operand of a type."""
    signature = FILTERS.get(node.name)
    if signature is None:
        for arg in node.args:
            walk.type_of(arg)
        return ANY
    use = Use(walk, node.name, signature, operand)
    use.read_arguments(node)
    use.check_arguments()
    if node.name in DEFAULTS:
        check_default(walk, node, use)
        return result_of(use)
    # Unreachable code has no values to check.
    if operand == NOTHING:
        return result_of(use)
    if node.node is not None and not _check_operand(walk, node, node.node, operand, signature):
        # A result of fixed type is still known.
        return signature.gives if not callable(signature.gives) else ANY
    walk.place = walk.template.token_span(node)
    check_filter(walk, node, use)
    use.operand = without(operand, NULL)
    return result_of(use)


def _check_operand(
    walk: Inference, node: nodes.Filter | nodes.Test, operand: nodes.Expr, kind: Type, signature: Signature
) -> bool:
    """Whether a builtin accepts the operand, as far as its type is known."""
    takes = signature.takes
    # An unknown type is not reported, except for a lookup that is known to return null.
    if not takes or not is_known(kind):
        if takes and "null" not in takes and _may_lack_key(operand, kind):
            report_null(walk, operand, kind)
        return True
    kinds = kinds_of(kind)
    if signature.walks and kinds == {"text"}:
        words = f"`{walk.source(operand)}` is text: `{node.name}` would iterate over its characters"
        walk.report(Kind.NOT_A_LIST, operand, words, help="split it first, as `.splitlines()` does")
        return False
    # One acceptable alternative is enough: the others may have been excluded by means that are not analysed.
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


def _may_lack_key(node: nodes.Expr, kind: Type) -> bool:
    """Whether it is `x.get('key')` on an object that need not have the key: null, regardless of its other values."""
    is_get = isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr == "get"
    return is_get and NULL in options(kind)


def _property_meant(walk: Inference, node: nodes.Expr, kind: Type, takes: frozenset[str]) -> str:
    """The property of a result that the builtin would accept."""
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
    if node.name in _ORDER_TESTS and use.positional:
        check_order(walk, left, use.positional[0], _ORDER_TESTS[node.name], node)
    elif node.name in EQUALITY_TESTS and use.positional:
        check_equality(walk, left, use.positional[0], EQUALITY_TESTS[node.name], node)
    elif node.name == "in" and use.positional:
        check_membership(walk, left, use.positional[0])
    else:
        use.check_arguments()
        # Only if the operand is a number at all.
        if _check_operand(walk, node, node.node, operand, signature):
            _check_whole(walk, node, operand)


_WHOLE_TESTS = frozenset({"odd", "even", "divisibleby"})


def _check_whole(walk: Inference, node: nodes.Test, operand: Type) -> None:
    """Tests that fail for a number with a fraction: report a number that always has one, or that may have one."""
    if node.name not in _WHOLE_TESTS or not is_known(operand):
        return
    rule = f"`{node.name}` is a test for whole numbers"
    if is_fraction(node.node, operand):
        report_fraction(walk, node.node, rule)
    elif NUMBER in options(operand):
        walk.report(
            Kind.MISMATCH,
            node.node,
            f"`{walk.source(node.node)}` may have a fraction: {rule}",
            help=f"make it whole first: `({walk.as_operand(node.node)} | int) is {node.name}`",
            sure=False,
        )


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
    # Reported, and then ignored, so that the method itself is checked.
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
    check_method(walk, node, target, base.type, use)
    found: list[Type] = []
    for one, signature in having:
        use.operand, use.signature = one, signature
        found.append(result_of(use))
    return join(*found)


def _signatures(option: Type, name: str) -> list[Signature]:
    """The methods of a value with that name; for an unknown type, those of all kinds."""
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
