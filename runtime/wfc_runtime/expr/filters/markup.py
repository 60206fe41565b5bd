"""Filters that read or write HTML."""

from __future__ import annotations

import html
import re

from wfc_runtime.expr.errors import ExpressionError, shorten
from wfc_runtime.expr.registry import FILTERS, define
from wfc_runtime.expr.run import Run
from wfc_runtime.expr.values import Value, kind_of, text_of, truth

from .text import escape, to_text

_KEY_BREAK = re.compile(r"[\s/>=]")
_SPACES = re.compile(r"(\s+)")
_LEADS = ("http://", "https://", "www.")


@define(FILTERS, "striptags")
def striptags(run: Run, value: Value) -> str:
    """`x | striptags`: without HTML's tags and comments, and its entities as the characters that they are."""
    text = to_text(run, value, "striptags")
    for opening, closing in (("<!--", "-->"), ("<", ">")):
        run.make_text(len(text))
        text = _without(run, text, opening, closing)
    run.make_text(len(text))
    return html.unescape(" ".join(text.split()))


def _without(run: Run, text: str, opening: str, closing: str) -> str:
    """The text without all that stands between these marks. One that is never closed stays."""
    kept: list[str] = []
    place = 0
    while (start := text.find(opening, place)) >= 0 and (end := text.find(closing, start)) >= 0:
        run.spend(1)
        kept.append(text[place:start])
        place = end + len(closing)
    return "".join([*kept, text[place:]])


@define(FILTERS, "xmlattr")
def xmlattr(run: Run, value: Value, autospace: bool = True) -> str:
    """`x | xmlattr`: an object as the attributes of an HTML tag; what is null is left out."""
    if not isinstance(value, dict):
        raise ExpressionError(f"xmlattr works on an object, not on {kind_of(value)}", "type")
    parts: list[str] = []
    for key, item in value.items():
        name = text_of(run, key)
        if _KEY_BREAK.search(name):
            raise ExpressionError(f"'{shorten(name)}' can't be the name of an attribute")
        if item is not None:
            parts.append(f'{escape(run, name)}="{escape(run, text_of(run, item))}"')
    text = " ".join(parts)
    run.make_text(len(text) + 1)
    return f" {text}" if text and truth(autospace) else text


@define(FILTERS, "urlize")
def urlize(
    run: Run,
    value: Value,
    trim_url_limit: int | None = None,
    nofollow: bool = False,
    target: str | None = None,
    rel: str | None = None,
) -> str:
    """`x | urlize`: the web addresses in a text as links of HTML."""
    words = _SPACES.split(escape(run, value))
    run.make_list(len(words))
    relation = dict.fromkeys([*(rel or "").split(), *(["nofollow"] if nofollow else []), "noopener"])
    more = f' rel="{escape(run, " ".join(relation))}"'
    more += f' target="{escape(run, target)}"' if target else ""
    made: list[str] = []
    for word in words:
        run.make_text(2 * len(word) + len(more))
        behind = word.lstrip("(")
        address = behind.rstrip(".,:;)")
        if address.startswith(_LEADS):
            whole = address if "://" in address else f"https://{address}"
            short = trim_url_limit is not None and len(address) > trim_url_limit
            shown = f"{address[:trim_url_limit]}..." if short else address
            before, after = word[: len(word) - len(behind)], behind[len(address) :]
            word = f'{before}<a href="{whole}"{more}>{shown}</a>{after}'
        made.append(word)
    run.make_text(sum(map(len, made)))
    return "".join(made)
