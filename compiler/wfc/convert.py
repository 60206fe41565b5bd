"""A workflow of another language, written in the steps language: text that compiles to the same machine."""

from __future__ import annotations

from wfc.checker import check_file
from wfc.findings import Severity
from wfc.language.values import plain
from wfc.project import Project, SourceFile, load_file
from wfc.suppress import can_be_hidden
from wfc.yaml.nodes import nodes_of
from wfc.yaml.write import write_yaml


def to_steps(file: SourceFile) -> str:
    """The file as steps. What its own language lets pass and the steps language does not is marked as kept."""
    assert file.workflow is not None
    data = plain(file.workflow.node)
    assert isinstance(data, dict)
    text = write_yaml(data)
    known = {found.code for found in check_file(file)}
    while (kept := _with_kept(text, file, known)) != text:
        text = kept
    return text


def _with_kept(text: str, original: SourceFile, known: set[str]) -> str:
    """The text with a comment before each line that has an error or warning which is a matter of judgement.

    A warning that the original has as well (`known`) stays: its author has not seen to it yet.
    """
    project = Project(original.config, others=original.project.others)
    file = load_file(original.source.path, text.encode(), original.config, project)
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
    """The line on which the text begins that a place is in."""
    for scalar in nodes_of(file.document.root).scalars:
        if scalar.span.start <= offset < scalar.span.end:
            return scalar.span.line
    return file.source.position(offset)[0]
