"""`wfc init`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from wfc.cli.schema import schema_text
from wfc.cli.shared.output import say
from wfc.config import Config, find_root, load_config
from wfc.render.style import style_for
from wfc.starter import PIECES, SCHEMA, TESTS_SCHEMA, Piece, claude_pieces
from wfc.starter.claude_plugin import MCP, SKILLS, names_server
from wfc.workspace.files import replace_file, writing

_SCHEMAS = (
    Piece(SCHEMA, "the schema of workflows", partial(schema_text, "any"), "definitions"),
    Piece(TESTS_SCHEMA, "the schema of test files", partial(schema_text, "tests"), "json-schema.org"),
)


@click.command("init")
@click.option("--show", is_flag=True, help="Print what would be written, and write nothing.")
@click.option(
    "--claude", is_flag=True, help="Also write the command /workflow, hooks and permissions for Claude Code."
)
def command(show: bool, claude: bool) -> int:
    """Set up a project in this folder. Nothing that is there is overwritten: wfc prints what to add to a file.

    Writes .mcp.json (with which Claude Code and other agents start `wfc serve`), a starter workflow with its test and
    its module, a pre-commit configuration, .gitignore, editor settings with the schemas of workflows and test files, a
    task for VS Code, and a problem matcher for GitHub Actions.

    With --claude also .claude/ (the command /workflow, the server, hooks that mention open runs, an agent for child
    runs, a skill for writing workflows). Permissions are added to .claude/settings.json and a paragraph to CLAUDE.md;
    what these files have stays. The server is then in .claude/skills/wfc instead of .mcp.json, unless .mcp.json has it
    already.
    """
    root = find_root(Path(".").resolve()) or Path(".").resolve()
    if root != Path(".").resolve():
        raise click.UsageError(f"the root of the project is `{root}`; run wfc init there")
    config = load_config(root)
    style = style_for(sys.stdout)
    has_server = names_server(root / MCP)
    pieces = [*PIECES, *_SCHEMAS, *(claude_pieces(has_server=has_server) if claude else ())]
    for piece in pieces:
        # With a server in both places, Claude Code would offer every tool twice.
        if piece.path == MCP and not has_server and (claude or names_server(root / SKILLS / MCP)):
            continue
        if show:
            title = style.paint(piece.place(config.workflows), "bold")
            say(f"{title}: {piece.purpose}\n{_indented(piece.content(config.workflows))}")
        else:
            _put(piece, config)
    if not show:
        _compile(config)
        say("\nnext: `wfc check`, `wfc test`, then `wfc doctor`; and let your agent list its workflows")
    return 0


def _put(piece: Piece, config: Config) -> None:
    shown = piece.place(config.workflows)
    path = config.root / shown
    with writing(shown):
        if path.exists():
            with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
                there = file.read()
            added = piece.add(there, piece.content(config.workflows)) if piece.add else None
            if piece.is_in(there) or added == there:
                say(f"kept     {shown}: it has {piece.purpose} already")
            elif added is not None:
                replace_file(path, added.encode("utf-8", "surrogateescape"))
                say(f"added    {shown}: {piece.purpose}")
            else:
                say(f"kept     {shown}: for {piece.purpose}, add this to it:")
                say(_indented(piece.content(config.workflows)))
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        # Mode x: a file that was created in the meantime is not overwritten either.
        with path.open("x", encoding="utf-8") as file:
            file.write(piece.content(config.workflows))
    say(f"wrote    {shown}: {piece.purpose}")


def _compile(config: Config) -> None:
    from wfc.cli.compile import Task, compile_selection
    from wfc.workspace.files import as_typed, select

    selection = select(())
    folder = as_typed(config.generated_dir)
    say(f"compiled {compile_selection(Task(selection, folder)).text.strip()}")


def _indented(text: str) -> str:
    return "".join(f"    {line}" for line in text.splitlines(keepends=True))
