"""Filters that sort, group and pick, or do something with each item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from wfc_runtime.expr.calls import apply, find_filter, find_test
from wfc_runtime.expr.comparison import equal
from wfc_runtime.expr.errors import ExpressionError, shorten
from wfc_runtime.expr.lookup import find_path
from wfc_runtime.expr.ordering import Key, folded, sort_by
from wfc_runtime.expr.registry import FILTERS, define
from wfc_runtime.expr.run import Run
from wfc_runtime.expr.values import Group, Undefined, Value, defined, items_of, plain, truth

from .lists import items


@define(FILTERS, "sort")
def sort(
    run: Run,
    value: Value,
    reverse: bool = False,
    case_sensitive: bool = False,
    attribute: str | int | None = None,
) -> list[Value]:
    """`x | sort`, `x | sort(attribute='name')`: in order; capitals make no difference unless asked."""
    items = items_of(run, value, "sort")
    return sort_by(run, items, _keys(run, attribute, case_sensitive), truth(reverse))


@define(FILTERS, "min")
def min_(run: Run, value: Value, case_sensitive: bool = False, attribute: str | int | None = None) -> Value:
    """`x | min`: the least item."""
    ordered = sort(run, value, False, case_sensitive, attribute)
    return ordered[0] if ordered else Undefined(lambda: "there is no least item: the list is empty")


@define(FILTERS, "max")
def max_(run: Run, value: Value, case_sensitive: bool = False, attribute: str | int | None = None) -> Value:
    """`x | max`: the greatest item."""
    ordered = sort(run, value, True, case_sensitive, attribute)
    return ordered[0] if ordered else Undefined(lambda: "there is no greatest item: the list is empty")


@define(FILTERS, "unique")
def unique(
    run: Run, value: Value, case_sensitive: bool = False, attribute: str | int | None = None
) -> list[Value]:
    """`x | unique`: each item once, where it came first."""
    key = _keys(run, attribute, case_sensitive)
    seen: set[str] = set()
    found: list[Value] = []
    for item in items_of(run, value):
        run.spend(2)
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
    """`x | groupby('kind')`: a list of pairs, each kind with the list of its items; `.grouper`, `.list`."""

    def key(item: Value) -> Value:
        found = find_path(run, item, str(attribute))
        found = default if isinstance(found, Undefined) and default is not None else found
        return folded(run, defined(found), case_sensitive)

    groups: list[Value] = []
    last: Value = None
    for item in sort_by(run, items_of(run, value), key):
        mark = key(item)
        if not groups or not equal(run, mark, last):
            grouper = find_path(run, item, str(attribute))
            groups.append(Group([mark if isinstance(grouper, Undefined) else grouper, []]))
            last = mark
        groups[-1][1].append(item)
    return groups


@define(FILTERS, "map")
def map_(run: Run, value: Value, *args: Value, **kwargs: Value) -> list[Value]:
    """`x | map('upper')`, `x | map(attribute='name')`: a filter on each item, or one part of each."""
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
    """`x | select('odd')`: the items that pass a test; without one, those that are not empty."""
    passes = _test(run, test, args)
    return [item for item in _turns(run, items_of(run, value)) if passes(item)]


@define(FILTERS, "reject")
def reject(run: Run, value: Value, test: str | None = None, *args: Value) -> list[Value]:
    """`x | reject('odd')`: the items that fail a test; without one, those that are empty."""
    passes = _test(run, test, args)
    return [item for item in _turns(run, items_of(run, value)) if not passes(item)]


@define(FILTERS, "selectattr")
def selectattr(run: Run, value: Value, attribute: str, test: str | None = None, *args: Value) -> list[Value]:
    """`x | selectattr('status', 'equalto', 'pass')`: the items of which a part passes a test."""
    passes = _test(run, test, args)
    items = _turns(run, items_of(run, value))
    return [item for item in items if passes(find_path(run, item, str(attribute)))]


@define(FILTERS, "rejectattr")
def rejectattr(run: Run, value: Value, attribute: str, test: str | None = None, *args: Value) -> list[Value]:
    """`x | rejectattr('status', 'equalto', 'pass')`: the items of which a part fails a test."""
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
    """`x | dictsort`: the keys and values of an object, as a list of pairs, in order of keys (or values)."""
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
    """What items are sorted and told apart by. Several attributes can be given, as 'name,size'."""
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
