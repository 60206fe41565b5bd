"""One thing that could come next, and what stands around a cursor in YAML."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass

from wfc.language.shape import Shape

_TYPE = re.compile(r"^\s*(?:- )?type:\s*['\"]?(\w+)")
_FLOW = re.compile(r"^\s*- \{([^{}]*,)?\s*[a-z_]*$")
_FLOW_KEY = re.compile(r"(?:^|,)\s*([a-z_]+):\s*['\"]?(\w*)")
ROOTS = {"state": "the state fields that `needs_state` lists", "inputs": "what the run was started with"}
"""Names that every template of the steps language has."""


@dataclass(frozen=True)
class Suggestion:
    text: str
    kind: str
    """field, input, property, step, task, workflow, type, key, value, filter, test, function or name."""
    detail: str = ""
    doc: str = ""


def siblings(above: list[str], indent: int) -> tuple[set[str], str]:
    """The keys above the cursor in the same mapping, and the `type` among them."""
    keys: set[str] = set()
    kind = ""
    for line in reversed(above):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        depth = column_of(line)
        if depth < indent:
            break
        if depth == indent:
            keys.add(line.strip().removeprefix("- ").partition(":")[0])
            typed = _TYPE.match(line)
            kind = kind or (typed[1] if typed else "")
            if line.lstrip().startswith("- "):
                break
    return keys, kind


def parents(above: list[str]) -> Iterator[tuple[str, str]]:
    """The keys that the mapping or list at the cursor belongs to, from the inside, and the `type` beside each."""
    column = column_of(above[-1])
    for number in range(len(above) - 2, -1, -1):
        line = above[number]
        if line.strip() and column_of(line) < column:
            key = line.strip().removeprefix("- ").partition(":")[0]
            yield key, siblings(above[:number], column_of(line))[1]
            column = column_of(line)


def flow_keys(line: str) -> dict[str, str] | None:
    """The keys before the cursor, with their values, where a list has a mapping in one line (`- {id: go, `)."""
    found = _FLOW.match(line)
    return dict(_FLOW_KEY.findall(found[1] or "")) if found else None


def fields_of(shape: type[Shape], there: Container[str]) -> Iterator[Suggestion]:
    """The keys of a mapping that are not there yet."""
    for name, field in shape.FIELDS.items():
        if name not in there:
            need = "required" if field.required else ""
            yield Suggestion(name, "key", need, f"{field.doc} Takes {field.type.words}.")


def column_of(line: str) -> int:
    """Where the key of a line begins, after the dash of a list."""
    bare = line.lstrip()
    return len(line) - len(bare) + (2 if bare.startswith("- ") else 0)
