"""Policies: which values are harmless depends on the sink, which is a shell command, a path or a URL."""

from __future__ import annotations

import re

from wfc.analysis.types.builtins import FILTERS
from wfc.caching import cached, pattern
from wfc.language.types import BOOL, INT, NUMBER
from wfc.struct import struct

# Regular expressions that accept only text without a special meaning in a shell, or in a path.

_QUANTIFIER = pattern(r"[*+?]\??|\{\d*,?\d*\}\??")
_OPENER = pattern(r"\((?:\?:)?")
_GROUP = pattern(r"(?<!\\)\(([^()]*)\)")


class Characters:
    """Characters that are harmless in one kind of text, and the patterns that accept only those."""

    def __init__(self, always: str, besides: str = "", never: tuple[str, ...] = ()) -> None:
        """`always` are harmless in any number. `besides` are harmless too, unless the whole value is one of `never`."""
        self._always, self._never = always, never
        self._safe = safe = besides + always
        escaped = "".join(rf"\{char}" for char in "./+-" if char in safe)
        literal = "".join(char for char in safe if char not in ".+")
        self._class = pattern(rf"\[(?!\^)(?:\\[dw{escaped}]|[{safe}](?:-[{safe}])?)+\]")
        self._character = pattern(rf"\\[dw{escaped}]|[{literal}]")
        # `[^...]` in a replacement removes everything but the harmless characters.
        self._all_but = pattern(rf"(\[\^(?:\\[dw{escaped}]|[{always}](?:-[{always}])?)+\])\+?")
        self._plain = pattern(rf"[{always}]*")

    def is_safe(self, pattern: object) -> bool:
        """Whether every text that the pattern accepts has only harmless characters."""
        # Without both anchors, a pattern accepts text around the match.
        if not isinstance(pattern, str) or not pattern.startswith("^") or not pattern.endswith("$"):
            return False
        return self._is_harmless(pattern[1:-1], top=False)

    def picks_safe(self, pattern: object) -> bool:
        """Whether the result of a search is harmless: its groups, or the whole match if it has none."""
        if not isinstance(pattern, str):
            return False
        groups = _GROUP.findall(pattern)
        if not groups:
            return "(" not in pattern and self._is_harmless(pattern.removeprefix("^").removesuffix("$"))
        # A nested or escaped group is not analysed, and counts as harmful.
        simple = len(groups) == len(re.findall(r"(?<!\\)\(", pattern))
        return simple and all(self._is_harmless(group) for group in groups)

    def strips(self, pattern: object, replacement: object) -> bool:
        """Whether replacing it leaves only harmless characters."""
        if not isinstance(pattern, str) or not isinstance(replacement, str):
            return False
        found = self._all_but.fullmatch(pattern)
        if found is None or not self._plain.fullmatch(replacement):
            return False
        # A range such as `,-z` includes characters that are not harmless, although its ends are.
        replaced = _compiled(found[1])
        return replaced is not None and all(map(replaced.match, _others(self._always)))

    def _is_harmless(self, body: str, top: bool = True) -> bool:
        """Whether every match is harmless. Alternatives at the top level are not: `^` and `$` bind to one of them."""
        at = depth = 0
        while at < len(body):
            if body[at] == "|" and (depth or top):
                at += 1
                continue
            if body[at] == ")" and depth:
                depth, at = depth - 1, at + 1
                continue
            opener = _OPENER.match(body, at)
            kinds = (self._class, _QUANTIFIER, self._character)
            found = opener or next((hit for hit in (kind.match(body, at) for kind in kinds) if hit), None)
            # Something that this reader does not know: not proved to be harmless.
            if found is None or (body[at] == "[" and self._reaches_further(found[0])):
                return False
            depth += opener is not None
            at = found.end()
        return depth == 0 and not self._matches_never(body)

    def _reaches_further(self, one_of: str) -> bool:
        """Whether a character class has a range that includes characters which are not harmless."""
        found = _compiled(one_of)
        # Tested by the regular expression engine itself, which knows what a range includes.
        return found is None or any(map(found.match, _others(self._safe)))

    def _matches_never(self, body: str) -> bool:
        found = _compiled(body) if self._never else None
        # A pattern that can't be compiled proves nothing.
        return bool(self._never) and (found is None or any(map(found.fullmatch, self._never)))


@cached(64)
def _others(characters: str) -> list[str]:
    """The ASCII characters that a character class does not include."""
    return [char for char in map(chr, range(128)) if not re.match(f"[{characters}]", char)]


def _compiled(body: str) -> re.Pattern[str] | None:
    try:
        return re.compile(body)
    except re.error:
        return None


IN_SHELL = Characters(r"\w.,:/@%+=-")
"""Characters without a special meaning in a shell."""
IN_PATH = Characters(r"\w,:@%+=-", besides=".", never=(".", ".."))
"""Characters that can't leave one part of a path."""


# The policies.

NUMBERS = (INT, NUMBER, BOOL)
_ALWAYS = frozenset({"abs", "float", "hash", "int", "outcome", "round", "sum"}) | {
    name for name, signature in FILTERS.items() if signature.gives in NUMBERS
}


@struct(frozen=True, eq=False)
class Policy:
    characters: Characters
    cleaning: frozenset[str]
    """Filters whose result is harmless for any operand."""


SHELL = Policy(IN_SHELL, _ALWAYS | {"shquote", "urlencode"})
"""For commands, and for all other texts."""
SQL = Policy(Characters(r"\w"), _ALWAYS)
"""For SQL. A word can't end a text or begin a statement."""
QUERY = Policy(IN_PATH, _ALWAYS | {"urlencode"})
"""For what follows the `?` of a URL."""
PATH = Policy(IN_PATH, _ALWAYS)
"""For paths. Quoting does not help here, since it keeps `../`, and a pattern that is safe in a shell may accept it."""
