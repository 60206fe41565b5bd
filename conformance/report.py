"""The results of the cases, by requirement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conformance.suite import Expanded, Suite


@dataclass(frozen=True)
class Outcome:
    case: Expanded
    difference: str | None

    @property
    def passed(self) -> bool:
        return self.difference is None


def as_table(suites: Sequence[Suite], outcomes: Sequence[Outcome], *, failures_only: bool = False) -> str:
    """A line per requirement: its number, whether it holds, how many of its cases passed, and its sentence."""
    lines = []
    for suite in suites:
        for requirement in suite.requirements:
            own = _own(requirement.id, outcomes)
            failed = [one for one in own if not one.passed]
            if not own or (failures_only and not failed):
                continue
            verdict = "FAIL" if failed else "pass"
            count = f"{len(own) - len(failed)}/{len(own)}"
            lines.append(f"{requirement.id:<13} {verdict} {count:>6}  {requirement.text}")
            lines += [f"    {one.case.id}: {one.difference}" for one in failed]
    return "\n".join(lines)


def summary(suites: Sequence[Suite], outcomes: Sequence[Outcome]) -> str:
    lines = []
    for suite in suites:
        own = [one for one in outcomes if one.case.id.startswith(f"{suite.language}-")]
        passed = sum(one.passed for one in own)
        tried = [one for one in suite.requirements if _own(one.id, outcomes)]
        held = sum(all(case.passed for case in _own(one.id, outcomes)) for one in tried)
        lines.append(
            f"{suite.language}: {held} of {len(tried)} requirements hold, {passed} of {len(own)} cases pass"
        )
    return "\n".join(lines)


def as_json(suites: Sequence[Suite], outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    return [
        {
            "requirement": requirement.id,
            "text": requirement.text,
            "source": requirement.source,
            "holds": all(one.passed for one in own),
            "cases": [{"id": one.case.id, "passed": one.passed, "difference": one.difference} for one in own],
        }
        for suite in suites
        for requirement in suite.requirements
        if (own := _own(requirement.id, outcomes))
    ]


def _own(requirement: str, outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [one for one in outcomes if requirement in one.case.requirements]
