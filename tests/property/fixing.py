"""What must hold for every fix, whatever it mends.

A finding of warning or above is *new* if its code and message were not there before, or not so often; line numbers in a
message do not count. One that only comes to light is not new: while a key, a type or a name is wrong, what belongs to
it can't be looked at, and mending it (`UNCOVERING`) shows what was wrong all along. A fix of any other rule must not
bring anything.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from wfc.findings import Diagnostic, Severity
from wfc.suppress import apply_fixes

Check = Callable[[str], list[Diagnostic]]
"""The findings of a text, in the place where it stands in its project."""

UNCOVERING = frozenset(
    {"WF002", "WF004", "WF007", "WF009"}
    | {"WF102", "WF104", "WF109", "WF111"}
    | {"WF202", "WF203", "WF204", "WF206", "WF303"}
)
_LINE = re.compile(r"\b(lines?) \d+")


def kinds(found: list[Diagnostic]) -> Counter[tuple[str, str]]:
    return _said([one for one in found if one.severity is not Severity.INFO])


def _said(found: list[Diagnostic]) -> Counter[tuple[str, str]]:
    return Counter((one.code, _LINE.sub(r"\1", one.message)) for one in found)


def broken_promises(text: str, check: Check) -> list[str]:
    """What is wrong with the fixes of a text, each tried alone and then all at once."""
    before = check(text)
    wrong = [
        f"{one.code} {one.message}: {promise}"
        for one in before
        if one.fix is not None
        for promise in _alone(text, before, one, check)
    ]
    return wrong + [f"all at once: {promise}" for promise in _together(text, check)]


def _alone(text: str, before: list[Diagnostic], one: Diagnostic, check: Check) -> list[str]:
    assert one.fix is not None
    fixed, settled = apply_fixes(text, [one], unsafe=True)
    if not settled:
        return []
    wrong = ["it changes nothing"] if fixed == text else []
    wrong += ["it is not by its edits alone"] if fixed != _by_hand(text, one) else []
    after = check(fixed)
    key = (one.code, _LINE.sub(r"\1", one.message))
    if _said(after)[key] >= _said(before)[key]:
        wrong.append("it is still there")
    if one.code not in UNCOVERING:
        wrong += [f"new: {code} {message}" for code, message in kinds(after) - kinds(before)]
    elif {each.code for each in after} & {"WF001"} - {each.code for each in before}:
        wrong.append("it is no YAML any more")
    return wrong


def _by_hand(text: str, one: Diagnostic) -> str:
    """Only the characters of the spans are others: all else is byte for byte what it was."""
    assert one.fix is not None
    for edit in sorted({(edit.span.start, edit.span.end, edit.text) for edit in one.fix.edits}, reverse=True):
        text = text[: edit[0]] + edit[2] + text[edit[1] :]
    return text


def _together(text: str, check: Check) -> list[str]:
    """Fixed until nothing more can be: that comes to an end, and once more changes nothing."""
    for unsafe in (False, True):
        fixed = text
        for _ in range(12):
            again, settled = apply_fixes(fixed, check(fixed), unsafe=unsafe)
            if not settled:
                break
            fixed = again
        else:
            return ["it comes to no end"]
        if any(one.code == "WF001" for one in check(fixed)) and not any(
            one.code == "WF001" for one in check(text)
        ):
            return ["it is no YAML any more"]
    return []
