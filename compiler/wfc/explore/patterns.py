"""Texts that a regular expression matches."""

from __future__ import annotations

import re
from random import Random
from re import _parser as parser  # type: ignore[attr-defined]  # not public, and the only reader of patterns there is
from typing import Any

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789 _-ABCDEFGHIJKLMNOPQRSTUVWXYZ./:"
_CATEGORIES = {"DIGIT": "7", "WORD": "a", "SPACE": " ", "NOT_DIGIT": "a", "NOT_WORD": " ", "NOT_SPACE": "a"}


def sample(pattern: str, random: Random | None = None, group: str | None = None) -> str | None:
    """A text in which the pattern is found; None where none is made up easily.

    `group`: what its first group should hold.
    """
    try:
        made = _Sampler(random, group).all(parser.parse(pattern))
        found = re.search(pattern, made)
    except (re.error, RecursionError, OverflowError, KeyError):
        return None
    return made if found else None


class _Sampler:
    def __init__(self, random: Random | None, group: str | None) -> None:
        self._random = random
        self._group = group

    def all(self, tree: Any) -> str:
        return "".join(self._one(kind, value) for kind, value in tree)

    def _one(self, kind: Any, value: Any) -> str:
        match str(kind):
            case "LITERAL":
                return chr(value)
            case "NOT_LITERAL":
                return next(char for char in _LETTERS if ord(char) != value)
            case "ANY":
                return "x"
            case "IN":
                return self._in(value)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, inner = value
                count = int(least)
                if self._random is not None:
                    count = self._random.randint(count, min(int(most), count + 3))
                return "".join(self.all(inner) for _ in range(min(count, 200)))
            case "SUBPATTERN":
                if value[0] == 1 and self._group is not None:
                    return self._group
                return self.all(value[3])
            case "BRANCH":
                branches = value[1]
                return self.all(self._random.choice(branches) if self._random else branches[0])
            case "CATEGORY":
                return _CATEGORIES[str(value).removeprefix("CATEGORY_")]
        return ""

    def _in(self, options: Any) -> str:
        negated = str(options[0][0]) == "NEGATE"
        if negated:
            return next(char for char in _LETTERS if not any(_holds(one, char) for one in options[1:]))
        kind, value = self._random.choice(options) if self._random else options[0]
        if str(kind) == "RANGE":
            return chr(self._random.randint(*value) if self._random else value[0])
        return self._one(kind, value)


def _holds(option: Any, char: str) -> bool:
    kind, value = option
    match str(kind):
        case "LITERAL":
            return bool(ord(char) == value)
        case "RANGE":
            return bool(value[0] <= ord(char) <= value[1])
    kind_of_char = {"DIGIT": r"\d", "WORD": r"\w", "SPACE": r"\s"}.get(str(value).removeprefix("CATEGORY_"))
    return kind_of_char is not None and re.fullmatch(kind_of_char, char) is not None
