"""The files that `wfc init` writes. The longer texts are files in this folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

from wfc.starter.claude_plugin import project_files


@dataclass(frozen=True, slots=True)
class Piece:
    """One file."""

    path: str
    purpose: str
    text: Callable[[], str]
    mark: str
    """A word whose presence shows that an existing file has this content already."""

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
    purposes = {
        ".mcp.json": ("the server that agents start, with its journal", "journal"),
        ".claude/commands/workflow.md": ("the command `/workflow`", "wfc"),
        ".claude/settings.json": ("permissions for the wfc tools", "mcp__wfc__"),
        "CLAUDE.md": ("a paragraph about workflows", "<!-- wfc: begin -->"),
    }
    purpose, mark = purposes.get(path, ("hooks, the agent `runner` and the skill `write-workflow`", "wfc"))
    return Piece(path, purpose, lambda: text, mark)


def claude_pieces() -> list[Piece]:
    """What `wfc init --claude` adds."""
    return [_claude_piece(path, text) for path, text in project_files().items()]
