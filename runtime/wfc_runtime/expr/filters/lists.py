"""Filters for lists and objects. They return lists, never generators, so that a result can be printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from wfc_runtime.expr.access import find_path, pairs
from wfc_runtime.expr.builtins import FILTERS, apply, define, find_filter, find_test, uuid
from wfc_runtime.expr.errors import ExpressionError, shorten
from wfc_runtime.expr.operators import Key, add, equal, folded, sort_by
from wfc_runtime.expr.run import Run
from wfc_runtime.expr.values import Group, Undefined, Value, defined, items_of, kind_of, plain, text_of, truth


@define(FILTERS, "list")
def list_(run: Run, value: Value) -> list[Value]:
    """`x | list`: the items, keys or characters as a list."""
    return items_of(run, value, "make a list of")


@define(FILTERS, "length", "count")
def length(run: Run, value: Value) -> int:
    """`x | length`: the number of items, keys or characters."""
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
    """`x | random`: a random item; a replay of the run picks the same one."""
    items = value if isinstance(value, str) else items_of(run, value, "pick from")
    number = int(uuid(run).replace("-", ""), 16)
    return items[number % len(items)] if items else Undefined(lambda: "there is nothing to pick from")


@define(FILTERS, "reverse")
def reverse(run: Run, value: Value) -> Value:
    """`x | reverse`: in reverse order."""
    if isinstance(value, str):
        run.make_text(len(value))
        return value[::-1]
    items = items_of(run, value, "reverse")
    run.make_list(len(items))
    return items[::-1]


@define(FILTERS, "join")
def join(run: Run, value: Value, d: str = "", attribute: str | int | None = None) -> str:
    """`x | join(', ')`: all items as one text; `attribute` names the property of each item to use."""
    items = _parts(run, items_of(run, value, "join"), attribute)
    separator = text_of(run, d)
    texts: list[str] = []
    size = 0
    for item in items:
        texts.append(text_of(run, item))
        size += len(texts[-1]) + len(separator)
        # Checked in the loop, because all texts together may not fit into memory.
        if size > run.limits.text:
            run.make_text(size)
    run.make_text(size)
    return separator.join(texts)


@define(FILTERS, "sum")
def sum_(run: Run, value: Value, attribute: str | int | None = None, start: Value = 0) -> Value:
    """`x | sum`: the sum of all items; `attribute` names the property of each item to use."""
    total = start
    for item in _parts(run, items_of(run, value, "add up"), attribute):
        run.spend(1)
        total = add(run, total, item)
    return total


@define(FILTERS, "batch")
def batch(run: Run, value: Value, linecount: int, fill_with: Value = None) -> list[Value]:
    """`x | batch(3)`: lists of at most that many items each."""
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
    """`x | slice(3)`: that many lists of nearly equal length."""
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
    """`x | items`: the keys and values of an object as a list of pairs."""
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


# Sorting, grouping and selecting.


@define(FILTERS, "sort")
def sort(
    run: Run,
    value: Value,
    reverse: bool = False,
    case_sensitive: bool = False,
    attribute: str | int | None = None,
) -> list[Value]:
    """`x | sort`, `x | sort(attribute='name')`: sorted; upper and lower case count as equal unless `case_sensitive`."""
    items = items_of(run, value, "sort")
    return sort_by(run, items, _keys(run, attribute, case_sensitive), truth(reverse))


@define(FILTERS, "min")
def min_(run: Run, value: Value, case_sensitive: bool = False, attribute: str | int | None = None) -> Value:
    """`x | min`: the smallest item."""
    ordered = sort(run, value, False, case_sensitive, attribute)
    return ordered[0] if ordered else Undefined(lambda: "there is no least item: the list is empty")


@define(FILTERS, "max")
def max_(run: Run, value: Value, case_sensitive: bool = False, attribute: str | int | None = None) -> Value:
    """`x | max`: the largest item."""
    ordered = sort(run, value, True, case_sensitive, attribute)
    return ordered[0] if ordered else Undefined(lambda: "there is no greatest item: the list is empty")


@define(FILTERS, "unique")
def unique(
    run: Run, value: Value, case_sensitive: bool = False, attribute: str | int | None = None
) -> list[Value]:
    """`x | unique`: without duplicates; the first of each is kept."""
    key = _keys(run, attribute, case_sensitive)
    seen: set[str] = set()
    found: list[Value] = []
    for item in items_of(run, value):
        run.spend(2)
        # Lists and objects can't be members of a set; `repr` can, and it tells 1, '1' and true apart.
        mark = repr(plain(run, key(item), run.limits.text))
        run.make_text(len(mark))
        if mark not in seen:
            seen.add(mark)
            found.append(item)
    return found


@define(FILTERS, "groupby")
def groupby(
    run: Run, value: Value, attribute: str | int, default: Value = None, case_sensitive: bool = False
) -> list[Value]:
    """`x | groupby('kind')`: pairs of each kind and the list of its items; also `.grouper` and `.list`."""

    def key(item: Value) -> Value:
        found = find_path(run, item, str(attribute))
        found = default if isinstance(found, Undefined) and default is not None else found
        return folded(run, defined(found), case_sensitive)

    groups: list[Value] = []
    last: Value = None
    # Equal keys are adjacent after sorting.
    for item in sort_by(run, items_of(run, value), key):
        mark = key(item)
        if not groups or not equal(run, mark, last):
            # A group is named by the value of its first item, not by the key, which may be in lower case.
            grouper = find_path(run, item, str(attribute))
            groups.append(Group([mark if isinstance(grouper, Undefined) else grouper, []]))
            last = mark
        groups[-1][1].append(item)
    return groups


@define(FILTERS, "map")
def map_(run: Run, value: Value, *args: Value, **kwargs: Value) -> list[Value]:
    """`x | map('upper')`, `x | map(attribute='name')`: a filter applied to each item, or one property of each."""
    items = items_of(run, value)
    run.make_list(len(items))
    if not args and "attribute" in kwargs:
        path = str(kwargs.pop("attribute"))
        fallback = kwargs.pop("default", None)
        if kwargs:
            raise ExpressionError(f"map has no argument '{shorten(next(iter(kwargs)))}'", "type")
        found = [find_path(run, item, path) for item in items]
        return [
            fallback if isinstance(part, Undefined) and fallback is not None else defined(part)
            for part in found
        ]
    if not args or not isinstance(args[0], str):
        raise ExpressionError("map takes the name of a filter, or attribute='name'", "type")
    builtin = find_filter(args[0])
    return [defined(apply(run, builtin, item, args[1:], kwargs)) for item in _turns(run, items)]


@define(FILTERS, "select")
def select(run: Run, value: Value, test: str | None = None, *args: Value) -> list[Value]:
    """`x | select('odd')`: the items that pass a test; without a test, those that are true."""
    passes = _test(run, test, args)
    return [item for item in _turns(run, items_of(run, value)) if passes(item)]


@define(FILTERS, "reject")
def reject(run: Run, value: Value, test: str | None = None, *args: Value) -> list[Value]:
    """`x | reject('odd')`: the items that fail a test; without a test, those that are false."""
    passes = _test(run, test, args)
    return [item for item in _turns(run, items_of(run, value)) if not passes(item)]


@define(FILTERS, "selectattr")
def selectattr(run: Run, value: Value, attribute: str, test: str | None = None, *args: Value) -> list[Value]:
    """`x | selectattr('status', 'equalto', 'pass')`: the items with a property that passes a test."""
    passes = _test(run, test, args)
    items = _turns(run, items_of(run, value))
    return [item for item in items if passes(find_path(run, item, str(attribute)))]


@define(FILTERS, "rejectattr")
def rejectattr(run: Run, value: Value, attribute: str, test: str | None = None, *args: Value) -> list[Value]:
    """`x | rejectattr('status', 'equalto', 'pass')`: the items with a property that fails a test."""
    passes = _test(run, test, args)
    items = _turns(run, items_of(run, value))
    return [item for item in items if not passes(find_path(run, item, str(attribute)))]


@define(FILTERS, "dictsort")
def dictsort(
    run: Run,
    value: Value,
    case_sensitive: bool = False,
    by: Literal["key", "value"] = "key",
    reverse: bool = False,
) -> list[Value]:
    """`x | dictsort`: the keys and values of an object as a list of pairs, sorted by key (or by value)."""
    if by not in ("key", "value"):
        raise ExpressionError("dictsort sorts by 'key' or 'value'")
    index = 0 if by == "key" else 1
    return sort_by(
        run, items(run, value), lambda pair: folded(run, pair[index], case_sensitive), truth(reverse)
    )


def _turns(run: Run, items: list[Value]) -> Iterator[Value]:
    for item in items:
        run.spend(2)
        yield item


def _keys(run: Run, attribute: str | int | None, case_sensitive: bool) -> Key:
    """The key that items are sorted and compared by. It may be several attributes, such as 'name,size'."""
    if attribute is None:
        return lambda item: folded(run, item, case_sensitive)
    paths = str(attribute).split(",")
    if len(paths) == 1:
        return lambda item: folded(run, defined(find_path(run, item, paths[0])), case_sensitive)
    return lambda item: [folded(run, defined(find_path(run, item, path)), case_sensitive) for path in paths]


def _test(run: Run, name: str | None, args: tuple[Value, ...]) -> Callable[[Value], bool]:
    if name is None:
        return truth
    builtin = find_test(name)
    return lambda item: bool(apply(run, builtin, item, args))


# Filters that process lists and objects item by item.


@define(FILTERS, "entries")
def entries(run: Run, value: Value) -> list[Value]:
    """`x | entries`: `{key, value, index, count}` per item of a list or an object; a list has the keys '0', '1', ..."""
    if not isinstance(value, (list, dict)):
        raise ExpressionError(f"entries are those of a list or an object, not of {kind_of(value)}", "type")
    run.make_list(len(value), slots=5)
    keys = list(value) if isinstance(value, dict) else [str(at) for at in range(len(value))]
    values = value.values() if isinstance(value, dict) else value
    return [
        {"key": key, "value": one, "index": at, "count": len(keys)}
        for at, (key, one) in enumerate(zip(keys, values, strict=True))
    ]


@define(FILTERS, "keyed")
def keyed(run: Run, value: Value, items: Value) -> dict[str, Value]:
    """`results | keyed(items)`: the results of a foreach over entries, by key, with the numbers of failed ones."""
    if not isinstance(value, list) or not isinstance(items, list) or len(value) != len(items):
        raise ExpressionError("keyed takes the results of a foreach and the entries that it was for", "type")
    run.make_list(len(value), slots=13)
    results = {entry["key"]: _outcome(run, one) for entry, one in zip(items, value, strict=True)}
    ends = [one["status"] for one in results.values()]
    failed = sum(1 for one in results.values() if one["failed"])
    return {
        "count": len(results),
        "count_failed": failed,
        "count_skipped": ends.count("skipped"),
        "count_succeeded": len(results) - failed - ends.count("skipped"),
        "results": results,
    }


def _outcome(run: Run, value: Value) -> dict[str, Value]:
    """The result of one item, and how it ended."""
    is_crashed = isinstance(value, dict) and value.keys() == {"error"}
    is_skipped = value is None
    succeeded = not is_skipped and (not isinstance(value, dict) or find_test("ok").call(run, value))
    how = {
        "succeeded": succeeded,
        "failed": not succeeded and not is_skipped,
        "skipped": is_skipped,
        "status": "skipped" if is_skipped else "failed" if is_crashed else "completed",
        "outcome": "success" if succeeded else "n/a" if is_skipped or is_crashed else "failure",
    }
    files = value.get("outputs") if isinstance(value, dict) else None
    outputs: Value = {} if is_skipped or is_crashed else value
    if isinstance(files, dict) and isinstance(outputs, dict):
        outputs = {**{name: one for name, one in outputs.items() if name != "outputs"}, **files}
    error = {"error": value["error"]} if is_crashed else {}
    return {"outputs": outputs, "metadata": how, **how, **error}
