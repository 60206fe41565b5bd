"""Edits of YAML text, used by the fixes of several rules. Each is None if it can't be made safely."""

from __future__ import annotations

import re

from wfc.caching import pattern
from wfc.findings import Edit, Fix
from wfc.language.steps.base import Step
from wfc.language.values import Text, Word
from wfc.rules.common.hints import flow, is_plain
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence, Source, Span
from wfc.yaml.nodes import resolve_plain

_PLAIN_NAME = pattern(r"[A-Za-z0-9_][\w.-]*", re.ASCII)
_QUOTABLE = pattern(r"[ !#-&(-\[\]-~]*")
"""Text that is the same in both kinds of quotes."""
_COLON = pattern(r"\s*:")
_ANCHOR = pattern(r"(?<![^\s\[{,:-])&([\w-]+)")


def rename(scalar: Scalar, name: str, description: str) -> Fix | None:
    """Replace a name and keep its quotes."""
    # The name of a block scalar is a text of its own lines, and nobody writes one.
    if scalar.style not in ("", "'", '"'):
        return None
    plain = bool(_PLAIN_NAME.fullmatch(name)) and resolve_plain(name) == name
    if not plain and not _QUOTABLE.fullmatch(name):
        return None
    # The author's quotes stay; new ones are added only if the name needs them.
    quote = scalar.style or ("" if plain else '"')
    return Fix(description, (Edit(scalar.span, f"{quote}{name}{quote}"),), safe=False)


def remove_entry(mapping: Mapping, entry: Entry, description: str, *, safe: bool = False) -> Fix | None:
    """Remove an entry from a mapping that has others; whole lines if nothing else is on them."""
    value = _value_of(entry)
    # Removing the only entry would leave an empty mapping, which is something else.
    if len(mapping.entries) == 1 or not _is_inside(value, mapping.span, after=entry.key.span):
        return None
    # Entries are not always in source order: merged ones come last.
    later = [other.key.span for other in mapping.entries if other.key.span.start > value.end]
    span = whole_lines(entry.key.span, value)
    if span is None:
        span = _part_of_line(entry.key.span, value, min(later, key=_start, default=None))
    # An alias elsewhere may refer to an anchor in the removed text.
    return None if span is None or _holds_anchor(span) else Fix(description, (Edit(span, ""),), safe)


def remove_items(sequence: Sequence, unwanted: list[int], description: str) -> Fix | None:
    """Remove items, by index, from a list that may become empty."""
    items = sequence.items
    gone = frozenset(unwanted)
    if sequence.span.text.startswith("["):
        text = _without_items(sequence, gone)
        return Fix(description, (Edit(sequence.span, text),), safe=True) if text is not None else None
    # A block list without items would be null.
    if len(gone) == len(items):
        return None
    lines = [_item_lines(items[number].span) for number in unwanted]
    edits = tuple(Edit(span, "") for span in lines if span is not None and not _holds_anchor(span))
    return Fix(description, edits, safe=True) if len(edits) == len(unwanted) else None


def _without_items(sequence: Sequence, gone: frozenset[int]) -> str | None:
    """A list in brackets without some items. The white space around the others is kept."""
    items, whole = [item.span for item in sequence.items], sequence.span
    if len(gone) == len(items):
        # A comment in the brackets would be lost.
        return "[]" if "#" not in whole.text else None
    starts = [whole.start, *(span.end for span in items)]
    ends = [*(span.start for span in items), whole.end]
    gaps = [whole.source.text[start:end] for start, end in zip(starts, ends, strict=True)]
    if starts != sorted(starts) or any(gap.strip("[], \t\r\n") for gap in gaps):
        return None  # There is an alias, a comment or an anchor here.
    kept = [number for number in range(len(items)) if number not in gone]
    parts = [gaps[0], *(items[number].text + gaps[number + 1] for number in kept[:-1])]
    return "".join([*parts, items[kept[-1]].text, gaps[-1]])


def remove_run(first: Span, last: Span, description: str) -> Fix | None:
    """Remove adjacent items from a block list that has others, with the lines between them."""
    source = first.source
    dash = _skip_back(source.text, first.start, " \t") - 1
    if source.text[dash : dash + 1] != "-":
        return None
    span = whole_lines(source.span(dash, first.end), last)
    return None if span is None or _holds_anchor(span) else Fix(description, (Edit(span, ""),), safe=False)


def add_entry(mapping: Mapping, after: Entry, text: str) -> Edit | None:
    """Insert `key: value` after an entry: on a separate line, or after a comma inside braces."""
    value = _value_of(after)
    if not _is_inside(value, mapping.span, after=after.key.span):
        return None
    source = value.source
    if mapping.span.text.startswith("{"):
        if source.text[value.end - 1] == ":":  # `{a:, ...}` would be one key
            return None
        return Edit(source.span(value.end, value.end), f", {text}")
    # All entries of a block mapping have the same column; an alias has another one.
    column = mapping.entries[0].key.span.column
    if after.key.span.column != column:
        return None
    # After a comment on the same line, which belongs to the value.
    end = source.line_starts[value.end_line - 1] + len(source.line(value.end_line))
    return Edit(source.span(end, end), f"{source.line_break}{' ' * (column - 1)}{text}")


def whole_lines(first: Span, last: Span) -> Span | None:
    """The span of the lines from `first` to `last`, including the line break, if nothing else is on them."""
    source = first.source
    start = source.line_starts[first.line - 1]
    end_line = last.end_line
    if source.text[start : first.start].strip():
        return None
    rest = source.line(end_line)[last.end_column - 1 :].strip()
    if rest and not rest.startswith("#"):
        return None
    end = source.line_starts[end_line] if end_line < len(source.line_starts) else len(source.text)
    return source.span(start, end)


def _part_of_line(key: Span, value: Span, following: Span | None) -> Span | None:
    """The span of an entry after a dash or between commas: up to the next entry, or back to the comma before it."""
    source = key.source
    before = _skip_back(source.text, key.start, " \t")
    # Anything else before the key means that the entry is not alone in its place.
    if source.text[before - 1 : before] not in ("-", "{", ",", "\n", "\r"):
        return None
    if following is not None:
        gap = source.text[value.end : following.start]
        return None if gap.strip(" \t\r\n,") else source.span(key.start, following.start)
    comma = _skip_back(source.text, key.start, " \t\r\n") - 1
    return source.span(comma, value.end) if source.text[comma : comma + 1] == "," else None


def _item_lines(item: Span) -> Span | None:
    """The lines of an item of a block list, including its dash."""
    source = item.source
    dash = _skip_back(source.text, item.start, " \t") - 1
    if source.text[dash : dash + 1] != "-":
        return None
    return whole_lines(source.span(dash, item.end), item)


def _value_of(entry: Entry) -> Span:
    """The span of the value. An omitted value (`{a: , b: 1}`) is after the colon."""
    key, value = entry.key.span, entry.value.span
    colon = _COLON.match(key.source.text, key.end) if value.start == value.end == key.end else None
    return key.source.span(colon.end(), colon.end()) if colon else value


def _is_inside(value: Span, mapping: Span, after: Span) -> bool:
    """Whether a value is inside its entry. The value of an alias or a merged entry is at its anchor."""
    return mapping.start <= after.start and after.end <= value.start and value.end <= mapping.end


def _holds_anchor(span: Span) -> bool:
    """Whether an alias outside refers to a part of it."""
    names = _ANCHOR.findall(span.text)
    return any(re.search(rf"\*{re.escape(name)}(?![\w-])", span.source.text) for name in names)


def _skip_back(text: str, offset: int, blanks: str) -> int:
    """The end of the text before an offset, without trailing blanks."""
    while offset and text[offset - 1] in blanks:
        offset -= 1
    return offset


def _start(span: Span) -> int:
    return span.start


def remove_entries(parent: Mapping, key: str, unwanted: list[Entry], noun: str) -> dict[str, Fix]:
    """The fixes that remove unwanted entries of `parent[key]`, by name; entries that can't be removed safely are left
    out."""
    outer = parent.entry(key)
    # If the key is duplicated (WF002), removing one entry would let the other take effect.
    twice = sum(entry.key.text == key for entry in parent.entries) > 1
    if outer is None or not isinstance(outer.value, Mapping) or twice:
        return {}
    mapping = outer.value
    if len(unwanted) == len(mapping.entries):
        whole = remove_entry(parent, outer, f"remove {key}")
        fixes = [(entry.key.text, whole) for entry in unwanted]
    else:
        fixes = [
            (
                entry.key.text,
                with_comment(remove_entry(mapping, entry, f"remove the {noun} {entry.key.text}"), entry),
            )
            for entry in unwanted
        ]
    return {name: fix for name, fix in fixes if fix is not None}


def with_comment(fix: Fix | None, entry: Entry, *, blanks: bool = False) -> Fix | None:
    """Include the comment lines right above an entry, since they must not end up above the next one. `blanks` also
    includes the blank lines before it, if nothing else is on its lines.
    """
    span = fix.edits[0].span if fix else None
    # Only whole lines have comments of their own.
    if fix is None or span is None or span.column != 1:
        return fix
    source, line = span.source, span.line
    # A comment with the indentation of the entry belongs to it.
    mark = " " * (entry.key.span.column - 1) + "#"
    while line > 1 and source.line(line - 1).startswith(mark):
        line -= 1
    while blanks and line > 1 and not source.line(line - 1).strip():
        line -= 1
    return Fix(fix.description, (Edit(source.span(source.line_starts[line - 1], span.end), ""),), fix.safe)


_HAS_ANCHOR = pattern(r"(?<![^\s\[{,:-])&[\w-]")


def unwrap(step: Mapping, key: str, description: str) -> Fix | None:
    """Replace an item of a block list by the items of the block list `step[key]`. Unsafe: the rest of the item is
    removed."""
    inner = step.get(key)
    if not isinstance(inner, Sequence) or not inner.items:
        return None
    source = step.span.source
    first, last = inner.items[0].span, inner.items[-1].span
    # An anchor inside may be used after the removed part.
    if not step.span.start < first.start <= last.end <= step.span.end or _HAS_ANCHOR.search(step.span.text):
        return None
    outer_dash, inner_dash = _dash(source, step.span.start), _dash(source, first.start)
    if outer_dash is None or inner_dash is None:
        return None
    outer = whole_lines(source.span(outer_dash, outer_dash), step.span)
    lines = whole_lines(source.span(inner_dash, inner_dash), last)
    if outer is None or lines is None:
        return None
    text = _outdent(lines, source.position(inner_dash)[1] - source.position(outer_dash)[1])
    return None if text is None else Fix(description, (Edit(outer, text),), safe=False)


def _dash(source: Source, offset: int) -> int | None:
    """The dash right before an item of a block list."""
    place = offset - 1
    while place >= 0 and source.text[place] in " \t":
        place -= 1
    return place if place >= 0 and source.text[place] == "-" else None


def _outdent(lines: Span, columns: int) -> str | None:
    """The lines moved to the left; None if one of them is not indented far enough."""
    moved: list[str] = []
    for line in lines.text.split("\n"):
        room = len(line) - len(line.lstrip(" "))
        # A comment may be indented less.
        if room < columns and line.strip() and not line.lstrip().startswith("#"):
            return None
        moved.append(line[min(room, columns) :])
    return "\n".join(moved)


def replace_in_text(text: Text, places: list[tuple[int, int]], old: str, new: str) -> Fix | None:
    """Replace a name in some places of a template; None if the file spells one of them differently."""
    spans = [text.at(start, end) for start, end in places]
    # Escapes or folds in the file: the span is not the name itself.
    if any(span.text != old for span in spans):
        return None
    return Fix(f"write {new} for {old}", tuple(Edit(span, new) for span in spans), safe=False)


def list_fields(step: Step, names: list[str]) -> Fix | None:
    """Add fields to the list, in its own style, or add the list."""
    node = own_list(step)
    if node is not None:
        edit = append_items(node, names)
    elif step.node.entry("needs_state") is None:
        edit = _new_list(step, names)
    else:
        edit = None
    return Fix(f"list {', '.join(names)} in needs_state", (edit,), safe=True) if edit else None


def unlist(step: Step, words: list[Word]) -> Fix | None:
    """Remove entries from the list. A block list that would become empty is removed as a whole."""
    node = own_list(step)
    if node is None:
        return None
    # By identity, since a list may name the same field twice.
    places = {id(item): number for number, item in enumerate(node.items)}
    numbers = sorted(places[id(word.node)] for word in words if id(word.node) in places)
    description = f"remove {', '.join(dict.fromkeys(word.text for word in words))} from needs_state"
    if len(numbers) == len(node.items) and not node.span.text.startswith("["):
        entry = step.node.entry("needs_state")
        return remove_entry(step.node, entry, description, safe=True) if entry else None
    return remove_items(node, numbers, description)


def own_list(step: Step) -> Sequence | None:
    """The list, if the step itself has it exactly once. The list of an alias is shared with other steps."""
    entries = [entry for entry in step.node.entries if entry.key.text == "needs_state"]
    entry = entries[0] if len(entries) == 1 else None
    if entry is None or not isinstance(entry.value, Sequence):
        return None
    inner, outer = entry.value.span, step.node.span
    # An alias lies outside the step, so its list is not the step's own.
    return entry.value if outer.start <= entry.key.span.start < inner.start < inner.end <= outer.end else None


def _new_list(step: Step, names: list[str]) -> Edit | None:
    # After `type`, where authors expect it.
    anchor = step.node.entry("type")
    text = f"needs_state: [{', '.join(_item(name) for name in names)}]"
    return add_entry(step.node, anchor, text) if anchor and isinstance(anchor.value, Scalar) else None


def append_items(node: Sequence, names: list[str]) -> Edit | None:
    """Put names behind the others of a list, in its own style."""
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
    # A list item that spans several lines, or an item that is not alone on its line.
    if before.strip() != "-" or last.line != last.end_line:
        return None
    end = source.line_starts[last.line - 1] + len(source.line(last.line))
    return _insert(last, end, "".join(f"{source.line_break}{before}{item}" for item in items))


def _insert(near: Span, offset: int, text: str) -> Edit:
    return Edit(near.source.span(offset, offset), text)


def _item(name: str, style: str = "") -> str:
    """The name of a field, in the same quotes as its neighbour."""
    return f"{style}{name}{style}" if style in ("'", '"') and is_plain(name) else flow(name)
