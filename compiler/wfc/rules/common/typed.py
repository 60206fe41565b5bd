"""Problems of type inference as findings. Each rule about types reports one kind of problem."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Change, Kind
from wfc.analysis.types.scope import Misfit
from wfc.analysis.types.workflow import Located, ScopeTypes, types_of
from wfc.findings import Edit, Fix, Note, Severity
from wfc.language.steps.base import Step
from wfc.language.values import Text
from wfc.project import SourceFile
from wfc.rules.base import Finding
from wfc.yaml import Span


def problems(file: SourceFile, *kinds: Kind) -> Iterator[tuple[ScopeTypes, Located]]:
    """The problems of these kinds in a file's templates, in source order."""
    types = types_of(file)
    for scope in types.scopes if types else ():
        yield from ((scope, found) for found in scope.problems if found.problem.kind in kinds)


def misfits(file: SourceFile, *kinds: Kind) -> Iterator[tuple[ScopeTypes, Step, Misfit]]:
    """Values of a wrong type for the field or input that they are given to."""
    types = types_of(file)
    for scope in types.scopes if types else ():
        yield from ((scope, step, found) for step, found in scope.misfits if found.kind in kinds)


def finding(
    found: Located,
    message: str = "",
    notes: tuple[Note, ...] = (),
    severity: Severity | None = None,
    help: str = "",
) -> Finding:
    """A problem as a finding, with its fix if it has one."""
    problem = found.problem
    return Finding(
        found.span,
        message or problem.message,
        help=help or problem.help,
        notes=notes,
        fix=_fix(found),
        severity=severity,
        step=found.step.name,
    )


def misfit_finding(step: Step, found: Misfit) -> Finding:
    return Finding(found.span, found.message, help=found.help, step=step.name)


def _fix(found: Located) -> Fix | None:
    problem = found.problem
    edits = [edit_in(found.text, change) for change in problem.changes]
    sure = tuple(edit for edit in edits if edit is not None)
    # All edits of a fix, or none.
    return Fix(problem.fix, sure, problem.safe) if sure and len(sure) == len(edits) else None


def edit_in(text: Text, change: Change) -> Edit | None:
    """A change of a template as an edit of the file; None if the file spells the place differently."""
    span = text.at(change.start, change.end)
    if not _is_verbatim(text, span, change):
        return None
    written = change.text
    # The change is in the text of the template, and the file has it in quotes.
    if text.node.style == "'":
        written = written.replace("'", "''")
    elif text.node.style == '"':
        written = written.replace("\\", "\\\\").replace('"', '\\"')
    return Edit(span, written)


def _is_verbatim(text: Text, span: Span, change: Change) -> bool:
    """Whether the text to remove is the same in the file and in the template, apart from blanks and escapes."""
    if change.start == change.end:
        return span.start == span.end
    # Blanks differ where YAML folds lines.
    there = "".join(span.text.split()).replace("\\", "")
    if text.node.style == "'":
        there = there.replace("''", "'")
    return there == "".join(text.node.text[change.start : change.end].split()).replace("\\", "")
