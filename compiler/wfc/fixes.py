"""Fixes applied in memory, and kept only if a second check shows that they do no harm.

A fix is edits by span; everything else stays as the author wrote it. It is accepted only if

- the file still parses,
- its finding is gone, and
- it causes no new finding. An error in a key, a name or a reference hides findings that depend on it: such a fix may
  reveal them, except inside the text that it inserts.

A safe fix of a file that compiles must also keep the statechart unchanged, apart from the step that it edits. These
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
"""Errors that hide findings of other checks."""
_ROUNDS = 20
"""A fix may reveal another finding; each round resolves at least one of them."""
_LINE = pattern(r"\b(lines?) \d+")

Change = tuple[int, int, str]
"""Start, end and replacement."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked text: the file and its findings."""

    file: SourceFile
    findings: list[Diagnostic]


Look = Callable[[Table[Path, str]], Table[Path, Checked]]
"""Checks texts in place of the files."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A fix that was not applied, and the reason."""

    finding: Diagnostic
    reason: str


@dataclass(slots=True)
class Fixed:
    """The fixed texts, and the fixes that were refused."""

    texts: dict[Path, str]
    settled: int = 0
    """The number of findings that the applied fixes resolve."""
    refused: list[Refused] = field(default_factory=list)


def fix_texts(texts: Table[Path, str], look: Look, *, unsafe: bool) -> Fixed:
    """Apply all possible fixes. The result is idempotent."""
    result = Fixed(dict(texts))
    checked = look(result.texts)
    for _ in range(_ROUNDS):
        before, result.refused = result.settled, []
        # A new trial for each group, since the fixes of one may resolve or move the findings of the next.
        for group in Group:
            trial = Trial(result.texts, checked, look)
            trial.settle(list(candidates(checked, result.texts, group, unsafe=unsafe)))
            result.texts, checked = trial.texts, trial.checked
            result.settled += sum(len(one.findings) for one in trial.accepted)
            result.refused += trial.refused
        # Nothing was resolved, so another round would try the same fixes again.
        if result.settled == before:
            break
    return result


class Group(Enum):
    """Groups of fixes that are judged by the same rule and can be tried together. Fixes that may reveal findings come
    first, because correcting a name can make other findings obsolete."""

    UNCOVERING = "an error that hides others"
    SAFE = "safe"
    UNSAFE = "unsafe"


def group_of(found: Diagnostic, fix: Fix) -> Group:
    if found.code in UNCOVERING and found.severity is Severity.ERROR:
        return Group.UNCOVERING
    return Group.SAFE if fix.safe else Group.UNSAFE


@dataclass(eq=False)
class Candidate:
    """A fix, and the findings that it belongs to: several findings may have the same fix."""

    path: Path
    fix: Fix
    changes: tuple[Change, ...]
    findings: list[Diagnostic]


def candidates(
    checked: Table[Path, Checked], paths: Iterable[Path], group: Group, *, unsafe: bool
) -> Iterator[Candidate]:
    """The fixes that can be applied together, in source order. Overlapping ones wait for the next round."""
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
            # Two findings with equal edits: applying them once resolves both.
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
    """Whether it touches a chosen one. The chosen are sorted and disjoint, so only the neighbours matter."""
    start, end, _ = change
    at = bisect_left(chosen, (start,))
    before, after = chosen[at - 1 : at] if at else [], chosen[at : at + 1]
    return any(other[1] > start for other in before) or any(
        # Two insertions at the same offset overlap as well: their order would be arbitrary.
        other[0] == start or other[0] < end
        for other in after
    )


def apply(text: str, changes: Iterable[Change]) -> str:
    """Apply changes that do not overlap."""
    pieces: list[str] = []
    done = 0
    for start, end, replacement in sorted(changes):
        pieces += (text[done:start], replacement)
        done = end
    return "".join([*pieces, text[done:]])


class Trial:
    """Tries fixes on checked texts, and finds harmful ones by bisection."""

    def __init__(self, texts: Table[Path, str], checked: Table[Path, Checked], look: Look) -> None:
        self._base_texts, self._base = texts, checked
        self._look = look
        self.texts, self.checked = dict(texts), checked
        self.accepted: list[Candidate] = []
        self.refused: list[Refused] = []

    def settle(self, tried: list[Candidate]) -> None:
        """Accept those of the fixes that do no harm."""
        if not tried:
            return
        # Most fixes do no harm, so that all of them together usually take a single check.
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
        """Accept the fixes, or return why one of them does harm."""
        # Together with those accepted before: two fixes may each be harmless alone and harmful together.
        every = [*self.accepted, *tried]
        texts = dict(self._base_texts)
        changed: dict[Path, list[Candidate]] = {}
        for one in every:
            changed.setdefault(one.path, []).append(one)
        for path, fixes in changed.items():
            texts[path] = apply(texts[path], (change for one in fixes for change in one.changes))
            # Such a fix would be offered in every round.
            if texts[path] == self._base_texts[path]:
                return "it changes nothing"
        checked = self._look(texts)
        # Every file, since a fix can cause findings in files that call the one it changes.
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
        """The end of each change in the old text; `_shifts` has the shift of the text after it."""
        self._shifts = list(accumulate(len(text) - (end - start) for start, end, text in self._changes))

    def harm(self) -> str | None:
        """Why the fixes do harm; None if they do not."""
        # Compared by number: a file with syntax errors may be fixed one by one.
        if len(self._after.file.problems) > len(self._before.file.problems):
            return "the file would no longer parse"
        new = self._new()
        return self._left(new) or self._brought(new) or self._altered()

    def _new(self) -> list[Diagnostic]:
        """The new findings, regardless of their line. Findings that the fixes resolve count as removed."""
        gone = {id(one) for one in self._settled}
        # Counted, because a file may have the same finding several times.
        known = Counter(_said(one) for one in self._before.findings if id(one) not in gone)
        new: list[Diagnostic] = []
        for one in self._after.findings:
            if known[_said(one)] > 0:
                known[_said(one)] -= 1
            else:
                new.append(one)
        # The message of a remaining finding may quote text that an edit has changed.
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
        """Whether a resolved finding is still reported, with the same message or inside the inserted text."""
        said = {_said(one) for one in self._settled}
        if any(_said(one) in said for one in new):
            return "the finding would remain"
        for fix in self._fixes:
            codes = {one.code for one in fix.findings}
            for one in new:
                if one.code in codes and any(_meets(one, *place) for place in self._written(fix)):
                    return f"it would cause another finding: {one.message}"
        return None

    def _brought(self, new: list[Diagnostic]) -> str | None:
        for one in new:
            # A note does not justify keeping an error.
            if one.severity is Severity.INFO:
                continue
            inside = any(
                start <= one.span.start and one.span.end <= end and start < end
                for fix in self._fixes
                for start, end in self._written(fix)
            )
            if inside or not self._uncovers or self._misfits(one):
                return f"it would cause {one.code}: {one.message}"
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
        """Whether safe fixes change more of the statechart than the steps that they edit."""
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
        # The dump has no positions, so an inserted line alone makes no difference.
        if dump(before.module, edited) != dump(after.module, edited):
            return "it would change other steps"
        return None

    def _written(self, fix: Candidate) -> Iterator[tuple[int, int]]:
        """The span of the inserted text after the fix."""
        for change in fix.changes:
            at = bisect_left(self._changes, change)
            start = change[0] + (self._shifts[at - 1] if at else 0)
            yield start, start + len(change[2])

    def _moved(self, offset: int) -> int:
        """An offset after the fix; an offset inside an edit becomes its start."""
        at = bisect_right(self._ends, offset)
        if at < len(self._changes):
            offset = min(offset, self._changes[at][0])
        return offset + (self._shifts[at - 1] if at else 0)


def _said(found: Diagnostic) -> tuple[str, str]:
    return found.code, _LINE.sub(r"\1", found.message)


def _meets(found: Diagnostic, start: int, end: int) -> bool:
    return found.span.start < end and start < found.span.end


def _edited(file: SourceFile, places: Iterable[tuple[int, int]]) -> set[str]:
    """The innermost step around each offset."""
    found: set[str] = set()
    for start, end in places:
        # Steps nest, and an edit inside a condition belongs to the innermost one.
        around = [step for step in file.steps if step.node.span.start <= start and end <= step.node.span.end]
        if around:
            found.add(min(around, key=lambda step: step.node.span.end - step.node.span.start).name)
    return found
