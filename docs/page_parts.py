"""What the pages that are made from the code have in common."""

from __future__ import annotations

import json
from collections.abc import Iterator

from wfc.language.reference import FieldPage

MADE = "<!-- Made by `make docs` from the code. Change the docstrings there, not this page. -->"


def table(fields: list[FieldPage]) -> Iterator[str]:
    yield from ("| field | takes | |", "|---|---|---|")
    for field in fields:
        need = " **Required.**" if field.required else ""
        default = f" Default: `{json.dumps(field.default)}`." if field.default is not None else ""
        yield f"| `{field.name}` | {cell(field.takes)} | {cell(field.doc)}{need}{default} |"


def cell(text: str) -> str:
    return text.replace("|", "\\|")
