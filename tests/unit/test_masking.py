"""A secret that stands in a file is not repeated by what is printed about the file."""

from __future__ import annotations

import pytest

from tests.support import check
from wfc.findings import Diagnostic
from wfc.render.github import render_github
from wfc.render.json import render_json
from wfc.render.sarif import render_sarif
from wfc.render.style import Style
from wfc.render.text import render_text

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj"

# The token stands on lines that other checks quote, in names that they repeat, and in what a fix would write.
WORKFLOW = f"""\
name: upload
version: "1.0.0"
inputs: {{who: {{type: string, required: true}}}}
steps:
  - {{id: up, type: shell, command: "GITHUB_TOKEN={TOKEN} ./up {{{{ inputs.who }}}}"}}
  - {{id: down, type: {TOKEN}}}
  - {{id: away, type: goto, target: {TOKEN}, max_iterations: 2}}
  - {{id: sign, type: shell, command: "sign '-----BEGIN PRIVATE KEY-----\\n{KEY}'", timeot: 3}}
"""
FORMS = {
    "text": lambda found: render_text(found, Style()),
    "colour": lambda found: render_text(found, Style(color=True)),
    "json": render_json,
    "github": render_github,
    "sarif": render_sarif,
}


@pytest.fixture(scope="module")
def found() -> list[Diagnostic]:
    return check(WORKFLOW)


@pytest.mark.parametrize("form", FORMS)
def test_no_form_repeats_more_of_it_than_its_beginning(form: str, found: list[Diagnostic]) -> None:
    assert {"WF504", "WF501", "WF007", "WF104", "WF004"} <= {one.code for one in found}
    shown = FORMS[form](found)
    assert TOKEN[4:] not in shown
    assert KEY not in shown
    assert "ghp_" in shown


def test_the_line_keeps_its_length_so_that_the_marks_stay_in_place(found: list[Diagnostic]) -> None:
    lines = render_text(found, Style()).splitlines()
    place = next(number for number, line in enumerate(lines) if "WF501" in line)
    quoted, marks = lines[place + 1 : place + 3]
    assert "GITHUB_TOKEN=ghp_" + "*" * 36 + " ./up {{ inputs.who }}" in quoted
    assert quoted[marks.index("^") : marks.rindex("^") + 1] == "inputs.who"


def test_a_file_without_secrets_is_shown_as_it_is() -> None:
    text = 'name: x\nversion: "1.0.0"\nsteps:\n  - {id: a, type: shell, command: make, timeot: 3}\n'
    assert "    4 |   - {id: a, type: shell, command: make, timeot: 3}\n" in render_text(check(text), Style())
