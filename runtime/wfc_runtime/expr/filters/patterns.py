"""Filters with regular expressions.

The syntax is RE2's, not Python's: matching takes time linear in the length of the text. Look-around and
back-references are not available for that reason. `$` matches at the very end of the text only; `\\d`, `\\w` and `\\s`
are ASCII, `\\pL` and `\\pN` match any letter and digit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Any

from wfc_runtime.expr.builtins import FILTERS, define
from wfc_runtime.expr.errors import ExpressionError, shorten
from wfc_runtime.expr.run import Run
from wfc_runtime.expr.values import Value, kind_of

_MAX_PATTERN = 2_000
# Enough for RE2 to stay on its fast engine; with the cache below it bounds the memory of all patterns.
_MAX_MEMORY = 8 << 20
_CACHED = 32
# RE2 takes at most the length of the text times the size of the pattern, and usually far less. The whole fuel of a
# run buys about two seconds of the worst case.
_STEPS_PER_UNIT = 128
# Compiling takes time linear in the size of the program. It is charged on a cache hit too: fuel is deterministic.
_COMPILED_PER_UNIT = 4
# Charge for text read beyond a match: the whole fuel of a run buys about five seconds of the worst case.
_STEPS_AHEAD_PER_UNIT = 256
# With many groups the time is proportional to their number.
_GROUPS = 8
_MATCH_COST = 8
_REFERENCE = re.compile(r"\\(?:(\d{1,2})|g<(\w+)>|(.))", re.S)


@lru_cache(maxsize=_CACHED)
def _compile(pattern: str) -> Any:
    import re2  # type: ignore[import-untyped]  # 20 ms that few commands need

    options = re2.Options()
    options.max_mem = _MAX_MEMORY
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
        # Its own cache would keep four times as many alive.
        re2.purge()
        return compiled
    except re2.error as error:
        why = error.args[0] if error.args else ""
        why = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        if "invalid perl operator" in why:
            why = "it can't look ahead or behind"
        raise ExpressionError(f"the pattern '{shorten(pattern)}' is not valid: {shorten(why)}") from None


class _Search:
    """A pattern applied to a text. Each match is charged as it is found."""

    def __init__(self, run: Run, value: Value, pattern: Value, name: str) -> None:
        for part in (value, pattern):
            if not isinstance(part, str):
                raise ExpressionError(f"{name} works on text, not on {kind_of(part)}", "type")
        if len(pattern) > _MAX_PATTERN:
            raise ExpressionError(f"a pattern has at most {_MAX_PATTERN:,} characters", "limit")
        self._run = run
        self._pattern = _compile(pattern)
        self._reach = reach_of(pattern)
        self.text: str = value
        self.groups: int = self._pattern.groups
        self._steps_per_char: int = self._pattern.programsize * (1 + self.groups // _GROUPS)
        run.spend(self._pattern.programsize // _COMPILED_PER_UNIT)
        run.read(len(value))
        run.spend(len(value) * self._steps_per_char // _STEPS_PER_UNIT)

    def matches(self) -> Iterator[Any]:
        # Offsets in bytes are offsets in ASCII text, and finding them takes a fraction of the time.
        text = self.text.encode() if self.text.isascii() else self.text
        for match in self._pattern.finditer(text):
            self._run.spend(
                _MATCH_COST + self._ahead(match.end()) * self._steps_per_char // _STEPS_AHEAD_PER_UNIT
            )
            yield match

    def _ahead(self, end: int) -> int:
        """How many characters beyond a match the search may have read to decide on it."""
        left = len(self.text) - end
        if self._reach.end is End.MATCH:
            return min(left, self._reach.length)
        line = self.text.find("\n", end) if self._reach.end is End.LINE else -1
        return line - end if line >= 0 else left

    def group(self, match: Any, number: int) -> str | None:
        start, end = match.span(number)
        if start < 0:
            return None
        self._run.hold(end - start)
        return self.text[start:end]

    def number_of(self, name: str) -> int:
        """The number of a named group, or -1."""
        return int(self._pattern.groupindex.get(name, -1))


@define(FILTERS, "regex_search")
def regex_search(run: Run, value: Value, pattern: str) -> list[Value]:
    r"""`x | regex_search('Score: (\d+)')`: the groups of the first match, or the whole match, or `[]`."""
    search = _Search(run, value, pattern, "regex_search")
    for match in search.matches():
        return [search.group(match, number) for number in range(1, search.groups + 1) or [0]]
    return []


@define(FILTERS, "regex_findall")
def regex_findall(run: Run, value: Value, pattern: str) -> list[Value]:
    r"""`x | regex_findall('\d+')`: all matches, or the group of each; with several groups, a list of them for each."""
    search = _Search(run, value, pattern, "regex_findall")
    found: list[Value] = []
    for match in search.matches():
        parts = [search.group(match, number) or "" for number in range(1, search.groups + 1) or [0]]
        found.append(parts[0] if len(parts) == 1 else parts)
        if len(found) > run.limits.items:
            run.make_list(len(found))
    return found


@define(FILTERS, "regex_replace")
def regex_replace(run: Run, value: Value, pattern: str, replacement: str = "", count: int = 0) -> str:
    r"""`x | regex_replace('\.txt$', '.bak')`: with each match replaced; `\1` and `\g<name>` insert groups."""
    search = _Search(run, value, pattern, "regex_replace")
    if not isinstance(replacement, str) or not isinstance(count, int):
        raise ExpressionError(
            "regex_replace takes a pattern, a text to put in its place, and a count", "type"
        )
    parts: list[str] = []
    size = end = 0
    for number, match in enumerate(search.matches()):
        if count and number >= count:
            break
        start, stop = match.span()
        parts += (search.text[end:start], _expand(search, match, replacement))
        size += len(parts[-1]) + len(parts[-2])
        if size > run.limits.text:
            run.make_text(size)
        end = stop
    parts.append(search.text[end:])
    run.make_text(size + len(parts[-1]))
    return "".join(parts)


def _expand(search: _Search, match: Any, replacement: str) -> str:
    if "\\" not in replacement:
        return replacement

    def refer(reference: re.Match[str]) -> str:
        number, name, char = reference.groups()
        if char is not None:
            return {"n": "\n", "t": "\t", "\\": "\\"}.get(char, reference.group())
        key = int(number) if number else int(name) if name.isdecimal() else search.number_of(name)
        if not 0 <= key <= search.groups:
            raise ExpressionError(f"the pattern has no group {number or name}")
        return search.group(match, key) or ""

    return _REFERENCE.sub(refer, replacement)


# How far beyond a match a search may have to read, as far as the pattern alone tells.
#
# A search ends where no longer or better match is possible. `\w+` knows that at the first character that is not part
# of a word. `x.*y|x` does not know before the end of the line: if no `y` comes, `x` alone is the match, and the next
# search reads the line again. Such patterns take time quadratic in the length of the text.
#
# A pattern that is a sequence of single characters, each repeated or not, is safe. Where it is still in a repetition
# beyond its match, no other match can end there: otherwise the repetition could have continued to that one's end, as a
# better match. So each character is read at most twice. The same holds if parts of the sequence are groups of bounded
# length.


class End(Enum):
    """The furthest place at which a search stops reading."""

    MATCH = auto()
    """A few characters after the match, or so that no text is read more than twice."""
    LINE = auto()
    TEXT = auto()


@dataclass(frozen=True)
class Reach:
    end: End
    length: int
    """How many characters the bounded parts of the pattern may match."""


@dataclass
class _Group:
    """A group of a pattern, or the whole pattern."""

    chooses: bool = False
    """Whether it has alternatives."""
    repeats: bool = False
    """Whether something in it may be repeated without limit."""
    length: int = 0
    """The length of what it may match, with each unbounded repetition counted once."""


_TOKEN = r"""
      (?P<quoted> \\Q .*? (?: \\E | \Z ) )
    | (?P<char> \\[pPx]\{[^}]*\} | \\. | \[\^?\]?(?: \[:\^?\w+:\] | \\. | [^\]\\] )*\] )
    | (?P<flags> \(\?[a-zA-Z-]*\) )
    | (?P<open> \(\?P?<\w+> | \(\?[a-zA-Z-]*: | \( )
    | (?P<close> \) )
    | (?P<choice> \| )
    | (?P<times> (?: [*+?] | \{\d+(?:,\d*)?\} ) \?? )
    | (?P<other> . )
    """
# Everything that may match a line break: other escapes, negated classes, `.` with the flag s.
_CROSSES_LINES = re.compile(r"[\x00-\x1f]|\\[^wdSbB.()|*+?\[\]{}/-]|\[\^|\(\?[a-zA-Z]*s|\[:")


@lru_cache(maxsize=256)
def reach_of(pattern: str) -> Reach:
    """The reach of a pattern that RE2 accepts. For any other pattern the result has no meaning."""
    groups, last = [_Group()], _Group(length=1)
    is_safe = True
    # Compiled here: few workflows have a pattern, and every command would wait for it. `re` remembers it.
    for token in re.finditer(_TOKEN, pattern, re.X | re.S):
        match token.lastgroup:
            case "open":
                groups.append(_Group())
            case "close" if len(groups) > 1:
                last = groups.pop()
                is_safe &= not (last.chooses and last.repeats)
                groups[-1].repeats |= last.repeats
                groups[-1].length += last.length
            case "choice":
                groups[-1].chooses = True
            case "times":
                is_endless, count = _times(token.group())
                is_safe &= not (last.length != 1 and is_endless) and not last.repeats
                groups[-1].repeats |= is_endless
                groups[-1].length += (count - 1) * last.length
            case "char" | "other":
                last = _Group(length=1)
                groups[-1].length += 1
            case "quoted":
                groups[-1].length += len(token.group())
    [whole, *_] = groups
    if is_safe and not (whole.chooses and whole.repeats):
        end = End.MATCH
    else:
        end = End.TEXT if _CROSSES_LINES.search(pattern) else End.LINE
    return Reach(end, whole.length)


def _times(text: str) -> tuple[bool, int]:
    """Whether a repetition is unbounded, and its largest stated count."""
    if text[0] != "{":
        return text[0] != "?", 1
    least, comma, most = text.strip("{}?").partition(",")
    return bool(comma and not most), max(1, int(most or least))
