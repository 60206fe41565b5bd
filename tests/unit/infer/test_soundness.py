"""The inference held against the runtime: random expressions, evaluated on values of the types it was told.

Whatever an expression gives is of the type that was inferred for it, and where the inference says that it is sure
to fail, it fails.
"""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.infer.support import FIELDS, INPUTS, environment
from wfc.analysis.types.environment import Kind
from wfc.analysis.types.expressions import Inference
from wfc.analysis.types.lattice import UNDEFINED
from wfc.language.types import Choice, Exact, Fixed, ListType, MapType, Record, Simple, Type, Union
from wfc.template import parse_template
from wfc_runtime.expr import ExpressionError, evaluate

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PATHS = [
    "state.build", "state.build.stdout", "state.build.exit_code", "state.answer.confirmed", "state.plan",
    "state.plan.response", "state.text", "state.count", "state.ratio", "state.flag", "state.names", "state.issues",
    "state.issue", "state.issue.title", "state.issue.size", "state.issue.owner", "state.issue.parent",
    "state.scores", "state.scores.a", "state.maybe", "state.word", "state.nothing", "state.unknown", "inputs.env",
    "inputs.note", "inputs.limit", "item", "index", "state.names[0]", "state.issues[0].title", "state.issues.0",
]  # fmt: skip
LITERALS = [
    "0",
    "1",
    "2.5",
    "'a'",
    "''",
    "'staging'",
    "true",
    "false",
    "none",
    "[]",
    "{}",
    "['a', 'b']",
    "{'a': 1}",
]
FILTERS = [
    "length", "first", "last", "list", "int", "float", "round", "abs", "trim", "upper", "title", "join(',')", "sum",
    "sort", "unique", "reverse", "min", "max", "tojson", "string", "default(1)", "default('x', true)", "d([])",
    "map(attribute='title')", "map('upper')", "map('length')", "selectattr('owner', 'defined')", "select", "reject",
    "selectattr('size', 'gt', 0)", "rejectattr('title', 'equalto', 'a')", "sum(attribute='size')",
    "groupby('title')", "batch(2)", "items", "dictsort", "split(',')", "replace('a', 'b')", "hash", "shquote",
    "regex_search('a')", "regex_findall('a')", "wordcount", "map(attribute='owner', default='')", "bool",
    "sort(attribute='size')", "join(',', attribute='title')", "select('string')", "reject('none')",
]  # fmt: skip
METHODS = ["strip()", "split(',')", "upper()", "items()", "get('a')", "get('title', 1)", "keys()", "values()"]
METHODS += ["startswith('a')", "count('a')", "splitlines()", "partition(',')"]
TESTS = [
    "defined",
    "none",
    "string",
    "mapping",
    "number",
    "boolean",
    "sequence",
    "true",
    "even",
    "equalto(1)",
]


class Writer:
    """Writes random expressions."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def expression(self, depth: int) -> str:
        pick, inner = self._random.choice, self.expression
        if depth == 0:
            return pick(PATHS) if self._random.random() < 0.7 else pick(LITERALS)
        kind = self._random.randrange(12)
        one = inner(depth - 1)
        if kind < 4:
            return f"({one}) | {pick(FILTERS)}"
        if kind == 4:
            return f"({one}) {pick(['+', '-', '*', '/', '//', '%', '~'])} ({inner(depth - 1)})"
        if kind == 5:
            sign = pick(["==", "!=", "<", ">", "<=", "in", "not in"])
            return f"({one}) {sign} ({inner(depth - 1)})"
        if kind == 6:
            return f"({one}) {pick(['and', 'or'])} ({inner(depth - 1)})"
        if kind == 7:
            return f"({one}) if ({inner(depth - 1)}) else ({inner(depth - 1)})"
        if kind == 8:
            return f"({one}).{pick(METHODS)}"
        if kind == 9:
            return f"({one}) is {pick(['', 'not '])}{pick(TESTS)}"
        if kind == 10:
            return pick(
                ["not ({})", "[{}]", "({})[0]", "({})[:1]", "{{'k': {}}}", "({}).title", "-({})"]
            ).format(one)
        path = pick(PATHS)
        test = pick(["{} is defined", "{} is not none", "{}", "not {}", "{} is none", "{} == 'a'"]).format(
            path
        )
        return f"(({path}) | {pick(FILTERS)}) if {test} else ({one})"

    def value(self, kind: Type, depth: int = 0) -> Any:
        """A value of a type; UNDEFINED where there is none."""
        pick = self._random.choice
        match kind:
            case Union():
                return self.value(pick(kind.options), depth)
            case ListType():
                return [self.value(kind.item, depth + 1) for _ in range(self._random.randrange(3))]
            case MapType():
                return {
                    name: self.value(kind.item, depth + 1) for name in ("a", "b")[: self._random.randrange(3)]
                }
            case Record():
                parts = [prop for prop in kind.properties if prop.required or self._random.random() < 0.5]
                return {prop.name: self.value(prop.type, depth + 1) for prop in parts}
            case Choice():
                return pick(kind.values)
            case Exact():
                return kind.value
        if kind == UNDEFINED:
            return UNDEFINED
        plain: dict[str, list[Any]] = {
            "text": ["", "a", "a,b", "12", "staging"], "int": [0, 1, 7], "number": [0, 1, 2.5], "bool": [True, False],
            "null": [None], "any": [None, 1, "a", [], ["a"], {"title": "a"}, True],
        }  # fmt: skip
        return pick(plain[str(kind)])

    def context(self) -> dict[str, Any]:
        state = {name: self.value(kind) for name, kind in FIELDS.items()}
        return {
            "state": {name: value for name, value in state.items() if value is not UNDEFINED},
            "inputs": {name: self.value(kind) for name, kind in INPUTS.items()},
            "item": "a",
            "index": 0,
        }


def fits(value: Any, kind: Type) -> bool:
    match kind:
        case Union():
            return any(fits(value, option) for option in kind.options)
        case ListType():
            return isinstance(value, list) and all(fits(item, kind.item) for item in value)
        case Fixed():
            same = isinstance(value, list) and len(value) == len(kind.items)
            return same and all(fits(item, part) for item, part in zip(value, kind.items, strict=True))
        case MapType():
            return isinstance(value, dict) and all(fits(item, kind.item) for item in value.values())
        case Record():
            if not isinstance(value, dict):
                return False
            known = all(
                fits(value[p.name], p.type) if p.name in value else not p.required for p in kind.properties
            )
            return known and (kind.open or all(kind.get(name) for name in value))
        case Choice():
            return value in kind.values
        case Exact():
            return type(value).__name__ == kind.kind and value == kind.value
        case Simple():
            return _fits_simple(value, kind)
    raise AssertionError(kind)


def _fits_simple(value: Any, kind: Simple) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return {
        "any": True,
        "text": isinstance(value, str),
        "int": isinstance(value, int) and not isinstance(value, bool),
        "number": number,
        "bool": isinstance(value, bool),
        "null": value is None,
        "date": isinstance(value, str),
        "moment": isinstance(value, str),
    }.get(kind.name, False)


SEEDS = int(os.environ.get("SEEDS", "400"))
SURE = {Kind.PROPERTY, Kind.UNSET, Kind.MISMATCH}


def _fails(message: str) -> bool:
    """What is wrong with each item does no harm to an empty list, and Python counts with booleans. Values that
    are never equal can still be compared, and `int` of a list is 0: both are reported all the same."""
    return not any(word in message for word in ("item", "boolean", "never", "`int`", "`float`"))


@pytest.mark.parametrize("first", range(0, SEEDS, 50))
def test_what_an_expression_gives_is_what_was_inferred(first: int) -> None:
    for seed in range(first, min(first + 50, SEEDS)):
        _hold_against_what_it_gives(seed)


def _hold_against_what_it_gives(seed: int) -> None:
    writer = Writer(seed)
    text = "{{ " + writer.expression(1 + seed % 3) + " }}"
    template = parse_template(text)
    if template.error is not None:
        return
    walk = Inference(template, environment())
    kind = walk.infer()
    simple = not any(word in text for word in (" if ", " and ", " or ", "default", "d([])"))
    sure = [found for found in walk.problems if found.kind in SURE and found.sure and _fails(found.message)]
    for _ in range(12):
        context = writer.context()
        try:
            value = evaluate(text, context, now=NOW, uuid_seed="x")
        except ExpressionError:
            continue
        assert fits(value, kind), f"{text} gave {value!r}, inferred {kind}; {context}"
        assert not (sure and simple), f"{text} gave {value!r} in spite of {sure}"
