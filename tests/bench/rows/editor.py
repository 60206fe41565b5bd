"""How soon an editor gets its answers about a long file, beside the same question about a short one."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

from lsprotocol import types as lsp

from tests.bench.measure import Row
from tests.lsp.editor import Editor, position
from tests.lsp.long import LANGUAGES, STEPS, Long, long

_TIMES = 15
_QUESTIONS = ("hover", "complete", "define", "references", "may_rename", "rename", "outline")


def rows() -> Iterator[Row]:
    for language in LANGUAGES:
        with tempfile.TemporaryDirectory() as name:
            editor = Editor(Path(name), (sys.executable, "-m", "wfc", "lsp"))
            try:
                yield from _rows(editor, language)
            finally:
                editor.close()


def _rows(editor: Editor, language: str) -> Iterator[Row]:
    whole, part = long(language), long(language, 10)._replace(name="short.yaml")
    for file in (whole, part):
        assert editor.open(file.name, file.text) == [], "findings would be measured too"
    for question in _QUESTIONS:
        times = [(_asked(editor, part, question), _asked(editor, whole, question)) for _ in range(_TIMES)]
        yield _row(f"{language}: {question}, {STEPS} steps to 10", times, 6)
    typed = [
        (_asked(editor, part, "complete"), _after_a_character(editor, whole, "x" * number))
        for number in range(1, _TIMES)
    ]
    yield _row(f"{language}: complete after a character, to 10 steps at rest", typed, 6)
    moved = [
        (_asked(editor, part, "hover"), _after_a_line(editor, whole, "x" * number))
        for number in range(1, _TIMES)
    ]
    yield _row(f"{language}: hover after a line far above, to 10 steps at rest", moved, 6)


def _row(name: str, times: list[tuple[float, float]], goal: float) -> Row:
    """Measured turn by turn: whatever else the machine does hits both."""
    floor, ours = (statistics.median(found) for found in zip(*times, strict=True))
    detail = f"{ours * 1000:.1f} ms and {floor * 1000:.1f} ms"
    return Row(name, ours / floor, goal, detail=detail)


def _place(file: Long, text: str) -> lsp.Position:
    return position(text, file.reference, len(file.reference) + 2, last=True)


def _asked(editor: Editor, file: Long, question: str, text: str = "") -> float:
    at = _place(file, text or file.text)
    ask: dict[str, Callable[[], object]] = {
        "outline": lambda: editor.outline(file.name),
        "rename": lambda: editor.rename(file.name, at, "another"),
    }
    work = ask.get(question, lambda: getattr(editor, question)(file.name, at))
    start = perf_counter()
    found = work()
    seconds = perf_counter() - start
    assert found, "an answer of nothing is no answer"
    return seconds


def _after_a_character(editor: Editor, file: Long, typed: str) -> float:
    offset = file.text.rindex(file.reference) + len(file.reference)
    text = file.text[:offset] + typed + file.text[offset:]
    editor.change(file.name, text)
    return _asked(editor, file, "complete", text)


def _after_a_line(editor: Editor, file: Long, typed: str) -> float:
    text = file.text.replace("\n", f"\n# {typed}\n", 1)
    editor.change(file.name, text)
    return _asked(editor, file, "hover", text)
