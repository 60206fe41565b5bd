"""The live view of `wfc run --agent` in a terminal: one changing line for each call, then the path and the costs."""

from __future__ import annotations

from typing import cast

import pytest

from tests.agents.support import Desk, delegate
from tests.e2e.terminal import Terminal
from wfc.cli.run.console import Console
from wfc.cli.run.live import Live, _Line
from wfc.render.style import cut
from wfc_runtime.service.sqlite.agent_work import AgentService


def test_a_terminal_shows_each_call_while_it_works_and_the_costs_at_the_end(desk: Desk) -> None:
    go = desk.notes / "go"
    desk.workflow(
        delegate("first", "say one", ", model: haiku"),
        """id: both
    type: parallel
    branches:
      left: [{id: slow, type: delegate, instructions: "DO wait GO"}]
      right: [{id: quick, type: delegate, instructions: "DO say two"}]
""".replace("GO", str(go)),
    )
    terminal = Terminal("run", "w", "--agent", "stub", cwd=desk.project, env=desk.env)
    terminal.expect("first")
    terminal.expect("stub haiku")
    # The cost so far, the step and what its agent is doing.
    terminal.expect("$0.0")
    terminal.expect("slow")
    go.touch()
    terminal.expect("first → slow → quick")
    terminal.expect("$0.03")
    assert terminal.wait() == 0
    for step in ("first", "slow", "quick"):
        assert step in terminal.seen


def test_lines_of_calls_fit_the_screen_so_that_they_can_be_erased() -> None:
    assert cut("Read src/a.py", 40) == "Read src/a.py"
    assert cut("Read src/a.py", 4) == "Read"
    # Two columns each; a combining mark takes none.
    assert cut("日本語.py", 5) == "日本"
    assert cut("e\u0301e\u0301x", 2) == "e\u0301e\u0301"


def test_nothing_is_drawn_over_a_person_who_types_while_commands_begin(
    capsys: pytest.CaptureFixture[str],
) -> None:
    console = Console()
    console.is_live = True
    live = Live(cast(AgentService, None), "run", console, None)
    live._lines[("run", "a")] = _Line("a", "stub")
    with live.paused():
        with live.paused():
            pass
        live.say("one has ended")
        assert "stub" not in capsys.readouterr().err
    live.say("another one has ended")
    assert "stub" in capsys.readouterr().err


def test_more_calls_than_rows_are_counted_and_an_answer_is_shown_in_words(desk: Desk) -> None:
    go = desk.notes / "go"
    head = f"tasks: {{t: {{inputs: {{n: {{type: integer}}}}, steps: [{delegate('c', f'wait {go}')}]}}}}\n"
    gate = "{id: ok, type: prompt, prompt_type: confirm, message: Go on?, output_to: ok_out}"
    desk.workflow(gate, "{id: f, type: foreach, items: [1, 2, 3, 4, 5], task: t}", head=head)
    env = {**desk.env, "LINES": "6"}
    terminal = Terminal("run", "w", "--agent", "stub", "--parallel", "5", cwd=desk.project, env=env)
    terminal.answer("Go on?", "y")
    terminal.expect("ok: yes (person, wfc run)")
    terminal.expect("and 2 more")
    go.touch()
    terminal.expect("completed")
    assert terminal.wait() == 0
