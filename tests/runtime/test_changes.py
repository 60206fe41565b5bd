"""Parts of fields, loops on the run's own state, messages, parsed output and fallbacks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.support import Box, steps
from tests.runtime.test_derived import simulated
from wfc_runtime.errors import RefusedError, StepError
from wfc_runtime.machine.change import Resolved
from wfc_runtime.machine.output import parsed

LOOPS = """\
name: w
version: 1.0.0
initial_state: {files: [a.py, src/b.c.py, c.py], seen: {}, log: []}
derived:
  count: {value: "{{ state.log | length }}"}
  where: {value: "{{ state.current }}"}
steps:
  - id: go
    type: each
    needs_state: [files]
    items: "{{ state.files }}"
    as: file
    index_as: i
    item_to: current
    steps:
      - {id: skip, type: continue, when: "{{ file == 'a.py' }}"}
      - id: inner
        type: each
        items: [1, 2, 3]
        steps:
          - {id: stop, type: break, when: "{{ item == 3 }}"}
          - id: note
            type: change
            changes:
              - {path: log, operation: append, value: "{{ file }}-{{ i }}-{{ item }}-{{ index }}"}
              - {path: [seen, "{{ file }}", n], operation: increment}
      - {id: tell, type: say, needs_state: [count, where], message: "{{ state.count }} after {{ state.where }}"}
      - {id: ask, type: prompt, prompt_type: confirm, message: "{{ file }}?", output_to: last}
  - id: rest
    type: while
    needs_state: [turn]
    if: "{{ state.turn < 100 }}"
    max_iterations: 3
    at_limit: leave
    count_to: turn
    steps:
      - {id: more, type: say, needs_state: [turn], message: "turn {{ state.turn }}", message_type: success}
"""


def test_a_loop_over_items_works_on_the_state_of_its_run(box: Box) -> None:
    service = box.compile(LOOPS).service
    reply = service.start("w", {})
    run = reply["workflow_id"]
    assert reply["action"]["parameters"]["message"] == "src/b.c.py?"
    told = [(one["step_id"], one["message"]) for one in reply["messages"]]
    assert told == [("tell", "2 after src/b.c.py")]
    # A message stays in every reply until the next submit, also of another process.
    assert box.restart().status(run)["messages"] == reply["messages"]
    service = box.service
    reply = service.submit(run, "ask", {"confirmed": True})
    assert [one["message"] for one in reply["messages"]] == ["4 after c.py"]
    reply = service.submit(run, "ask@2", {"confirmed": True})
    assert reply["status"] == "completed"
    assert [one["message"] for one in reply["messages"]] == ["turn 1", "turn 2", "turn 3"]
    assert {one["message_type"] for one in reply["messages"]} == {"success"}
    result = reply["result"]
    assert result["log"] == ["src/b.c.py-1-1-0", "src/b.c.py-1-2-1", "c.py-2-1-0", "c.py-2-2-1"]
    # A key is one key, whatever is in it.
    assert result["seen"] == {"src/b.c.py": {"n": 2}, "c.py": {"n": 2}}
    assert (result["current"], result["where"], result["turn"]) == (None, None, 3)
    last = service.history(run)["events"][-1]
    assert last["notes"] == [{"left_after": 3, "step_id": "rest"}]
    assert last["messages"] == reply["messages"]


def test_a_refused_result_does_not_clear_the_messages(box: Box) -> None:
    service = box.compile(LOOPS).service
    run = service.start("w", {})["workflow_id"]
    with pytest.raises(RefusedError):
        service.submit(run, "ask", {"confirmed": "maybe"})
    assert service.status(run)["messages"]


def test_items_that_are_no_list_fail_the_loop_and_too_many_too() -> None:
    text = steps(
        "{id: go, type: each, needs_state: [n], items: '{{ state.n }}', max_items: 2, on_error: continue,"
        " steps: [{id: one, type: say, message: '{{ item }}'}]}",
        "{id: ask, type: mcp_call, tool: t.t, output_to: n}",
        "{id: again, type: goto, needs_state: [n], when: '{{ state.n }}', target: go, max_iterations: 3}",
        head="initial_state: {n: []}",
    )
    run = simulated(text)
    assert run.snapshot.outbox == []
    run.submit("ask", [1, 2])
    assert [one["message"] for one in run.snapshot.outbox] == ["1", "2"]
    run.submit("ask@2", [1, 2, 3])
    run.submit("ask@3", "no list")
    assert run.snapshot.outbox == []
    assert run.snapshot.items == {}


@pytest.mark.parametrize(
    ("before", "keys", "operation", "value", "after"),
    [
        (None, (), "append", 1, [1]),
        ([1], (), "append", [2], [1, [2]]),
        (None, (), "increment", 2, 2),
        (1.5, (), "decrement", 1, 0.5),
        (None, (), "multiply", 5, 0),
        ({"a": {"b": 1}}, (), "merge", {"a": 2}, {"a": 2}),
        (None, ("a", "b"), "set", None, {"a": {"b": None}}),
        ({"a": None}, ("a", "x.y/z"), "append", 1, {"a": {"x.y/z": [1]}}),
        ([[1], [2]], (1, 0), "increment", 1, [[1], [3]]),
        ([], ("0",), "set", 1, [1]),
        ({"0": 1}, (0,), "increment", 1, {"0": 2}),
        (None, ("__proto__", "x"), "set", 1, {"__proto__": {"x": 1}}),
    ],
)
def test_an_operation_creates_what_is_missing(
    before: Any, keys: tuple[Any, ...], operation: Any, value: Any, after: Any
) -> None:
    given = repr(before)
    assert Resolved("f", keys, operation, value).applied(before) == after
    assert repr(before) == given


@pytest.mark.parametrize(
    ("before", "keys", "operation", "value"),
    [
        ("text", (), "append", 1),
        ("text", ("a",), "set", 1),
        (3, ("a", "b"), "set", 1),
        (True, (), "increment", 1),
        (1, (), "increment", "1"),
        (1, (), "increment", True),
        ([], (), "merge", {}),
        ({}, (), "merge", []),
        ([1], (5,), "set", 1),
        ([1], (-1,), "set", 1),
        ([1], ("first",), "set", 1),
        (1e308, (), "multiply", 10),
        (2**1000, (), "multiply", 2**1000),
        (1e308, (), "increment", 2**2000),
    ],
)
def test_an_operation_that_does_not_fit_fails(
    before: Any, keys: tuple[Any, ...], operation: Any, value: Any
) -> None:
    with pytest.raises(StepError, match=r"`f.* can't be changed"):
        Resolved("f", keys, operation, value).applied(before)


COMMANDS = steps(
    "{id: look, type: shell, command: ls, output_format: lines, fails_on_exit: true, on_error: continue,"
    " changes: [{path: log, operation: append, value: '{{ result.value | length }}/{{ result.exit_code }}'}],"
    " error_changes: [{path: [problems, look], value: '{{ error.code }}'}]}",
    "{id: read, type: shell, command: cat, output_format: json, fallback: {n: 0}, output_to: data,"
    " retry: {max_attempts: 2}}",
    "{id: call, type: mcp_call, tool: t.t, on_error: continue,"
    " changes: [{path: log, operation: append, value: '{{ result.n }}'}, {path: log, value: gone}],"
    " error_changes: [{path: problems, operation: merge, value: {call: '{{ error.message }}'}}]}",
    "{id: end, type: return, needs_state: [log, problems, data],"
    " value: ['{{ state.log }}', '{{ state.problems }}', '{{ state.data.value.n }}', '{{ state.data.stdout }}']}",
    head="initial_state: {log: [], problems: {}}",
)


def test_a_failed_command_still_makes_its_changes_and_a_failed_read_has_its_fallback(box: Box) -> None:
    service = box.compile(COMMANDS).service
    run = service.start("w", {})["workflow_id"]
    service.submit(run, "look", {"stdout": "a\nb\n", "stderr": "", "exit_code": 3})
    service.submit(run, "read", {"stdout": "{", "stderr": "", "exit_code": 0})
    reply = service.submit(run, "read@2", {"error": "no such file"})
    assert reply["action"]["step_id"] == "call"
    # The changes of one step are one write: the second one fails, so the first one is not made either.
    reply = service.submit(run, "call", {"m": 1})
    log, problems, n, stdout = reply["result"]
    assert (log, n, stdout) == (["2/3"], 0, '{"n":0}')
    assert problems["look"] == "exit_code"
    assert "result.n" in problems["call"]


def test_the_changes_of_a_failed_command_in_a_loop_know_the_item(file_box: Box) -> None:
    inner = (
        "{id: look, type: shell, command: ls, fails_on_exit: true, on_error: continue,"
        " changes: [{path: log, operation: append, value: '{{ item }}: {{ result.exit_code }}'}]}"
    )
    service = file_box.compile(
        steps(
            f"{{id: go, type: each, items: [a, b], steps: [{inner}]}}",
            "{id: end, type: return, needs_state: [log], value: '{{ state.log }}'}",
            head="initial_state: {log: []}",
        )
    ).service
    run = service.start("w", {})["workflow_id"]
    service.submit(run, "look", {"stdout": "", "stderr": "", "exit_code": 3})
    reply = service.submit(run, "look@2", {"stdout": "", "stderr": "", "exit_code": 0})
    assert reply["result"] == ["a: 3", "b: 0"]


def test_output_is_parsed_by_its_format() -> None:
    assert parsed("a\nb\r\n\nc\n", "lines") == ["a", "b", "", "c"]
    assert parsed("", "lines") == []
    assert parsed("\n", "lines") == [""]
    assert parsed(" x ", "text") == " x "
    assert parsed("a=1\n b : 2\nurl=http://x:8\nk: v=w\nnothing\n=x\n:y\nq:\n", "key_value") == {
        "a": "1",
        "b": "2",
        "url": "http://x:8",
        "k": "v=w",
        "q": "",
    }
    assert parsed('{"a": [1.5, null]}', "json") == {"a": [1.5, None]}
    for text in ("", "{", "NaN", "[1", "[" * 100_000, "1 2"):
        with pytest.raises(StepError, match="not JSON"):
            parsed(text, "json")
