"""A fix for a value in a command: pass it in `env`, where no shell reads it."""

from __future__ import annotations

import re

from wfc.dialects.blocks.file import BlocksFile
from wfc.dialects.blocks.notation import DOLLAR
from wfc.findings import Edit, Fix
from wfc.yaml import Mapping, Node, Scalar, Span

_LONGEST = 40


def by_environment(file: BlocksFile, block: str, span: Span, written: str) -> Fix | None:
    """Replace the reference at a position of a block's command by a variable that `env` sets to it."""
    node = next((one.node for one in file.blocks or [] if one.id and one.id.text == block), None)
    inputs = node.get("inputs") if node is not None else None
    entry = inputs.entry("command") if isinstance(inputs, Mapping) else None
    if not isinstance(inputs, Mapping) or entry is None or not isinstance(entry.value, Scalar):
        return None
    whole = _reference(span)
    if whole is None or not entry.value.span.start <= whole.start < whole.end <= entry.value.span.end:
        return None
    env = inputs.get("env")
    if env is not None and (not isinstance(env, Mapping) or not env.entries):
        return None
    known = {one.key.text: one.value for one in env.entries} if isinstance(env, Mapping) else {}
    name = _name(whole.text, known)
    variable = written % name
    style = entry.value.style
    if style == '"':
        variable = variable.replace('"', '\\"')
    elif style == "'":
        variable = variable.replace("'", "''")
    elif not style and (whole.start == entry.value.span.start or "'" in variable):
        return None  # A text without quotes can't begin with one.
    edits = [Edit(whole, variable)]
    if name not in known:
        line = f'{name}: "{whole.text}"'
        first = env.entries[0].key.span if isinstance(env, Mapping) else entry.key.span
        around = env if isinstance(env, Mapping) else inputs
        edits.append(_inserted(around, first, line if env is not None else f"env: {{{line}}}"))
    return Fix(f"pass {whole.text} in `env`", tuple(edits), safe=False)


def _reference(span: Span) -> Span | None:
    """The reference around a path, with its braces."""
    text = span.source.text
    start, end = text.rfind("${", 0, span.start + 1), text.find("}", max(span.end - 1, 0)) + 1
    if start < 0 or not end:
        return None
    found = DOLLAR.holes(text[start:end])
    is_one = len(found) == 1 and (found[0].start, found[0].end) == (0, end - start)
    return span.source.span(start, end) if is_one else None


def _name(reference: str, known: dict[str, Node]) -> str:
    """A name for the variable: the last words of the path, in capitals."""
    words = [one for one in re.split(r"\W+", reference) if one not in ("", "inputs", "blocks", "outputs")]
    base = re.sub(r"^(?=\d)", "_", "_".join(words).upper())[-_LONGEST:].lstrip("_") or "VALUE"
    number, name = 1, base
    while isinstance(value := known.get(name), Scalar) and value.text != reference:
        number += 1
        name = f"{base}_{number}"
    return name


def _inserted(mapping: Mapping, before: Span, text: str) -> Edit:
    """Insert `key: value` before an entry: on a separate line, or before a comma inside braces."""
    source = before.source
    place = source.span(before.start, before.start)
    if mapping.span.text.startswith("{"):
        return Edit(place, f"{text}, ")
    return Edit(place, f"{text}{source.line_break}{' ' * (before.column - 1)}")
