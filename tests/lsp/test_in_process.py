"""What is offered and explained at places of every style of YAML; the protocol around it is tested elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from wfc.lsp.analysis import Analysis
from wfc.lsp.hover import hover_at

FLOW = """\
name: flow
version: "1.0.0"
initial_state: {tries: 0}
steps:
  - {id: build, type: shell, command: make, output_to: built}
  - id: ask
    type: prompt
    prompt_type: text
    message: "{{ state['built'].stdout }}"
    needs_state: ['built']
    output_to: answer
  - {id: again, type: goto, target: 'build', max_iterations: 2, needs_state: [built], when: "{{ state.built }}"}
  - id: each
    type: foreach
    items: [{path: a, size: 1}]
    task: one
    with:
      line: "{{ item.path }}"
    output_to: lines
  - {id: done, type: return, value: "{{ state.lines }}", needs_state: [lines]}
tasks:
  one:
    inputs: {line: {type: string, required: true}}
    steps:
      - {id: give, type: return, value: "{{ inputs.line }}"}
"""
HERE = Path("flow.yaml").absolute()


@pytest.mark.parametrize(
    ("before", "typed", "offered", "not_offered"),
    [
        ("  - id: each", "  - {id: jump, type: goto, target: ", {"build", "ask"}, {"one"}),
        ("  - id: each", "  - {id: jump, type: goto, target: 'bu", {"build", "ask"}, set()),
        ("  - id: each", "  - {id: x, type: ", {"shell", "prompt"}, {"build"}),
        ("  - id: each", "  - {id: x, type: shell, ", {"command", "timeout"}, {"id", "type", "target"}),
        ("  - id: each", "  - {id: x, type: shell, ti", {"command", "timeout"}, {"id", "message"}),
        ("  - id: each", "  - {id: x, type: foreach, task: ", {"one"}, {"build"}),
        ("  - id: each", "  - {id: x, type: shell, needs_state: [", {"built", "tries"}, {"build"}),
        ("  - id: each", "  - {id: x, type: shell, needs_state: [tries, '", {"built"}, {"build"}),
        ("  - id: each", '  - {id: x, type: return, value: "{{ state.', {"built", "answer"}, {"state"}),
        ("    output_to: answer", "    when: \"{{ state['", {"built", "tries"}, {"state", "now"}),
        ("    output_to: answer", "    when: \"{{ state['built']['", {"stdout", "exit_code"}, {"tries"}),
        ("    output_to: answer", '    when: "{{ ', {"state", "now"}, {"item", "index"}),
        ("    output_to: lines", '      other: "{{ ', {"item", "index", "state"}, {"previous"}),
        ("    output_to: lines", '      other: "{{ item.', {"path", "size"}, {"state"}),
        ("      - {id: give", "      - {id: look, type: return, value: \"{{ ", {"item", "index"}, {"previous"}),
        ("      - {id: give", '      - {id: look, type: return, value: "{{ item.', {"path", "size"}, set()),
        ("  - id: each", "  - ", {"id", "type", "when"}, {"command"}),
        ("  - id: each", "  - id: x\n    ", {"type", "needs_state"}, {"id", "command"}),
        ("    output_to: answer", "    on_error:\n      ", {"goto"}, {"command"}),
        ("  - id: each", "  - id: x\n    type: shell\n    retry:\n      ", {"max_attempts"}, {"command"}),
        ("steps:", "inputs:\n  size:\n    ", {"type", "default", "required"}, {"command", "id"}),
        ("steps:", "inputs:\n  size:\n    type: ", {"string", "integer"}, {"shell"}),
        ("tasks:\n", "tasks:\n  other:\n    ", {"steps", "inputs", "description"}, {"command", "id"}),
        ("      line: ", "      ", {"line"}, {"id", "command"}),
    ],
)  # fmt: skip
def test_what_is_offered(before: str, typed: str, offered: set[str], not_offered: set[str]) -> None:
    text = FLOW.replace(before, f"{typed}\n{before}", 1)
    found = {one.text for one in Analysis(HERE, FLOW).complete(text, text.index(typed) + len(typed))}
    assert offered <= found
    assert not not_offered & found


@pytest.mark.parametrize(
    ("needle", "inside", "said"),
    [
        ("item.path", 1, "`item`: "),
        ("item.path", 6, "`item.path`: 'a'"),
        ("state['built']", 8, "`state.built`: ShellResult"),
        ("state['built']", 2, "`state`"),
        ("inputs.line", 2, "`inputs`"),
    ],
)
def test_what_is_explained(needle: str, inside: int, said: str) -> None:
    found = hover_at(Analysis(HERE, FLOW), FLOW.index(needle) + inside)
    assert found is not None
    assert found[0].startswith(said)


BLOCKS = """\
name: ci
description: Build and ship.
inputs:
  env: {type: str, description: Where to., default: dev}
blocks:
  - {id: build, type: Shell, inputs: {command: "make ${inputs.env}"}}
  - {id: ship, type: Shell, inputs: {command: make ship}, depends_on: [build]}
outputs:
  ok: {value: "${blocks.ship.succeeded}", type: bool}
"""


@pytest.mark.parametrize(
    ("needle", "inside", "said"),
    [
        ("[build]", 2, "`blocks.build`"),
        ("inputs.env", 8, "`inputs.env`: text"),
        ("blocks.ship", 8, "`blocks.ship`"),
    ],
)
def test_in_blocks_nothing_is_explained_by_names_that_only_steps_have(
    needle: str, inside: int, said: str
) -> None:
    found = hover_at(Analysis(HERE, BLOCKS), BLOCKS.index(needle) + inside)
    assert found is not None
    assert found[0].startswith(said)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("  - {id: next, type: ", {"Shell", "Workflow"}),
        ("  - {id: next, type: Shell, depends_on: [", {"build", "ship"}),
        ("  - {id: next, type: Shell, depends_on: [build, sh", {"build", "ship"}),
        ("  - {id: next, type: Shell, ", {"inputs", "depends_on", "condition"}),
    ],
)
def test_what_is_offered_in_blocks_in_flow_style(typed: str, offered: set[str]) -> None:
    text = BLOCKS.replace("outputs:", f"{typed}\noutputs:", 1)
    found = {one.text for one in Analysis(HERE, BLOCKS).complete(text, text.index(typed) + len(typed))}
    assert offered <= found
