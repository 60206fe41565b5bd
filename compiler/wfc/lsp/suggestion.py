"""One thing that could come next, and what stands around a cursor in YAML."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TYPE = re.compile(r"^\s*(?:- )?type:\s*['\"]?(\w+)")
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


def column_of(line: str) -> int:
    """Where the key of a line begins, after the dash of a list."""
    bare = line.lstrip()
    return len(line) - len(bare) + (2 if bare.startswith("- ") else 0)
