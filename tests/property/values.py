"""Names, texts and literal values that generated workflows are made of."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

STEMS = (
    "build", "run-tests", "fetch.all", "a:b", "step_one", "1st", "import", "class", "match", "send", "states",
    "model", "name", "error_x", "error-x", "finished", "completed", "initial", "running", "steps", "None", "_x",
    "Ask", "State", "done_state_running", "submit", "current_state", "on_enter_state", "when", "x_retry", "ok",
)  # fmt: skip
FIELD_STEMS = (
    "result", "total", "items", "import", "copy", "json", "dict", "list", "str", "model_x", "state", "inputs",
    "Any", "Field", "schema", "validate", "class", "plan", "int", "Literal", "values", "keys", "id", "type",
)  # fmt: skip
WORDS = ("make", "plan", "it's", 'say "go"', "tab\there", "back\\slash", "über", "日本語のテキスト", "🚀", "a\u0301",
         "two\nlines", "", " ", "x" * 90, "{x}", "%s", "# no comment", '"""', "'''", "end\\", "\x1b[0m", "\u2028",
         "trailing ", "\n\n", "no", "12:30", "1e3", "null", "- dash", "key: value", "\r\n")  # fmt: skip


def fresh(stems: tuple[str, ...], used: set[str]) -> st.SearchStrategy[str]:
    """A name not used before, one of the awkward ones where possible; it is used from now on."""
    return st.sampled_from(stems).map(lambda stem: _take(stem, used))


def _take(stem: str, used: set[str]) -> str:
    candidates: Iterator[str] = itertools.chain([stem], (f"{stem}{number}" for number in itertools.count(2)))
    name = next(name for name in candidates if _folded(name) not in used)
    used.add(_folded(name))
    return name


def _folded(name: str) -> str:
    """Names that differ in punctuation only would be one Python name."""
    return "".join(char if char.isalnum() else "_" for char in name).strip("_").lower()


def prose() -> st.SearchStrategy[str]:
    """Text for people, with all that is hard to print."""
    return st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)


def json_values(depth: int = 2) -> st.SearchStrategy[Any]:
    """Literal JSON without templates."""
    leaf = st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from([0, 1, -7, 10**20, 3.5, -0.0, 1e300]),
        st.sampled_from(WORDS),
    )
    if depth == 0:
        return leaf
    inner = json_values(depth - 1)
    return st.one_of(
        leaf,
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "key", "b c", "class", "x-y", "1", "日本"]), inner, max_size=3),
    )


def number() -> st.SearchStrategy[int]:
    return st.integers(min_value=1, max_value=5)
