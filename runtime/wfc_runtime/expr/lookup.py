"""Names, attributes, items and slices. What isn't there comes back as an Undefined that can say so."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import TYPE_CHECKING

from .errors import ExpressionError, shorten
from .loop import LOOP_FIELDS, Loop
from .methods import METHODS
from .registry import FUNCTIONS
from .run import Run
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
    return Undefined(lambda: _explain_name(run, name), node, run.lenient)


def find_attribute(run: Run, value: Value, name: str, node: nodes.Node | None) -> Value:
    """`value.name`. Keys come first; what is not a key is one of a few fields, and never Python's own."""
    if isinstance(value, dict):
        if name in value:
            return value[name]
        if value is run.context.get("state") and name in run.hidden:
            return Undefined(lambda: f"state.{name} is not in this step's needs_state", node, reason="hidden")
    elif isinstance(value, Undefined):
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
        return find_attribute(run, value, key, node)
    if isinstance(value, (list, str)) and isinstance(key, int):
        if -len(value) <= key < len(value):
            return value[key]
        count = len(value)
        said = f"has no item {key}: it has {count:,}"
        return Undefined(lambda: f"{_base(run, node, value)} {said}", node, run.lenient)
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
    length = len(range(*where.indices(len(value))))
    if isinstance(value, str):
        run.make_text(length)
    else:
        run.make_list(length)
    return value[where]


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name most like this one, if any is."""
    import difflib  # only ever needed for a message

    found = difflib.get_close_matches(name[:64], [other for other in names if len(other) <= 64][:500], 1)
    return found[0] if found else None


def _explain_name(run: Run, name: str) -> str:
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
    """The text of what the attribute or item was looked up on."""
    owner = _owner(node)
    if owner is not None:
        return shorten(run.source(owner) or "the value")
    return "an item" if isinstance(value, dict) else "the value"


def _owner(node: nodes.Node | None) -> nodes.Expr | None:
    """The expression before the dot or bracket, where the lookup was written as one."""
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
