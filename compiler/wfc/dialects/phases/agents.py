"""The agents that a mission can use: those of the project, those of the settings, and the client's own.

Home directories are not searched: a check must give the same result on every machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from wfc.dialects.base import Surroundings
from wfc.dialects.phases.file import Agent, Role
from wfc.language.agent_file import AGENTS_FOLDER, AgentFile, can_write_with, read_agent

GENERAL = "general-purpose"
BUILT_IN = {GENERAL: True, "Explore": False, "Plan": False, "claude": True}
"""The client's own agents, and whether each can write files."""
_OF_WFC = {
    "Read": "read",
    "Grep": "read",
    "Glob": "read",
    "LS": "read",
    "Write": "edit",
    "Edit": "edit",
    "MultiEdit": "edit",
    "NotebookEdit": "edit",
    "Bash": "shell",
    "WebFetch": "web",
    "WebSearch": "web",
}
"""The client's tools, as the `tools` of a delegate step names them."""
_TOOL = re.compile(r"read|edit|web|shell(\([^()]+\))?|mcp:[A-Za-z0-9_.-]+")
_MCP = re.compile(r"mcp__(?P<server>[A-Za-z0-9_.-]+?)(?:__.*)?")


class Agents:
    """The agents that are known around one file."""

    def __init__(self, around: Surroundings) -> None:
        beside = f"{around.folder}/agents/" if around.folder else "agents/"
        self.files: dict[str, AgentFile] = {}
        for path, text in around.files.items():
            if path.endswith(".md") and path.startswith((AGENTS_FOLDER, beside)):
                found = read_agent(path, text)
                self.files.setdefault(found.name, found)
        self.roles: Mapping[str, object] = (around.config.agents or {}).get("roles") or {}

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys((*self.files, *self.roles, *BUILT_IN)))

    def knows(self, name: str) -> bool:
        return name in self.files or name in self.roles or name in BUILT_IN

    def client_agent(self, role: str) -> str:
        """The client's agent that plays a role. The client does not read `agents/` beside a workflow: another agent
        gets the body of such a file as its brief."""
        is_beside = role in self.files and not self.files[role].path.startswith(AGENTS_FOLDER)
        return GENERAL if is_beside and role not in BUILT_IN else role

    def can_write(self, name: str, tools: Iterable[str] | None) -> bool:
        """Whether an agent can write files. An unknown one is assumed to."""
        if tools is not None and not can_write_with(tools):
            return False
        if name in self.files:
            return self.files[name].can_write
        return BUILT_IN.get(name, True)

    def body(self, role: str) -> str:
        """The body of a role's agent file; empty if there is none."""
        return self.files[role].body if role in self.files else ""


def with_role(agent: Agent, roles: Mapping[str, Role]) -> Agent:
    """An agent, with the settings of its role where it has none."""
    role = roles.get(agent.type.text) if agent.type else None
    if role is None:
        return agent
    return Agent(agent.node, {**role.values, **agent.values})


def wfc_tools(tools: Iterable[str]) -> list[str]:
    """The client's tools in the words of a delegate step. Others have no effect there."""
    found: dict[str, None] = {}
    for tool in tools:
        server = _MCP.fullmatch(tool)
        if _TOOL.fullmatch(tool):
            found[tool] = None
        elif server:
            found[f"mcp:{server['server']}"] = None
        elif tool.partition("(")[0] in _OF_WFC:
            found[_OF_WFC[tool.partition("(")[0]]] = None
    return list(found)
