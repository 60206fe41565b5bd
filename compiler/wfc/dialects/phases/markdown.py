"""Read a `workflow.md`: fences marked yaml with a top-level `phase` or `phases` are the program, the rest is prose.

The result is one mapping, as if the program had been written as YAML. Each fence is parsed by itself, and its
positions are then moved to where it stands, so that every position is a position in the Markdown file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import field

from wfc.dialects.base import Piece, made, translated
from wfc.struct import replace, struct
from wfc.yaml import (
    Document,
    Entry,
    Mapping,
    Node,
    Problem,
    Scalar,
    Sequence,
    Source,
    Span,
    YamlLimits,
    parse_document,
)
from wfc_runtime.header import MARK, Mark, read_mark

MOST_FENCES = 500
_OPENING = re.compile(r"(?P<indent>[ \t]*)(?P<ticks>`{3,}|~{3,})[ \t]*(?P<word>[\w+-]*)(?P<rest>[^`]*)$")
_HEADING = re.compile(r"[ \t]*(?P<level>#{1,6})[ \t]+(?P<text>.*?)[ \t#]*$")
_BOLD = re.compile(r"[ \t]*(?:[-*][ \t]+)?\*\*(?P<text>[^*]+)\*\*:?[ \t]*$")
_TITLE = re.compile(r"Workflow:\s*(?P<title>\S.*)", re.IGNORECASE)
_PROMPT = re.compile(r"Agent Prompt\s*(?:[:(]\s*(?P<role>[^():]+?)\s*\)?)?\s*:?$", re.IGNORECASE)
_AGENT = re.compile(r"Agent(?:\s+\d+)?\s*:\s*`?(?P<role>[^`()]+?)`?\s*(?:\(.*\))?$", re.IGNORECASE)
_FIRST_LINE = re.compile(r"^(?P<indent>[ \t]*)[^\s#]", re.MULTILINE)
_TASK_TOOLS = ("Task", "Agent")
"""The client's tools that start a sub-agent. As the `type` of an agent they are not a role."""


@struct(frozen=True)
class Fence:
    word: str
    indent: int
    start: int
    """The offset of the first line inside."""
    end: int
    """The offset of the line that closes it."""
    heading: str
    """The nearest heading or bold line above."""
    heading_at: int = 0
    """The offset of its text."""


@struct(frozen=True)
class LostPrompt:
    """A prompt that belongs to no agent, at its heading."""

    span: Span
    why: str
    help: str


@struct(eq=False, slots=True)
class MarkdownMission(Mapping):
    """The program of a `workflow.md`."""

    lost_prompts: list[LostPrompt] = field(default_factory=list)


def slug(text: str) -> str:
    """A title as a name: lowercase words joined by hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:100].strip("-")


def read_markdown(source: Source, limits: YamlLimits) -> Document:
    mark = read_mark(source.text)
    if mark is not None and mark.edited:
        return Document(None, [_edited(source, mark)])
    fences, title, front, problems = _scan(source)
    entries: list[Entry] = []
    phases: list[Node] = []
    last: Mapping | None = None
    lost: list[LostPrompt] = []
    programs = 0
    if front is not None:
        document = _parse(source, front, limits)
        problems += document.problems
        phases += _phases_in(document.root, entries)
    for fence in fences:
        text = source.text[fence.start : fence.end]
        if fence.word.lower() in ("yaml", "yml"):
            if not _is_program(text):
                continue
            programs += 1
            if programs > MOST_FENCES:
                message = f"the file has more than {MOST_FENCES} fences with phases"
                problems.append(Problem("limit", message, source.span(fence.start, fence.start)))
                break
            document = _parse(source, fence, limits)
            problems += document.problems
            found = list(_phases_in(document.root, entries))
            readable = [phase for phase in found if isinstance(phase, Mapping)]
            for phase in readable:
                _name_roles(phase, fence)
            phases += found
            last = readable[-1] if readable else last
        elif prompt := _PROMPT.search(fence.heading):
            reason = _give_prompt(prompt["role"], _content(source, fence), phases, last)
            if reason is not None:
                heading = source.span(fence.heading_at, fence.heading_at + len(fence.heading))
                lost.append(LostPrompt(heading, *reason))
    if problems:
        return Document(None, problems)
    here = source.start
    if not any(entry.key.text == "name" for entry in entries):
        entries.insert(0, Entry(made("name", here), _name(source, title)))
    place = phases[0].span if phases else here
    entries.append(Entry(made("phases", place), Sequence(place, phases)))
    return Document(MarkdownMission(source.span(0, len(source.text)), entries, lost))


def _edited(source: Source, mark: Mark) -> Problem:
    return Problem(
        "edited",
        f"this file was made from `{mark.path}` and edited by hand",
        source.span(0, source.text.index("-->") + 3),
        "make the change in the source and run `wfc mission`, or make this file the source with `wfc mission --adopt`",
    )


# Lines: fences, headings and the front matter.


def _scan(source: Source) -> tuple[list[Fence], Span | None, Fence | None, list[Problem]]:
    fences: list[Fence] = []
    title: Span | None = None
    front: Fence | None = None
    problems: list[Problem] = []
    heading, heading_at = "", 0
    opened: tuple[re.Match[str], int, int] | None = None
    lines = list(_lines(source))
    first = 0
    # The front matter follows the mark of a generated file.
    if lines and lines[0][1].startswith(MARK):
        first = 1
    if lines[first:] and lines[first][1].rstrip() == "---":
        rest = enumerate(lines[first + 1 :], first + 1)
        close = next((number for number, (_, line) in rest if line.rstrip() == "---"), None)
        if close is not None:
            front = Fence("yaml", 0, lines[first + 1][0], lines[close][0], "")
            first = close + 1
    is_comment = False
    for start, line in lines[first:]:
        if opened is None and (is_comment or line.lstrip(" \t").startswith("<!--")):
            # Commented-out text is not part of the program.
            is_comment = "-->" not in line
        elif opened is not None:
            opening, place, begin = opened
            if _closes(line, opening):
                fences.append(
                    Fence(opening["word"], len(opening["indent"]), begin, start, heading, heading_at)
                )
                opened = None
        elif found := _OPENING.match(line):
            opened = (found, start, start + len(line) + _break_length(source.text, start + len(line)))
        elif found := (_HEADING.match(line) or _BOLD.match(line)):
            heading, heading_at = _heading_text(found, start)
            named = _TITLE.fullmatch(heading) if "level" in found.groupdict() else None
            if named and title is None:
                at = source.text.find(named["title"], start)
                title = source.span(at, at + len(named["title"]))
    if opened is not None:
        opening, place, _ = opened
        span = source.span(place + opening.start("ticks"), place + opening.end("ticks"))
        help_ = f"add a line with `{opening['ticks']}` and the same indentation after it"
        problems.append(Problem("syntax", "this fence is never closed", span, help_))
    return fences, title, front, problems


def _heading_text(found: re.Match[str], start: int) -> tuple[str, int]:
    """The text of a heading or a bold line without emphasis, and its offset."""
    text = found["text"].strip()
    before = len(found["text"]) - len(found["text"].lstrip()) + len(text) - len(text.lstrip("*"))
    return text.rstrip(":").replace("**", ""), start + found.start("text") + before


def _closes(line: str, opening: re.Match[str]) -> bool:
    """A fence ends at a line of the same indentation, with at least as many ticks and no word after them.

    CommonMark would end a prompt at the first fence inside it that is indented by up to three spaces.
    """
    ticks = opening["ticks"]
    return re.fullmatch(rf"{opening['indent']}{re.escape(ticks[0])}{{{len(ticks)},}}[ \t]*", line) is not None


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    """Each line with its offset, without its line break."""
    for number, start in enumerate(source.line_starts, 1):
        yield start, source.line(number)


def _break_length(text: str, at: int) -> int:
    return 2 if text[at : at + 2] == "\r\n" else 1 if text[at : at + 1] in ("\n", "\r") else 0


# The program: fences of YAML.


def _parse(source: Source, fence: Fence, limits: YamlLimits) -> Document:
    # Line breaks instead of the text above it: messages that name a line are right, and a long file stays cheap.
    above = "\n" * (source.position(fence.start)[0] - 1)
    document = parse_document(Source(source.path, above + source.text[fence.start : fence.end]), limits)
    for span in _spans(document):
        if span.source is not source:
            span.start = max(span.start - len(above), 0) + fence.start
            span.end = max(span.end - len(above), 0) + fence.start
            span.source = source
    return document


def _spans(document: Document) -> Iterator[Span]:
    for problem in document.problems:
        yield problem.span
        yield from (span for span, _ in problem.related)
    pending: list[Node] = [document.root] if document.root is not None else []
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        yield node.span
        if isinstance(node, Scalar) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Sequence):
            pending += node.items
        else:
            pending += [part for entry in node.entries for part in (entry.key, entry.value)]


def _phases_in(root: Node | None, top: list[Entry]) -> Iterator[Node]:
    """The phases of a fence, and entries that are not phases. Its other top-level keys are added to those of the
    file."""
    if not isinstance(root, Mapping):
        return
    one = root.entry("phase")
    if one is not None and root.entry("phases") is None:
        if isinstance(one.value, Mapping):
            top += [entry for entry in root.entries if entry is not one]
            yield one.value
        else:
            # `phase: 1` or `phase: design` among the keys of the phase itself.
            key = "id" if isinstance(one.value, Scalar) and _is_id(one.value) else "number"
            named = Entry(replace(one.key, text=key, value=key), one.value)
            yield Mapping(root.span, [named if entry is one else entry for entry in root.entries])
        return
    for entry in root.entries:
        if entry.key.text != "phases":
            top.append(entry)
        elif isinstance(entry.value, Sequence):
            yield from entry.value.items
        else:
            yield entry.value


def _is_id(node: Scalar) -> bool:
    return isinstance(node.value, str) and not node.value.isdecimal()


def _is_program(text: str) -> bool:
    """Whether a fence has `phase` or `phases` among its top-level keys. It need not be valid YAML."""
    first = _FIRST_LINE.search(text)
    return first is not None and bool(
        re.search(rf"^{first['indent']}(?:phase|phases)[ \t]*:", text, re.MULTILINE)
    )


def _agents_of(phase: Node) -> list[Mapping]:
    agents = phase.get("agents") if isinstance(phase, Mapping) else None
    return [one for one in agents.items if isinstance(one, Mapping)] if isinstance(agents, Sequence) else []


def _name_roles(phase: Mapping, fence: Fence) -> None:
    """Name the role of an agent whose `type` is the client's tool, after the heading or else its `subagent_type`."""
    agents = _agents_of(phase)
    for agent in agents:
        entry = agent.entry("type")
        if entry is None or not isinstance(entry.value, Scalar) or entry.value.text not in _TASK_TOOLS:
            continue
        heading = _AGENT.search(fence.heading) if len(agents) == 1 else None
        sort = agent.get("subagent_type")
        role = heading["role"] if heading else sort.text if isinstance(sort, Scalar) else ""
        if role:
            entry.value = made(slug(role), entry.value)


# Prompts: fences that are not YAML.


def _content(source: Source, fence: Fence) -> Scalar:
    """The text of a fence without its indentation, with exact positions."""
    raw = source.text[fence.start : fence.end]
    origin = Scalar(source.span(fence.start, fence.end), raw, raw, "")
    pieces: list[Piece] = []
    at = 0
    for line in raw.splitlines(keepends=True):
        body = line.rstrip("\r\n")
        cut = min(fence.indent, len(body) - len(body.lstrip(" \t")))
        if body[cut:]:
            pieces.append(Piece(body[cut:], at + cut, at + len(body)))
        pieces.append(Piece("\n", at + len(body), at + len(line)))
        at += len(line)
    return translated(origin, pieces)


def _give_prompt(
    role: str | None, text: Scalar, phases: list[Node], last: Mapping | None
) -> tuple[str, str] | None:
    """Make a text the prompt of the agent that it names, or else of the only agent of the phase above.

    Returns the reason and the remedy if it belongs to no agent.
    """
    if last is None:
        return "no phase is above it", "move it below the fence of its phase"
    agents = _agents_of(last)
    if role is not None:
        wanted = slug(role)
        every = [*agents, *(one for phase in reversed(phases) for one in _agents_of(phase))]
        free = [one for one in every if one.entry("prompt") is None]
        # The role first: several agents may share a `subagent_type`.
        named = [one for key in ("type", "subagent_type") for one in free if _name_of(one, key) == wanted]
        # A name that no agent has, such as a title, is not that of another agent either.
        is_known = any(wanted in (_name_of(one, "type"), _name_of(one, "subagent_type")) for one in every)
        if is_known and not named:
            return f"`{role}` has a prompt already", "remove one of the two"
        agents = named[:1] if is_known else agents
    if not agents:
        return "the phase above has no agents", "remove it, or add the agent to the phase"
    if len(agents) > 1:
        names = dict.fromkeys(
            name for one in agents if (name := _name_of(one, "type") or _name_of(one, "subagent_type"))
        )
        why = (
            f"no agent is called `{role}`"
            if role
            else "the phase above has several agents, and it names none"
        )
        return why, f"name the agent: {', '.join(f'`Agent Prompt: {name}`' for name in names)}"
    if agents[0].entry("prompt") is not None:
        return "the agent of the phase above has a prompt already", "remove one of the two"
    agents[0].entries.append(Entry(made("prompt", text), text))
    return None


def _name_of(agent: Mapping, key: str) -> str:
    found = agent.get(key)
    return slug(found.text) if isinstance(found, Scalar) else ""


def _name(source: Source, title: Span | None) -> Scalar:
    if title is not None and slug(title.text):
        return made(slug(title.text), title)
    folder = os.path.basename(os.path.dirname(os.path.abspath(source.path)))
    return made(slug(folder) or "workflow", source.start)


# definition.md beside the file.

_SECTIONS = {
    "objective": "objective",
    "objectives": "objective",
    "scope": "scope",
    "constraints": "constraints",
    "success criteria": "success_criteria",
}
_BULLET = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?P<text>.*)")


def read_definition(text: str) -> dict[str, str | list[str]]:
    """The sections Objective, Scope, Constraints and Success Criteria. A list of bullets becomes a list."""
    source = Source("definition.md", text.replace("\r\n", "\n"))
    found: dict[str, list[str]] = {}
    key, level = "", 0
    in_comment = False
    for _, line in _lines(source):
        heading = _HEADING.match(line)
        if "<!--" in line or in_comment:
            in_comment = "-->" not in line
            continue
        named = _SECTIONS.get(heading["text"].strip().rstrip(":").lower(), "") if heading is not None else ""
        # A section ends at the next one, at whichever level, and at a heading that is not below its own.
        if heading is not None and (named or not key or len(heading["level"]) <= level):
            key, level = named, len(heading["level"]) if named else 0
            continue
        if key:
            found.setdefault(key, []).append(line)
    return {key: value for key, lines in found.items() if (value := _section(lines))}


def _section(lines: list[str]) -> str | list[str]:
    text = "\n".join(lines).strip()
    items: list[str] = []
    for line in text.split("\n"):
        bullet = _BULLET.match(line)
        if bullet:
            items.append(bullet["text"].strip())
        elif items and line.strip() and line[:1].isspace():
            items[-1] += f" {line.strip()}"
        elif line.strip():
            return text
    return items or text
