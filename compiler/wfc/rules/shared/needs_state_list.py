"""Edits of a step's `needs_state`: several findings of one step share one, so that their fixes do not
collide."""

from __future__ import annotations

from wfc.findings import Edit, Fix
from wfc.language.steps.base import Step
from wfc.language.values import Word
from wfc.rules.shared.edits import add_entry, line_break, remove_entry, remove_items
from wfc.rules.shared.wording import flow, is_plain
from wfc.yaml import Node, Scalar, Sequence, Span


def list_fields(step: Step, names: list[str]) -> Fix | None:
    """Add fields to the list, in its own style, or add the list."""
    node = own_list(step)
    if node is not None:
        edit = _append(node, names)
    elif step.node.entry("needs_state") is None:
        edit = _new_list(step, names)
    else:
        edit = None
    return Fix(f"list {', '.join(names)} in needs_state", (edit,), safe=True) if edit else None


def unlist(step: Step, words: list[Word]) -> Fix | None:
    """Take entries out of the list. A block list that would become empty goes as a whole."""
    node = own_list(step)
    if node is None:
        return None
    places = {id(item): number for number, item in enumerate(node.items)}
    numbers = sorted(places[id(word.node)] for word in words if id(word.node) in places)
    description = f"take {', '.join(dict.fromkeys(word.text for word in words))} out of needs_state"
    if len(numbers) == len(node.items) and not node.span.text.startswith("["):
        entry = step.node.entry("needs_state")
        return remove_entry(step.node, entry, description, safe=True) if entry else None
    return remove_items(node, numbers, description)


def own_list(step: Step) -> Sequence | None:
    """The list, if it stands in the step itself, and once; one that an alias brings in serves others too."""
    entries = [entry for entry in step.node.entries if entry.key.text == "needs_state"]
    entry = entries[0] if len(entries) == 1 else None
    if entry is None or not isinstance(entry.value, Sequence):
        return None
    inner, outer = entry.value.span, step.node.span
    return entry.value if outer.start <= entry.key.span.start < inner.start < inner.end <= outer.end else None


def _new_list(step: Step, names: list[str]) -> Edit | None:
    anchor = step.node.entry("type")
    text = f"needs_state: [{', '.join(_item(name) for name in names)}]"
    return add_entry(step.node, anchor, text) if anchor and isinstance(anchor.value, Scalar) else None


def _append(node: Sequence, names: list[str]) -> Edit | None:
    last: Node | None = node.items[-1] if node.items else None
    if last is None:
        blank = not node.span.text[1:-1].strip()
        return Edit(node.span, f"[{', '.join(map(_item, names))}]") if blank else None
    if (
        not isinstance(last, Scalar)
        or not node.span.start <= last.span.start < last.span.end <= node.span.end
    ):
        return None
    items = [_item(name, last.style) for name in names]
    if node.span.text.startswith("["):
        return _insert(last.span, last.span.end, "".join(f", {item}" for item in items))
    return _append_lines(last.span, items)


def _append_lines(last: Span, items: list[str]) -> Edit | None:
    source = last.source
    before = source.line(last.line)[: last.column - 1]
    if before.strip() != "-" or last.line != last.end_line:
        return None
    end = source.line_starts[last.line - 1] + len(source.line(last.line))
    return _insert(last, end, "".join(f"{line_break(source)}{before}{item}" for item in items))


def _insert(near: Span, offset: int, text: str) -> Edit:
    return Edit(near.source.span(offset, offset), text)


def _item(name: str, style: str = "") -> str:
    """A field's name in the quotes of its neighbour, if it has any."""
    return f"{style}{name}{style}" if style in ("'", '"') and is_plain(name) else flow(name)
