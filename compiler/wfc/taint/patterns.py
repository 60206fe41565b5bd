"""Regular expressions that let through only what means nothing to a shell."""

from __future__ import annotations

import re

from wfc.lazy import pattern

_SAFE = r"\w.,:/@%+=-"
_CLASS = pattern(rf"\[(?!\^)(?:\\[dw.\-/+]|[{_SAFE}])+\]")
_CHARACTER = pattern(r"\\[dw.\-/+]|[\w,:/@%=-]")
_QUANTIFIER = pattern(r"[*+?]\??|\{\d*,?\d*\}\??")
_OPENER = pattern(r"\((?:\?:)?")
_GROUP = pattern(r"(?<!\\)\(([^()]*)\)")
_ALL_BUT = pattern(rf"\[\^(?:\\[dw.\-/+]|[{_SAFE}])+\]\+?")
_PLAIN = pattern(rf"[{_SAFE}]*")


def is_safe(pattern: object) -> bool:
    """Whether a text that the pattern is found in can hold nothing but letters, digits and harmless signs."""
    if not isinstance(pattern, str) or not pattern.startswith("^") or not pattern.endswith("$"):
        return False
    return _is_harmless(pattern[1:-1], top=False)


def picks_safe(pattern: object) -> bool:
    """Whether what a search for it gives, its groups or else the whole match, is harmless."""
    if not isinstance(pattern, str):
        return False
    groups = _GROUP.findall(pattern)
    if not groups:
        return "(" not in pattern and _is_harmless(pattern.removeprefix("^").removesuffix("$"))
    simple = len(groups) == len(re.findall(r"(?<!\\)\(", pattern))
    return simple and all(_is_harmless(group) for group in groups)


def strips(pattern: object, replacement: object) -> bool:
    """Whether replacing it leaves only harmless characters."""
    if not isinstance(pattern, str) or not isinstance(replacement, str):
        return False
    return bool(_ALL_BUT.fullmatch(pattern)) and bool(_PLAIN.fullmatch(replacement))


def _is_harmless(body: str, top: bool = True) -> bool:
    """Whether all that it can match is harmless. Alternatives at the top would escape `^` and `$`."""
    at = depth = 0
    while at < len(body):
        if body[at] == "|" and (depth or top):
            at += 1
            continue
        if body[at] == ")" and depth:
            depth, at = depth - 1, at + 1
            continue
        opener = _OPENER.match(body, at)
        found = opener or next(
            (hit for hit in (p.match(body, at) for p in (_CLASS, _QUANTIFIER, _CHARACTER)) if hit), None
        )
        if found is None:
            return False
        depth += opener is not None
        at = found.end()
    return depth == 0
