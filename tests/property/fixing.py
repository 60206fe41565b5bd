"""What must hold for every fix that the engine applies, checked without the engine's own means.

A finding of warning or above is *new* if its code was not there before, or not so often. A fix of an error in a key, a
type or a name (`UNCOVERING`) may bring findings to light that the error hid; a fix of anything else must not bring any.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

from tests.support import Finder, W, file_of, fixed
from wfc.checker import has_errors
from wfc.findings import Diagnostic, Fix, Severity
from wfc.fixes import UNCOVERING, Candidate, Checked, Trial, changes_of
from wfc.ir import dump

_LINE = re.compile(r"\b(lines?) \d+")
_SHAPE = re.compile(r"\s*(?:workflow|chart|input|field|deferred|state|region)\b.*|\s*\S+ -> \S+")


def broken_promises(text: str, check: Finder) -> list[str]:
    """What is wrong with the fixes of a text, each tried alone and then all at once."""
    check = cache(check)
    before = check(text)
    tried: dict[object, list[Diagnostic]] = {}
    for one in before:
        if one.fix is not None and one.is_fixed_in_place:
            tried.setdefault(changes_of(one.fix), []).append(one)
    wrong = [
        f"{found[0].code} {found[0].message}: {promise}"
        for found in tried.values()
        for promise in _alone(text, before, found, check)
    ]
    return wrong + [f"all at once: {promise}" for promise in _together(text, check)]


def applied_alone(text: str, found: list[Diagnostic], fix: Fix, check: Finder) -> str | None:
    """The text with one fix, unless the engine refuses it."""
    checked = Checked(file_of(text), check(text))
    mine = [
        one
        for one in checked.findings
        if (one.code, one.span.start) in {(f.code, f.span.start) for f in found}
    ]
    trial = Trial({W: text}, {W: checked}, lambda texts: {W: Checked(file_of(texts[W]), check(texts[W]))})
    trial.settle([Candidate(W, fix, changes_of(fix), mine)])
    return trial.texts[W] if trial.accepted else None


def _alone(text: str, before: list[Diagnostic], found: list[Diagnostic], check: Finder) -> list[str]:
    fix = found[0].fix
    assert fix is not None
    now = applied_alone(text, found, fix, check)
    if now is None:
        return []
    wrong = ["it changes nothing"] if now == text else []
    wrong += ["it changes more than its edits say"] if now != _by_hand(text, fix) else []
    after = check(now)
    if _is_broken(now) and not _is_broken(text):
        wrong.append("the text is no YAML any more")
    if any(_said(after)[key] >= _said(before)[key] for key in _said(found)):
        wrong.append("the finding is still there")
    if not all(one.code in UNCOVERING and one.severity is Severity.ERROR for one in found):
        wrong += [f"new: {code}" for code in _codes(after) - _codes(before)]
    if fix.safe and not has_errors(before) and _shape(text) != _shape(now):
        wrong.append("the statechart is another")
    return wrong


def _together(text: str, check: Finder) -> list[str]:
    """Fixed until nothing more can be: that is YAML still, and once more changes nothing."""
    wrong = []
    for unsafe in (False, True):
        now = fixed(text, check, unsafe=unsafe).texts[W]
        if _is_broken(now) and not _is_broken(text):
            wrong.append("the text is no YAML any more")
        if fixed(now, check, unsafe=unsafe).texts[W] != now:
            wrong.append(f"once more changes it again, {unsafe=}")
        if not unsafe and not has_errors(check(text)) and _shape(now) != _shape(text):
            wrong.append("safe fixes make another statechart")
    return wrong


def _said(found: list[Diagnostic]) -> Counter[tuple[str, str]]:
    return Counter((one.code, _LINE.sub(r"\1", one.message)) for one in found)


def _codes(found: list[Diagnostic]) -> Counter[str]:
    return Counter(one.code for one in found if one.severity is not Severity.INFO)


def _by_hand(text: str, fix: Fix) -> str:
    """Only the characters of the spans are others: all else is byte for byte what it was."""
    for start, end, new in sorted(
        {(edit.span.start, edit.span.end, edit.text) for edit in fix.edits}, reverse=True
    ):
        text = text[:start] + new + text[end:]
    return text


def _is_broken(text: str) -> bool:
    return bool(file_of(text).problems)


def _shape(text: str) -> list[str]:
    """The statechart without what its states do: its states, their kinds, and the edges between them."""
    module = file_of(text).module
    lines = dump(module).splitlines() if module else []
    return [found.group() for line in lines if (found := _SHAPE.match(line))]
