"""Comments that hide findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import file_of, found_by, load
from wfc.config import Config
from wfc.findings import Diagnostic

RULES = ("WF002", "WF003", "WF005", "WF007", "WF104", "WF201", "WF301", "WF402", "WF704")
"""The rules whose findings are hidden here, and the one that says what hid nothing."""
HEAD = 'name: panel\nversion: "1.0.0"\n'


def check(*texts: str, config: Config | None = None) -> list[Diagnostic]:
    return found_by(RULES, load(*texts, config=config))


def codes(*texts: str) -> list[str]:
    return [found.code for found in check(*texts)]


def panel(line: str, above: str = "") -> str:
    """A workflow whose one finding, WF003 at `on`, stands on the line after `above`."""
    step = "  - id: ask\n    type: prompt\n    prompt_type: choice\n    message: Which?\n"
    return f"{HEAD}steps:\n{step}{above}    options: [on, other]{line}\n"


def test_without_a_comment_the_finding_is_there() -> None:
    assert codes(panel("")) == ["WF003"]


@pytest.mark.parametrize(
    "comment",
    [
        "# wfc: ignore[WF003]",
        "# wfc: ignore[WF003] because the panel says so",
        "#wfc:ignore[WF003]",
        "#  wfc:  ignore[ WF003 ]",
        "# wfc: ignore[wf003]",
        "# yamllint disable-line # wfc: ignore[WF003]",
        "## wfc: ignore[WF003]",
    ],
)
def test_a_comment_hides_the_finding_on_its_line(comment: str) -> None:
    assert codes(panel(f"  {comment}")) == []


@pytest.mark.parametrize(
    "comment",
    [
        "# wfc: ignore",
        "# wfc: ignore[]",
        "# wfc: ignore WF003",
        "# wfc: ignore [WF003]",
        "# wfc: disable=WF003",
        "# wfc: ignore[WF003",
    ],
)
def test_a_comment_that_cannot_be_read_hides_nothing_and_says_so(comment: str) -> None:
    assert codes(panel(f"  {comment}")) == ["WF003", "WF704"]


@pytest.mark.parametrize("comment", ["# see wfc: ignore[WF003]", "# ignore[WF003]", "# noqa: WF003"])
def test_other_comments_mean_nothing(comment: str) -> None:
    assert codes(panel(f"  {comment}")) == ["WF003"]


def test_one_comment_may_name_several_codes() -> None:
    text = panel("  # wfc: ignore[WF003, WF704]")
    assert codes(text) == []


def test_a_comment_alone_on_its_line_speaks_for_the_next() -> None:
    assert codes(panel("", above="    # wfc: ignore[WF003]\n")) == []


def test_it_speaks_across_further_comments_and_blank_lines() -> None:
    above = "    # wfc: ignore[WF003] a reason\n    # that goes on\n\n"
    assert codes(panel("", above=above)) == []


def test_several_comments_may_stand_above_one_line() -> None:
    above = "    # wfc: ignore[WF003]\n    # wfc: ignore[WF301]\n"
    found = check(panel("", above=above))
    assert [item.message for item in found] == ["unused suppression: no WF301 on this line"]


def test_a_comment_at_the_end_of_the_file_hides_nothing_and_breaks_nothing() -> None:
    assert codes(panel("") + "# wfc: ignore[WF003]") == ["WF003", "WF704"]


def test_a_comment_does_not_speak_for_the_line_after_its_own() -> None:
    text = panel("").replace("message: Which?", "message: Which?  # wfc: ignore[WF003]")
    assert codes(text) == ["WF704", "WF003"]


def test_a_comment_inside_a_text_is_text() -> None:
    text = panel("").replace("message: Which?", 'message: "Which? # wfc: ignore[WF003]"')
    assert codes(text) == ["WF003"]
    assert file_of(text).suppressions.comments == []


def reader(message: str) -> str:
    return (
        f"{HEAD}initial_state: {{total: 0}}\nsteps:\n"
        f"  - id: tell\n    type: prompt\n    prompt_type: info\n    message: {message}\n"
    )


@pytest.mark.parametrize(
    "message",
    [
        "|  # wfc: ignore[WF301]\n      One line,\n      and {{ state.total }}.",
        ">-  # wfc: ignore[WF301]\n      One line,\n\n      and {{ state.total }}.",
        '"One line,\n      and {{ state.total }}\n      and more."  # wfc: ignore[WF301]',
        "One line,\n      and {{ state.total }}\n      and more  # wfc: ignore[WF301]",
    ],
    ids=["literal", "folded", "quoted", "plain"],
)
def test_a_comment_where_a_long_text_begins_or_ends_speaks_for_all_of_it(message: str) -> None:
    assert codes(reader(message)) == []


def test_a_comment_above_a_long_text_speaks_for_all_of_it() -> None:
    text = reader("|\n      One line,\n      and {{ state.total }}.")
    assert codes(text) == ["WF301"]
    assert codes(text.replace("    message", "    # wfc: ignore[WF301]\n    message")) == []


def test_it_does_not_speak_for_what_comes_after_the_text() -> None:
    text = reader("|  # wfc: ignore[WF301]\n      {{ state.total }}") + "    when: '{{ state.total > 1 }}'\n"
    assert codes(text.replace("{{ state.total }}", "nothing")) == ["WF704", "WF301"]


def test_crlf_files_have_comments_too() -> None:
    assert codes(panel("  # wfc: ignore[WF003]").replace("\n", "\r\n")) == []


def test_a_code_that_the_project_ignores_is_not_called_unused() -> None:
    config = Config(Path("."), ignore=("WF003",))
    assert check(panel("  # wfc: ignore[WF003]"), config=config) == []


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{id: a, type: shel}", "WF007"),
        ("{id: a, type: shell}", "WF005"),
        ("{id: a, type: goto, target: nowhere, max_iterations: 2}", "WF104"),
        ('{id: a, type: return, value: "{{ 1 + }}"}', "WF201"),
        ("{id: a, type: goto, target: a}", "WF402"),
    ],
)
def test_an_error_that_leaves_nothing_to_compile_cannot_be_hidden_in_any_way(line: str, code: str) -> None:
    text = f"{HEAD}steps:\n  - {line}  # wfc: ignore[{code}]\n"
    config = Config(Path("."), ignore=(code,))
    assert code in codes(text)
    assert code in [found.code for found in check(text, config=config)]
    assert f"invalid suppression: {code} prevents compilation and can't be suppressed" in "".join(
        found.message for found in check(text)
    )


def test_a_warning_of_the_same_code_can_be_hidden() -> None:
    old = (
        panel("")
        .replace("prompt_type: choice", "type: choice  # wfc: ignore[WF002]")
        .replace("[on,", "[one,")
    )
    assert codes(old) == []
