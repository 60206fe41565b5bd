"""`wfc run` with a person at a real terminal."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.e2e.command import wfc, write
from tests.e2e.terminal import Terminal
from tests.execute.conftest import is_alive

FLOW = """\
name: flow
version: "1.0.0"
steps:
  - id: look
    type: shell
    command: echo looked > seen.txt; cat seen.txt
    output_to: looked
  - id: which
    type: prompt
    prompt_type: choice
    message: Which colour?
    options: [red, green]
    output_to: colour
  - id: name-it
    type: prompt
    prompt_type: text
    message: A name?
    validation: {pattern: "^[a-z]+$"}
    output_to: name
  - id: judge
    type: delegate
    instructions: Judge it.
    result_schema: {type: object, required: [good, why], properties: {good: {type: boolean}, why: {type: string}}}
    output_to: verdict
  - id: done
    type: return
    needs_state: [looked, colour, name, verdict]
    value: [
      "{{ state.looked.stdout | trim }}", "{{ state.colour.selected }}", "{{ state.name.input }}", "{{ state.verdict }}"
    ]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n")
    write(tmp_path / "workflows", flow=FLOW)
    return tmp_path


def flow(*steps: str) -> str:
    return 'name: flow\nversion: "1.0.0"\nsteps:\n' + "".join(f"  - {step}\n" for step in steps)


def test_a_person_works_a_run_and_is_asked_again_until_the_answer_fits(project: Path) -> None:
    terminal = Terminal("run", "workflows/flow.yaml", cwd=project)
    terminal.expect("1. look (shell)")
    terminal.expect("$ echo looked > seen.txt; cat seen.txt")
    terminal.answer("run it here? [y/n]", "maybe")
    terminal.expect("answer y or n")
    assert not (project / "seen.txt").exists()
    terminal.answer("run it here? [y/n]", "y")
    terminal.expect("exit code 0")
    terminal.expect("2. green")
    terminal.answer("number or name:", "3")
    terminal.expect("`3` is not an option; enter 1 to 2, or the name")
    terminal.answer("number or name:", "2")
    terminal.answer(">", "Not Fit")
    terminal.expect("invalid: result.input: 'Not Fit' does not match '^[a-z]+$'")
    terminal.answer(">", "fit")
    terminal.answer(">", "good: true")
    terminal.answer("…", "")
    terminal.expect("invalid: 'why' is a required property")
    terminal.answer(">", '{"good": true,')
    terminal.answer("…", "")
    terminal.answer("…", '"why": "well"}')
    terminal.answer("…", "")
    terminal.expect("completed after 4 actions: look → which → name-it → judge → done")
    assert terminal.wait() == 0
    assert (project / "seen.txt").read_text() == "looked\n"
    assert '"green"' in terminal.seen


def test_a_command_that_is_not_agreed_to_is_not_run_and_its_result_is_typed(project: Path) -> None:
    write(project / "workflows", flow=flow("{id: look, type: shell, command: touch gone, output_to: x}"))
    terminal = Terminal("run", "workflows/flow.yaml", cwd=project)
    terminal.answer("run it here? [y/n]", "n")
    terminal.answer(">", "exit_code: 3")
    terminal.answer("…", "")
    assert terminal.wait() == 0
    assert '"exit_code": 3' in terminal.seen
    assert not (project / "gone").exists()


def test_ctrl_c_leaves_a_run_that_resume_goes_on_with(project: Path) -> None:
    terminal = Terminal("run", "workflows/flow.yaml", cwd=project)
    terminal.answer("run it here? [y/n]", "y")
    terminal.expect("number or name:")
    terminal.interrupt()
    terminal.expect("the run is saved; continue it with `wfc runs resume ")
    assert terminal.wait() == 130
    run = terminal.seen.split("wfc runs resume ")[1].split("`")[0]
    again = Terminal("runs", "resume", run, cwd=project)
    again.expect("1. which (prompt)")
    again.answer("number or name:", "red")
    again.expect("name-it")
    again.send(":q")
    assert again.wait() == 130
    shown = json.loads(wfc("runs", "show", run, "--json", cwd=project).out)
    assert shown["action"]["step_id"] == "name-it"


def test_ctrl_c_ends_a_command_that_runs_and_all_that_it_started(project: Path) -> None:
    command = "sh -c 'sleep 300' & echo $! > child; wait"
    write(
        project / "workflows",
        flow=flow(f'{{id: sit, type: shell, command: "{command}", timeout: 300, output_to: x}}'),
    )
    terminal = Terminal("run", "workflows/flow.yaml", "--allow-exec", cwd=project)
    terminal.expect("$ sh -c")
    while not (project / "child").exists() or not (project / "child").read_text().strip():
        pass
    terminal.interrupt()
    assert terminal.wait() == 130
    assert not is_alive(int((project / "child").read_text()))


def test_ctrl_c_in_a_wait_leaves_the_run_too(project: Path) -> None:
    write(project / "workflows", flow=flow("{id: rest, type: wait, duration_seconds: 300, message: resting}"))
    terminal = Terminal("run", "workflows/flow.yaml", cwd=project)
    terminal.expect("rest waits (resting): 300 s left")
    terminal.interrupt()
    terminal.expect("continue it with `wfc runs resume ")
    assert terminal.wait() == 130


def test_end_of_input_and_a_closed_editor_are_no_answer(project: Path) -> None:
    terminal = Terminal("run", "workflows/flow.yaml", cwd=project)
    terminal.expect("run it here? [y/n]")
    os.write(terminal._file, b"\x04")
    terminal.expect("the run is saved")
    assert terminal.wait() == 130


def test_a_long_result_is_written_in_the_editor(project: Path) -> None:
    editor = project / "editor.sh"
    editor.write_text('#!/bin/sh\nprintf "# Title\\n\\nmany\\nlines\\n" >> "$1"\n')
    editor.chmod(0o755)
    write(
        project / "workflows", flow=flow("{id: write, type: delegate, instructions: Write., output_to: text}")
    )
    terminal = Terminal(
        "run", "workflows/flow.yaml", "--json", cwd=project, env={"EDITOR": str(editor), "VISUAL": ""}
    )
    terminal.answer(">", ":e")
    assert terminal.wait() == 0
    reply = json.loads(terminal.seen[terminal.seen.index("{") :])
    assert reply["result"]["text"]["response"] == "# Title\n\nmany\nlines"


def test_secrets_are_typed_unseen_and_never_shown(project: Path) -> None:
    ask = "{id: ask, type: prompt, prompt_type: text, message: Token?, secret: true, output_to: token}"
    command = "echo {{ state.token.input | shquote }}"
    use = f"{{id: use, type: shell, needs_state: [token], command: '{command}', output_to: x}}"
    write(project / "workflows", flow=flow(ask, use, "{id: done, type: return, value: fine}"))
    terminal = Terminal("run", "workflows/flow.yaml", cwd=project)
    terminal.answer(">", "hunter2x")
    terminal.expect("2. use (shell)")
    terminal.answer("run it here? [y/n]", "n")
    terminal.answer(">", "done")
    terminal.answer("…", "")
    assert terminal.wait() == 0
    assert "hunter2x" not in terminal.seen


def test_what_a_workflow_shows_can_not_steer_the_terminal(project: Path) -> None:
    step = '{id: ask, type: prompt, prompt_type: confirm, message: "\\e]0;owned\\a\\e[2Jreally?"}'
    wait = '{id: pause, type: wait, duration_seconds: 1, message: "\\e]0;held\\a"}'
    last = '{id: last, type: return, value: "\\e]0;back\\a \\x9b31mend"}'
    write(project / "workflows", flow=flow(step, wait, last))
    terminal = Terminal("run", "workflows/flow.yaml", cwd=project)
    terminal.answer("\ufffd[2Jreally?", "y")
    terminal.expect("pause waits (\ufffd]0;held\ufffd)")
    terminal.expect("\ufffd]0;back\ufffd \ufffd31mend")
    assert terminal.wait() == 0
    for part in ("\x1b]0", "\x9b", "\a"):
        assert part not in terminal.seen


def test_a_person_who_starts_the_server_is_told_what_it_waits_for(tmp_path: Path) -> None:
    terminal = Terminal("serve", cwd=tmp_path)
    terminal.expect("serving MCP on stdin and stdout")
    terminal.interrupt()
    assert terminal.wait() == 130
