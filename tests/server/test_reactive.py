"""A reactive workflow through the official client: messages, computed fields, and kills that change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal

from tests.runtime.support import compile_to
from tests.server.driver import Place

LOOP = """\
name: "fix:departments"
description: Work through departments, one turn each.
version: "1.0.0"
default_state:
  raw: {departments: [build, docs, tests], at: 0, done: []}
state_schema:
  computed:
    current: {from: [raw.departments, raw.at], transform: "input[0][input[1]] ?? null"}
    left: {from: [raw.departments, raw.done], transform: "input[0].filter(one => !input[1].includes(one))"}
steps:
  - id: turns
    type: while
    condition: "{{ left.length > 0 }}"
    body:
      - {id: tell, type: user_message, message: "Turn {{ loop.iteration }}: {{ current }}, {{ left.length }} left."}
      - id: fix
        type: agent_shell_command
        command: "make fix-{{ current }}"
        state_updates:
          - {path: raw.done, operation: append, value: "{{ current }}"}
          - {path: raw.at, operation: increment}
  - {id: end, type: user_message, message: "{{ done }}"}
"""


@pytest.fixture
def place(tmp_path: Path, portal: BlockingPortal) -> Place:
    compile_to(tmp_path / "generated", LOOP)
    return Place(tmp_path, portal)


@pytest.mark.parametrize("kills", [False, True], ids=["undisturbed", "killed"])
def test_a_loop_of_three_turns_asks_three_times_and_a_kill_in_between_changes_nothing(
    place: Place, kills: bool
) -> None:
    with place.server() as agent:
        reply = agent.call("start_workflow", workflow="fix:departments", inputs={})
        run = reply["workflow_id"]
        seen = []
        while reply["status"] == "pending_action":
            if kills:
                agent.kill_worker()
                again = agent.call("get_next_step", workflow_id=run)
                assert (again["action"], again["messages"]) == (reply["action"], reply["messages"])
            action = reply["action"]
            seen.append((action["parameters"]["command"], [one["message"] for one in reply["messages"]]))
            done = {"stdout": "", "stderr": "", "exit_code": 0}
            reply = agent.call("submit_result", workflow_id=run, step_id=action["step_id"], result=done)
        assert seen == [
            ("make fix-build", ["Turn 1: build, 3 left."]),
            ("make fix-docs", ["Turn 2: docs, 2 left."]),
            ("make fix-tests", ["Turn 3: tests, 1 left."]),
        ]
        assert reply["status"] == "completed"
        assert (reply["result"]["left"], reply["result"]["current"]) == ([], None)
        assert [one["message"] for one in reply["messages"]] == ['["build","docs","tests"]']
