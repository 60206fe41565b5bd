"""`wfc convert`: a workflow of another language, rewritten as steps that compile to the same machine.

A file of blocks can also stay one, with its references in the other notation.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
from jinja2 import nodes

from wfc.checker import check_file
from wfc.cli.shared.names import WORKFLOWS
from wfc.cli.shared.workflow import find_workflow, print_errors
from wfc.findings import Severity
from wfc.language.dialect import NotRewrittenError
from wfc.language.values import plain, quoted
from wfc.project import Project, SourceFile, load_file
from wfc.suppress import can_be_hidden
from wfc.template import Template
from wfc.workspace.files import writing
from wfc.yaml import Mapping
from wfc.yaml.nodes import nodes_of
from wfc.yaml.write import write_yaml


@click.command("convert")
@click.argument("workflow", shell_complete=WORKFLOWS)
@click.option(
    "--to",
    "language",
    type=click.Choice(("steps", "blocks")),
    default="steps",
    show_default=True,
    help="Target language.",
)
@click.option(
    "--notation",
    type=click.Choice(("braces",)),
    help="With --to blocks: rewrite references ${...} as {{...}}.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file, which must not exist.",
)
def command(workflow: str, language: str, notation: str | None, output: Path | None) -> int:
    """Convert a workflow of another language, such as blocks, to the steps language.

    WORKFLOW is a file or the name of a workflow of the project. The output compiles to an equivalent machine with the
    same states, actions and results. Comments are lost. Exits with 1 if the workflow has errors.

    JavaScript that means the same in the expressions of the steps language is converted: references and literals. If
    there is any other, all of it is kept, with `expressions: javascript`; each one is named on stderr, with the reason.

    With --to blocks --notation braces, a workflow of blocks stays one, and its references ${...} become {{...}}.
    Comments and layout are kept.
    """
    if (language == "blocks") != (notation is not None):
        raise click.UsageError("--to blocks and --notation braces require each other")
    source_file = find_workflow(workflow)
    if language == "steps" and source_file.workflow is not None and not source_file.is_translated:
        raise click.UsageError(f"`{source_file.source.path}` is already written in the {language} language")
    # References in both notations are what a rewrite settles.
    if print_errors([source_file], but_for="WF219" if notation else ""):
        return 1
    for line in kept_expressions(source_file) if notation is None else ():
        click.echo(line, err=True)
    try:
        text = to_steps(source_file) if notation is None else to_braces(source_file)
    except NotRewrittenError as error:
        raise click.UsageError(f"`{source_file.source.path}`: {error}") from None
    if output is None:
        sys.stdout.write(text)
        return 0
    with writing(output):
        try:
            with output.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            raise click.UsageError(f"`{output}` exists; name a new file") from None
    return 0


def to_braces(file: SourceFile) -> str:
    """A file of blocks with its references in double braces. Raises `NotRewrittenError`."""
    root = file.document.root
    assert isinstance(root, Mapping)
    text = file.source.text
    # From the end, so that the offsets of the other edits stay valid.
    for edit in sorted(file.dialect.in_braces(root), key=lambda edit: edit.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def to_steps(file: SourceFile) -> str:
    """The file as steps. Findings that only the steps language reports get a suppression comment."""
    assert file.workflow is not None
    data = plain(file.workflow.node)
    assert isinstance(data, dict)
    if not list(kept_expressions(file)):
        data.pop("expressions", None)
    text = write_yaml(data)
    known = {found.code for found in check_file(file)}
    while (kept := _with_kept(text, file, known)) != text:
        text = kept
    return text


# JavaScript that stays JavaScript.

_SAME = (nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Const)
"""References and literals, which mean the same in both languages of expressions."""


def kept_expressions(file: SourceFile) -> Iterator[str]:
    """The expressions in JavaScript that have no counterpart, each with its place and the reason."""
    if file.workflow is None or file.workflow.expressions is None:
        return
    for scope in file.scopes:
        for step in (*scope.computed, *scope.walk()):
            for text in step.texts():
                reason = _why_kept(text.template)
                if reason:
                    place = text.at(0, len(text.node.text))
                    shown = quoted(text.node.excerpt(0, len(text.node.text)))
                    yield f"{place.source.path}:{place.line}:{place.column}: stays JavaScript, {reason}: {shown}"


def _why_kept(template: Template) -> str:
    if template.is_literal:
        return ""
    if not template.lone or template.expression is None:
        return "since it prints values in text in its own way"
    inner = [template.expression, *template.expression.find_all(nodes.Expr)]
    other = next((node for node in inner if not isinstance(node, _SAME)), None)
    match other:
        case None:
            return ""
        case nodes.Call() | nodes.Filter():
            return "since functions and properties of values differ"
        case nodes.Compare() | nodes.And() | nodes.Or() | nodes.Not() | nodes.CondExpr():
            return "since truth and comparisons differ"
        case nodes.BinExpr() | nodes.UnaryExpr():
            return "since arithmetic differs"
    return "since it has no counterpart"


def _with_kept(text: str, original: SourceFile, known: set[str]) -> str:
    """The text with a suppression comment before each line that has a finding that can be suppressed.

    A warning that the original also has (`known`) is not suppressed: its author should still see it.
    """
    project = Project(original.config, others=original.project.others, texts=original.project.texts)
    path = original.source.path
    path = f"{path.removesuffix('.md')}.yaml" if path.endswith(".md") else path  # Markdown becomes YAML.
    file = load_file(path, text.encode(), original.config, project)
    marks: dict[int, set[str]] = {}
    for found in check_file(file):
        is_new = found.severity is Severity.WARNING and found.code not in known
        if (found.severity is Severity.ERROR or is_new) and can_be_hidden(found.code, found.severity):
            marks.setdefault(_line_of(file, found.span.start), set()).add(found.code)
    lines = text.split("\n")
    for number in sorted(marks, reverse=True):
        line = lines[number - 1]
        indent = line[: len(line) - len(line.lstrip(" -"))].replace("-", " ")
        lines.insert(number - 1, f"{indent}# wfc: ignore[{', '.join(sorted(marks[number]))}] as it was")
    return "\n".join(lines)


def _line_of(file: SourceFile, offset: int) -> int:
    """The first line of the scalar that contains an offset: a suppression comment applies to a scalar as a whole."""
    for scalar in nodes_of(file.document.root).scalars:
        if scalar.span.start <= offset < scalar.span.end:
            return scalar.span.line
    return file.source.position(offset)[0]
