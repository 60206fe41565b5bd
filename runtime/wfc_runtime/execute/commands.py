"""Does a list of patterns cover a command line? Every command in it has to be on the list.

A pattern is matched against the text of one simple command: `pytest *` covers `pytest -q tests`, not
`pytest; rm -rf x`, not `pytest $(rm -rf x)`, not `X=1 pytest`. What can't be told apart by reading it (substitution,
subshells, compound statements) is not covered, and a redirection only where the pattern has one itself. A pattern that
is the whole text, letter by letter, always covers it.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

_COMPOUND = frozenset(
    (
        *("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac"),
        *("function", "select", "time", "coproc", "{", "}", "!", "[[", "]]", "eval", "exec"),
    )
)


def is_covered(command: str, patterns: Iterable[str]) -> bool:
    patterns = tuple(patterns)
    if command.strip() in (pattern.strip() for pattern in patterns):
        return True
    parts = split(command)
    return bool(parts) and all(any(_matches(part, pattern) for pattern in patterns) for part in parts)


def _matches(part: str, pattern: str) -> bool:
    redirects = any(char in part for char in "<>")
    return fnmatchcase(part, pattern) and (not redirects or any(char in pattern for char in "<>"))


def split(command: str) -> list[str]:
    """The simple commands of a command line. Empty where it has something that can't be judged by its text."""
    parts: list[str] = []
    current = ""
    quote = ""
    index = 0
    while index < len(command):
        char = command[index]
        if quote != "'" and (char == "`" or command.startswith(("$(", "${"), index)):
            return []
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "()" or command.startswith(("<<", "<(", ">("), index):
            return []
        elif char in ";|&\n" and not (char == "&" and current[-1:] in "<>" and current):
            parts.append(current)
            current, index = "", index + 1
            continue
        if char == "\\" and quote != "'":
            current += char
            index += 1
            char = command[index : index + 1]
        current += char
        index += 1
    parts = [part.strip() for part in (*parts, current)]
    found = [part for part in parts if part and not part.startswith("#")]
    if quote or any(part.split()[0] in _COMPOUND for part in found):
        return []
    return found
