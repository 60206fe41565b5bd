"""The filters for reports of agents."""

from __future__ import annotations

from wfc_runtime.contract import DEFAULTS, Report
from wfc_runtime.expr.builtins import FILTERS, define
from wfc_runtime.expr.errors import ExpressionError, shorten
from wfc_runtime.expr.run import Run
from wfc_runtime.expr.values import Value, items_of, kind_of, text_of

RULES = ("all agents success", "any agent success", "all agents done")
_QUOTED = 300


@define(FILTERS, "shortcomings")
def shortcomings(
    run: Run,
    value: Value,
    missing: list[Value] | None = None,
    rule: str = RULES[0],
    outside: list[Value] | None = None,
) -> dict[str, Value]:
    """`reports | shortcomings(missing, rule)`: `problems`, and `again`, the agents to ask again. `reports` has the
    report of each agent, or null; `missing` are files that should be there, `outside` changed files outside of a scope;
    `rule` is 'all agents success', 'any agent success' or 'all agents done'. A blocker, an issue that requires a human
    and has no resolution, is always a problem."""
    if not isinstance(value, dict):
        raise ExpressionError(f"shortcomings works on an object of reports, not on {kind_of(value)}", "type")
    if rule not in RULES:
        raise ExpressionError(f"shortcomings takes the rules {', '.join(map(repr, RULES))}, not {rule!r:.60}")
    reports = {text_of(run, key): one if isinstance(one, dict) else None for key, one in value.items()}
    problems, again = _short_of(rule, reports)
    for agent, report in reports.items():
        for description in _blockers(report):
            problems.append(f"{agent} is blocked: {shorten(description, _QUOTED)}")
            again.append(agent)
    files = [text_of(run, one) for one in items_of(run, missing or [], "list")]
    problems += [f"{shorten(one, _QUOTED)} is missing." for one in files]
    changed = [text_of(run, one) for one in items_of(run, outside or [], "list")]
    problems += [f"{shorten(one, _QUOTED)} was changed outside of the scope." for one in changed]
    # Nobody knows who should have written a file, or who changed it.
    asked = list(reports) if files or changed else [one for one in reports if one in again]
    run.make_list(len(problems) + len(asked))
    run.make_text(sum(map(len, problems)))
    return {"problems": problems, "again": asked}


@define(FILTERS, "reported")
def reported(run: Run, value: Value) -> dict[str, Value]:
    """`report | reported`: the report itself; for null, a failed report."""
    if isinstance(value, dict):
        return value
    if value is not None:
        raise ExpressionError(f"reported works on a report or null, not on {kind_of(value)}", "type")
    empty = {
        name: list(one) if isinstance(one, list) else dict(one) for name, one in DEFAULTS[Report].items()
    }
    run.make_list(len(empty))
    return {"status": "failed", "summary": "The agent gave no report.", **empty}


def _short_of(rule: str, reports: dict[str, dict[str, Value] | None]) -> tuple[list[str], list[str]]:
    """The problem that the rule finds, and the agents responsible for it."""
    silent = [agent for agent, report in reports.items() if report is None]
    problems = [f"{agent} has not reported." for agent in silent]
    if rule == "all agents done":
        return problems, silent
    lacking = {
        agent: report
        for agent, report in reports.items()
        if report is not None and report.get("status") != "success"
    }
    if rule == "any agent success" and len(lacking) + len(silent) < len(reports):
        return [], []
    for agent, report in lacking.items():
        said = shorten(str(report.get("summary") or "no summary"), _QUOTED)
        problems.append(f"{agent} reports {report.get('status') or 'no status'}: {said}")
    return problems, [*silent, *lacking]


def _blockers(report: dict[str, Value] | None) -> list[str]:
    issues = (report or {}).get("issues")
    return [
        str(issue.get("description") or "an issue requires a human")
        for issue in (issues if isinstance(issues, list) else [])
        if isinstance(issue, dict) and issue.get("requires_human") is True and not issue.get("resolution")
    ]
