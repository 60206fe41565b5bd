"""The structure of a report that is text: its block, its fields, its lists.

The fields decide how a text is read, line by line, and not the grammar of YAML: an agent that has done its work must
not lose it to a wrong indentation. There are no types to guess, no comments that cut a sentence off, no anchors and no
merge keys, and the time is linear in the size of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from wfc_runtime.contract import Json
from wfc_runtime.reports.fields import FIELDS, SAID, Kind, spelled, status_of

_FENCE = re.compile(r" *(`{3,}|~{3,}) *([\w+-]*)")
_FIELD = re.compile(
    r"(?:#{1,6} +|[-*] +(?=\*\*))?\*{0,2}([A-Za-z][A-Za-z _-]{0,40}?)\*{0,2} *:\*{0,2}(?: +|$)"
    r"|#{1,6} +([A-Za-z][A-Za-z _-]{0,40}?)$"
)
_BULLET = re.compile(r"(?:[-*+\u2022]|\d{1,3}[.)]) +|-$")
_BLOCK_SCALARS = ("|", ">", "|-", ">-", "|+", ">+")
_NOTHING = frozenset({"", "-", "none", "n/a", "null", "~", "[]", "{}", "nothing"})
_WITH_ISSUES = ("issues", "blockers")
_MOST_OBJECTS = 10
"""Lines that are tried as the beginning of an object, each of which may take the whole text."""
_DEEPEST = 8
"""Nested lists and objects in brackets."""


def says_nothing(text: str) -> bool:
    return text.strip(" .\n").lower() in _NOTHING


# Lines.


def lines_of(text: str) -> list[str]:
    """The lines, with plain ends and spaces, without control characters, and indented with spaces."""
    found = []
    text = text.replace("\u00a0", " ").replace("\u202f", " ")
    for line in text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff").split("\n"):
        kept = line if line.isprintable() else "".join(char for char in line if char >= " " or char == "\t")
        inner = kept.lstrip(" \t")
        found.append(kept[: len(kept) - len(inner)].expandtabs(4) + inner.replace("\t", " ").rstrip())
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _dedented(lines: Sequence[str]) -> list[str]:
    least = min((_indent(line) for line in lines if line), default=0)
    return [line[least:] for line in lines]


# The block with the fields.


Pairs = list[tuple[str, Json]]
"""Fields with their values. A text may have a field several times."""


def fields_of_report(text: str) -> Iterator[Pairs]:
    """The fields of each report in a text, first those outside of fences."""
    lines = lines_of(text)
    inside = [False] * len(lines)
    fenced: list[list[str]] = []
    opened: re.Match[str] | None = None
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        inside[number] = fence is not None or opened is not None
        if opened is None:
            if fence is not None:
                opened = fence
                fenced.append([])
        elif fence is not None and fence[1].startswith(opened[1]) and not fence[2]:
            opened = None
        else:
            fenced[-1].append(line)
    yield from _blocks(lines, [not one for one in inside])
    yield from _objects(lines, inside)
    for content in fenced:
        whole = value_of("\n".join(content))
        if isinstance(whole, dict):
            yield list(whole.items())
        yield from _blocks(content, [True] * len(content))


def _objects(lines: list[str], inside: list[bool]) -> Iterator[Pairs]:
    """The JSON objects that begin a line outside of fences. Clients put text before and after an answer."""
    begun = [
        number for number, line in enumerate(lines) if line.lstrip(" ")[:1] == "{" and not inside[number]
    ]
    for number in begun[:_MOST_OBJECTS]:
        try:
            found, _ = json.JSONDecoder().raw_decode("\n".join(lines[number:]).lstrip(" "))
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield list(found.items())


def _blocks(lines: list[str], may_begin: list[bool]) -> Iterator[Pairs]:
    """The blocks around STATUS lines, each less its indentation."""
    end = 0
    for start, line in enumerate(lines):
        begun = _field(line.lstrip(" "), FIELDS) if may_begin[start] and start >= end else None
        if begun is None or begun[0] != "status":
            continue
        indent, first = _indent(line), start
        # Fields may precede the status without a blank line in between.
        while first > end and lines[first - 1] and not _ends(lines[first - 1], indent):
            first -= 1
        end = start + 1
        while end < len(lines) and not _ends(lines[end], indent):
            end += 1
        yield _sections([one[indent:] for one in lines[first:end]])


def _ends(line: str, indent: int) -> bool:
    """Whether a line ends a block. Clients add lines such as `agentId: ...` and `<usage>` behind it."""
    inner = line[indent:]
    return bool(line) and (_indent(line) < indent or inner == "---" or inner.startswith(("<", "agentId:")))


def _sections(lines: list[str]) -> Pairs:
    """The fields of a block, each with its text."""
    parts: list[tuple[str, list[str]]] = []
    is_fenced = False
    for line in lines:
        is_fence = _FENCE.match(line) is not None
        is_fenced ^= is_fence
        begun = _field(line, SAID)
        # It belongs to the issue above it if there is one: agents forget to indent.
        if begun is not None and begun[0] == "requires_human" and parts and parts[-1][0] in _WITH_ISSUES:
            begun = None
        # A status in a fence of the report is one that the agent quotes, such as a log.
        is_quoted = is_fenced and begun is not None and begun[0] == "status" and parts
        if begun is not None and not is_quoted:
            parts.append((begun[0], [begun[1]]))
        elif parts and not is_fence:
            parts[-1][1].append(line)
    found = _behind_form([(name, _value(body)) for name, body in parts])
    said = {status for name, text in found if name == "status" and (status := status_of(str(text)))}
    if said:
        # Two that contradict each other say nothing.
        found = [(name, text) for name, text in found if name != "status"]
        found.append(("status", " and ".join(sorted(said))))
    return found


def _behind_form(found: Pairs) -> Pairs:
    """The fields without a copy of the form in front of them, whose status lists the words to choose from."""
    statuses = [number for number, (name, _) in enumerate(found) if name == "status"]
    said = [number for number in statuses if status_of(str(found[number][1]))]
    form = max((number for number in statuses if number not in said), default=-1)
    return next((found[number:] for number in said if number > form), found) if form >= 0 else found


def _field(line: str, known: Mapping[str, Kind]) -> tuple[str, str] | None:
    """The field that a line begins, and the rest of the line."""
    found = _FIELD.match(line)
    name = spelled(found[1] or found[2], known) if found is not None else None
    return (name, line[found.end() :].strip()) if found is not None and name is not None else None


def _value(body: list[str]) -> str:
    """The value of a field: the rest of its line, and the lines below it less their indentation."""
    first = "" if body[0] in _BLOCK_SCALARS else body[0]
    below = "\n".join(_dedented(body[1:])).strip("\n")
    return unquoted((f"{first}\n{below}" if first and below else first or below).rstrip())


def unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" and text.count(text[0]) == 2:
        return text[1:-1]
    return text


# Lists and records.


def items_of(text: str) -> list[str]:
    """The entries of a list; without bullets, each line that is not indented further is one."""
    kept = _dedented([line for line in lines_of(text) if line])
    is_list = any(_BULLET.match(line) for line in kept)
    found: list[list[str]] = []
    for line in kept:
        bullet = _BULLET.match(line)
        if bullet is not None:
            found.append([" " * bullet.end() + line[bullet.end() :]])
        elif found and (is_list or line.startswith(" ")):
            found[-1].append(line)
        else:
            found.append([line])
    return ["\n".join(_dedented(one)) for one in found]


def records_of(text: str, kind: Kind) -> list[str]:
    """The entries of a list of records; a single one may lack its bullet."""
    lines = _dedented([line for line in lines_of(text) if line])
    is_single = not any(map(_BULLET.match, lines)) and fields_in(text, kind)
    return [text] if is_single else items_of(text)


def fields_in(text: str, kind: Kind) -> dict[str, str]:
    """The fields of one record. A line that begins none of them continues the one before."""
    parts: dict[str, list[str]] = {}
    last = ""
    for line in text.split("\n"):
        begun = _field(line.lstrip(" "), kind.fields)
        if begun is not None and begun[0] not in parts:
            last = begun[0]
            parts[last] = [begun[1]]
        elif last:
            parts[last].append(line)
    return {name: _value(body) for name, body in parts.items()}


# Values in brackets, as in JSON or YAML. All scalars are text, unless the whole is JSON.


def value_of(text: str) -> Json:
    """The list or object that a text is; None if it is neither."""
    stripped = text.strip()
    if stripped[:1] not in ("{", "["):
        return None
    try:
        return json.loads(stripped)
    except (ValueError, RecursionError):
        found, end = _flow(stripped, 0, 0)
        return found if end == len(stripped) else None


def _flow(text: str, at: int, depth: int) -> tuple[Json, int]:
    """The value at a position, and the position after it; a position of -1 if there is none."""
    opening = text[at : at + 1]
    if opening not in ("[", "{") or depth > _DEEPEST:
        return _scalar(text, at)
    closing = "]" if opening == "[" else "}"
    items: list[Json] = []
    pairs: dict[str, Json] = {}
    at = _space(text, at + 1)
    while text[at : at + 1] != closing:
        value, at = _flow(text, at, depth + 1)
        at = _space(text, at) if at >= 0 else len(text)
        if opening == "{" and isinstance(value, str) and text[at : at + 1] == ":":
            pairs[value], at = _flow(text, _space(text, at + 1), depth + 1)
            at = _space(text, at) if at >= 0 else len(text)
        elif opening == "{":
            return None, -1
        else:
            items.append(value)
        if text[at : at + 1] == ",":
            at = _space(text, at + 1)
        elif text[at : at + 1] != closing:
            return None, -1
    return (items if opening == "[" else pairs), at + 1


def _scalar(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] in ('"', "'"):
        end = text.find(text[at], at + 1)
        return (text[at + 1 : end], end + 1) if end > 0 else ("", -1)
    end = at
    while (
        end < len(text)
        and text[end] not in ",[]{}"
        and not (text[end] == ":" and text[end + 1 : end + 2] in " \n")
    ):
        end += 1
    return text[at:end].strip(), end if end > at else -1


def _space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
