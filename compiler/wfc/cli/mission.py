"""`wfc mission`: the files of a mission for people and agents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from wfc.cli.shared.names import WORKFLOWS
from wfc.cli.shared.workflow import find_workflow, print_errors
from wfc.config import real
from wfc.language.dialect import NotRewrittenError
from wfc.project import SourceFile
from wfc.workspace.files import DEFINITION, MARKDOWN, MISSIONS, as_typed, recorded_path, replace_file, writing
from wfc_runtime.header import read_mark, with_mark


@dataclass(frozen=True, slots=True)
class _Piece:
    path: Path
    text: str
    """The expected text, with its mark."""
    before: str | None
    """The text on disk; None if there is no file."""

    @property
    def hindrance(self) -> str:
        """Why the file must not be overwritten; empty if it may."""
        if self.before is None or self.before == self.text:
            return ""
        mark = read_mark(self.before)
        if mark is None:
            return "was not written by wfc; move it, or make it the source"
        return "was edited by hand: make the change in the source, or use --adopt" if mark.edited else ""


@click.command("mission")
@click.argument("workflow", shell_complete=WORKFLOWS)
@click.option(
    "--check", "check_only", is_flag=True, help="Write nothing; exit with 1 if a file is out of date."
)
@click.option(
    "--adopt",
    is_flag=True,
    help="Make the written workflow.md and definition.md the source: remove their marks.",
)
def command(workflow: str, check_only: bool, adopt: bool) -> int:
    """Write definition.md, workflow.md and start.md of a mission to .claude/workflows/NAME/.

    WORKFLOW is a file or the name of a workflow of phases. definition.md has the objective, scope, constraints and
    success criteria, workflow.md a chart, the phases and their prompts, and start.md the prompt for the orchestrator.
    If the workflow is a workflow.md itself, only start.md is written, beside it.

    Each file begins with a digest. A file that a person wrote or edited is never overwritten. Exits with 1 if the
    workflow has errors, or a file can't be written for that reason.
    """
    if check_only and adopt:
        raise click.UsageError("--check writes nothing; --adopt does")
    if adopt:
        return _adopt(workflow)
    file = find_workflow(workflow)
    if print_errors([file]):
        return 1
    pieces = _pieces(file)
    hindered = [piece for piece in pieces if piece.hindrance]
    for piece in hindered:
        click.echo(f"wfc: `{piece.path}` {piece.hindrance}", err=True)
    if check_only:
        return _report(pieces) or bool(hindered)
    if hindered:
        return 1
    for piece in pieces:
        if piece.before == piece.text:
            click.echo(f"unchanged  {piece.path}")
            continue
        with writing(piece.path):
            piece.path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(piece.path, piece.text.encode())
        click.echo(f"written    {piece.path}")
    return 0


def _pieces(file: SourceFile) -> list[_Piece]:
    path = Path(file.source.path)
    is_markdown = path.name.endswith(".md")
    assert file.parsed is not None
    assert file.name is not None
    try:
        texts = file.dialect.mission(file.parsed, only_start=is_markdown)
    except NotRewrittenError as error:
        raise click.UsageError(f"`{path}`: {error}") from None
    folder = path.parent if is_markdown else as_typed(file.config.root / MISSIONS / file.name)
    source = recorded_path(path, file.config.root)
    return [
        _Piece(folder / name, with_mark(source, file.name, text), _read(folder / name))
        for name, text in texts.items()
    ]


def _report(pieces: list[_Piece]) -> bool:
    """Print the files that are out of date, and return whether there is one."""
    old = [piece for piece in pieces if piece.before != piece.text]
    for piece in old:
        if not piece.hindrance:
            what = "is missing" if piece.before is None else "is out of date"
            click.echo(f"wfc: `{piece.path}` {what}; run `wfc mission`", err=True)
    if not old:
        click.echo(f"up to date: {', '.join(str(piece.path) for piece in pieces)}")
    return bool(old)


def _adopt(workflow: str) -> int:
    """Remove the marks of a written workflow.md and of the definition.md beside it."""
    from wfc.config import load_config

    given = Path(workflow)
    folder = given.parent if given.is_file() else load_config(Path(".")).root / MISSIONS / workflow
    path = as_typed(folder / MARKDOWN)
    text = _read(path)
    mark = read_mark(text) if text is not None else None
    if text is None:
        raise click.UsageError(f"there is no `{path}`; name the folder of a mission, or its workflow.md")
    if mark is None:
        raise click.UsageError(f"`{path}` is a source already")
    for one in (path, path.with_name(DEFINITION)):
        before = _read(one)
        found = read_mark(before) if before is not None else None
        if before is not None and found is not None:
            with writing(one):
                replace_file(one, before[found.end :].encode())
            click.echo(f"adopted    {one}")
    old = load_config(folder).root / mark.path
    if old.is_file() and real(old) != real(path):
        click.echo(
            f"`{as_typed(old)}` still has the same name: remove it, then run `wfc compile` and `wfc mission`"
        )
    return 0


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
