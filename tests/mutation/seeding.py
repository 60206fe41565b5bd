"""What a seeded mistake is, and the edits that it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from wfc.language.shape import Shape
from wfc.language.steps.base import Step
from wfc.project import SourceFile
from wfc.yaml import Entry, Mapping, Span


class Where(StrEnum):
    """Where a finding has to point for the mistake to count as caught."""

    HERE = "at the characters that were changed"
    STEP = "at the step that was changed"
    ANYWHERE = "anywhere: what is wrong shows elsewhere"


@dataclass(frozen=True)
class Change:
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Seed:
    """One place where a mistake fits."""

    owner: str
    """The step's id, or what else the place belongs to."""
    what: str
    changes: tuple[Change, ...]


Sow = Callable[[SourceFile], Iterator[Seed]]


@dataclass(frozen=True)
class Mistake:
    """A kind of mistake: it finds all the places of a right workflow where it fits."""

    name: str
    where: Where
    sow: Sow
    once: bool
    """Whether the same change is made only once in all files."""


MISTAKES: dict[str, Mistake] = {}


def mistake(where: Where, *, once: bool = False) -> Callable[[Sow], Sow]:
    """Add a function to the table; its name, in words, is the mistake's."""

    def add(sow: Sow) -> Sow:
        name = sow.__name__.replace("_", "-")
        MISTAKES[name] = Mistake(name, where, sow, once)
        return sow

    return add


@dataclass(frozen=True)
class Mutant:
    mistake: Mistake
    file: str
    seed: Seed
    number: int
    """Where the same is done to the same step several times: which of them it is."""

    def __str__(self) -> str:
        again = f" ({self.number})" if self.number > 1 else ""
        return f"{self.mistake.name}: {self.file}, {self.seed.owner}: {self.seed.what}{again}"

    def text(self, original: str) -> str:
        for change in sorted(self.seed.changes, key=lambda change: change.start, reverse=True):
            original = original[: change.start] + change.text + original[change.end :]
        return original

    def places(self) -> Iterator[tuple[int, int]]:
        """Where the changed characters stand in the mutant's text."""
        shift = 0
        for change in sorted(self.seed.changes, key=lambda change: change.start):
            yield change.start + shift, change.start + shift + len(change.text)
            shift += len(change.text) - (change.end - change.start)


def mutants(mistake: Mistake, file: str, source_file: SourceFile) -> Iterator[Mutant]:
    """All that a mistake makes of a workflow, in a steady order."""
    seeds = sorted(mistake.sow(source_file), key=lambda seed: (seed.owner, seed.what, seed.changes[0].start))
    for _, same in groupby(seeds, key=lambda seed: (seed.owner, seed.what)):
        for number, seed in enumerate(same, 1):
            yield Mutant(mistake, file, seed, number)


# -- edits ------------------------------------------------------------------------------------------------------------


def put(span: Span, text: str) -> Change:
    return Change(span.start, span.end, text)


def replace(owner: Shape | str, span: Span, text: str, of: str = "") -> Seed:
    """Other text in the place of a span, which is `of` something."""
    whose = f"{of}: " if of else ""
    return Seed(title(owner), f"{whose}{_short(span.text)} -> {_short(text)}", (put(span, text),))


def drop(owner: Shape | str, mapping: Mapping, entry: Entry) -> Seed:
    """Take an entry away, with its lines; one that is behind a dash or in braces leaves the others."""
    return Seed(title(owner), f"no {entry.key.text}", (cut(mapping, entry),))


def cut(mapping: Mapping, entry: Entry) -> Change:
    source = entry.key.span.source
    number = mapping.entries.index(entry)
    following = mapping.entries[number + 1].key.span.start if number + 1 < len(mapping.entries) else None
    if mapping.span.text.startswith("{"):
        if following is not None:
            return Change(entry.key.span.start, following, "")
        before = mapping.entries[number - 1].value.span.end if number else entry.key.span.start
        return Change(before, entry.value.span.end, "")
    if following is not None and source.text[: entry.key.span.start].rstrip(" ").endswith("-"):
        return Change(entry.key.span.start, following, "")
    if len(mapping.entries) == 1:
        return Change(entry.key.span.start, entry.value.span.end, "{}")
    return Change(*_lines(entry), "")


def _lines(entry: Entry) -> tuple[int, int]:
    source = entry.key.span.source
    last = source.position(max(entry.key.span.start, entry.value.span.end - 1))[0]
    end = source.line_starts[last] if last < len(source.line_starts) else len(source.text)
    return source.line_starts[entry.key.span.line - 1], end


def add_line(step: Step, text: str) -> Change:
    """One more field of a step, behind its `type`."""
    entry = step.node.entry("type")
    assert entry is not None
    end = entry.value.span.end
    if step.node.span.text.startswith("{"):
        return Change(end, end, f", {text}")
    return Change(end, end, f"\n{' ' * (entry.key.span.column - 1)}{text}")


def step_lines(step: Step) -> tuple[int, int]:
    """Where a step of a block list begins and ends, its dash and last line break included."""
    source = step.node.span.source
    last = source.position(step.node.span.end - 1)[0]
    end = source.line_starts[last] if last < len(source.line_starts) else len(source.text)
    return source.line_starts[step.node.span.line - 1], end


def misspell(word: str) -> str:
    """A slip of the finger: a letter is missing from the middle, or a short word has one too many."""
    if len(word) < 4:
        return f"{word}x"
    middle = len(word) // 2
    return word[:middle] + word[middle + 1 :]


def title(owner: Shape | str) -> str:
    if isinstance(owner, str):
        return owner
    return owner.name if isinstance(owner, Step) else owner.label


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 50 else f"{line[:24]}...{line[-23:]}"
