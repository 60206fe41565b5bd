"""Filters for lists and objects. They give lists, never generators: what is printed is what is there."""

from __future__ import annotations

from collections.abc import Iterator

from wfc_runtime.expr.errors import ExpressionError
from wfc_runtime.expr.functions import uuid
from wfc_runtime.expr.lookup import find_path
from wfc_runtime.expr.methods import pairs
from wfc_runtime.expr.operators import add
from wfc_runtime.expr.registry import FILTERS, define
from wfc_runtime.expr.run import Run
from wfc_runtime.expr.values import Undefined, Value, defined, items_of, kind_of, text_of


@define(FILTERS, "list")
def list_(run: Run, value: Value) -> list[Value]:
    """`x | list`: a list of its items, keys or characters."""
    return items_of(run, value, "make a list of")


@define(FILTERS, "length", "count")
def length(run: Run, value: Value) -> int:
    """`x | length`: how many items, keys or characters."""
    if not isinstance(value, (list, dict, str)):
        raise ExpressionError(f"{kind_of(value)} has no length", "type")
    return len(value)


@define(FILTERS, "first")
def first(run: Run, value: Value) -> Value:
    """`x | first`: the first item."""
    items = value if isinstance(value, str) else items_of(run, value, "take the first item of")
    return items[0] if items else Undefined(lambda: "there is no first item: the list is empty")


@define(FILTERS, "last")
def last(run: Run, value: Value) -> Value:
    """`x | last`: the last item."""
    items = value if isinstance(value, str) else items_of(run, value, "take the last item of")
    return items[-1] if items else Undefined(lambda: "there is no last item: the list is empty")


@define(FILTERS, "random")
def random(run: Run, value: Value) -> Value:
    """`x | random`: an item by chance, the same again when the run is replayed."""
    items = value if isinstance(value, str) else items_of(run, value, "pick from")
    number = int(uuid(run).replace("-", ""), 16)
    return items[number % len(items)] if items else Undefined(lambda: "there is nothing to pick from")


@define(FILTERS, "reverse")
def reverse(run: Run, value: Value) -> Value:
    """`x | reverse`: the other way round."""
    if isinstance(value, str):
        run.make_text(len(value))
        return value[::-1]
    items = items_of(run, value, "reverse")
    run.make_list(len(items))
    return items[::-1]


@define(FILTERS, "join")
def join(run: Run, value: Value, d: str = "", attribute: str | int | None = None) -> str:
    """`x | join(', ')`: one text of all items; `attribute` names the part of each to take."""
    items = _parts(run, items_of(run, value, "join"), attribute)
    separator = text_of(run, d)
    texts: list[str] = []
    size = 0
    for item in items:
        texts.append(text_of(run, item))
        size += len(texts[-1]) + len(separator)
        if size > run.limits.text:
            run.make_text(size)
    run.make_text(size)
    return separator.join(texts)


@define(FILTERS, "sum")
def sum_(run: Run, value: Value, attribute: str | int | None = None, start: Value = 0) -> Value:
    """`x | sum`: all items added up; `attribute` names the part of each to take."""
    total = start
    for item in _parts(run, items_of(run, value, "add up"), attribute):
        run.spend(1)
        total = add(run, total, item)
    return total


@define(FILTERS, "batch")
def batch(run: Run, value: Value, linecount: int, fill_with: Value = None) -> list[Value]:
    """`x | batch(3)`: lists of so many items each."""
    size = _positive(run, linecount, "batch")
    items = items_of(run, value)
    run.make_list(len(items), slots=8)
    rows = [items[start : start + size] for start in range(0, len(items), size)]
    if rows and fill_with is not None:
        run.make_list(size)
        rows[-1] = rows[-1] + [fill_with] * (size - len(rows[-1]))
    return list(rows)


@define(FILTERS, "slice")
def slice_(run: Run, value: Value, slices: int, fill_with: Value = None) -> list[Value]:
    """`x | slice(3)`: so many lists, all about as long."""
    count = _positive(run, slices, "slice")
    items = items_of(run, value)
    run.make_list(len(items))
    run.make_list(count, slots=8)
    each, longer = divmod(len(items), count)
    columns, start = [], 0
    for number in range(count):
        end = start + each + (number < longer)
        fill = [fill_with] if fill_with is not None and number >= longer else []
        columns.append(items[start:end] + fill)
        start = end
    return list(columns)


@define(FILTERS, "items")
def items(run: Run, value: Value) -> list[Value]:
    """`x | items`: the keys and values of an object, as a list of pairs."""
    if not isinstance(value, dict):
        raise ExpressionError(f"items works on an object, not on {kind_of(value)}", "type")
    return pairs(run, value)


def _parts(run: Run, items: list[Value], attribute: str | int | None) -> Iterator[Value]:
    for item in items:
        run.spend(2)
        yield item if attribute is None else defined(find_path(run, item, str(attribute)))


def _positive(run: Run, number: Value, name: str) -> int:
    if not isinstance(number, int) or not 0 < number <= run.limits.items:
        raise ExpressionError(f"{name} takes a whole number from 1 to {run.limits.items:,}")
    return number
