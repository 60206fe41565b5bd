"""Findings as SARIF 2.1.0, for code-scanning services."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from wfc.findings import Diagnostic, Fix, Redaction, Severity
from wfc.render.github import whole
from wfc.rules import BY_CODE
from wfc.yaml import Span
from wfc_runtime.version import __version__

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render_sarif(found: Sequence[Diagnostic]) -> str:
    mask = Redaction(found)
    codes = {code: number for number, code in enumerate(sorted({diagnostic.code for diagnostic in found}))}
    driver = {"name": "wfc", "version": __version__, "rules": [_rule(code) for code in codes]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(mask.finding(diagnostic), codes, mask) for diagnostic in found],
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _rule(code: str) -> dict[str, Any]:
    rule = BY_CODE[code]
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.doc.strip()},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(found: Diagnostic, codes: dict[str, int], mask: Redaction) -> dict[str, Any]:
    # A result in SARIF has no field for a hint.
    text = found.message + (f"\n{found.help}" if found.help else "")
    result: dict[str, Any] = {
        "ruleId": found.code,
        "ruleIndex": codes[found.code],
        "level": _LEVELS[found.severity],
        "message": {"text": text},
        "locations": [_location(found.span)],
    }
    related = [_noted(note.message, note.span) for note in found.notes if note.span]
    if related:
        result["relatedLocations"] = related
    if found.flow:
        result["codeFlows"] = [_code_flow(found)]
    if found.fix and not mask.hides(found.fix):
        result["fixes"] = [_fix(found.fix)]
    return result


def _code_flow(found: Diagnostic) -> dict[str, Any]:
    """The path from the source through each step to the place of the finding."""
    hops = [_noted(note.message, note.span) for note in found.flow if note.span]
    places = [*hops, _noted(found.message, found.span)]
    return {"threadFlows": [{"locations": [{"location": place} for place in places]}]}


def _noted(message: str, span: Span) -> dict[str, Any]:
    return {**_location(span), "message": {"text": message}}


def _location(span: Span) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(span)}, "region": _region(span)}}


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in fix.edits:
        changes.setdefault(_uri(edit.span), []).append(
            {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}}
        )
    return {
        "description": {"text": fix.description},
        "artifactChanges": [
            {"artifactLocation": {"uri": uri}, "replacements": replacements}
            for uri, replacements in changes.items()
        ],
    }


def _uri(span: Span) -> str:
    """The path as a URI: relative to the root of the repository, or absolute with a scheme."""
    path = whole(span.source.path)
    return Path(path).as_uri() if os.path.isabs(path) else quote(path.replace("\\", "/"), safe="/")
