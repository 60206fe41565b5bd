"""Reports of test results, as text, JSON and JUnit XML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree

from wfc.author.testing import Coverage, Mismatch, total
from wfc.cli.test_runner import CaseReport, FileReport
from wfc.findings import one_line
from wfc.render.json import to_json
from wfc.render.style import Style, counted
from wfc.render.text import render_text

_DIFF = 40
"""The maximum number of lines shown of one difference."""


def render_failures(reports: Sequence[FileReport], style: Style) -> Iterator[str]:
    for report in reports:
        if report.problems:
            yield render_text(sorted(report.problems, key=lambda one: one.sort_key), style)
        for case in report.cases:
            for mismatch in case.mismatches:
                yield _mismatch(report, case, mismatch, style)


def _mismatch(report: FileReport, case: CaseReport, found: Mismatch, style: Style) -> str:
    place = style.paint(f"{report.path}:{found.span.line}:{found.span.column}:", "bold")
    lines = [
        f"{place} {style.paint('failed', 'red', 'bold')}: {one_line(case.name)}: {one_line(found.message)}"
    ]
    diff = found.diff()
    for line in diff[:_DIFF]:
        color = {"-": "red", "+": "green"}.get(line[:1])
        shown = one_line(line)
        lines.append("    " + (style.paint(shown, color) if color else shown))
    if len(diff) > _DIFF:
        lines.append(f"    ... {len(diff) - _DIFF} more lines")
    if diff:
        lines.append("    (- expected, + got)")
    return "\n".join(lines) + "\n\n"


def render_coverage(found: Sequence[Coverage], style: Style) -> Iterator[str]:
    width = max((len(one.workflow) for one in found), default=0)
    for one in found:
        color = "green" if not one.missing else "yellow"
        share = style.paint(f"{one.percent:5.1f}%", color)
        counts = f"steps {one.steps_covered}/{one.steps}, branches {one.branches_covered}/{one.branches}"
        yield f"{one.workflow:<{width}}  {share}  {counts}\n"
        for missing in one.missing:
            yield f"    {one.path}:{missing.line}: not covered: {missing.text}\n"


def summary(reports: Sequence[FileReport], seconds: float) -> str:
    cases = [case for report in reports for case in report.cases]
    failed = sum(not case.passed for case in cases)
    broken = sum(bool(report.problems) for report in reports)
    parts = [f"{counted(len(cases) - failed, 'test')} passed"]
    parts += [f"{failed} failed"] if failed else []
    not_run = sum(len(report.broken) for report in reports)
    parts += [f"{not_run} not run"] if not_run else []
    parts += [f"{counted(broken, 'file')} with mistakes"] if broken else []
    return f"{', '.join(parts)} in {seconds:.1f} s"


def to_data(reports: Sequence[FileReport], covered: Sequence[Coverage]) -> dict[str, Any]:
    cases = [case for report in reports for case in report.cases]
    return {
        "passed": sum(case.passed for case in cases),
        "failed": sum(not case.passed for case in cases),
        "files": [
            {
                "file": report.path,
                "workflow": report.workflow,
                "problems": [to_json(one) for one in report.problems],
                "not_run": report.broken,
                "tests": [_case_data(case) for case in report.cases],
            }
            for report in reports
        ],
        "coverage": {
            "percent": round(total(covered), 1),
            "workflows": [_coverage_data(one) for one in covered],
        },
    }


def _case_data(case: CaseReport) -> dict[str, Any]:
    failures = [
        {
            "line": one.span.line,
            "column": one.span.column,
            "message": one.message,
            **({"expected": one.expected, "got": one.got} if one.has_values else {}),
        }
        for one in case.mismatches
    ]
    seconds = round(case.seconds, 3)
    return {
        "name": case.name,
        "line": case.line,
        "passed": case.passed,
        "seconds": seconds,
        "failures": failures,
    }


def _coverage_data(one: Coverage) -> dict[str, Any]:
    return {
        "workflow": one.workflow,
        "file": one.path,
        "percent": round(one.percent, 1),
        "steps": {"covered": one.steps_covered, "all": one.steps},
        "branches": {"covered": one.branches_covered, "all": one.branches},
        "missing": [{"line": missing.line, "what": missing.text} for missing in one.missing],
    }


def to_junit(reports: Sequence[FileReport]) -> str:
    root = ElementTree.Element("testsuites", name="wfc test")
    for report in reports:
        failed = sum(not case.passed for case in report.cases)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=report.path,
            tests=str(len(report.cases) + bool(report.problems)),
            failures=str(failed),
            errors=str(int(bool(report.problems))),
            time=f"{sum(case.seconds for case in report.cases):.3f}",
        )
        if report.problems:
            broken = ElementTree.SubElement(suite, "testcase", classname=report.path, name="the file itself")
            error = ElementTree.SubElement(broken, "error", message=_clean(report.problems[0].message))
            error.text = _clean(render_text(report.problems, Style()))
        for case in report.cases:
            suite.append(_junit_case(report, case))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _junit_case(report: FileReport, case: CaseReport) -> ElementTree.Element:
    element = ElementTree.Element(
        "testcase",
        classname=report.workflow,
        name=_clean(case.name),
        file=report.path,
        line=str(case.line),
        time=f"{case.seconds:.3f}",
    )
    if case.mismatches:
        failure = ElementTree.SubElement(element, "failure", message=_clean(case.mismatches[0].message))
        failure.text = _clean("".join(_mismatch(report, case, one, Style()) for one in case.mismatches))
    return element


def _clean(text: str) -> str:
    """The text without characters that XML does not allow."""
    return "".join(char for char in text if char.isprintable() or char in "\n\t")
