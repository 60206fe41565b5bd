"""Filters for text, HTML and URLs."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from wfc_runtime.expr.access import METHODS
from wfc_runtime.expr.access import replace as replace_text
from wfc_runtime.expr.builtins import FILTERS, define
from wfc_runtime.expr.errors import ExpressionError, shorten
from wfc_runtime.expr.run import Run
from wfc_runtime.expr.values import CONTAINER_COST, Value, kind_of, text_of, truth

_TITLE_BREAK = re.compile(r"([-\s({\[<]+)")
# The ampersand first, because the others add new ones.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "'": "&#39;", '"': "&#34;"}
_WORD = re.compile(r"\w+")
_SHELL_SAFE = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
_FORMAT = re.compile(
    r"%(?:\((?P<name>\w+)\))?(?P<spec>[-+ 0#]*(?P<width>\d*)(?:\.(?P<precision>\d*))?)(?P<kind>.?)", re.S
)


def to_text(run: Run, value: Value, name: str) -> str:
    """The value as the text that a filter works on. Null is refused, because it would silently become 'None'."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, (list, dict)):
        raise ExpressionError(f"{name} works on text, not on {kind_of(value)}", "type")
    return text_of(run, value)


def _method(run: Run, name: str, value: Value, *args: Value) -> Any:
    return METHODS[str][name](run, to_text(run, value, name), *args)


@define(FILTERS, "upper")
def upper(run: Run, value: Value) -> str:
    """`x | upper`: in upper case."""
    return str(_method(run, "upper", value))


@define(FILTERS, "lower")
def lower(run: Run, value: Value) -> str:
    """`x | lower`: in lower case."""
    return str(_method(run, "lower", value))


@define(FILTERS, "capitalize")
def capitalize(run: Run, value: Value) -> str:
    """`x | capitalize`: the first letter in upper case, the others in lower case."""
    return str(_method(run, "capitalize", value))


@define(FILTERS, "title")
def title(run: Run, value: Value) -> str:
    """`x | title`: each word capitalized."""
    text = to_text(run, value, "title")
    run.make_text(len(text))
    return "".join(part[:1].upper() + part[1:].lower() for part in _TITLE_BREAK.split(text))


@define(FILTERS, "strip", "trim")
def strip(run: Run, value: Value, chars: str | None = None) -> str:
    """`x | strip`: without white space (or the given characters) at either end."""
    return str(_method(run, "strip", value, chars))


@define(FILTERS, "split")
def split(run: Run, value: Value, sep: str | None = None, maxsplit: int = -1) -> list[str]:
    r"""`x | split('\n')`: a list of the parts; without a separator, a list of the words."""
    parts: list[str] = _method(run, "split", value, sep, maxsplit)
    return parts


@define(FILTERS, "replace")
def replace(run: Run, value: Value, old: str, new: str, count: int = -1) -> str:
    """`x | replace('a', 'b')`: with each a replaced by b."""
    return replace_text(run, to_text(run, value, "replace"), old, new, -1 if count is None else count)


@define(FILTERS, "center")
def center(run: Run, value: Value, width: int = 80) -> str:
    """`x | center(20)`: centered in a line of that width."""
    return str(_method(run, "center", value, width))


@define(FILTERS, "indent")
def indent(run: Run, value: Value, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    """`x | indent(2)`: each line but the first indented; `first` and `blank` include the first and empty lines."""
    text = to_text(run, value, "indent")
    length = len(width) if isinstance(width, str) else width
    run.make_text(len(text))
    # Many characters end a line, not only \n, so the parts are counted afterwards.
    lines = (text + "\n").splitlines()
    run.make_list(len(lines))
    run.make_text(len(text) + (len(lines) + 1) * max(0, length))
    margin = width if isinstance(width, str) else " " * width
    moved = [margin + line if (line or blank) and number else line for number, line in enumerate(lines)]
    return (margin if first else "") + "\n".join(moved)


@define(FILTERS, "truncate")
def truncate(
    run: Run, value: Value, length: int = 255, killwords: bool = False, end: str = "...", leeway: int = 5
) -> str:
    """`x | truncate(80)`: shortened to that length at the end of a word, with `...` appended."""
    text = to_text(run, value, "truncate")
    if length < len(end) or leeway < 0:
        raise ExpressionError(f"truncate needs a length of at least {len(end)}")
    if len(text) <= length + leeway:
        return text
    run.read(len(text))
    beginning = text[: length - len(end)]
    return (beginning if killwords else beginning.rsplit(" ", 1)[0]) + end


@define(FILTERS, "wordwrap")
def wordwrap(
    run: Run,
    value: Value,
    width: int = 79,
    break_long_words: bool = True,
    wrapstring: str | None = None,
    break_on_hyphens: bool = True,
) -> str:
    """`x | wordwrap(60)`: wrapped to lines of at most that width."""
    import textwrap

    text = to_text(run, value, "wordwrap")
    if width < 1:
        raise ExpressionError("wordwrap needs a width of at least 1")
    # A word that is broken is copied once for each of its pieces.
    run.spend(len(text) + len(text) ** 2 // (width * 1000))
    wrapper = textwrap.TextWrapper(
        width,
        expand_tabs=False,
        replace_whitespace=False,
        break_long_words=truth(break_long_words),
        break_on_hyphens=truth(break_on_hyphens),
    )
    lines = [wrapper.wrap(line) for line in text.splitlines()]
    joint = "\n" if wrapstring is None else wrapstring
    run.make_text(len(text) + sum(map(len, lines)) * len(joint) + len(lines))
    return "\n".join(joint.join(parts) for parts in lines)


@define(FILTERS, "wordcount")
def wordcount(run: Run, value: Value) -> int:
    """`x | wordcount`: the number of words."""
    text = to_text(run, value, "wordcount")
    run.spend(len(text))
    return sum(1 for _ in _WORD.finditer(text))


@define(FILTERS, "string")
def string(run: Run, value: Value) -> str:
    """`x | string`: as text, as it would be printed."""
    return text_of(run, value)


@define(FILTERS, "escape", "e", "forceescape")
def escape(run: Run, value: Value) -> str:
    """`x | escape`: escaped for HTML."""
    text = to_text(run, value, "escape")
    for char, entity in _ENTITIES.items():
        text = replace_text(run, text, char, entity)
    return text


@define(FILTERS, "safe")
def safe(run: Run, value: Value) -> str:
    """`x | safe`: the text itself; there is no automatic escaping."""
    return to_text(run, value, "safe")


@define(FILTERS, "urlencode")
def urlencode(run: Run, value: Value) -> str:
    """`x | urlencode`: escaped for a URL; an object or a list of pairs becomes a query string."""
    if not isinstance(value, (dict, list)):
        text = to_text(run, value, "urlencode")
        run.make_text(len(text))
        return quote(text, safe="/")
    pairs = list(value.items()) if isinstance(value, dict) else value
    return "&".join(f"{_quoted(run, key)}={_quoted(run, item)}" for key, item in pairs)


def _quoted(run: Run, value: Value) -> str:
    text = text_of(run, value)
    run.make_text(len(text))
    quoted = quote(text, safe="").replace("%20", "+")
    run.make_text(len(quoted))
    return quoted


@define(FILTERS, "shquote")
def shquote(run: Run, value: Value) -> str:
    """`x | shquote`: quoted as one word for the shell; a list becomes one word per item."""
    if isinstance(value, list):
        run.spend(CONTAINER_COST + len(value))
        words = [shquote(run, item) for item in value]
        run.make_text(sum(map(len, words)) + len(words))
        return " ".join(words)
    text = to_text(run, value, "shquote")
    run.make_text(len(text))
    if "\0" in text:
        raise ExpressionError("a shell command can't contain a NUL character")
    if _SHELL_SAFE.fullmatch(text):
        return text
    # Inside single quotes only the single quote itself needs care.
    return "'" + replace_text(run, text, "'", "'\"'\"'") + "'"


@define(FILTERS, "format")
def format_(run: Run, value: Value, *args: Value, **kwargs: Value) -> str:
    """`'%s: %.2f' | format(name, x)`: the values inserted in a format, as in C."""
    if args and kwargs:
        raise ExpressionError("format takes values or name=value, not both", "type")
    given = iter(args)

    def expand(match: re.Match[str]) -> str:
        if match["kind"] == "%":
            return "%"
        for part in ("width", "precision"):
            run.make_text(int((match[part] or "").lstrip("0")[:9] or "0"))
        item = kwargs[match["name"]] if match["name"] else next(given)
        if match["kind"] not in "sdifeEgGxXo" or not match["kind"]:
            raise ExpressionError(f"format has no '{shorten(match.group())}'")
        if match["kind"] == "s":
            item = text_of(run, item)
        made = str(f"%{match['spec']}{match['kind']}" % item)
        run.hold(len(made))
        return made

    try:
        text = _FORMAT.sub(expand, to_text(run, value, "format"))
    except (StopIteration, KeyError):
        raise ExpressionError("format has fewer values than places for them", "type") from None
    if any(True for _ in given):
        raise ExpressionError("format has more values than places for them", "type")
    return text


# HTML.

_KEY_BREAK = re.compile(r"[\s/>=]")
_SPACES = re.compile(r"(\s+)")
_LEADS = ("http://", "https://", "www.")


@define(FILTERS, "striptags")
def striptags(run: Run, value: Value) -> str:
    """`x | striptags`: without HTML tags and comments, with entities replaced by characters."""
    text = to_text(run, value, "striptags")
    for opening, closing in (("<!--", "-->"), ("<", ">")):
        run.make_text(len(text))
        text = _without(run, text, opening, closing)
    run.make_text(len(text))
    import html  # Its table of entities takes as long to import as all filters, and few templates need it.

    return html.unescape(" ".join(text.split()))


def _without(run: Run, text: str, opening: str, closing: str) -> str:
    """The text without everything between these marks. A mark that is never closed stays."""
    kept: list[str] = []
    place = 0
    while (start := text.find(opening, place)) >= 0 and (end := text.find(closing, start)) >= 0:
        run.spend(1)
        kept.append(text[place:start])
        place = end + len(closing)
    return "".join([*kept, text[place:]])


@define(FILTERS, "xmlattr")
def xmlattr(run: Run, value: Value, autospace: bool = True) -> str:
    """`x | xmlattr`: an object as the attributes of an HTML tag, without those that are null."""
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
    """`x | urlize`: with the URLs in a text turned into HTML links."""
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
