"""A reactive workflow through the official client: messages, computed fields, and kills that change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal

from tests.runtime.support import compile_to
from tests.server.driver import Place
from tests.support import wait_until

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


def test_a_field_changed_by_hand_is_computed_with_survives_a_kill_and_changes_the_loop(place: Place) -> None:
    with place.server("--toolsets", "core,debug") as agent:
        run = agent.call("start_workflow", workflow="fix:departments", inputs={})["workflow_id"]
        # As models sometimes send lists: as text.
        updates = '[{"path": "raw.departments", "operation": "append", "value": "release"}]'
        reply = agent.call("update_workflow_state", workflow_id=run, updates=updates)
        assert reply["written"] == {
            "departments": ["build", "docs", "tests", "release"],
            "left": ["build", "docs", "tests", "release"],
        }
        assert reply["action"]["parameters"]["command"] == "make fix-build"
        agent.kill_worker()
        refused = agent.refusal(
            "update_workflow_state", workflow_id=run, updates=[{"path": "raw.left", "value": []}]
        )
        assert "`left` is computed. It follows from `departments`, `done`: write those." in refused
        state = agent.call("get_workflow_state", workflow_id=run, fields=["left"])["state"]
        assert state["left"][-1] == "release"
        traced = agent.call("trace_transformations", workflow_id=run, field="left")["traces"]
        assert traced[-1]["trigger"].startswith("updated by ")
        timed = agent.call("trace_transformations", workflow_id=run, field="left", include_timing=True)
        assert [(one["field"], one["milliseconds"] >= 0) for one in timed["timing"]] == [("left", True)]
        asked = 0
        while reply["status"] == "pending_action":
            asked += 1
            step = reply["action"]["step_id"]
            done = {"stdout": "", "stderr": "", "exit_code": 0}
            reply = agent.call("submit_result", workflow_id=run, step_id=step, result=done)
        assert (asked, reply["result"]["done"][-1]) == (4, "release")


def test_the_state_is_not_changed_by_hand_while_the_server_executes_a_step(
    tmp_path: Path, portal: BlockingPortal
) -> None:
    command = "until [ -f go ]; do sleep 0.05; done"
    text = f"""\
name: "w:served"
description: A command of the server.
version: "1.0.0"
default_state: {{raw: {{n: 0}}}}
steps:
  - {{id: wait, type: shell_command, command: "{command}"}}
  - {{id: ask, type: wait_step, message: "{{{{ n }}}}"}}
"""
    compile_to(tmp_path / "generated", text)
    served = Place(tmp_path, portal)
    (tmp_path / "pyproject.toml").write_text(
        "[tool.wfc.exec]\nallow = true\nreply_seconds = 1\n", encoding="utf-8"
    )
    with served.server("--toolsets", "core,debug") as agent:
        run = agent.call("start_workflow", workflow="w:served")["workflow_id"]
        updates = [{"path": "raw.n", "value": 5}]
        wait_until(lambda: agent.call("get_workflow_status", workflow_id=run)["status"] == "running")
        refused = agent.refusal("update_workflow_state", workflow_id=run, updates=updates)
        assert "the server is executing `wait`" in refused
        (tmp_path / "go").touch()
        wait_until(lambda: agent.call("get_workflow_status", workflow_id=run).get("action"))
        assert agent.call("update_workflow_state", workflow_id=run, updates=updates)["written"] == {"n": 5}


SOURCES = """\
name: "w:sources"
description: What fields are computed from.
version: "1.0.0"
inputs: {who: {type: string, default: ada}, size: {type: number, default: 2}}
default_state: {raw: {n: 0, log: [], by_name: {}, out: ""}}
state_schema:
  computed:
    twice: {from: [raw.n, inputs.size], transform: "input[0] * input[1]"}
steps:
  - {id: count, type: state_update, path: raw.n, operation: increment}
  - id: both
    type: batch_state_update
    updates:
      - {path: "raw.by_name[inputs.who]", value: "{{ twice + ' state.log' }}"}
      - {path: raw.log, operation: append, value: "{{ n }}"}
  - id: run
    type: agent_shell_command
    command: "echo {{ shquote(inputs.who) }} {{ log.length }}"
    state_update: {path: raw.out, value: "{{ stdout.trim() }}"}
"""


def test_the_sources_of_each_field_are_told_update_by_update(tmp_path: Path, portal: BlockingPortal) -> None:
    compile_to(tmp_path / "generated", SOURCES)
    with Place(tmp_path, portal).server("--toolsets", "core,debug") as agent:
        run = agent.call("start_workflow", workflow="w:sources")["workflow_id"]

        def told(field: str) -> Any:
            return agent.call("state_dependencies", workflow_id=run, field=field)

        assert told("twice")["direct_deps"] == ["inputs.size", "state.n"]
        assert told("by_name")["direct_deps"] == ["inputs.who", "state.by_name", "state.twice"]
        assert told("log")["direct_deps"] == ["state.log", "state.n"]
        assert told("out")["direct_deps"] == ["inputs.who", "state.log"]
        assert told("out")["all_deps"] == ["inputs.who", "state.log", "state.n"]
        assert told("n")["dependents"] == ["log", "n", "twice"]
