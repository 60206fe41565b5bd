"""Files of sub-agents, as clients keep them in `.claude/agents/`: front matter, then the agent's instructions."""

from __future__ import annotations

import re
from collections.abc import Iterable

from wfc.struct import struct

AGENTS_FOLDER = ".claude/agents/"
WRITING_TOOLS = ("Write", "Edit", "MultiEdit", "NotebookEdit", "Bash", "edit", "shell")
_KEY = re.compile(r"(?P<key>[A-Za-z_-]+):[ \t]*(?P<value>.*)")
_ITEM = re.compile(r"[ \t]*-[ \t]+(?P<value>.*)")


@struct(frozen=True)
class AgentFile:
    """An agent of the project."""

    path: str
    name: str
    tools: tuple[str, ...] | None
    """None if it has all tools."""
    body: str
    keys: tuple[str, ...] | None
    """The keys of its front matter. None if another parser could find others: there is none, a key is repeated, or
    a line is neither a key, an item nor indented."""

    @property
    def can_write(self) -> bool:
        return self.tools is None or can_write_with(self.tools)


def can_write_with(tools: Iterable[str]) -> bool:
    return any(tool.partition("(")[0].strip() in (*WRITING_TOOLS, "*") for tool in tools)


def read_agent(path: str, text: str) -> AgentFile:
    """An agent's file. Its front matter is read line by line: clients accept what is not valid YAML."""
    lines = text.replace("\r\n", "\n").split("\n")
    stem = path.rpartition("/")[2].removesuffix(".md")
    if not lines or lines[0].strip() != "---":
        return AgentFile(path, stem, None, text.strip(), None)
    close = next((n for n, line in enumerate(lines[1:], 1) if line.strip() == "---"), len(lines))
    values: dict[str, list[str]] = {}
    key = ""
    # Other parsers know other line ends.
    is_plain = close < len(lines) and all(line.replace("\t", " ").isprintable() for line in lines[:close])
    for line in lines[1:close]:
        if found := _KEY.match(line):
            key = found["key"]
            is_plain = is_plain and key not in values
            values[key] = [found["value"].strip()] if found["value"].strip() else []
        elif key and (found := _ITEM.match(line)):
            values[key].append(found["value"].strip())
        elif line.strip() and not (key and line[0] in " \t"):
            is_plain = False
    names = values.get("name") or [stem]
    listed = [one.strip(" []\"'") for value in values.get("tools", []) for one in _split(value)]
    tools = tuple(one for one in listed if one) if "tools" in values else None
    return AgentFile(
        path,
        names[0].strip("\"'"),
        tools,
        "\n".join(lines[close + 1 :]).strip(),
        tuple(values) if is_plain else None,
    )


def _split(tools: str) -> list[str]:
    """The tools of a line. A comma inside parentheses belongs to the tool."""
    return re.split(r",(?![^()]*\))", tools)
