"""Templates that are right for what may be read at a place."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.property.values import Chooser

TEXT, NUMBER, BOOL, LIST, ANY, ID = "text", "number", "bool", "list", "any", "id"
"""ID: what uuid() gave, of which nothing is known but that it is another one each time."""

SHELL = ((".stdout", TEXT), (".stderr", TEXT), (".exit_code", NUMBER))
ANSWERS = {
    "info": ((".acknowledged", BOOL),),
    "confirm": ((".confirmed", BOOL),),
    "text": ((".input", TEXT),),
    "choice": ((".selected", TEXT),),
}
DELEGATED = ((".response", TEXT),)
INPUT_KINDS = {
    "string": TEXT,
    "number": NUMBER,
    "integer": NUMBER,
    "boolean": BOOL,
    "array": LIST,
    "object": ANY,
}

Kinds = tuple[tuple[str, str], ...]
"""What can be read of a value: `.stdout` is text, and so on; an empty path is the value itself."""


@dataclass(frozen=True)
class Readable:
    text: str
    kind: str
    field: str | None = None
    """The state field that it needs."""


@dataclass
class Sight:
    """What can be read at a place: inputs, fields that surely have a value, and names of the scope."""

    inputs: dict[str, str]
    fields: dict[str, Kinds] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def inside(self) -> Sight:
        """For a list of steps that may be skipped: what it writes is not sure to be there afterwards."""
        return Sight(self.inputs, dict(self.fields), dict(self.names))

    def readables(self) -> list[Readable]:
        found = [Readable(f"inputs.{name}", kind) for name, kind in self.inputs.items()]
        found += [Readable(name, kind) for name, kind in self.names.items()]
        found += [
            Readable(f"state.{name}{path}", kind, name)
            for name, kinds in self.fields.items()
            for path, kind in kinds
        ]
        return found


@dataclass(frozen=True)
class Expression:
    text: str
    reads: frozenset[str]


_CONDITIONS = {
    TEXT: ("{} == 'ok'", "'a' in {}", "({} | trim) != ''", "{}.startswith('x')"),
    NUMBER: ("{} > 3", "{} != 0", "({} | int) % 2 == 0", "0 <= {} < 10"),
    BOOL: ("{}", "not {}", "{} == true"),
    LIST: ("{} | length > 0", "{} is sequence"),
    ANY: ("{} is mapping", "{} is not none"),
    ID: ("{} | length == 36", "{} == uuid()"),
}
_HOLES = {
    TEXT: ("{}", "{} | trim", "{} | upper | replace('A', 'b')", "{}[:20]", "{} ~ '!'"),
    NUMBER: ("{}", "{} + 1", "{} * 2", "{} | string"),
    BOOL: ("{}", "'yes' if {} else 'no'"),
    LIST: ("{} | length", "{} | tojson", "{} | first | default('none')"),
    ANY: ("{} | tojson",),
    ID: ("{}", "{} ~ '!'"),
}
_RISKY = {TEXT: "{} | parse_json | tojson", NUMBER: "10 / {}", LIST: "{}[1]"}
"""Fails for some values."""
_MADE = (("uuid()", ID), ("now().isoformat()", TEXT), ("now().year", NUMBER))


def condition(choose: Chooser, sight: Sight) -> Expression:
    """A lone expression that is true or false."""
    chosen = choose.some(sight.readables(), 1, 2)
    parts = [choose.pick(_CONDITIONS[one.kind]).format(one.text) for one in chosen]
    text = parts[0] if len(parts) == 1 else f"({parts[0]}) {choose.pick(('and', 'or'))} ({parts[1]})"
    return Expression(f"{{{{ {text} }}}}", _fields(chosen))


def text(choose: Chooser, sight: Sight, shell: bool = False) -> Expression:
    """Text with holes, or without any. In a command each hole is quoted for the shell."""
    chosen = choose.some(sight.readables(), 0, 3)
    parts = [
        choose.pick(("echo", "look at", "go:\n", "über 日本") if shell else ("look at", "go:\n", "it's 日本"))
    ]
    chosen += [Readable(*choose.pick(_MADE))] if choose.chance(8) else []
    for one in chosen:
        risky = one.kind in _RISKY and choose.chance(12)
        hole = (_RISKY[one.kind] if risky else choose.pick(_HOLES[one.kind])).format(one.text)
        quote = " | string | shquote" if shell else ""
        parts.append(f"{{{{ ({hole}){quote} }}}}")
    return Expression(" ".join(parts), _fields(chosen))


def lone(choose: Chooser, sight: Sight) -> tuple[Expression, str]:
    """A single hole that keeps the type of its value, which comes with it."""
    one = Readable(*choose.pick(_MADE)) if choose.chance(8) else choose.pick(sight.readables())
    return Expression(f"{{{{ {one.text} }}}}", _fields([one])), one.kind


def list_of_texts(choose: Chooser, sight: Sight) -> Expression:
    """An expression that gives a list of texts."""
    one = choose.pick([one for one in sight.readables() if one.kind == TEXT])
    made = choose.pick(("{}.split() | list", "[{}, 'b']", "{} | split(',')", "[{}] | unique | list"))
    return Expression(f"{{{{ {made.format(one.text)} }}}}", _fields([one]))


def _fields(chosen: list[Readable]) -> frozenset[str]:
    return frozenset(one.field for one in chosen if one.field is not None)
