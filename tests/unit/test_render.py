"""The four forms that findings are printed in."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tests.support import check
from wfc.findings import Diagnostic, Edit, Fix, Note, Severity
from wfc.render.github import render_github
from wfc.render.json import render_json, to_json
from wfc.render.sarif import render_sarif
from wfc.render.style import Style, style_for
from wfc.render.text import render_text
from wfc.yaml import Source

TEXT = "name: x\nsteps:\n  - id: build\n    comand: make\n"
START = TEXT.index("comand")


def finding(text: str = TEXT, start: int = START, end: int = START + 6, **more: Any) -> Diagnostic:
    source = Source(more.pop("path", "w.yaml"), text)
    more.setdefault("message", "a shell step has no field `comand`")
    more.setdefault("severity", Severity.ERROR)
    return Diagnostic("WF004", "unknown-field", span=source.span(start, end), **more)


# -- text --------------------------------------------------------------------


def test_text_shows_place_code_message_line_and_marks() -> None:
    assert render_text([finding()], Style()) == (
        "w.yaml:4:5: error[WF004 unknown-field]: a shell step has no field `comand`\n"
        "    4 |     comand: make\n"
        "      |     ^^^^^^\n"
        "\n"
    )


def test_text_shows_notes_with_their_places_then_help_then_the_fix() -> None:
    source = Source("w.yaml", TEXT)
    notes = (Note("the step", source.span(TEXT.index("build"), TEXT.index("build") + 5)), Note("by the way"))
    fix = Fix("rename it", (Edit(source.span(START, START + 6), "command"),), safe=False)
    shown = render_text([finding(notes=notes, help="did you mean `command`?", fix=fix)], Style())
    assert shown.splitlines()[3:] == [
        "  note: the step (line 3)",
        "    3 |   - id: build",
        "      |         ^^^^^",
        "  note: by the way",
        "  help: did you mean `command`?",
        "  fixable with `wfc check --fix --unsafe-fixes`",
        "",
    ]


def test_text_names_the_file_of_a_note_elsewhere() -> None:
    other = Source("other.yaml", "name: y\n")
    shown = render_text([finding(notes=(Note("also here", other.span(0, 4)),))], Style())
    assert "  note: also here (other.yaml, line 1)\n    1 | name: y\n      | ^^^^\n" in shown


def test_text_says_when_a_fix_is_safe() -> None:
    shown = render_text([finding(fix=Fix("mend", (), safe=True))], Style())
    assert shown.endswith("  fixable with `wfc check --fix`\n\n")


def test_text_marks_at_least_one_column() -> None:
    assert "      |     ^\n" in render_text([finding(end=START)], Style())


def test_text_marks_the_first_line_of_a_long_span() -> None:
    shown = render_text([finding(start=TEXT.index("id:"), end=len(TEXT))], Style())
    assert shown.splitlines()[1:3] == ["    3 |   - id: build", "      |     ^^^^^^^^^"]


def test_text_of_an_empty_line_has_no_excerpt() -> None:
    assert render_text([finding(text="\n", start=0, end=0)], Style()).count("\n") == 2


@pytest.mark.parametrize(
    ("line", "word", "marks"),
    [
        ("\tmake", "make", " ^^^^"),
        ("日本: make", "make", "      ^^^^"),
        ("x: 日本", "日本", "   ^^^^"),
        ("e\u0301: make", "make", "   ^^^^"),
        ("\x1b[31m: make", "make", "       ^^^^"),
    ],
)
def test_text_marks_stay_under_the_place_for_tabs_wide_and_combining_characters(
    line: str, word: str, marks: str
) -> None:
    start = line.index(word)
    shown = render_text([finding(text=line, start=start, end=start + len(word))], Style())
    assert shown.splitlines()[2] == f"      | {marks}"


def test_text_cuts_a_very_long_line_around_the_place() -> None:
    line = "x" * 5_000 + " here " + "y" * 5_000
    shown = render_text([finding(text=line, start=5_001, end=5_005)], Style()).splitlines()
    assert len(shown[1]) < 200
    assert shown[1][shown[2].index("^") : shown[2].rindex("^") + 1] == "here"


def test_text_never_lets_control_characters_of_the_file_reach_the_terminal() -> None:
    message = "no field `a\x1b[2Jb\nerror[WF999]: x`"
    found = finding(
        text="\x1b]0;title\x07: 1", start=0, end=3, message=message, help="\r\n", notes=(Note("\x07"),)
    )
    shown = render_text([found], Style())
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\r" not in shown
    assert (
        shown.splitlines()[0]
        == r"w.yaml:1:1: error[WF004 unknown-field]: no field `a\x1b[2Jb\nerror[WF999]: x`"
    )


def test_colour_paints_places_kinds_and_marks_and_changes_no_character() -> None:
    found = [finding(severity=severity, help="x") for severity in Severity]
    plain, painted = render_text(found, Style()), render_text(found, Style(color=True))
    for kind, code in (("error", 31), ("warning", 33), ("info", 36)):
        assert f"\x1b[{code};1m{kind}[WF004 unknown-field]\x1b[0m" in painted
    for code in ("\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"):
        painted = painted.replace(code, "")
    for code in ("\x1b[31;1m", "\x1b[33;1m", "\x1b[36;1m"):
        painted = painted.replace(code, "")
    assert painted == plain


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variables", "stream", "color"),
    [
        ({}, Terminal(), True),
        ({}, io.StringIO(), False),
        ({"NO_COLOR": "1"}, Terminal(), False),
        ({"NO_COLOR": ""}, Terminal(), True),
        ({"FORCE_COLOR": "1"}, io.StringIO(), True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, Terminal(), False),
        ({"TERM": "dumb"}, Terminal(), False),
    ],
)
def test_colour_is_for_terminals_and_the_environment_has_the_last_word(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], stream: io.StringIO, color: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert style_for(stream) == Style(color)


# -- json --------------------------------------------------------------------


def test_json_counts_errors_and_warnings() -> None:
    found = [finding(severity=severity) for severity in (Severity.ERROR, Severity.INFO, Severity.ERROR)]
    document = json.loads(render_json(found))
    assert (document["errors"], document["warnings"], len(document["findings"])) == (2, 0, 3)


def test_json_has_the_documented_keys_in_order() -> None:
    assert list(to_json(finding(step="build"))) == [
        "code",
        "name",
        "severity",
        "file",
        "line",
        "column",
        "end_line",
        "end_column",
        "message",
        "help",
        "fixable",
        "step",
        "notes",
        "fix",
    ]


def test_json_has_the_notes_with_their_places_the_way_of_a_value_first() -> None:
    there = Source("b.yaml", "a: 1\nb: 2\n").span(5, 6)
    shown = to_json(finding(notes=(Note("nowhere"), Note("there", there)), flow=(Note("from here", there),)))
    place = {"file": "b.yaml", "line": 2, "column": 1, "end_line": 2, "end_column": 2}
    assert shown["notes"] == [
        {"message": "from here", **place},
        {"message": "nowhere"},
        {"message": "there", **place},
    ]


def test_json_is_ascii_so_that_any_reader_gets_it_right() -> None:
    shown = render_json([finding(message="日本 \x1b \u2028")])
    assert shown.isascii()
    assert json.loads(shown)["findings"][0]["message"] == "日本 \x1b \u2028"


# -- github ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("severity", "command"),
    [(Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "notice")],
)
def test_github_has_a_command_for_each_severity(severity: Severity, command: str) -> None:
    assert render_github([finding(severity=severity)]).startswith(f"::{command} file=w.yaml,line=4,")


def test_github_gives_no_columns_for_a_span_of_several_lines() -> None:
    shown = render_github([finding(start=0, end=len(TEXT) - 1)])
    assert "file=w.yaml,line=1,endLine=4,title=" in shown


def test_github_escapes_what_would_end_a_property_or_begin_a_command() -> None:
    shown = render_github([finding(path="a,b:c%.yaml", message="50%\n::error::x\r")])
    assert shown == (
        "::error file=a%2Cb%3Ac%25.yaml,line=4,endLine=4,col=5,endColumn=11,title=WF004 unknown-field::"
        "50%25%0A::error::x%0D\n"
    )


# -- sarif -------------------------------------------------------------------


def run_of(found: list[Diagnostic]) -> Any:
    return json.loads(render_sarif(found))["runs"][0]


def test_sarif_lists_each_rule_once_with_its_page() -> None:
    rules = run_of([finding(), finding()])["tool"]["driver"]["rules"]
    assert [(rule["id"], rule["name"]) for rule in rules] == [("WF004", "unknown-field")]
    assert rules[0]["shortDescription"]["text"] == "A key that is not a field of this mapping."
    assert "Bad:" in rules[0]["fullDescription"]["text"]
    assert rules[0]["defaultConfiguration"] == {"level": "error"}


def test_sarif_results_refer_to_their_rule_and_level() -> None:
    found = check('name: x\nversion: "1"\nsteps:\n  - {id: a, type: shell, comand: on}\n')
    results = run_of(found)["results"]
    assert [(result["ruleId"], result["ruleIndex"], result["level"]) for result in results] == [
        ("WF004", 1, "error"),
        ("WF003", 0, "warning"),
    ]


def test_sarif_has_notes_as_related_locations_and_fixes_as_replacements() -> None:
    source = Source("w.yaml", TEXT)
    fix = Fix("rename it", (Edit(source.span(START, START + 6), "command"),), safe=True)
    found = finding(notes=(Note("the step", source.span(0, 4)), Note("no place")), help="rename it", fix=fix)
    result = run_of([found])["results"][0]
    assert result["message"]["text"] == "a shell step has no field `comand`\nrename it"
    assert [related["message"]["text"] for related in result["relatedLocations"]] == ["the step"]
    change = result["fixes"][0]["artifactChanges"][0]
    assert change["artifactLocation"] == {"uri": "w.yaml"}
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 4, "startColumn": 5, "endLine": 4, "endColumn": 11},
            "insertedContent": {"text": "command"},
        }
    ]


def test_sarif_writes_paths_as_uris() -> None:
    place = run_of([finding(path="my flows/a#b.yaml")])["results"][0]["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "my%20flows/a%23b.yaml"


def test_every_form_of_no_findings_is_valid() -> None:
    assert render_text([], Style()) == ""
    assert render_github([]) == ""
    assert json.loads(render_json([])) == {"findings": [], "errors": 0, "warnings": 0}
    assert run_of([])["results"] == []
