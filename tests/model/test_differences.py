"""The comparison finds what it is there for: with an interpreter that has a step wrong, it fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from tests.model.flow import DeadError, Flow, WayError
from tests.model.interpreter import Run
from tests.model.serving import ServingWorld
from tests.model.steps import Steps
from tests.model.world import World, make_world, result_for
from wfc_runtime.service.sqlite import SqliteService

TREE = yaml.safe_load("""
name: w
version: "1.0.0"
inputs: {target: {type: string, required: true}}
initial_state: {n: 0}
steps:
  - {id: pause, type: wait, duration_seconds: 30}
  - id: loop
    type: while
    needs_state: [n]
    if: "{{ state.n < 2 }}"
    max_iterations: 3
    steps:
      - {id: count, type: set_state, needs_state: [n], updates: {n: "{{ state.n + 1 }}"}}
      - {id: odd, type: continue, needs_state: [n], when: "{{ state.n == 1 }}"}
      - id: try
        type: mcp_call
        tool: t
        retry: {max_attempts: 2, delay_seconds: 2}
        on_error: continue
        output_to: got
  - {id: each, type: foreach, items: [a, b], sequential: true, task: one, output_to: all}
  - {id: ask, type: shell, command: "say {{ inputs.target | shquote }}", on_error: continue}
  - {id: back, type: goto, target: each, max_iterations: 1, else: race}
  - id: race
    type: parallel
    join: fail_fast
    branches:
      slow:
        - {id: s, type: delegate, instructions: "{{ uuid() }}", on_error: continue}
        - {id: s2, type: wait, duration_seconds: 9}
      quick:
        - {id: q, type: shell, command: x, on_error: continue}
        - {id: out, type: goto, target: sides, max_iterations: 1}
  - id: sides
    type: parallel
    join: fail_fast
    branches:
      left: [{id: l, type: prompt, prompt_type: info, message: hello}]
      right: [{id: r, type: call, workflow: helper, with: {subject: x}, on_error: continue}]
  - {id: end, type: return, needs_state: [all, n], value: ["{{ state.all | length }}", "{{ state.n }}"]}
tasks:
  one:
    inputs: {target: {type: string, required: true}}
    steps:
      - {id: look, type: shell, command: "cat {{ item }} {{ previous | length }}", output_to: seen, on_error: continue}
      - {id: tell, type: return, value: "{{ index }}"}
""")


def work(folder: Path) -> World:
    """A run from its start to its end, with answers of all kinds."""
    world = make_world(folder, TREE)
    assert world is not None
    try:
        world.start(TREE)
        random = Random(5)
        while questions := world.questions():
            run, wait = random.choice(questions)
            if wait.ends_by_itself or random.random() < 0.2:
                world.pass_(31)
                world.look()
            else:
                world.submit(run, wait, *result_for(world, run, wait, random))
    finally:
        world.close()
    return world


def test_the_right_interpreter_agrees(tmp_path: Path) -> None:
    world = work(tmp_path)
    assert world.root.status == "completed"
    steps = {name.partition("@")[0] for name in world.root.visits}
    steps_that_work = {"pause", "count", "try", "each", "ask", "s", "s2", "q", "l", "r", "end"}
    assert steps == steps_that_work | {"loop", "back", "race", "out", "sides"}


def _break(self: Steps, step: Any) -> Flow:
    raise WayError("break")
    yield


def _never_again(self: Steps, step: Any) -> Flow:
    yield from ()


def _fails(self: Steps, step: Any, failure: Any) -> None:
    raise DeadError(failure.code, failure.visit)


WRONG: dict[str, tuple[type, str, Callable[..., Any]]] = {
    "continue breaks": (Steps, "_do_continue", _break),
    "goto does nothing": (Steps, "_do_goto", _never_again),
    "on_error is not heard": (Steps, "_recover", _fails),
    "time stands still": (Run, "clock", lambda self: None),
    "children are forgotten": (Run, "_start_more", lambda self, wait: None),
    "nobody is left behind": (Run, "_abandon", lambda self, thread: None),
    "nothing is computed": (Steps, "_do_set_state", _never_again),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_interpreter_is_found_out(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, wrong = WRONG[what]
    monkeypatch.setattr(where, name, wrong)
    with pytest.raises(AssertionError):
        work(tmp_path)


PUT = {"id": "put", "type": "set_state", "updates": {"label": "go"}}
PUT_TOO = {"id": "put-too", "type": "set_state", "updates": {"more": "go"}}
BAD = {"id": "bad", "type": "set_state", "needs_state": ["n"], "updates": {"got": "{{ 10 / state.n }}"}}
EACH = {
    "id": "each",
    "type": "foreach",
    "task": "one",
    "items": ["a"],
    "sequential": True,
    "with": {"target": "{{ 'n' ~ 10 / index }}"},
    "output_to": "got",
}


@pytest.mark.parametrize("branches", [[[BAD], [PUT, PUT_TOO]], [[PUT, PUT_TOO], [BAD]], [[EACH], [PUT]]])
def test_how_far_other_branches_came_when_one_fails_at_their_start_is_no_difference(
    branches: list[list[Any]], tmp_path: Path
) -> None:
    sides = {
        "id": "sides",
        "type": "parallel",
        "branches": dict(zip(("left", "right"), branches, strict=True)),
    }
    tree = {**TREE, "steps": [sides, TREE["steps"][0]]}
    world = make_world(tmp_path, tree)
    assert world is not None
    try:
        world.start(tree)
    finally:
        world.close()
    assert world.root.status == "failed"


def test_what_a_branch_wrote_wrongly_before_another_failed_is_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = {"id": "sides", "type": "parallel", "branches": {"left": [PUT], "right": [BAD]}}
    tree = {**TREE, "steps": [sides, TREE["steps"][0]]}
    world = make_world(tmp_path, tree)
    assert world is not None
    put = SqliteService.definition

    def wrong(self: SqliteService, name: str) -> Any:
        found = put(self, name)
        found[2].state["label"] = "stop"
        return found

    monkeypatch.setattr(SqliteService, "definition", wrong)
    try:
        with pytest.raises(AssertionError, match="stop"):
            world.start(tree)
    finally:
        world.close()


def test_a_key_of_an_object_input_that_is_not_given_is_missing_and_an_input_is_null(tmp_path: Path) -> None:
    keys = {
        "given": {"type": "string"},
        "missing": {"type": "integer"},
        "usual": {"type": "integer", "default": 2},
    }
    tree = {
        **TREE,
        "inputs": {
            "plan": {
                "type": "object",
                "default": {"given": "x", "other": None},
                "validation": {"properties": keys},
            },
            "nothing": {"type": "string"},
        },
        "steps": [{"id": "end", "type": "return", "value": "{{ inputs }}"}],
    }
    del tree["tasks"]
    world = make_world(tmp_path, tree)
    assert world is not None
    try:
        world.start(tree)
    finally:
        world.close()
    assert world.root.result == {"plan": {"given": "x", "usual": 2, "other": None}, "nothing": None}


def test_a_secret_that_a_command_prints_is_hidden_in_the_history_and_whole_in_the_state(
    tmp_path: Path,
) -> None:
    say = {
        "id": "say",
        "type": "shell",
        "runner": "server",
        "command": "echo to {{ inputs.token | shquote }}",
    }
    tree = {
        **TREE,
        "inputs": {"token": {"type": "string", "required": True, "secret": True}},
        "steps": [{**say, "output_to": "said"}, TREE["steps"][0]],
    }
    del tree["tasks"]
    world = make_world(tmp_path, tree, kind=ServingWorld)
    assert isinstance(world, ServingWorld)
    try:
        world.start(tree)
        assert (world.served, world.is_over) == (1, False)
        assert world.root.state["said"]["stdout"] == f"to {world.root.inputs['token']}\n"
    finally:
        world.close()


def test_retrying_a_foreach_continues_the_children_that_failed_in_both(tmp_path: Path) -> None:
    each = {"id": "each", "type": "foreach", "task": "one", "items": ["a", "b"], "output_to": "all"}
    look = {"id": "look", "type": "shell", "command": "cat {{ item }}"}
    task = {**TREE["tasks"]["one"], "steps": [look, {"id": "tell", "type": "return", "value": "{{ index }}"}]}
    tree = {**TREE, "steps": [each, TREE["steps"][0]], "tasks": {"one": task}}
    world = make_world(tmp_path, tree)
    assert world is not None
    try:
        world.start(tree)
        [_, (first, look_first), (second, look_second)] = world.questions()
        world.submit(first, look_first, {"error": "could not"}, True)
        world.submit(second, look_second, {"stdout": "", "exit_code": 0}, True)
        assert (world.root.status, world.can_retry()) == ("failed", True)
        world.retry(is_named=True)
        [_, (again, wait)] = world.questions()
        assert (again, wait.visit) == (first, "look@2")
        world.submit(again, wait, {"stdout": "", "exit_code": 0}, True)
        assert world.root.state["all"] == [0, 1]
    finally:
        world.close()
