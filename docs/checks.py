"""The page of the checks: their docstrings, and what wfc says of each bad example."""

from __future__ import annotations

from collections.abc import Iterator

from page_parts import MADE, cell
from snippets import with_findings

from wfc.rules import RULES
from wfc.suppress import FIRM

_FAMILIES = {
    "WF0": "YAML and schema",
    "WF1": "References",
    "WF2": "Expressions",
    "WF3": "State and data flow",
    "WF4": "Control flow",
    "WF5": "Security",
    "WF6": "Durability and cost",
    "WF7": "Generated files",
}
_FIXES = {"safe": "fixed by `--fix`", "unsafe": "fixed by `--fix --unsafe-fixes`", "": "no automatic fix"}


def checks() -> Iterator[str]:
    yield from ("# The checks", "", MADE, "")
    yield (
        "`wfc explain WF301` prints a page in a terminal. A finding that you have looked at and want to keep: "
        "`# wfc: ignore[WF302] reason` on its line; a check that you don't want: `ignore` in `[tool.wfc]`. "
        f"Neither hides an error of {_firm()}: no machine can be made of such a workflow. Below each bad example "
        "stands what wfc says of it; what the examples leave out, such as the step that wrote what they read, is right."
    )
    for family, title in _FAMILIES.items():
        rules = [rule for rule in RULES if rule.code.startswith(family)]
        if rules:
            yield from ("", f"## {title}", "", "| code | name | severity | |", "|---|---|---|---|")
            for rule in rules:
                link = f"[{rule.code}](#{rule.code.lower()}-{rule.name})"
                yield f"| {link} | {rule.name} | {rule.severity} | {cell(rule.summary)} |"
    for rule in RULES:
        yield from ("", f"## {rule.code} {rule.name}", "", f"*{rule.severity}, {_FIXES[rule.fix]}*", "")
        yield with_findings(rule.code, rule.doc.strip())


def _firm() -> str:
    *most, last = [f"{code:x<5}" for code in FIRM]
    return f"{', '.join(most)} or {last}"
