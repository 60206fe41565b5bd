"""Missions in an editor, in YAML and in Markdown: completion, symbols and hover texts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wfc.dialects.editing import (
    OpenFile,
    StepUse,
    Suggestion,
    column_of,
    fields_of,
    flow_keys,
    inputs_suggested,
    parents,
    siblings,
    text_of,
)
from wfc.dialects.phases.file import MODES, RULES, Agent, Phase, PhasesFile, Role, ScopeLimits
from wfc.dialects.phases.language import PhasesLanguage
from wfc.dialects.phases.markdown import slug
from wfc.dialects.phases.texts import references_of
from wfc.language.shape import Budget, InputDecl, Shape, Validation
from wfc.language.steps.base import Retry
from wfc.language.values import Literal
from wfc.yaml import Mapping, Node, Scalar, Sequence
from wfc_runtime.contract import Report

_REFERENCE = re.compile(r"\{\{-?\s*(?:(?!\}\}).)*?(?<![\w.'\"])((?:[\w-]+\.)*)[\w-]*$")
_VALUE = re.compile(r"(?:^\s*(?:- )?|[{,]\s*)(?P<key>[a-z_]+):\s*\[?(?:[^\]]*,)?\s*[\w-]*$")
_LISTED = re.compile(r"^\s*-\s*[\w-]*$")
_KEY = re.compile(r"^\s*(?:- )?[a-z_]*$")
_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*(\w*)")
_VALUES = {
    "checkpoint": ("human",),
    "on_error": ("ask", "continue"),
    "mcp": MODES,
    "proof": ("auto", "git", "none"),
    "profile": ("simple", "standard", "complex"),
    "completion": RULES,
    "parallel": ("true", "false"),
}


def complete(opened: OpenFile, text: str, offset: int) -> Iterator[Suggestion]:
    file = opened.parsed.surface if opened.parsed else None
    if not isinstance(file, PhasesFile):
        return
    above = text[:offset].split("\n")
    is_markdown = file.node.span.source.path.endswith(".md")
    lines = _in_fence(above) if is_markdown else above
    line = above[-1]
    reference = _REFERENCE.search(line)
    if reference:
        yield from _after(file, [part for part in reference[1].split(".") if part])
        return
    if lines is None:
        return  # Prose, or a prompt.
    value = _VALUE.search(line)
    if value or _LISTED.match(line):
        key = value["key"] if value else next(parents(lines), ("", ""))[0]
        yield from _values(file, key, lines)
        if value or key in ("requires", "tools"):
            return
    there = flow_keys(line)
    around = [key for key, _ in parents(lines)]
    if there is not None:
        shape = _shape(around, lines)
        yield from fields_of(shape, there) if shape else ()
    elif _KEY.match(line):
        known, _ = siblings(lines[:-1], column_of(line))
        shape = _shape(around, lines)
        yield from fields_of(shape, known) if shape else ()


def _in_fence(above: list[str]) -> list[str] | None:
    """The lines of the YAML fence around the cursor, without its indentation; None outside of one."""
    opened: tuple[int, re.Match[str]] | None = None
    for number, line in enumerate(above[:-1]):
        found = _FENCE.match(line)
        if found is None:
            continue
        if opened is None:
            opened = (number, found)
        elif found[1] == opened[1][1] and found[2].startswith(opened[1][2]) and not found[3]:
            opened = None
    if opened is None or opened[1][3].lower() not in ("yaml", "yml"):
        return None
    number, found = opened
    return [line.removeprefix(found[1]) for line in above[number + 1 :]]


def _after(file: PhasesFile, path: list[str]) -> Iterator[Suggestion]:
    match path:
        case []:
            yield from (Suggestion(name, "name", doc) for name, doc in PhasesLanguage.roots.items())
        case ["inputs"]:
            yield from inputs_suggested(file.inputs or {})
        case ["phases"]:
            for phase in file.phases or []:
                yield Suggestion(_name(phase), "step", text_of(phase.name))
        case ["phases", name]:
            for phase in file.phases or []:
                if _name(phase).replace("-", "_") == name.replace("-", "_"):
                    roles = (one.type or one.subagent_type for one in phase.agents or [])
                    yield from (Suggestion(slug(one.text), "property", "its report") for one in roles if one)
        case ["phases", _, _]:
            yield from (Suggestion(part, "property") for part in Report.__annotations__)


def _values(file: PhasesFile, key: str, lines: list[str]) -> Iterator[Suggestion]:
    if key == "requires":
        for phase in file.phases or []:
            yield Suggestion(_name(phase), "step", text_of(phase.name))
    elif key in ("type", "subagent_type"):
        around = [one for one, _ in parents(lines)]
        if around[:1] == ["agents"] or "agents" in around[:2]:
            roles = list(file.agents or {}) if key == "type" else []
            yield from (Suggestion(name, "value") for name in dict.fromkeys((*roles, *file.agent_names)))
    else:
        yield from (Suggestion(word, "value") for word in _VALUES.get(key, ()))


def _shape(around: list[str], lines: list[str]) -> type[Shape] | None:
    """The shape of the mapping at the cursor, by the keys around it, innermost first."""
    match around:
        case []:
            # In a fence, `phase: 1` is one of the keys of the phase.
            is_phase = any(re.match(r"phase:\s*\S", line) for line in lines)
            return Phase if is_phase else PhasesFile
        case ["phases"] | ["phase"]:
            return Phase
        case ["agents", "phases" | "phase"]:
            return Agent
        case ["agents"]:
            return Agent if any(re.match(r"phase:\s*\S", line) for line in lines) else None
        case [_, "agents"]:
            return Role
        case ["budget"]:
            return Budget
        case ["retry", *_]:
            return Retry
        case ["scope", *_]:
            return ScopeLimits
        case [_, "inputs"]:
            return InputDecl
        case ["validation", _, "inputs"]:
            return Validation
    return None


def _name(phase: Phase) -> str:
    return phase.id.text if phase.id else f"phase-{phase.number.value if phase.number else 0}"


# Symbols: the phases.


def step_uses(file: PhasesFile, root: Node | None) -> Iterator[StepUse]:
    by_number = {phase.number.value: _name(phase) for phase in file.phases or [] if phase.number}
    names = {name.replace("-", "_"): name for name in by_number.values()}
    for phase in file.phases or []:
        if phase.id:
            roles = [one.type or one.subagent_type for one in phase.agents or []]
            who = ", ".join(f"`{one.text}`" for one in roles if one) or "a gate"
            number = phase.number.value if phase.number else "?"
            title = f"phase {number}" + (f": {phase.name.text}" if phase.name else "")
            yield StepUse(phase.id.text, phase.id.span, True, title, f"agents: {who}" if roles else who)
        for word in phase.requires or []:
            name = by_number.get(word.value) if isinstance(word, Literal) else word.text
            if name is not None:
                yield StepUse(name, word.span)
    yield from _references(root, names)


def _references(node: Node | None, names: dict[str, str]) -> Iterator[StepUse]:
    match node:
        case Scalar() if isinstance(node.value, str) and "phases" in node.text:
            for one in references_of(node.text):
                name = names.get(one.phase.replace("-", "_"))
                at = node.text.index(one.phase, one.start)
                # A name with a hyphen may be written as an identifier, and then it is not the name itself.
                if name == one.phase:
                    yield StepUse(name, node.at(at, at + len(one.phase)))
        case Sequence():
            for item in node.items:
                yield from _references(item, names)
        case Mapping():
            for entry in node.entries:
                yield from _references(entry.value, names)
