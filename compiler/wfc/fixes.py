"""Fixes applied in memory, and kept only where a second check finds that they do no harm.

A fix is edits by span; everything else stays as the author wrote it. It is accepted only if

- the file still parses,
- its finding is gone, and
- no finding has come because of it. An error in a key, a name or a reference hides what depends on it: findings that
  such a fix brings to light are allowed, except those inside the text that it wrote.

A safe fix of a file that compiles must also leave the statechart as it was, apart from the step that it edits. These
rules hold here, and not in each check: a check may offer a fix that fits most files, and this module refuses it in the
others.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Mapping as Table
from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate
from pathlib import Path

from wfc.caching import pattern
from wfc.checker import has_errors
from wfc.findings import Diagnostic, Fix, Severity
from wfc.ir import dump
from wfc.project import SourceFile
from wfc.yaml.nodes import nodes_of

UNCOVERING = frozenset(
    {"WF002", "WF004", "WF006", "WF007", "WF009"}
    | {"WF102", "WF104", "WF109", "WF111"}
    | {"WF202", "WF203", "WF204", "WF206", "WF303"}
)
"""Errors that keep other checks from looking at what depends on them."""
_ROUNDS = 20
"""A fix may uncover another finding; each round settles at least one of them."""
_LINE = pattern(r"\b(lines?) \d+")

Change = tuple[int, int, str]
"""Where it begins and ends, and what comes there."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A text that was checked: the file, and what was found in it."""

    file: SourceFile
    findings: list[Diagnostic]


Look = Callable[[Table[Path, str]], Table[Path, Checked]]
"""Checks texts in the place of files, each among the others."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A fix that was not applied, and what was wrong with it."""

    finding: Diagnostic
    reason: str


@dataclass(slots=True)
class Fixed:
    """What became of some texts."""

    texts: dict[Path, str]
    settled: int = 0
    """The number of findings that the applied fixes settle."""
    refused: list[Refused] = field(default_factory=list)


def fix_texts(texts: Table[Path, str], look: Look, *, unsafe: bool) -> Fixed:
    """Fix all that can be fixed. Doing it again changes nothing."""
    result = Fixed(dict(texts))
    checked = look(result.texts)
    for _ in range(_ROUNDS):
        before, result.refused = result.settled, []
        for group in Group:
            trial = Trial(result.texts, checked, look)
            trial.settle(list(candidates(checked, result.texts, group, unsafe=unsafe)))
            result.texts, checked = trial.texts, trial.checked
            result.settled += sum(len(one.findings) for one in trial.accepted)
            result.refused += trial.refused
        if result.settled == before:
            break
    return result


class Group(Enum):
    """Fixes that are judged alike, and so can be tried together. Those that uncover findings come first: what another
    check says beside a wrong name may no longer hold once the name is right."""

    UNCOVERING = "an error that hides others"
    SAFE = "safe"
    UNSAFE = "unsafe"


def group_of(found: Diagnostic, fix: Fix) -> Group:
    if found.code in UNCOVERING and found.severity is Severity.ERROR:
        return Group.UNCOVERING
    return Group.SAFE if fix.safe else Group.UNSAFE


@dataclass(eq=False)
class Candidate:
    """A fix, and the findings that carry it: several may have the same."""

    path: Path
    fix: Fix
    changes: tuple[Change, ...]
    findings: list[Diagnostic]


def candidates(
    checked: Table[Path, Checked], paths: Iterable[Path], group: Group, *, unsafe: bool
) -> Iterator[Candidate]:
    """The fixes that can be applied together, in source order. What overlaps is left to the next round."""
    for path in paths:
        chosen: list[Change] = []
        found: dict[tuple[Change, ...], Candidate] = {}
        for one in checked[path].findings:
            fix = one.fix
            if fix is None or not (fix.safe or unsafe) or not one.is_fixed_in_place:
                continue
            if group_of(one, fix) is not group:
                continue
            changes = changes_of(fix)
            if changes in found:
                found[changes].findings.append(one)
            elif not any(_overlaps(change, chosen) for change in changes):
                for change in changes:
                    chosen.insert(bisect_left(chosen, change), change)
                found[changes] = Candidate(path, fix, changes, [one])
        yield from found.values()


def changes_of(fix: Fix) -> tuple[Change, ...]:
    return tuple(sorted({(edit.span.start, edit.span.end, edit.text) for edit in fix.edits}))


def _overlaps(change: Change, chosen: list[Change]) -> bool:
    """Whether it touches a chosen one. Those are sorted and apart, so only the neighbours matter."""
    start, end, _ = change
    at = bisect_left(chosen, (start,))
    before, after = chosen[at - 1 : at] if at else [], chosen[at : at + 1]
    return any(other[1] > start for other in before) or any(
        other[0] == start or other[0] < end for other in after
    )


def apply(text: str, changes: Iterable[Change]) -> str:
    """The text with changes that do not overlap."""
    pieces: list[str] = []
    done = 0
    for start, end, replacement in sorted(changes):
        pieces += (text[done:start], replacement)
        done = end
    return "".join([*pieces, text[done:]])


class Trial:
    """Fixes tried on texts that were checked. Those that do harm are found by halving."""

    def __init__(self, texts: Table[Path, str], checked: Table[Path, Checked], look: Look) -> None:
        self._base_texts, self._base = texts, checked
        self._look = look
        self.texts, self.checked = dict(texts), checked
        self.accepted: list[Candidate] = []
        self.refused: list[Refused] = []

    def settle(self, tried: list[Candidate]) -> None:
        """Accept all of these fixes that do no harm."""
        if not tried:
            return
        reason = self._try(tried)
        if reason is None:
            return
        if len(tried) == 1:
            self.refused += [Refused(one, reason) for one in tried[0].findings]
            return
        half = len(tried) // 2
        self.settle(tried[:half])
        self.settle(tried[half:])

    def _try(self, tried: list[Candidate]) -> str | None:
        """Accept the fixes, or say what is wrong with one of them."""
        every = [*self.accepted, *tried]
        texts = dict(self._base_texts)
        changed: dict[Path, list[Candidate]] = {}
        for one in every:
            changed.setdefault(one.path, []).append(one)
        for path, fixes in changed.items():
            texts[path] = apply(texts[path], (change for one in fixes for change in one.changes))
            if texts[path] == self._base_texts[path]:
                return "it changes nothing"
        checked = self._look(texts)
        for path, after in checked.items():
            reason = Comparison(self._base[path], after, changed.get(path, [])).harm()
            if reason is not None:
                return reason
        self.accepted, self.texts, self.checked = every, texts, checked
        return None


class Comparison:
    """A file before and after some fixes."""

    def __init__(self, before: Checked, after: Checked, fixes: Sequence[Candidate]) -> None:
        self._before, self._after, self._fixes = before, after, fixes
        self._settled = [one for fix in fixes for one in fix.findings]
        self._uncovers = bool(fixes) and all(
            group_of(one, fix.fix) is Group.UNCOVERING for fix in fixes for one in fix.findings
        )
        self._changes = sorted(change for one in fixes for change in one.changes)
        self._ends = [end for _, end, _ in self._changes]
        """Where each change ends, before and (`_shifts`) by how much what follows it has moved."""
        self._shifts = list(accumulate(len(text) - (end - start) for start, end, text in self._changes))

    def harm(self) -> str | None:
        """What is worse than before, if anything."""
        if len(self._after.file.problems) > len(self._before.file.problems):
            return "the file would not parse any more"
        new = self._new()
        return self._left(new) or self._brought(new) or self._altered()

    def _new(self) -> list[Diagnostic]:
        """The findings that were not there, whatever their line; those that the fixes settle count as gone."""
        gone = {id(one) for one in self._settled}
        known = Counter(_said(one) for one in self._before.findings if id(one) not in gone)
        new: list[Diagnostic] = []
        for one in self._after.findings:
            if known[_said(one)] > 0:
                known[_said(one)] -= 1
            else:
                new.append(one)
        # The message of one that stays may quote text that an edit has changed.
        same = [one for one in self._before.findings if known[_said(one)] > 0 and id(one) not in gone]
        return [one for one in new if not self._takes(one, same)]

    def _takes(self, found: Diagnostic, same: list[Diagnostic]) -> bool:
        for one in same:
            start, end = self._moved(one.span.start), self._moved(one.span.end)
            if one.code == found.code and start <= found.span.end and found.span.start <= end:
                same.remove(one)
                return True
        return False

    def _left(self, new: list[Diagnostic]) -> str | None:
        """Whether a finding that should have gone is still there, in the same words or in the text of its fix."""
        said = {_said(one) for one in self._settled}
        if any(_said(one) in said for one in new):
            return "the finding would still be there"
        for fix in self._fixes:
            codes = {one.code for one in fix.findings}
            for one in new:
                if one.code in codes and any(_meets(one, *place) for place in self._written(fix)):
                    return f"it would bring another: {one.message}"
        return None

    def _brought(self, new: list[Diagnostic]) -> str | None:
        for one in new:
            if one.severity is Severity.INFO:
                continue
            inside = any(
                start <= one.span.start and one.span.end <= end and start < end
                for fix in self._fixes
                for start, end in self._written(fix)
            )
            if inside or not self._uncovers or self._misfits(one):
                return f"it would bring {one.code}: {one.message}"
        return None

    def _misfits(self, found: Diagnostic) -> bool:
        """Whether a key that a fix has renamed does not take its value."""
        places = (
            {place for fix in self._fixes for place in self._written(fix)} if found.code == "WF006" else ()
        )
        return bool(places) and any(
            (entry.key.span.start, entry.key.span.end) in places
            and (entry.value.span.start, entry.value.span.end) == (found.span.start, found.span.end)
            for mapping in nodes_of(self._after.file.document.root).mappings
            for entry in mapping.entries
        )

    def _altered(self) -> str | None:
        """Whether safe fixes of a file that compiled change more than the steps that they edit."""
        if (
            not self._fixes
            or not all(fix.fix.safe for fix in self._fixes)
            or has_errors(self._before.findings)
        ):
            return None
        before, after = self._before.file, self._after.file
        if before.module is None or after.module is None:
            return None
        edited = _edited(before, [change[:2] for change in self._changes])
        edited |= _edited(after, [place for fix in self._fixes for place in self._written(fix)])
        if dump(before.module, edited) != dump(after.module, edited):
            return "it would change more than the step that it is about"
        return None

    def _written(self, fix: Candidate) -> Iterator[tuple[int, int]]:
        """Where the text that a fix writes stands afterwards."""
        for change in fix.changes:
            at = bisect_left(self._changes, change)
            start = change[0] + (self._shifts[at - 1] if at else 0)
            yield start, start + len(change[2])

    def _moved(self, offset: int) -> int:
        """Where a place is afterwards; one inside an edit is at its beginning."""
        at = bisect_right(self._ends, offset)
        if at < len(self._changes):
            offset = min(offset, self._changes[at][0])
        return offset + (self._shifts[at - 1] if at else 0)


def _said(found: Diagnostic) -> tuple[str, str]:
    return found.code, _LINE.sub(r"\1", found.message)


def _meets(found: Diagnostic, start: int, end: int) -> bool:
    return found.span.start < end and start < found.span.end


def _edited(file: SourceFile, places: Iterable[tuple[int, int]]) -> set[str]:
    """The innermost step around each place."""
    found: set[str] = set()
    for start, end in places:
        around = [step for step in file.steps if step.node.span.start <= start and end <= step.node.span.end]
        if around:
            found.add(min(around, key=lambda step: step.node.span.end - step.node.span.start).name)
    return found
