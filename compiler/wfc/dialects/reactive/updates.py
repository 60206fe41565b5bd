"""State updates: the paths that they write, and the value rule.

A `value` without braces is an expression if it reads a member of a scope or the step's own result, or is a literal in
brackets, braces or backticks. Otherwise it is text; if the field has another type, the text is read as JSON. JSON
for a field of text stays text: a transform may parse it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from wfc.caching import pattern
from wfc.dialects.base import Reports, made
from wfc.dialects.reactive.build import keyed, mapping
from wfc.dialects.reactive.kinds import StateUpdate, Update
from wfc.dialects.reactive.names import TIERS, WRITABLE, Fields, Place
from wfc.dialects.reactive.scripts import holes
from wfc.dialects.reactive.texts import Texts
from wfc.findings import Edit, Fix, Severity
from wfc.language.values import Tree, Word, plain
from wfc.struct import replace, struct
from wfc.yaml import Mapping, Node, Scalar, Sequence

_NAME = pattern(r"[A-Za-z_$][\w$-]*")
_TIER = pattern(r"\s*(?:\{\{\s*)?([A-Za-z_]\w*)")
_JSON_TYPES = {
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


@struct(frozen=True)
class Part:
    """One key of a path: characters of its text."""

    kind: str
    """`name` and `text` are literal or have holes, `code` is an expression, `index` a number."""
    start: int
    end: int


@struct(frozen=True)
class Path:
    tier: str
    field: str
    field_at: tuple[int, int]
    rest: tuple[Part, ...]
    problem: str = ""
    problem_at: tuple[int, int] = (0, 0)


def parse_path(text: str, loose: bool = False) -> Path:
    """The parts of `raw.a['b'].{{ c }}`. With `loose`, a path without a tier is one of a raw field."""
    parts, problem, at = _parts(text)
    if problem:
        return Path("", "", (0, 0), (), problem, at)
    first = parts[0] if parts else None
    if first is None or first.kind != "name":
        return Path("", "", (0, 0), (), "a path begins with a tier, such as `raw.`", (0, len(text)))
    tier = text[first.start : first.end]
    if len(parts) == 1 or tier not in (*TIERS, "inputs", "loop"):
        if loose and tier not in (*TIERS, "inputs", "loop"):
            return Path("raw", tier, (first.start, first.end), tuple(parts[1:]))
        return Path(tier, "", (first.start, first.end), ())
    field = parts[1]
    name = text[field.start : field.end]
    # The fields that a workflow writes must be known when it is compiled.
    if field.kind not in ("name", "text") or holes(name):
        return Path(
            tier,
            "",
            (field.start, field.end),
            (),
            "the field of a path can't be computed",
            (field.start, field.end),
        )
    return Path(tier, name, (field.start, field.end), tuple(parts[2:]))


def _parts(text: str) -> tuple[list[Part], str, tuple[int, int]]:
    """The parts, or why there are none and where."""
    inside = {hole.start: hole.end for hole in holes(text)}
    parts: list[Part] = []
    at, end = 0, len(text.rstrip())
    at = len(text) - len(text.lstrip())
    while at < end:
        if text[at] == "[":
            close = _closing(text, at, inside)
            if close < 0:
                return [], "this bracket is not closed", (at, end)
            parts.append(_bracket(text, at + 1, close))
            at = close + 1
            if at < end and text[at] == ".":
                at += 1
                if at == end:
                    return [], "the path ends with a dot", (at - 1, at)
            continue
        start = at
        # A dot inside an expression does not separate keys.
        while at < end and text[at] not in ".[":
            at = inside.get(at, at + 1)
        if start == at:
            return [], "a part of the path is empty", (start, start + 1)
        kind = "text" if any(start <= hole < at for hole in inside) else "name"
        parts.append(Part(kind, start, at))
        if at < end and text[at] == ".":
            at += 1
            if at == end:
                return [], "the path ends with a dot", (at - 1, at)
    return parts, "", (0, 0)


def _closing(text: str, at: int, inside: dict[int, int]) -> int:
    """The position of the bracket that closes the one at a position; -1 if there is none."""
    depth, quote = 0, ""
    while at < len(text):
        char = text[at]
        if quote:
            at += 2 if char == "\\" else 1
            quote = "" if char == quote else quote
            continue
        if at in inside:
            at = inside[at]
            continue
        if char in "'\"`":
            quote = char
        depth += {"[": 1, "]": -1}.get(char, 0)
        if depth == 0:
            return at
        at += 1
    return -1


def _bracket(text: str, start: int, end: int) -> Part:
    inner = text[start:end].strip()
    start += len(text[start:end]) - len(text[start:end].lstrip())
    end = start + len(inner)
    if inner.isdigit():
        return Part("index", start, end)
    # `'a' + 'b'` begins and ends with a quote as well, but is an expression.
    if len(inner) > 1 and inner[0] == inner[-1] and inner[0] in "'\"" and inner[0] not in inner[1:-1]:
        return Part("text", start + 1, end - 1)
    found = holes(inner)
    if len(found) == 1 and found[0].start == 0 and found[0].end == len(inner):
        return Part("text", start, end)
    return Part("code", start, end)


# Targets: which fields a file writes.


def written(path: str, loose: bool = False) -> tuple[str, str] | None:
    """The tier and the field that a path writes; None for one that can't be written."""
    found = parse_path(path, loose)
    return (found.tier, found.field) if found.field and found.tier in WRITABLE else None


# Translation.


class Updates:
    """The updates of one step."""

    def __init__(self, texts: Texts, reports: Reports, whole: str = "") -> None:
        self._texts = texts
        self._reports = reports
        self._whole = whole
        """The expression for the whole result of the step; empty where there is none."""

    @property
    def _place(self) -> Place:
        return self._texts.place

    def changes(self, updates: Iterable[Update | StateUpdate]) -> list[Node]:
        return [change for update in updates if (change := self.change(update))]

    def change(self, update: Update | StateUpdate) -> Mapping | None:
        """The update as an entry of `changes`; None if its path can't be written."""
        if update.path is None:
            return None
        target = self.target(update.path)
        if target is None:
            return None
        parts, field, is_field = target
        operation = update.operation.text if update.operation else "set"
        # The declared type is that of the whole field: it does not apply to a part of it or to an operand.
        value = self._value(update, field if is_field and operation == "set" else None, operation)
        if operation == "set" and isinstance(value, Scalar) and isinstance(value.value, str):
            value = self._as_part(value, update.path.text)
        at = update.path.node.span
        keys: dict[str, Node] = {"path": Sequence(at, parts)}
        if operation != "set":
            keys["operation"] = made(operation, update.operation.node if update.operation else at)
        if value is not None:
            keys["value"] = value
        return mapping(at, **keys)

    def store(self, path: Word) -> Mapping | None:
        """A field that gets the whole result: `store_result: raw.x`."""
        target = self.target(path, loose=True)
        if target is None:
            return None
        at = path.node.span
        return mapping(at, path=Sequence(at, target[0]), value=made(f"{{{{ {self._whole} }}}}", path.node))

    def target(self, word: Word, loose: bool = False) -> tuple[list[Node], str, bool] | None:
        """The path as the core has it, the field, and whether it is the whole field."""
        node, text = word.node, word.text
        path = parse_path(text, loose)
        if path.problem:
            self._refuse(node, path.problem_at, path.problem)
            return None
        fields = self._place.fields
        is_computed = path.tier == "this" and path.field in fields.computed and path.field not in fields.raw
        if path.tier not in WRITABLE or not path.field or is_computed:
            self._not_writable(node, replace(path, tier="computed") if is_computed else path)
            return None
        field = self._field(path, node)
        parts: list[Node] = [made(field, node.at(*path.field_at))]
        parts += [self._part(node, part) for part in path.rest]
        return parts, path.field, not path.rest

    def _part(self, node: Scalar, part: Part) -> Node:
        text = node.text[part.start : part.end]
        match part.kind:
            case "index":
                return made(int(text), node.at(part.start, part.end))
            case "code":
                return self._texts.bare(node, part.start, part.end)
        return self._texts.part(node, part.start, part.end)

    def _field(self, path: Path, node: Scalar) -> str:
        fields = self._place.fields
        if path.tier == "global":
            return fields.add_global(path.field)
        return fields.add_raw(path.field)

    # -- what can't be written

    def _refuse(self, node: Scalar, at: tuple[int, int], problem: str) -> None:
        self._reports.add("WF315", node.at(*at), problem, _FORMS, step=self._place.step)

    def _not_writable(self, node: Scalar, path: Path) -> None:
        span = node.at(*path.field_at) if path.field else node.span
        match path.tier:
            case "computed":
                what = f"`{path.field}` is computed: its transform writes it"
                help_ = "write one of the fields that it is computed from"
            case "inputs" | "loop":
                what, help_ = f"`{path.tier}` can only be read", _FORMS
            case tier if tier in WRITABLE:
                what, help_ = f"`{tier}` is a tier; the path names no field", f"write `{tier}.<field>`"
            case tier:
                what, help_ = (
                    f"`{tier}` is not a tier that can be written",
                    f"write `raw.{node.text.strip()}`",
                )
        fix = None
        found = _TIER.match(node.text)
        if path.tier not in (*TIERS, "inputs", "loop") and found and "{{" not in node.text[: found.end()]:
            place = node.at(found.start(1), found.start(1))
            fix = Fix("write it to raw", (Edit(place, "raw."),), safe=False)
        self._reports.add("WF315", span, what, help_, step=self._place.step, fix=fix)

    # -- values

    def _value(self, update: Update | StateUpdate, field: str | None, operation: str) -> Node | None:
        tree = update.value or (Tree(update.transform.node) if update.transform else None)
        if tree is None:
            if operation in ("increment", "decrement"):
                return None
            return made(f"{{{{ {self._whole} }}}}", update.span) if self._whole else made(None, update.span)
        return self.value(tree.node, field)

    def value(self, node: Node, field: str | None = None) -> Node:
        """A value by the rule of the language; `field` is the raw field that gets it whole."""
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            return self._texts.tree(node)
        if field and self._place.fields.types.get(field) == "string" and _json(node.text) is not None:
            return node
        if self._texts.is_value(node):
            return self._texts.expression(node)
        if holes(node.text):
            return self._texts.text(node)
        return self._as_json(node, field)

    def _as_part(self, node: Scalar, path: str) -> Node:
        """Text that replaces a number or a boolean inside of a field is read as JSON where it fits."""
        wanted = self._place.fields.parts.get(_names(path))
        data = _json(node.text) if wanted else None
        return as_node(data, node) if wanted and _is_a(data, wanted) else node

    def _as_json(self, node: Scalar, field: str | None) -> Node:
        """Text for a field of another type is read as JSON."""
        wanted = self._place.fields.types.get(field) if field else None
        if wanted not in _JSON_TYPES:
            return node
        data = _json(node.text)
        if not _is_a(data, wanted):
            self._reports.add(
                "WF207",
                node.span,
                f"`{field}` is declared as {wanted}, and this is text",
                "write a value of that type, or an expression in `{{ }}`",
                step=self._place.step,
                severity=Severity.ERROR if node.text else Severity.WARNING,
            )
            return node
        return as_node(data, node)


_FORMS = "write `raw.<field>`, `state.<field>`, `this.<field>` or `global.<field>`"


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _is_a(data: Any, wanted: str) -> bool:
    # In Python, a boolean is also an integer.
    return isinstance(data, _JSON_TYPES[wanted]) and (wanted == "boolean" or not isinstance(data, bool))


def _names(text: str) -> tuple[str, ...]:
    """The path of a part of a raw field, if all its keys are names; else nothing."""
    path = parse_path(text)
    names = [text[part.start : part.end] for part in path.rest]
    is_named = all(part.kind in ("name", "text") for part in path.rest) and not any(map(holes, names))
    return (path.field, *names) if names and is_named and path.tier != "global" else ()


def as_node(data: Any, at: Scalar) -> Node:
    """JSON data as a node, at the place that it was written."""
    match data:
        case dict():
            return keyed(at.span, {key: as_node(value, at) for key, value in data.items()})
        case list():
            return Sequence(at.span, [as_node(item, at) for item in data])
    return made(data, at)


def initial_type(node: Node) -> str:
    """The type of an initial value; empty for null, and for text that is evaluated."""
    match plain(node):
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case list():
            return "array"
        case dict():
            return "object"
        case str() as text if not holes(text):
            return "string"
    return ""


def declare(fields: Fields, name: str, node: Node) -> None:
    """Note the type of a field from its declaration or its initial value."""
    if initial := initial_type(node):
        fields.types.setdefault(name, initial)
    pending: list[tuple[tuple[str, ...], Node]] = [((name,), node)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, Mapping):
            pending += [((*path, entry.key.text), entry.value) for entry in value.entries]
        elif len(path) > 1 and (kind := initial_type(value)) in ("number", "boolean"):
            fields.parts[path] = kind
