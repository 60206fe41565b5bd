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

    def is_in(self, text: str) -> bool:
        return self.mark in text


def _file(name: str) -> Callable[[], str]:
    return lambda: files(__name__).joinpath(name).read_text(encoding="utf-8")


def _agent() -> str:
    return json.dumps({"mcpServers": {"wfc": {"command": "wfc", "args": ["serve"]}}}, indent=2) + "\n"


def _editor() -> str:
    schemas = {".vscode/wfc.schema.json": ["workflows/*.yaml", "!workflows/*.test.yaml"]}
    return json.dumps({"yaml.schemas": schemas}, indent=2) + "\n"


def _schema() -> str:
    from wfc.language.schema import steps_schema

    return json.dumps(steps_schema(), indent=2, ensure_ascii=False) + "\n"


PIECES = (
    Piece(".mcp.json", "the server that agents start", _agent, '"serve"'),
    Piece("workflows/summarise-changes.yaml", "a starter workflow", _file("workflow.yaml"), "name:"),
    Piece("workflows/summarise-changes.test.yaml", "its test", _file("test.yaml"), ""),
    Piece(
        ".pre-commit-config.yaml", "the checks before each commit", _file("pre-commit.yaml"), "wfc-compile"
    ),
    Piece(".vscode/settings.json", "completion in the editor", _editor, "wfc.schema.json"),
    Piece(".vscode/wfc.schema.json", "the language's schema", _schema, "definitions"),
    Piece(".gitignore", "runs kept out of git", lambda: ".wfc/\n", ".wfc"),
)


def _claude_piece(path: str, text: str) -> Piece:
    purposes = {
        ".claude/commands/workflow.md": ("the command `/workflow`", "wfc"),
        ".claude/settings.json": ("permissions for the wfc tools", "mcp__wfc__"),
        "CLAUDE.md": ("a paragraph about workflows", "<!-- wfc: begin -->"),
    }
    purpose, mark = purposes.get(path, ("hooks, the agent `runner` and the skill `write-workflow`", "wfc"))
    return Piece(path, purpose, lambda: text, mark)


def claude_pieces() -> list[Piece]:
    """What `wfc init --claude` adds."""
    return [_claude_piece(path, text) for path, text in project_files().items()]
