"""How soon an editor gets its answers in a long file, in either language."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

import pytest
from lsprotocol import types as lsp

from tests.bench.workloads import workflow
from tests.lsp.editor import Editor, position
from wfc.lsp.analysis import Analysis
from wfc.lsp.naming import references_at

SOON = 0.05
STEPS = 200
_BLOCK = """\
  - id: build-{n}
    type: Shell
    inputs:
      command: make all
      env: {{GIVEN: "${{blocks.build-{before}.outputs.stdout}} ${{inputs.target}}"}}
    condition: ${{inputs.target}} == 'staging'
    depends_on: [build-{before}]
"""


def _blocks() -> str:
    head = "name: long\ninputs: {target: {type: str, description: Where to., default: staging}}\nblocks:\n"
    first = "  - {id: build-0, type: Shell, inputs: {command: make}}\n"
    return head + first + "".join(_BLOCK.format(n=n, before=n - 1) for n in range(1, STEPS))


class Long(NamedTuple):
    """A file of 200 steps or blocks, and a name in a reference near its end."""

    name: str
    text: str
    reference: str


LONG = {
    "steps": Long("steps.yaml", workflow("large", STEPS), "{{ state."),
    "blocks": Long("blocks.yaml", _blocks(), "${blocks."),
}


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    opened = Editor(tmp_path_factory.mktemp("long"))
    yield opened
    opened.close()


@pytest.fixture(params=LONG)
def long(request: pytest.FixtureRequest, editor: Editor) -> Long:
    found = LONG[request.param]
    assert editor.open(found.name, found.text) == []
    return found


def quickest(ask: Callable[[], object]) -> float:
    """Of up to ten times, or one that is quick enough: what else the machine does only makes them longer."""
    times = []
    for _ in range(10):
        began = perf_counter()
        assert ask(), "an answer of nothing is no answer"
        times.append(perf_counter() - began)
        if times[-1] < SOON:
            break
    return min(times)


@pytest.mark.parametrize("question", ["hover", "complete", "define", "references", "may_rename"])
def test_questions_about_a_name_are_answered_within_50_ms(editor: Editor, long: Long, question: str) -> None:
    at = position(long.text, long.reference, len(long.reference) + 2, last=True)
    ask = getattr(editor, question)
    assert quickest(lambda: ask(long.name, at)) < SOON


def test_a_rename_and_the_outline_come_within_50_ms(editor: Editor, long: Long) -> None:
    at = position(long.text, long.reference, len(long.reference) + 2, last=True)
    assert quickest(lambda: editor.rename(long.name, at, "another")) < SOON
    assert quickest(lambda: editor.outline(long.name)) < SOON


def test_quick_fixes_come_within_50_ms(editor: Editor, long: Long) -> None:
    wrong = long.text.replace("type: ", "tpye: ", 1)
    assert editor.open(long.name, wrong)
    at = position(wrong, "tpye", 1)
    assert quickest(lambda: editor.actions(long.name, lsp.Range(at, at))) < SOON


def test_completions_come_within_50_ms_after_each_character_typed(editor: Editor, long: Long) -> None:
    at = position(long.text, long.reference, len(long.reference), last=True)
    offset = long.text.rindex(long.reference) + len(long.reference)
    times = []
    for typed in ("o", "ou", "out", "outp", "outpu", "output"):
        editor.change(long.name, long.text[:offset] + typed + long.text[offset:])
        began = perf_counter()
        found = editor.complete(long.name, lsp.Position(at.line, at.character + len(typed)))
        times.append(perf_counter() - began)
        assert len(found) > 100
    assert min(times) < SOON


def _just_after_a_key(editor: Editor, long: Long, ask: Callable[[lsp.Position], object]) -> float:
    """The quickest answer about a name near the end, each asked for right after a line far above has changed."""
    times = []
    for typed in range(10):
        text = long.text.replace("\n", "\n# " + "x" * typed + "\n", 1)
        at = position(text, long.reference, len(long.reference) + 2, last=True)
        editor.change(long.name, text)
        began = perf_counter()
        assert ask(at), "an answer of nothing is no answer"
        times.append(perf_counter() - began)
    return min(times)


@pytest.mark.parametrize("question", ["hover", "define"])
def test_questions_asked_right_after_a_key_are_answered_within_50_ms(
    editor: Editor, long: Long, question: str
) -> None:
    ask = getattr(editor, question)
    assert _just_after_a_key(editor, long, lambda at: ask(long.name, at)) < SOON


def test_what_only_a_new_text_can_say_takes_less_than_50_ms_of_work_in_the_steps_language(
    tmp_path: Path,
) -> None:
    """References, renames and the outline wait for one look into the text. Processor time: no server is between."""
    long = LONG["steps"]
    times = []
    for typed in range(5):
        text = f"{long.text}# {typed}\n"
        began = process_time()
        analysis = Analysis(tmp_path / long.name, text)
        found = references_at(analysis, text.rindex(long.reference) + len(long.reference) + 2, True)
        times.append(process_time() - began)
        assert len(found) > 1
        assert len(analysis.unit.steps) >= STEPS
    assert min(times) < SOON


def test_a_definition_asked_for_while_one_types_is_where_the_line_is_now(editor: Editor, long: Long) -> None:
    at = position(long.text, long.reference, len(long.reference) + 2, last=True)
    defined = editor.define(long.name, at)
    for added in range(1, 6):
        editor.change(long.name, long.text.replace("\n", "\n" + "#\n" * added, 1))
        moved = lsp.Position(at.line + added, at.character)
        assert editor.define(long.name, moved) == [
            (name, line + added * (line > 1)) for name, line in defined
        ]
