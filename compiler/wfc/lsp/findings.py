"""Findings as LSP diagnostics, and their fixes as code actions."""

from __future__ import annotations

from lsprotocol import types as lsp

from wfc.findings import Diagnostic, Fix, Severity
from wfc.lsp.analysis import Analysis
from wfc.lsp.positions import to_position, to_range

_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.INFO: lsp.DiagnosticSeverity.Information,
}
FIX_ALL = "source.fixAll.wfc"


def diagnostics_of(analysis: Analysis, uri: str) -> list[lsp.Diagnostic]:
    found = [_diagnostic(one, uri) for one in analysis.findings]
    if analysis.config_error:
        start = to_range(analysis.file.source.start)
        found.append(lsp.Diagnostic(start, analysis.config_error, lsp.DiagnosticSeverity.Error, source="wfc"))
    return found


def _diagnostic(found: Diagnostic, uri: str) -> lsp.Diagnostic:
    notes = [
        lsp.DiagnosticRelatedInformation(lsp.Location(uri, to_range(note.span)), note.message)
        for note in (*found.flow, *found.notes)
        if note.span and note.span.source is found.span.source
    ]
    return lsp.Diagnostic(
        range=to_range(found.span),
        severity=_SEVERITIES[found.severity],
        code=found.code,
        source="wfc",
        message=found.message + (f"\n{found.help}" if found.help else ""),
        related_information=notes or None,
    )


def actions_of(analysis: Analysis, uri: str, asked: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """A quick fix for each finding in the range, and one action that applies all safe fixes of the file."""
    only = asked.context.only
    found: list[lsp.CodeAction] = []
    if _wants(only, lsp.CodeActionKind.QuickFix):
        for one in analysis.findings:
            place = to_range(one.span)
            if one.fix and _meet(place, asked.range) and analysis.is_harmless(one):
                found.append(_quick_fix(one, one.fix, uri))
    if _wants(only, FIX_ALL) and analysis.fixed != analysis.file.source.text:
        whole = lsp.Range(
            lsp.Position(0, 0), to_position(analysis.file.source, len(analysis.file.source.text))
        )
        edit = lsp.WorkspaceEdit(changes={uri: [lsp.TextEdit(whole, analysis.fixed)]})
        found.append(lsp.CodeAction("wfc: apply all safe fixes", kind=FIX_ALL, edit=edit))
    return found


def _wants(only: object, kind: str) -> bool:
    """Whether an editor that asks for `only` these kinds wants one: `source` includes `source.fixAll.wfc`."""
    if not isinstance(only, (list, tuple)) or not only:
        return True
    return any(
        kind == str(one) or kind.startswith(f"{one}.") for one in (getattr(o, "value", o) for o in only)
    )


def _quick_fix(found: Diagnostic, fix: Fix, uri: str) -> lsp.CodeAction:
    edits = [lsp.TextEdit(to_range(edit.span), edit.text) for edit in fix.edits]
    return lsp.CodeAction(
        title=f"{found.code}: {fix.description}",
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=[_diagnostic(found, uri)],
        is_preferred=fix.safe,
        edit=lsp.WorkspaceEdit(changes={uri: edits}),
    )


def _meet(one: lsp.Range, other: lsp.Range) -> bool:
    return not (_before(one.end, other.start) or _before(other.end, one.start))


def _before(one: lsp.Position, other: lsp.Position) -> bool:
    return (one.line, one.character) < (other.line, other.character)
