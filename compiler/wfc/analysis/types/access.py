"""Access to names, properties, items and slices: the type of the result, and accesses that fail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any

from jinja2 import nodes

from wfc.analysis.types.builtins import METHODS, is_fraction, item_of
from wfc.analysis.types.emptiness import check_index
from wfc.analysis.types.environment import Change, Kind, Path
from wfc.analysis.types.lattice import (
    DATE,
    MOMENT,
    NOTHING,
    UNDEFINED,
    describe,
    is_known,
    join,
    kind_of,
    kinds_of,
    options,
    without,
)
from wfc.language.types import (
    ANY,
    INT,
    NULL,
    OBJECT,
    TEXT,
    Exact,
    Fixed,
    ListType,
    MapType,
    Property,
    Record,
    Type,
)
from wfc.struct import struct
from wfc.suggest import did_you_mean, nearest
from wfc_runtime.expr.access import DATE_FIELDS, TIME_FIELDS

if TYPE_CHECKING:
    from wfc.analysis.types.expressions import Inference


# Which values have which properties and items, and their types.

# Closed, because the runtime produces exactly this object: any other property of it is a mistake.
FAILED_CHILD = Record("FailedChild", (Property("error", ANY),), open=False)
"""The result of a run that failed, in the list of a foreach or as the result of a call."""

LOOP = Record(
    "Loop",
    (
        *(Property(name, INT) for name in ("index", "index0", "revindex", "revindex0", "length")),
        *(Property(name, ANY) for name in ("first", "last", "previtem", "nextitem")),
    ),
    open=False,
)
"""The variable `loop` inside a `for`."""

_MOMENT_FIELDS = (*DATE_FIELDS, *TIME_FIELDS)


@struct(slots=True)
class Found:
    """The result of looking up a property or an item, over all alternatives of the type of the value."""

    types: list[Type] = field(default_factory=list)
    lacking: list[Type] = field(default_factory=list)
    """The alternatives that never have it."""
    optional: Record | None = None
    """An alternative that may lack it."""
    says_required: bool = False
    """Whether the declaration of that alternative says which properties are required, and this one is not."""
    null: bool = False
    loose: bool = False
    """Whether its presence can't be known, as for an item of a list by its number."""

    @property
    def type(self) -> Type:
        return join(*self.types) if self.types else ANY


def find_property(kind: Type, name: str) -> Found:
    found = Found()
    for option in options(kind):
        if option == NULL:
            found.null = True
        elif isinstance(option, Record):
            # Each alternative is looked up on its own: a problem is certain only if all of them lack the
            # property.
            _find_in_record(option, name, found)
        elif option != UNDEFINED:
            part = _part_of(option, name)
            # The keys of a map are unknown, so any of them may be missing.
            found.loose |= isinstance(option, MapType)
            if part is None:
                found.lacking.append(option)
            else:
                found.types.append(part)
    return found


def _find_in_record(record: Record, name: str, found: Found) -> None:
    prop = record.get(name)
    if prop is not None:
        found.types.append(prop.type)
        # Whether an optional property is there can't be known, so `is defined` on it is not reported as constant.
        found.loose |= not prop.required
        if not prop.required:
            found.optional = record
            found.says_required |= record.declared or any(other.required for other in record.properties)
    # A record that declares nothing, or expects more than it declares, may have any property.
    elif record.loose or (record.open and not record.properties):
        found.types.append(ANY)
        found.loose = True
    else:
        found.lacking.append(record)


def _part_of(option: Type, name: str) -> Type | None:
    match option:
        case MapType():
            # An empty object has no items whose type could be known.
            return ANY if option.item == NOTHING else option.item
        case Fixed():
            return option.items[option.names.index(name)] if name in option.names else None
    if option in (DATE, MOMENT):
        return INT if name in (_MOMENT_FIELDS if option == MOMENT else DATE_FIELDS) else None
    return option if kind_of(option) in ("any", "nothing") else None


def find_item(kind: Type, index: int | None) -> Found:
    """The item with a given index; None stands for an index that is not known."""
    found = Found(loose=True)
    for option in options(kind):
        if option == NULL:
            found.null = True
            continue
        match option:
            # Negative indexes count from the end, as in Python.
            case Fixed() if index is not None and -len(option.items) <= index < len(option.items):
                found.types.append(option.items[index])
            case Fixed() if index is not None:
                found.lacking.append(option)
            case ListType() | Fixed():
                found.types.append(item_of(option))
            case MapType():
                found.types.append(ANY)
            # A computed key of an object may be any of its properties.
            case Record() if index is None:
                found.types.append(ANY)
            case Exact(value=str(text)) if index is not None and not -len(text) <= index < len(text):
                found.lacking.append(option)
            case _ if kind_of(option) == "text":
                found.types.append(TEXT)
            case _ if kind_of(option) in ("any", "nothing"):
                found.types.append(option)
            case _ if option != UNDEFINED:
                found.lacking.append(option)
    return found


def may_have(option: Type, name: str, there: bool) -> bool:
    """Whether a value may have a property, or (if not `there`) may lack it."""
    found = find_property(option, name)
    if there:
        return bool(found.types)
    # `any` may be anything, so a test of it is never constant.
    return bool(found.lacking or found.optional or found.null or found.loose) or kind_of(option) == "any"


def with_part(option: Type, name: str) -> Type:
    """The type after a test has shown that a property is present."""
    if not isinstance(option, Record):
        return option
    properties = (
        Property(prop.name, prop.type, prop.required or prop.name == name) for prop in option.properties
    )
    return Record(option.name, tuple(properties), option.open, option.loose, option.declared)


def property_names(kinds: list[Type]) -> Iterator[str]:
    """The property names that may have been meant."""
    for option in kinds:
        if isinstance(option, Record):
            yield from (prop.name for prop in option.properties)
        elif isinstance(option, Fixed):
            yield from option.names
        elif option in (DATE, MOMENT):
            yield from _MOMENT_FIELDS if option == MOMENT else DATE_FIELDS


# Reports of missing properties, items and methods, with the name that was probably meant.

_SIZES = frozenset({"length", "len", "size", "count"})
_SIZED = frozenset({"text", "list", "object"})


def place_of(walk: Inference, node: nodes.Expr) -> tuple[int, int]:
    """The place of the name after the dot, or of the expression in the brackets."""
    if isinstance(node, nodes.Getitem):
        return inside_quotes(walk, node.arg)
    return walk.template.token_span(node)


def inside_quotes(walk: Inference, node: nodes.Expr) -> tuple[int, int]:
    """The place of an expression; for a literal text, without its quotes."""
    start, end = walk.template.span(node)
    value = node.value if isinstance(node, nodes.Const) else None
    # Equal only if the text has no escapes, so that offsets in it are offsets in the file.
    if isinstance(value, str) and walk.template.text[start + 1 : end - 1] == value:
        return start + 1, end - 1
    return start, end


def no_such_property(
    walk: Inference,
    node: nodes.Getattr | nodes.Getitem,
    name: str,
    lacking: list[Type],
    guarded: bool = False,
) -> None:
    """Report a missing property. Before `default` or `is defined`, only a likely typo is reported."""
    place = place_of(walk, node)
    known = list(dict.fromkeys(property_names(lacking)))
    near = nearest(name, known)
    # `default` and `is defined` are there for names that may be missing; a likely typo is still worth a
    # report.
    if guarded and near is None:
        return
    more = _method_meant(name, lacking, place) or _size_meant(walk, node, name, lacking, place)
    # An open object may have undeclared properties: report only a name that resembles a declared one.
    is_open = all(isinstance(one, Record) and one.open for one in lacking)
    possible = is_open and (guarded or near is None)
    words = f"{subject(walk, node.node, lacking)} no property `{name[:60]}`"
    walk.report(
        Kind.PROPERTY,
        place,
        f"{words} that anything declares" if possible else words,
        sure=not possible,
        **(more or _name_meant(name, near, known, place)),
    )


def subject(walk: Inference, node: nodes.Expr, lacking: list[Type]) -> str:
    """The beginning of a sentence: "`state.build` is a shell result: it has"."""
    words = describe(join(*lacking))
    thing = f"`{walk.source(node)}`"
    return f"{thing} has" if words == "an object" else f"{thing} is {words}: it has"


def no_such_item(walk: Inference, node: nodes.Getitem, lacking: list[Type]) -> None:
    words = describe(join(*lacking))
    key = walk.source(node.arg)
    is_short = all(kind_of(one) in ("text", "list") for one in lacking)
    walk.report(
        Kind.PROPERTY,
        place_of(walk, node),
        f"`{walk.source(node.node)}` is {words}: it has no item `{key}`",
        help="" if is_short else "only lists and texts have items by number",
    )


def no_such_part(
    walk: Inference, place: tuple[int, int], name: str, lacking: list[Type], guarded: bool = False
) -> None:
    """Report a missing property that a filter names, as in `map(attribute='name')`."""
    known = list(dict.fromkeys(property_names(lacking)))
    near = nearest(name, known)
    if guarded and near is None:
        return
    words = describe(join(*lacking))
    items = "the items have" if words == "an object" else f"each item is {words}: it has"
    is_open = all(isinstance(one, Record) and one.open for one in lacking)
    possible = is_open and (guarded or near is None)
    message = f"{items} no {'declared ' if possible else ''}property `{name[:60]}`"
    walk.report(Kind.PROPERTY, place, message, sure=not possible, **_name_meant(name, near, known, place))


def _name_meant(name: str, near: str | None, known: list[str], place: tuple[int, int]) -> dict[str, Any]:
    changes = (Change(*place, near),) if near and near.isidentifier() else ()
    fix = f"rename it to {near}" if changes else ""
    return {"help": did_you_mean(name, known), "changes": changes, "fix": fix}


def _method_meant(name: str, lacking: list[Type], place: tuple[int, int]) -> dict[str, Any] | None:
    # All alternatives must have the method, or the advice would be wrong for some of them.
    if not all(name in METHODS.get(kind_of(one), {}) for one in lacking):
        return None
    needs = any(parameter.required for one in lacking for parameter in METHODS[kind_of(one)][name].parameters)
    if needs:
        return {"help": f"`{name}` is a method: write `{name}(...)`"}
    changes = (Change(place[1], place[1], "()"),)
    return {"help": f"`{name}` is a method: write `{name}()`", "changes": changes, "fix": "call the method"}


def _size_meant(
    walk: Inference, node: nodes.Expr, name: str, lacking: list[Type], place: tuple[int, int]
) -> dict[str, Any] | None:
    if name not in _SIZES or not all(kind_of(one) in _SIZED for one in lacking):
        return None
    dot = walk.template.text[: place[0]].rstrip()
    is_dot = isinstance(node, nodes.Getattr) and dot.endswith(".")
    changes = (Change(len(dot) - 1, place[1], " | length"),) if is_dot else ()
    return {"help": "its size is `| length`", "changes": changes, "fix": "use the filter" if changes else ""}


_ROOTS = ("state", "inputs")


@struct(frozen=True)
class Reached:
    type: Type
    path: Path | None = None


def follow(walk: Inference, node: nodes.Expr, guarded: bool = False) -> Reached:
    """The type at the end of a path, and the path itself."""
    if isinstance(node, nodes.Name):
        return _name(walk, node.name)
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
        return Reached(_slice(walk, node))
    if not isinstance(node, nodes.Getattr | nodes.Getitem):
        return Reached(walk.type_of(node, guarded))
    key = key_of(node)
    base = node.node
    # A path reads one part of its base, so that an empty item elsewhere in the list does no harm (see `split`).
    walk.picked.add(id(base))
    if isinstance(base, nodes.Name) and base.name in _ROOTS and base.name not in walk.locals:
        return _field(walk, node, base.name, key, guarded)
    found = _part(walk, node, follow(walk, base, guarded), key, guarded)
    return _narrowed(walk, found)


def key_of(node: nodes.Getattr | nodes.Getitem) -> str | int | None:
    """The name after the dot, or the constant in the brackets; None if it is computed."""
    if isinstance(node, nodes.Getattr):
        return node.attr
    # Jinja parses `-1` as the negation of 1, not as a constant.
    sign, key = (-1, node.arg.node) if isinstance(node.arg, nodes.Neg) else (1, node.arg)
    value = key.value if isinstance(key, nodes.Const) else None
    # `True` is an int in Python, but not an index that anyone means.
    if isinstance(value, int) and not isinstance(value, bool):
        return sign * value
    return value if isinstance(value, str) and sign == 1 else None


def _name(walk: Inference, name: str) -> Reached:
    if name in walk.locals:
        return _narrowed(walk, Reached(walk.locals[name], (name,)))
    if name in _ROOTS:
        return Reached(OBJECT, (name,))
    return _narrowed(walk, Reached(walk.environment.names.get(name, ANY), (name,)))


def _narrowed(walk: Inference, reached: Reached) -> Reached:
    path = reached.path
    if path is None:
        return reached
    walk.seen[path] = reached.type
    return Reached(walk.facts[path], path) if path in walk.facts else reached


def _field(walk: Inference, node: nodes.Expr, root: str, key: str | int | None, guarded: bool) -> Reached:
    """The type of a state field or input. Other rules report unknown names."""
    if not isinstance(key, str):
        # The key itself may contain mistakes.
        if isinstance(node, nodes.Getitem):
            walk.type_of(node.arg)
        return Reached(ANY)
    path = (root, key)
    if root == "inputs":
        return _narrowed(walk, Reached(walk.environment.around.inputs.get(key, ANY), path))
    reached = _narrowed(walk, Reached(walk.environment.state(key), path))
    if guarded or UNDEFINED not in options(reached.type):
        return reached
    walk.report(
        Kind.UNSET,
        place_of(walk, node),
        f"no step has written `{key}` before this",
        field=key,
        sure=reached.type == UNDEFINED,
    )
    # After the report, the value is treated as present, so that one mistake is reported once.
    rest = without(reached.type, UNDEFINED)
    return Reached(ANY if rest == NOTHING else rest, path)


def _part(
    walk: Inference, node: nodes.Getattr | nodes.Getitem, base: Reached, key: str | int | None, guarded: bool
) -> Reached:
    if key is None and isinstance(node, nodes.Getitem):
        walk.type_of(node.arg)
    found = find_property(base.type, key) if isinstance(key, str) else find_item(base.type, key)
    path = (*base.path, key) if base.path is not None and key is not None else None
    if guarded:
        # Where absence is handled, the type includes undefined instead of a report.
        gone = found.null or found.optional or found.lacking or found.loose or UNDEFINED in options(base.type)
        kind = join(found.type if found.types else NOTHING, UNDEFINED if gone else NOTHING)
        if isinstance(key, str) and found.lacking and not found.types and not found.null:
            no_such_property(walk, node, key, found.lacking, guarded=True)
        return Reached(kind if kind != NOTHING else ANY, path)
    _check(walk, node, base, key, found, path)
    return Reached(found.type, path)


def _check(
    walk: Inference,
    node: nodes.Getattr | nodes.Getitem,
    base: Reached,
    key: str | int | None,
    found: Found,
    path: Path | None,
) -> None:
    if not found.types and found.lacking:
        if isinstance(key, str):
            no_such_property(walk, node, key, found.lacking)
        elif isinstance(node, nodes.Getitem):
            no_such_item(walk, node, found.lacking)
    elif FAILED_CHILD in found.lacking:
        walk.report(
            Kind.PROPERTY,
            place_of(walk, node),
            f"`{walk.source(node.node)}` has no `{key}` if the child failed: then it is `{{error}}`",
            help=f"leave those out first: `| selectattr('{key}', 'defined')`",
            sure=False,
        )
    elif found.optional is not None and path not in walk.facts:
        # A test around it has shown that the property is there.
        null = NULL in options(found.type)
        walk.report(
            Kind.OPTIONAL,
            place_of(walk, node),
            f"`{key}` may be missing{' or null' if null else ''}: {_not_required(found.optional)}",
            help=f"supply a fallback: `{walk.as_operand(node)} | default(...{', true' if null else ''})`",
            sure=False,
            only_possible=not found.says_required,
            path=path,
        )
        # The advice covers null as well, so it is not reported a second time.
        found.types = [without(found.type, NULL)]
    elif isinstance(key, int) and isinstance(node, nodes.Getitem):
        check_index(walk, node, base.type, key, place_of(walk, node))
    if found.null:
        _null_base(walk, node, base)


def _not_required(record: Record) -> str:
    if record.name:
        return f"{describe(record)} need not have it"
    return f"the {'declaration of the input' if record.declared else 'schema'} does not require it"


def _null_base(walk: Inference, node: nodes.Getattr | nodes.Getitem, base: Reached) -> None:
    field = base.path[1] if base.path and len(base.path) == 2 and base.path[0] == "state" else None
    walk.report(
        # A field that is always null is one that no step has written.
        Kind.UNSET if base.type == NULL and field else Kind.NULLABLE,
        place_of(walk, node),
        f"`{walk.source(node.node)}` {'is' if base.type == NULL else 'may be'} null here",
        help=f"test it first: `{walk.source(node)} if {walk.source(node.node)} is not none else ...`",
        field=str(field) if field else None,
        sure=base.type == NULL,
    )


def _slice(walk: Inference, node: nodes.Getitem) -> Type:
    assert isinstance(node.arg, nodes.Slice)
    for bound in (node.arg.start, node.arg.stop, node.arg.step):
        if bound is not None:
            kind = walk.type_of(bound)
            if is_fraction(bound, kind):
                report_fraction(walk, bound, "slice bounds must be whole numbers")
            elif is_known(kind) and not kinds_of(kind) & {"number", "bool", "null"}:
                words = f"`{walk.source(bound)}` is {describe(kind)}"
                walk.report(Kind.MISMATCH, bound, f"{words}: slice bounds must be whole numbers")
    kind = walk.type_of(node.node)
    kept = [option for option in options(kind) if kind_of(option) in ("text", "list", "any", "nothing")]
    if not kept:
        words = f"`{walk.source(node.node)}` is {describe(kind)}"
        walk.report(Kind.MISMATCH, node.node, f"{words}: only texts and lists can be sliced")
        return ANY
    return join(*(_sliced(option) for option in kept))


def report_fraction(walk: Inference, node: nodes.Expr, rule: str) -> None:
    """Report a number that is never whole, where only a whole number works."""
    hint = "`//` divides to a whole number" if isinstance(node, nodes.Div) else ""
    walk.report(Kind.MISMATCH, node, f"`{walk.source(node)}` is never a whole number: {rule}", help=hint)


def _sliced(option: Type) -> Type:
    if kind_of(option) == "list":
        return ListType(item_of(option))
    return TEXT if kind_of(option) == "text" else option
