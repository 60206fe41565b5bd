"""Lookup on values: names, attributes, items, slices and methods.

A failed lookup gives an Undefined that can explain itself; only its use is an error. Methods are a fixed list of pure
functions: no Python attribute can be reached from a template.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from .builtins import FUNCTIONS, call_guarded, check_defined
from .errors import ExpressionError, nearest, shorten
from .operators import equal
from .run import Meter, Run
from .values import Group, Namespace, Undefined, Value, defined, kind_of

if TYPE_CHECKING:
    from jinja2 import nodes

DATE_FIELDS = ("year", "month", "day")
TIME_FIELDS = ("hour", "minute", "second", "microsecond")
_SHOWN = 12


def find_name(run: Run, name: str, node: nodes.Node) -> Value:
    """A name that no `set` or `for` has bound."""
    context = run.context
    if name in context:
        return context[name]
    # The explanation is a function, so that nothing is computed for a lookup that only `default` or `is
    # defined` looks at.
    return Undefined(lambda: _explain_name(run, name), node, run.lenient)


def find_attribute(run: Run, value: Value, name: str, node: nodes.Node | None) -> Value:
    """`value.name`. Keys come first; the only other attributes are the few fields below, never Python's."""
    if isinstance(value, dict):
        if name in value:
            return value[name]
        # Compared by identity: any other object with such a key is an ordinary one.
        if value is run.context.get("state") and name in run.hidden:
            return Undefined(lambda: f"state.{name} is not in this step's needs_state", node, reason="hidden")
    elif isinstance(value, Undefined):
        # A lookup on something missing is missing, too; the first one explains itself.
        return value
    elif isinstance(value, Namespace):
        if name in value.fields:
            return value.fields[name]
    elif isinstance(value, Loop):
        if name in LOOP_FIELDS:
            return LOOP_FIELDS[name](value)
    elif isinstance(value, Group):
        if name in Group.FIELDS:
            return value[Group.FIELDS.index(name)]
    elif isinstance(value, date) and (
        name in DATE_FIELDS or (isinstance(value, datetime) and name in TIME_FIELDS)
    ):
        return getattr(value, name)
    return Undefined(lambda: _explain_attribute(run, value, name, node), node, run.lenient)


def find_item(run: Run, value: Value, key: Value, node: nodes.Node | None) -> Value:
    """`value[key]`."""
    if isinstance(value, Undefined):
        return value
    if isinstance(key, str):
        # As in Jinja, `x['a']` and `x.a` are the same.
        return find_attribute(run, value, key, node)
    if isinstance(value, (list, str)) and isinstance(key, int):
        if -len(value) <= key < len(value):
            return value[key]
        count = len(value)
        said = f"has no item {key}: it has {count:,}"
        return Undefined(lambda: f"{_base(run, node, value)} {said}", node, run.lenient)
    # Lists and objects can't be keys, and Python would raise a TypeError.
    if isinstance(value, dict) and not isinstance(defined(key), (list, dict)) and key in value:
        return value[key]
    shown = shorten(str(key)) if isinstance(key, (int, float)) else kind_of(key)
    said = f"is {kind_of(value)}: it has no item {shown}"
    return Undefined(lambda: f"{_base(run, node, value)} {said}", node, run.lenient)


def find_path(run: Run, value: Value, path: str) -> Value:
    """`value.a.b.0`, for filters that take an attribute's name as text."""
    run.read(len(path))
    for part in path.split("."):
        run.spend(1)
        # Nine digits: a longer number can't be an index of a list within the limits.
        is_index = part.isascii() and part.isdigit() and len(part) < 10
        value = find_item(run, value, int(part) if is_index else part, None)
    return value


def cut(run: Run, value: Value, start: Value, stop: Value, step: Value) -> Value:
    """`value[start:stop:step]`."""
    defined(value)
    if not isinstance(value, (str, list)):
        raise ExpressionError(f"can't take a slice of {kind_of(value)}", "type")
    for bound in (start, stop, step):
        if bound is not None and not isinstance(bound, int):
            raise ExpressionError(f"a slice has whole numbers for bounds, not {kind_of(bound)}", "type")
    if step == 0:
        raise ExpressionError("a slice can't go in steps of 0")
    where = slice(start, stop, step)
    # The length of the slice without making it.
    length = len(range(*where.indices(len(value))))
    if isinstance(value, str):
        run.make_text(length)
    else:
        run.make_list(length)
    return value[where]


def _explain_name(run: Run, name: str) -> str:
    # The most frequent mistake with functions is to leave out the parentheses.
    if name in FUNCTIONS:
        return f"'{name}' is a function: write {name}()"
    message = f"'{shorten(name)}' is not defined"
    for root in ("state", "inputs"):
        fields = run.context.get(root)
        if isinstance(fields, dict) and name in fields:
            return f"{message}: did you mean {root}.{name}?"
    return message + _alternatives("there is", name, list(run.context))


def _explain_attribute(run: Run, value: Value, name: str, node: nodes.Node | None) -> str:
    base = _base(run, node, value)
    is_path = _owner(node) is not None
    name = shorten(name)
    thing = f"{base}.{name}"
    missing = f"{thing} is not defined" if is_path else f"{base} has no '{name}'"
    if value is None:
        return f"{base} is null: it has no '{name}'"
    for kind, methods in METHODS.items():
        if isinstance(value, kind) and name in methods:
            return f"'{name}' is a method of {kind_of(value)}: write {thing}()"
    if isinstance(value, dict):
        return missing + _alternatives(f"{base} has" if is_path else "it has", name, list(value))
    if isinstance(value, Namespace):
        return missing + _alternatives(f"{base} has", name, list(value.fields))
    if isinstance(value, Loop):
        return missing + _alternatives(f"{base} has", name, list(LOOP_FIELDS))
    return f"{base} is {kind_of(value)}: it has no '{name}'"


def _base(run: Run, node: nodes.Node | None, value: Value) -> str:
    """The source text of the value that the lookup was made on."""
    owner = _owner(node)
    if owner is not None:
        return shorten(run.source(owner) or "the value")
    return "an item" if isinstance(value, dict) else "the value"


def _owner(node: nodes.Node | None) -> nodes.Expr | None:
    """The expression before the dot or bracket, where the lookup was written as one."""
    # Imported here, because this module is loaded before any template is parsed.
    from jinja2 import nodes  # loaded by then: only a parsed template gets here

    return node.node if isinstance(node, (nodes.Getattr, nodes.Getitem)) else None


def _alternatives(verb: str, name: str, names: list[Value]) -> str:
    texts = [other for other in names if isinstance(other, str)]
    if not texts:
        return f"; {verb} nothing"
    listed = ", ".join(shorten(other, 40) for other in texts[:_SHOWN])
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    close = nearest(name, texts)
    question = f"; did you mean '{close}'?" if close else ""
    return f"; {verb}: {listed}{more}{question}"


# The variable `loop` inside a `for`.


class Loop:
    """The current position of a loop. All items are known from the start: a loop iterates over a list."""

    __slots__ = ("index0", "items", "seen")

    def __init__(self, items: list[Value]) -> None:
        self.items = items
        self.index0 = 0
        self.seen: list[Value] | None = None


def _neighbour(loop: Loop, index: int, word: str) -> Value:
    if 0 <= index < len(loop.items):
        return loop.items[index]
    return Undefined(lambda: f"there is no {word} item")


LOOP_FIELDS: dict[str, Callable[[Loop], Value]] = {
    "index": lambda loop: loop.index0 + 1,
    "index0": lambda loop: loop.index0,
    "revindex": lambda loop: len(loop.items) - loop.index0,
    "revindex0": lambda loop: len(loop.items) - loop.index0 - 1,
    "first": lambda loop: loop.index0 == 0,
    "last": lambda loop: loop.index0 == len(loop.items) - 1,
    "length": lambda loop: len(loop.items),
    "previtem": lambda loop: _neighbour(loop, loop.index0 - 1, "previous"),
    "nextitem": lambda loop: _neighbour(loop, loop.index0 + 1, "next"),
}


def cycle(meter: Meter, loop: Loop, *values: Value) -> Value:
    """`loop.cycle('odd', 'even')`: the arguments in turn."""
    if not values:
        raise ExpressionError("cycle needs something to cycle through", "type")
    return values[loop.index0 % len(values)]


def changed(meter: Meter, loop: Loop, *values: Value) -> bool:
    """`loop.changed(x)`: whether the value differs from the one of the previous iteration."""
    now = list(values)
    same = loop.seen is not None and equal(meter, loop.seen, now)
    loop.seen = now
    return not same


# Methods, all of them pure. A method that is not listed here does not exist.

Method = Callable[..., Value]

# The result of these is at most a few times as long as the text.
_TO_TEXT = ["capitalize", "casefold", "lower", "lstrip", "removeprefix", "removesuffix", "rstrip", "strip"]
_TO_TEXT += ["swapcase", "title", "upper"]
_TO_FACT = ["count", "endswith", "find", "index", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit"]
_TO_FACT += ["isidentifier", "islower", "isnumeric", "isspace", "istitle", "isupper", "rfind", "rindex"]
_TO_FACT += ["startswith"]
_TO_LIST = ("partition", "rpartition", "rsplit", "split", "splitlines")
# For these Python takes up to len(text) * len(argument) comparisons.
_TIMES_WANTED = frozenset({"lstrip", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "strip"})
_LOOKS_PER_UNIT = 1024
_PADDED = ("center", "ljust", "rjust", "zfill")


def _text_method(name: str) -> Method:
    method: Callable[..., Any] = getattr(str, name)
    pay = Meter.read if name in _TO_FACT else Meter.make_text

    def call(meter: Meter, text: str, *args: Value, **kwargs: Value) -> Value:
        # Charged before the work is done.
        pay(meter, len(text))
        _pay_search(meter, name, text, args, kwargs)
        # str takes tuples where a template has lists, as in `name.endswith(['.py', '.pyi'])`.
        plain = [tuple(arg) if isinstance(arg, list) else arg for arg in args]
        result = method(text, *plain, **kwargs)
        return list(result) if isinstance(result, tuple) else result

    return call


def _pay_search(
    meter: Meter, name: str, text: str, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> None:
    """Charge for searches in which str compares each character more than once."""
    wanted = args[0] if args else kwargs.get("sep")
    # `startswith` and `endswith` take several candidates.
    if isinstance(wanted, list):
        # Each may equal the text up to its last character.
        meter.spend(len(wanted))
        for item in wanted:
            meter.read(min(len(item), len(text)) if isinstance(item, str) else 0)
    elif isinstance(wanted, str) and name in _TIMES_WANTED:
        meter.spend(len(text) * len(wanted) // _LOOKS_PER_UNIT)


def _list_method(name: str) -> Method:
    split = _text_method(name)

    def call(meter: Meter, text: str, *args: Value, **kwargs: Value) -> Value:
        separator = args[0] if args else kwargs.get("sep")
        if isinstance(separator, str) and separator:
            meter.read(len(text))
            # The number of parts is counted first, so that a text can't be split into more than the limit.
            meter.make_list(text.count(separator) + 1)
            return split(meter, text, *args, **kwargs)
        parts = split(meter, text, *args, **kwargs)
        meter.make_list(len(parts))
        return parts

    return call


def _padded_method(name: str) -> Method:
    method: Callable[..., Any] = getattr(str, name)

    def call(meter: Meter, text: str, width: int, fill: str = " ") -> Value:
        if not isinstance(width, int):
            raise ExpressionError(f"{name} takes a whole number, not {kind_of(width)}", "type")
        meter.make_text(max(len(text), width))
        return method(text, width) if name == "zfill" else method(text, width, fill)

    return call


def join(meter: Meter, separator: str, items: Value) -> str:
    """The items as one text. Its length is charged before it is made."""
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ExpressionError("join takes a list of texts; the filter join takes anything", "type")
    meter.make_text(sum(map(len, items)) + len(separator) * max(0, len(items) - 1))
    return separator.join(items)


def replace(meter: Meter, text: str, old: str, new: str, count: int = -1) -> str:
    """The text with `old` replaced by `new`. The length of the result is charged before it is made."""
    if not (isinstance(old, str) and isinstance(new, str) and isinstance(count, int)):
        raise ExpressionError("replace takes a text to find and a text to put in its place", "type")
    meter.read(len(text))
    # Counted first: the result may be many times as long as the text.
    found = text.count(old)
    times = found if count < 0 else min(found, count)
    meter.make_text(len(text) + times * (len(new) - len(old)))
    return text.replace(old, new, count)


def _get(meter: Meter, mapping: dict[str, Value], key: Value, default: Value = None) -> Value:
    return default if isinstance(key, (list, dict)) else mapping.get(key, default)


def pairs(meter: Meter, mapping: dict[str, Value]) -> list[Value]:
    """The keys and values of an object, as a list of pairs."""
    meter.make_list(len(mapping), slots=12)
    return [[key, value] for key, value in mapping.items()]


def _keys(meter: Meter, mapping: dict[str, Value]) -> list[Value]:
    meter.make_list(len(mapping))
    return list(mapping)


def _values(meter: Meter, mapping: dict[str, Value]) -> list[Value]:
    meter.make_list(len(mapping))
    return list(mapping.values())


def _count(meter: Meter, items: list[Value], item: Value) -> int:
    meter.spend(len(items))
    return sum(equal(meter, item, other) for other in items)


def _index(meter: Meter, items: list[Value], item: Value) -> int:
    meter.spend(len(items))
    for index, other in enumerate(items):
        if equal(meter, item, other):
            return index
    raise ExpressionError("the list does not have this item")


_DIRECTIVE = re.compile(r"%(-?)(.?)", re.S)
_DIRECTIVES = frozenset("aAbBdfGHIjmMpSuUVwWyYzZ")
_SHORTHANDS = {"F": "%Y-%m-%d", "T": "%H:%M:%S", "R": "%H:%M", "D": "%m/%d/%y", "%": "%%"}


def _strftime(meter: Meter, when: date, form: str) -> str:
    """Format a date with directives that mean the same on every machine: no locale, local time zone or widths."""
    # An upper bound: no directive expands to more.
    meter.make_text(32 * len(form))

    def expand(match: re.Match[str]) -> str:
        flag, letter = match.groups()
        # `%s` is not in Python's documentation, and platforms differ.
        if letter == "s" and isinstance(when, datetime):
            return str(int(_timestamp(meter, when)))
        if letter not in _DIRECTIVES and letter not in _SHORTHANDS:
            raise ExpressionError(f"strftime has no '{match.group()}'")
        text = when.strftime(_SHORTHANDS.get(letter, f"%{letter}"))
        return (text.lstrip("0") or "0") if flag and text.isdigit() else text

    return _DIRECTIVE.sub(expand, form)


def _timestamp(meter: Meter, when: datetime) -> float:
    # A time without a zone counts as UTC. Python would use the machine's own zone.
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


_DATE: dict[str, Method] = {
    "isoformat": lambda meter, when, *args, **kwargs: when.isoformat(*args, **kwargs),
    "isoweekday": lambda meter, when: when.isoweekday(),
    "strftime": _strftime,
    "weekday": lambda meter, when: when.weekday(),
}

METHODS: dict[type, dict[str, Method]] = {
    str: {
        **{name: _text_method(name) for name in _TO_TEXT + _TO_FACT},
        **{name: _list_method(name) for name in _TO_LIST},
        **{name: _padded_method(name) for name in _PADDED},
        "join": join,
        "replace": replace,
    },
    dict: {"get": _get, "items": pairs, "keys": _keys, "values": _values},
    list: {"count": _count, "index": _index},
    # datetime before date, its base class.
    datetime: {**_DATE, "date": lambda meter, when: when.date(), "timestamp": _timestamp},
    date: _DATE,
    Loop: {"changed": changed, "cycle": cycle},
}


def call_method(
    run: Run, value: Value, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> Value:
    """Call a method, even of an object that has a key of that name: the value of a key can't be called."""
    check_defined(value, *args, *kwargs.values())
    for kind, methods in METHODS.items():
        if isinstance(value, kind):
            if name in methods:
                return call_guarded(run, name, methods[name], (run, value, *args), kwargs)
            close = nearest(name, methods)
            hint = f": did you mean '{close}'?" if close else ""
            raise ExpressionError(f"{kind_of(value)} has no method '{shorten(name)}'{hint}", "undefined")
    raise ExpressionError(f"{kind_of(value)} has no method '{shorten(name)}'", "undefined")
