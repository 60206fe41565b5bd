"""The files that `wfc init` writes. The longer texts are files in this folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from wfc.starter.claude_plugin import BEGIN, COMMAND, MEMORY, SETTINGS, SKILLS, project_files


@dataclass(frozen=True, slots=True)
class Piece:
    """One file."""

    path: str
    purpose: str
    text: Callable[[], str]
    mark: str
    """A word whose presence shows that an existing file has this content already."""
    add: Callable[[str, str], str | None] | None = None
    """Adds the content to the text of an existing file and changes nothing else; None if that is not possible."""

    def place(self, workflows: str) -> str:
        """The path of the file in a project with this workflows folder."""
        return self.path.replace("workflows/", f"{workflows}/")

    def content(self, workflows: str) -> str:
        """Its text in such a project."""
        return (
            self.text().replace("workflows/", f"{workflows}/") if self.path.endswith(".json") else self.text()
        )

    def is_in(self, text: str) -> bool:
        return self.mark in text


def _file(name: str) -> Callable[[], str]:
    return lambda: files(__name__).joinpath(name).read_text(encoding="utf-8")


def _agent() -> str:
    return json.dumps({"mcpServers": {"wfc": {"command": "wfc", "args": ["serve"]}}}, indent=2) + "\n"


def _editor() -> str:
    # A glob with `!` takes files out again, in the YAML extension of VS Code.
    schemas = {
        SCHEMA: [
            "workflows/**/*.yaml",
            "workflows/**/*.yml",
            "!workflows/**/*.test.yaml",
            "!workflows/**/*.test.yml",
        ],
        TESTS_SCHEMA: ["workflows/**/*.test.yaml", "workflows/**/*.test.yml"],
    }
    return json.dumps({"yaml.schemas": schemas}, indent=2) + "\n"


def _tasks() -> str:
    matcher = {
        "owner": "wfc",
        "source": "wfc",
        "fileLocation": ["autoDetect", "${workspaceFolder}"],
        "pattern": {
            "regexp": r"^(.+?):(\d+):(\d+): (error|warning|info)\[(WF\d{3})[^\]]*\]: (.*)$",
            "file": 1,
            "line": 2,
            "column": 3,
            "severity": 4,
            "code": 5,
            "message": 6,
        },
    }
    task = {"label": "wfc check", "type": "shell", "command": "wfc check", "problemMatcher": matcher}
    return json.dumps({"version": "2.0.0", "tasks": [task]}, indent=2) + "\n"


SCHEMA, TESTS_SCHEMA = ".vscode/wfc.schema.json", ".vscode/wfc.tests.schema.json"
PIECES = (
    Piece(".mcp.json", "the server that agents start", _agent, '"serve"'),
    Piece("workflows/summarise-changes.yaml", "a starter workflow", _file("workflow.yaml"), "name:"),
    Piece("workflows/summarise-changes.test.yaml", "its test", _file("test.yaml"), ""),
    Piece(
        ".pre-commit-config.yaml", "the checks before each commit", _file("pre-commit.yaml"), "wfc-compile"
    ),
    Piece(".vscode/settings.json", "completion in the editor", _editor, "wfc.tests.schema.json"),
    Piece(".vscode/tasks.json", "findings of `wfc check` in the editor", _tasks, "wfc check"),
    Piece(
        ".github/wfc-problem-matcher.json",
        "findings as annotations of GitHub Actions",
        _file("problem-matcher.json"),
        '"wfc-error"',
    ),
    Piece(".gitignore", "runs kept out of git", lambda: ".wfc/\n", ".wfc"),
)


def _claude_piece(path: str, text: str) -> Piece:
    if path == MEMORY:
        return Piece(path, "a paragraph about workflows", lambda: text, BEGIN, _append)
    if path == SETTINGS:
        # No mark: permissions for all but one of the tools must not count as all of them.
        return Piece(path, "permissions for the wfc tools", lambda: text, text, _merge)
    purposes = {
        COMMAND: "the command `/workflow`",
        f"{SKILLS}/.mcp.json": "the server that Claude Code starts, with its journal",
    }
    purpose = purposes.get(path, "hooks, the agent `runner` and the skill `write-workflow`")
    return Piece(path, purpose, lambda: text, "wfc")


def claude_pieces(*, has_server: bool) -> list[Piece]:
    """What `wfc init --claude` adds to a project whose .mcp.json names the server, or does not."""
    return [_claude_piece(path, text) for path, text in project_files(has_server=has_server).items()]


def _append(text: str, block: str) -> str:
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return text + _as_lines_of(text, gap + block)


def _as_lines_of(text: str, more: str) -> str:
    return more.replace("\n", "\r\n") if "\r\n" in text else more


def _merge(text: str, settings: str) -> str | None:
    """The settings with those that they lack. Lists are extended; a value that is there stays."""
    try:
        there = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not _extend(there, json.loads(settings)):
        return None
    if there == json.loads(text):
        return text
    indented = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    merged = json.dumps(there, indent=indented[1] if indented else 2, ensure_ascii=False)
    return _as_lines_of(text, merged + "\n")


def _extend(there: Any, more: Any) -> bool:
    """Add to an object in place. False if a value has another type than expected."""
    if isinstance(there, dict) and isinstance(more, dict):
        return all(_extend(there.setdefault(key, type(value)()), value) for key, value in more.items())
    if isinstance(there, list) and isinstance(more, list):
        there.extend(one for one in more if one not in there)
        return True
    return False
