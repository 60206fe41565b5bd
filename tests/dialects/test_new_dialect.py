"""A dialect is added with its own files and one line in the list of dialects: `chores.py` here, and the fixture."""

from __future__ import annotations

from pathlib import Path

import pytest

import wfc.dialects
from tests.dialects.chores import ChoresDialect, ChoresLanguage
from tests.support import check, load
from wfc.compiler import compile_project
from wfc.dialects.base import Piece, translated
from wfc.findings import Diagnostic, Severity
from wfc.language.dialect import Language
from wfc.lsp.analysis import Analysis
from wfc.lsp.hover import hover_at
from wfc.lsp.navigation import RenameError, definitions_at, renamed
from wfc.yaml import Scalar, Source

CHORES = """\
name: saturday
chores:
  - {name: list, run: ls}
  - {name: sweep, run: "sweep (list)"}
"""
STEPS = """\
name: saturday
version: "1.0"
steps:
  - {id: list, type: shell, command: ls, output_to: list}
  - {id: sweep, type: shell, command: "sweep {{ state.list.stdout | shquote }}", needs_state: [list]}
"""
HERE = Path("saturday.yaml").absolute()


@pytest.fixture(autouse=True)
def chores(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one line."""
    monkeypatch.setattr(wfc.dialects, "DIALECTS", (*wfc.dialects.DIALECTS, ChoresDialect()))


def found(text: str, code: str) -> list[Diagnostic]:
    return [one for one in check(text) if one.code == code]


def test_its_files_compile_with_its_advice_for_failed_runs() -> None:
    project = load(CHORES)
    compilation = compile_project(project, {file: file.source.path for file in project.files})
    assert "Do the chore by hand." in compilation.modules[0].text


def test_a_finding_has_the_severity_the_words_and_the_advice_of_the_language() -> None:
    [injection] = found(CHORES, "WF501")
    assert injection.severity is Severity.INFO
    assert injection.message == "untrusted value used unquoted in a shell command (from command output)"
    assert injection.span.text == "(list)"
    assert injection.help == "ask an adult"
    assert injection.flow[0].message.startswith("the command output of `list`")


def test_a_fix_for_the_core_is_not_offered_in_a_translated_file() -> None:
    assert found(CHORES, "WF501")[0].fix is None


def test_a_step_without_a_name_is_called_what_the_language_calls_it() -> None:
    [unnamed] = load("name: x\nversion: '1'\nsteps: [{type: shell, command: ls}]\n").files[0].steps
    assert ChoresLanguage().call(unnamed) == "the chore"
    assert Language().call(unnamed) == "the step"


def test_a_message_quotes_a_translated_expression_as_the_file_has_it() -> None:
    text = "${blocks.a.x} > 5 and ${blocks.b.y}"
    origin = Scalar(Source("", text).start, text, text, "")
    pieces = [Piece("{{ ", 2, 2), Piece("state.a.x", 2, 12), Piece(" > ", 14, 15), Piece("5", 16, 17)]
    made_of = translated(
        origin, [*pieces, Piece(" and ", 17, 22), Piece("state.b.y | truth", 24, 34), Piece(" }}", 34, 34)]
    )

    def quoted(expression: str) -> str:
        start = made_of.text.index(expression)
        return made_of.excerpt(start, start + len(expression))

    assert quoted("state.a.x") == "blocks.a.x"
    assert quoted("state.b.y | truth") == "blocks.b.y"
    # A part of the text that begins or ends inside `${ }` takes in all of it.
    assert quoted("state.a.x > 5") == "${blocks.a.x} > 5"
    assert quoted("state.a.x > 5 and state.b.y | truth") == text
    assert quoted("5 and state.b.y") == "5 and ${blocks.b.y}"


def test_a_rule_that_does_not_apply_to_the_language_says_nothing() -> None:
    assert "WF406" not in {one.code for one in check(CHORES)}
    assert "WF406" in {one.code for one in check(STEPS)}


def test_checks_of_form_look_at_the_mappings_of_the_language() -> None:
    [unknown] = found(CHORES.replace("run: ls", "run: ls, rnu: ls"), "WF004")
    assert unknown.message == "a chore has no field `rnu`"


def test_its_own_findings_are_reported_under_the_code_of_a_rule() -> None:
    [missing] = found(CHORES.replace("(list)", "(lst)"), "WF202")
    assert (missing.message, missing.step, missing.span.text) == ("there is no chore `lst`", "sweep", "(lst)")


def test_an_editor_completes_explains_and_renames_in_its_terms() -> None:
    analysis = Analysis(HERE, CHORES)
    typed = CHORES + '  - {name: dust, run: "dust ('
    assert {one.text for one in analysis.complete(typed, len(typed))} == {"list", "sweep"}
    hover = hover_at(analysis, CHORES.index("name: list") + 7)
    assert hover is not None
    assert hover[0] == "the chore `list`\n\nls"
    [(_, defined)] = definitions_at(analysis, CHORES.index("(list)") + 2)
    assert defined.line == 3
    assert len(renamed(analysis, CHORES.index("(list)") + 2, "show")) == 2
    with pytest.raises(RenameError, match="there is a chore `sweep` already"):
        renamed(analysis, CHORES.index("(list)") + 2, "sweep")
