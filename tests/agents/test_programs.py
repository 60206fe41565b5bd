"""codex, gemini and opencode, played by a stand-in that prints the events which they document."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.agents.support import SCHEMA, Desk, delegate
from wfc_runtime.agents import ADAPTERS
from wfc_runtime.agents.base import Call

KINDS = ("codex", "gemini", "opencode")
STUB = Path(__file__).with_name("stub_others.py")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def play(desk: Desk, kind: str, more: str = "") -> None:
    words = json.dumps([sys.executable, str(STUB), kind])
    desk.operator(text=f'[{kind}]\ncommand = {words}\nenv = ["STUB_NOTES"]\n{more}\n')


def arguments(desk: Desk) -> list[list[str]]:
    return [call["arguments"] for call in desk.calls()]


def test_a_run_is_worked_to_its_end_and_a_misfit_is_asked_again_in_the_same_session(
    desk: Desk, kind: str
) -> None:
    play(desk, kind)
    desk.workflow(
        delegate("a", "say hello"),
        delegate("b", 'say prose; give {"n": "x"}; give {"n": 5}', SCHEMA),
        "{id: end, type: return, needs_state: [a_out, b_out], value: '{{ state.a_out.response }} {{ state.b_out.n }}'}",
    )
    done = desk.run("--agent", kind)
    assert (done.status, done.out.strip()) == (0, "hello 5")
    first, second, third, fourth = arguments(desk)
    # Every further call of the step continues the session of its first one.
    session = second[second.index("--session-id") + 1] if kind == "gemini" else "ses-1"
    assert session not in first
    assert session in third
    assert session in fourth
    calls = [event["agent"] for event in desk.history() if "agent" in event]
    assert [call["tokens"] for call in calls] == [100] * 4
    assert [call.get("usd") for call in calls] == ([0.01] * 4 if kind == "opencode" else [None] * 4)
    # A cost that nobody reports is not shown as $0.
    assert ("in total  400 tokens  cost unknown" in done.err) == (kind != "opencode")


@pytest.mark.parametrize(
    ("order", "status"),
    [
        ("silent", 1),
        ("half", 1),
        ("exit 3", 1),
        ("fail something broke", 1),
        ("fail 401 Unauthorized", 6),
        ("fail You have hit your usage limit", 6),
        ("fail connection refused", 6),
        ("refused", 1),
    ],
)
def test_nothing_else_counts_as_done(desk: Desk, kind: str, order: str, status: int) -> None:
    play(desk, kind)
    desk.workflow(delegate("a", order))
    assert desk.run("--agent", kind).status == status


def test_a_tool_call_counts_only_if_the_output_shows_it(desk: Desk, kind: str) -> None:
    play(desk, kind)
    name = ADAPTERS[kind].tool_name("web.get")
    task = (
        '{id: a, type: mcp_call, tool: web.get, parameters: {q: \'DO call NAME {"q": "x"}\'}, output_to: out}'
    )
    desk.workflow(task.replace("NAME", "other"))
    assert "did not call" in desk.run("--agent", kind).err
    # The order is part of the parameter, so the call with exactly these parameters can't be played; the adapter is.
    call = Call("", tools=None)
    lines = {
        "codex": [
            {"type": "thread.started", "thread_id": "t"},
            {"type": "item.completed", "item": {"type": "mcp_tool_call", "server": "web", "tool": "get",
             "arguments": {"q": 1}, "status": "completed", "result": {"content": [{"type": "text", "text": "r"}]}}},
            {"type": "item.completed", "item": {"type": "agent_message", "text": "ok"}},
            {"type": "turn.completed", "usage": {}},
        ],
        "gemini": [
            {"type": "init", "session_id": "t"},
            {"type": "tool_use", "tool_name": name, "tool_id": "1", "parameters": {"q": 1}},
            {"type": "tool_result", "tool_id": "1", "status": "success", "output": "r"},
            {"type": "message", "role": "assistant", "content": "ok"},
            {"type": "result", "status": "success"},
        ],
        "opencode": [
            {"type": "tool_use", "sessionID": "t", "part": {"tool": name,
             "state": {"input": {"q": 1}, "status": "completed", "output": "r"}}},
            {"type": "text", "sessionID": "t", "part": {"text": "ok"}},
            {"type": "step_finish", "sessionID": "t", "part": {"reason": "stop"}},
        ],
    }[kind]  # fmt: skip
    found = ADAPTERS[kind].outcome(call, [json.dumps(one) for one in lines], "", 0)
    assert (found.kind, found.value) == ("done", "ok")
    (made,) = found.tool_calls
    assert (made.name, dict(made.parameters), made.is_error) == (name, {"q": 1}, False)
    assert "r" in json.dumps(made.result)


def test_a_limit_that_the_program_can_not_keep_stops_the_step(desk: Desk, kind: str) -> None:
    play(desk, kind, 'tools = ["mcp:web"]')
    desk.workflow(delegate("a", "say x"))
    done = desk.run("--agent", kind)
    assert done.status == 1
    assert "agent_tools" in json.dumps(desk.history())
    assert desk.calls() == []


def test_the_rights_of_the_operator_become_options(desk: Desk) -> None:
    play(desk, "codex", 'tools = ["read", "edit", "shell"]')
    desk.workflow(delegate("a", "say x"), delegate("b", "say y", ", tools: [read]"))
    assert desk.run("--agent", "codex").status == 0
    first, second = arguments(desk)
    assert "workspace-write" in first
    assert "read-only" in second


def test_nonsense_is_never_a_success(kind: str) -> None:
    adapter = ADAPTERS[kind]
    for lines in (
        [],
        ["not json", "{", "[]", "null", '{"type": 5}'],
        [
            '{"type": "item.completed", "item": 7}',
            '{"type": "result"}',
            '{"type": "step_finish", "part": []}',
        ],
        ['{"type": "turn.completed", "usage": {"input_tokens": "many"}}'],
        ['{"type": "result", "status": "success", "stats": [1]}'],
    ):
        for code in (0, 1, 143):
            found = adapter.outcome(Call("p"), lines, "", code)
            assert found.kind != "done"
            assert adapter.progress("\n".join(lines)) is None or isinstance(lines, list)
