"""The files that connect wfc with Claude Code: the plugin, and the project's side that `wfc init --claude` writes.

Both are made from the texts in `claude/`. In a plugin, tools and commands have another prefix than in a project.
"""

from __future__ import annotations

import json
from importlib.resources import files

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
HOOK_EVENTS = {"SessionStart": "session-start", "Stop": "stop", "SubagentStop": "subagent-stop"}
_DESCRIPTION = (
    "Durable, compiled agent workflows: checked ahead of time, driven one action at a time, never lost."
)
_PLUGIN = {
    "%PREFIX%": "mcp__plugin_wfc_wfc__",
    "%RUNNER%": "wfc:runner",
    "%COMMAND%": "/wfc:workflow",
}
_PROJECT = {"%PREFIX%": "mcp__wfc__", "%RUNNER%": "wfc:runner", "%COMMAND%": "/workflow"}


def plugin_files() -> dict[str, str]:
    """The plugin's text files, by their path in the folder `plugin/`."""
    return {
        ".mcp.json": _server(),
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


def project_files() -> dict[str, str]:
    """The project's side. The server comes from .mcp.json, so that other clients find it as well."""
    plugin = {f".claude/skills/wfc/{path}": text for path, text in _shared_files(_PROJECT).items()}
    return {
        ".mcp.json": _server(),
        ".claude/commands/workflow.md": _text("workflow.md", _PROJECT),
        **plugin,
        ".claude/settings.json": _json(
            {
                "permissions": {"allow": [f"mcp__wfc__{tool}" for tool in UNASKED_TOOLS]},
                "enabledMcpjsonServers": ["wfc"],
            }
        ),
        "CLAUDE.md": _text("CLAUDE.md", _PROJECT),
    }


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
