"""Names, texts and literal values that generated workflows are made of."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

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


class Chooser:
    """All choices of one example. Everything is made of integers: other strategies cost ten times as much."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def number(self, least: int, most: int) -> int:
        return self._draw(st.integers(least, most)) if least < most else least

    def pick(self, options: Sequence[T]) -> T:
        return options[self.number(0, len(options) - 1)]

    def chance(self, one_in: int = 2) -> bool:
        return self.number(1, one_in) == 1

    def some(self, options: Sequence[T], least: int, most: int) -> list[T]:
        """A few of them, in any order, the same one perhaps twice."""
        return [self.pick(options) for _ in range(self.number(least, most))]

    def fresh(self, stems: tuple[str, ...], used: set[str]) -> str:
        """A name not used before, one of the awkward ones where possible; it is used from now on."""
        stem = self.pick(stems)
        candidates: Iterator[str] = itertools.chain(
            [stem], (f"{stem}{number}" for number in itertools.count(2))
        )
        name = next(name for name in candidates if _folded(name) not in used)
        used.add(_folded(name))
        return name

    def prose(self) -> str:
        """Text for people, with all that is hard to print."""
        return " ".join(self.some(WORDS, 1, 8))

    def json(self, depth: int = 2) -> Any:
        """A literal without templates."""
        match self.number(0, 5 if depth else 3):
            case 0:
                return self.pick((None, True, False))
            case 1:
                return self.pick((0, 1, -7, 10**20, 3.5, -0.0, 1e300))
            case 4:
                return [self.json(depth - 1) for _ in range(self.number(0, 3))]
            case 5:
                return {key: self.json(depth - 1) for key in self.some(KEYS, 0, 3)}
        return self.pick(WORDS)


KEYS = ("a", "key", "b c", "class", "x-y", "1", "日本")


def _folded(name: str) -> str:
    """Names that differ in punctuation only would be one Python name."""
    return "".join(char if char.isalnum() else "_" for char in name).strip("_").lower()
