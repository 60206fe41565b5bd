"""Templates in the paths of declared outputs are templates of their step."""

from __future__ import annotations

from tests.support import check

TEXT = """\
name: w
version: 1.0.0
steps:
  - {{id: ask, type: prompt, prompt_type: choice, message: Which?, options: [one, two], output_to: answer}}
  - id: build
    type: shell
    runner: server
    {needs}
    command: make
    outputs:
      log: {{type: string, path: "logs/{{{{ {value} }}}}"}}
"""


def codes(needs: str, value: str) -> list[str]:
    return [found.code for found in check(TEXT.format(needs=needs, value=value))]


def test_a_field_that_only_the_path_of_an_output_reads_is_needed() -> None:
    assert codes("needs_state: [answer]", "state.answer.selected") == []
    assert codes("timeout: 5", "state.answer.selected") == ["WF301"]


def test_names_in_the_path_of_an_output_are_checked() -> None:
    assert "WF204" in codes("timeout: 5", "inputs.nothing")
    assert "WF206" in codes("needs_state: [answer]", "state.answer.input")
