"""One use of a filter, test, function or method: its arguments beside its signature."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from wfc.core.types import ANY, INT, NULL, Type
from wfc.infer import arithmetic
from wfc.infer.comparison import EQUALITY_TESTS, check_equality
from wfc.infer.lookup import FAILED_CHILD, Found, find_item, find_property, may_have, with_part
from wfc.infer.missing import inside_quotes, no_such_part
from wfc.infer.problems import Kind
from wfc.infer.signatures import FILTERS, Signature
from wfc.infer.terms import NOTHING, UNDEFINED, is_known, join, kind_of, kinds_of, options, truthy, without
from wfc.infer.views import WORDS, describe
from wfc.suggest import did_you_mean
from wfc_runtime.expr import nodes

if TYPE_CHECKING:
    from wfc.infer.expressions import Inference

_TRUTH = frozenset({"text", "bool", "null"})
_ORDER = ("text", "number", "bool", "list", "object", "date")
_KINDS = {"string": {"text"}, "mapping": {"object"}, "number": {"number", "bool"}, "none": {"null"}}


class Use:
    """What results are computed from. Positions and names of arguments are one here."""

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
                walk.report(Kind.MISMATCH, node, f"an argument too many: it is `{form}`")
                return
            known = [parameter.name for parameter in signature.parameters]
            for keyword, _ in self.keywords:
                if keyword.key not in known:
                    place = self._key_place(keyword)
                    hint = did_you_mean(keyword.key, known)
                    message = f"`{self.name}` has no argument `{keyword.key}`: it is `{form}`"
                    walk.report(Kind.MISMATCH, place, message, help=hint)
                    return
        for parameter in signature.parameters:
            given = self._by_name.get(parameter.name)
            if given is not None:
                self._check_argument(parameter.name, parameter.takes, *given)

    def _key_place(self, keyword: nodes.Keyword) -> tuple[int, int]:
        """Where the name of an argument stands. Jinja remembers only where its value does."""
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
        """What `attribute='a.b'` takes out of each item; the item itself where that is not given."""
        if argument not in self._by_name:
            return item
        path = self.constant(argument)
        if not isinstance(path, str | int) or isinstance(path, bool) or "," in str(path):
            return ANY
        node = self._by_name[argument][0]
        return self._along(item, str(path), node, default)

    def _along(self, item: Type, path: str, node: nodes.Expr, default: Type | None) -> Type:
        start, end = inside_quotes(self.walk, node)
        for name in path.split("."):
            found = find_item(item, int(name)) if name.isdecimal() else find_property(item, name)
            place = (start, min(start + len(name), end))
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
                f"an item has no `{name}` where the child failed: it is `{{error}}` then",
                help=f"leave those out first: `| selectattr('{name}', 'defined')`",
                sure=False,
            )
        elif found.optional is not None:
            self.walk.report(
                Kind.NULLABLE,
                place,
                f"`{name}` may be missing: not every item has to have it",
                help=f"leave those out first: `| selectattr('{name}', 'defined')`",
                sure=False,
            )

    def applied_to_each(self, item: Type) -> Type:
        """`map('upper')`: the filter on each item."""
        first = self.positional[0][0]
        name = first.value if isinstance(first, nodes.Const) else None
        signature = FILTERS.get(name) if isinstance(name, str) else None
        if signature is None:
            return ANY
        inner = Use(self.walk, str(name), signature, item)
        inner.positional, inner.keywords = self.positional[1:], self.keywords
        inner.check_arguments()
        if signature.takes and is_known(item) and not kinds_of(item) & signature.takes:
            self.walk.report(
                Kind.MISMATCH,
                inside_quotes(self.walk, first),
                f"each item is {describe(item)}: `{name}` {works_on(signature)}",
            )
        return without(result_of(inner), UNDEFINED)

    def passing(self, item: Type) -> Type:
        """What is left of the items after `select` and its kin."""
        wanted = self.name.startswith("select")
        by_part = self.name.endswith("attr")
        name = self.constant("test")
        if self.given("test") is not None and not isinstance(name, str):
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
        """`selectattr('sumary', 'defined')` keeps nothing where every item has a `summary`."""
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
        """The sum of the items."""
        if item == NOTHING:
            return start or INT
        total = arithmetic.combined("+", start or INT, without(item, NULL))
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
        return "takes true and false, in letters or not"
    words = {"number": "numbers", "list": "lists", "object": "objects", "date": "dates"}
    *most, last = [words.get(one, one) for one in _ORDER if one in signature.takes and one != "bool"]
    return f"works on {', '.join(most)} and {last}" if most else f"works on {last}"
