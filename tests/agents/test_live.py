"""The live view of `wfc run --agent` in a terminal: one changing line for each call, then the path and the costs."""

from __future__ import annotations

from tests.agents.support import Desk, delegate
from tests.e2e.terminal import Terminal


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
