"""The files that connect wfc with Claude Code: the plugin, and the project's side that `wfc init --claude` writes.

Both are made from the texts in `claude/`. In a plugin, tools and commands have another prefix than in a project.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from wfc_runtime.version import __version__

COMMAND_TOOLS = (
    "list_workflows",
    "get_workflow_info",
    "start_workflow",
    "submit_result",
    "get_workflow_status",
    "list_runs",
    "get_context",
    "log_decision",
    "log_milestone",
    "log_issue",
    "cancel_workflow",
)
"""The tools that `/workflow` calls."""
UNASKED_TOOLS = tuple(tool for tool in COMMAND_TOOLS if tool != "cancel_workflow")
"""The tools that a project allows without a question. Cancelling a run cannot be undone."""
TOOLSETS = "core,journal"
"""What the server offers to Claude Code."""
COMMAND, SKILLS, SETTINGS = ".claude/commands/workflow.md", ".claude/skills/wfc", ".claude/settings.json"
MCP, MEMORY = ".mcp.json", "CLAUDE.md"
BEGIN, END = "<!-- wfc: begin -->", "<!-- wfc: end -->"
"""The marks around the block in CLAUDE.md. The client removes comments before the model reads the file."""
HOOK_EVENTS = {"SessionStart": "session-start", "Stop": "stop", "SubagentStop": "subagent-stop"}
_DESCRIPTION = (
    "Durable, compiled agent workflows: checked ahead of time, driven one action at a time, never lost."
)
_PLUGIN = {
    "%PREFIX%": "mcp__plugin_wfc_wfc__",
    "%RUNNER%": "wfc:runner",
    "%COMMAND%": "/wfc:workflow",
}
_PROJECT = {**_PLUGIN, "%PREFIX%": "mcp__wfc__"}


def plugin_files() -> dict[str, str]:
    """The plugin's text files, by their path in the folder `plugin/`."""
    return {
        MCP: _server(),
        "commands/workflow.md": _text("workflow.md", _PLUGIN),
        "README.md": _text("README.md", _PLUGIN),
        **_shared_files(_PLUGIN),
    }


def marketplace() -> str:
    """The catalogue at the top of the repository, from which clients install the plugin."""
    plugin = {"name": "wfc", "source": "./plugin", "description": _DESCRIPTION, "version": __version__}
    return _json(
        {
            "name": "wfc",
            "description": "wfc for Claude Code.",
            "owner": {"name": "wfc contributors"},
            "plugins": [plugin],
        }
    )


def project_files(*, has_server: bool = False) -> dict[str, str]:
    """The project's side: the plugin as a folder of skills.

    `has_server`: .mcp.json names `wfc serve` already. Then the folder has no server, because the client would offer
    every tool twice.
    """
    words = {**(_PROJECT if has_server else _PLUGIN), "%COMMAND%": "/workflow"}
    server = {} if has_server else {MCP: _server()}
    settings: dict[str, object] = {
        "permissions": {"allow": [words["%PREFIX%"] + tool for tool in UNASKED_TOOLS]}
    }
    if has_server:
        settings["enabledMcpjsonServers"] = ["wfc"]
    return {
        COMMAND: _text("workflow.md", words),
        **{f"{SKILLS}/{path}": text for path, text in (server | _shared_files(words)).items()},
        SETTINGS: _json(settings),
        MEMORY: _text("CLAUDE.md", words),
    }


def servers_in(path: Path) -> dict[str, Any]:
    """The entries of a file such as .mcp.json that start `wfc serve`. The same file may name other servers.

    Raises OSError, ValueError, KeyError, TypeError or AttributeError if it can't be read as such a file.
    """
    servers = json.loads(path.read_text(encoding="utf-8"))["mcpServers"]
    return {name: entry for name, entry in servers.items() if _is_ours(entry)}


def _is_ours(entry: Any) -> bool:
    words = [str(entry.get("command", "")), *map(str, entry.get("args", []))]
    return "serve" in words and any(word.rpartition("/")[2] in ("wfc", "wfc.exe") for word in words)


def names_server(path: Path) -> bool:
    """Whether a client that reads this file starts `wfc serve`. A file that can't be read names no server."""
    try:
        return bool(servers_in(path))
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return False


def _shared_files(words: dict[str, str]) -> dict[str, str]:
    return {
        ".claude-plugin/plugin.json": _json(
            {
                "name": "wfc",
                "version": __version__,
                "description": _DESCRIPTION,
                "author": {"name": "wfc contributors"},
                "license": "Apache-2.0",
                "keywords": ["workflow", "statechart", "durable", "mcp"],
            }
        ),
        "agents/runner.md": _text("runner.md", words),
        "skills/write-workflow/SKILL.md": _text("SKILL.md", words),
        "hooks/hooks.json": _hooks(),
    }


def _server() -> str:
    server = {"command": "wfc", "args": ["serve", "--toolsets", TOOLSETS]}
    return _json({"mcpServers": {"wfc": server}})


def _hooks() -> str:
    def entry(event: str) -> list[object]:
        # Without the test, a machine that has the plugin but not wfc would report an error at every stop.
        command = f"if command -v wfc >/dev/null; then wfc hook {event}; fi"
        return [{"hooks": [{"type": "command", "command": command, "timeout": 10}]}]

    return _json({"hooks": {event: entry(name) for event, name in HOOK_EVENTS.items()}})


def _text(name: str, words: dict[str, str]) -> str:
    text = files(__package__).joinpath("claude", name).read_text(encoding="utf-8")
    text = text.replace("%TOOLS%", ", ".join(words["%PREFIX%"] + tool for tool in COMMAND_TOOLS))
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def _json(data: object) -> str:
    return json.dumps(data, indent=2) + "\n"
