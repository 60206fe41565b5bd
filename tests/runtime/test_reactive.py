"""Runs of reactive workflows, on both engines: state, loops, results, failures, sub-agents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.runtime.support import Box, Reply, children
from wfc_runtime.errors import RefusedError, WfcError

HEAD = 'name: "w:one"\ndescription: A case.\nversion: "1.0.0"\n'


def started(box: Box, text: str, inputs: dict[str, Any] | None = None, *more: str) -> Reply:
    found: Reply = box.compile(HEAD + text, *more).service.start("w:one", inputs or {})
    return found


def ran(box: Box, text: str, inputs: dict[str, Any] | None = None, *more: str) -> dict[str, Any]:
    """The final state of a workflow that asks nobody."""
    reply = started(box, text, inputs, *more)
    assert reply["status"] == "completed", reply
    found: dict[str, Any] = reply["result"]
    return found


def shell(code: int = 0, out: str = "", err: str = "") -> dict[str, Any]:
    return {"stdout": out, "stderr": err, "exit_code": code}


# State, loops and computed fields.

CATEGORIES = """
default_state:
  raw: {categories: [tools, books, toys], at: 0, seen: [], labels: {}}
state_schema:
  computed:
    current: {from: [raw.categories, raw.at], transform: "input[0][input[1]] ?? null"}
    more: {from: computed.current, transform: "input !== null"}
    summary:
      from: [raw.seen, raw.labels]
      transform: |
        const names = Object.keys(input[1]);
        return `${input[0].length} seen, ${names.length} labelled`;
steps:
  - id: each_category
    type: while
    condition: "{{ more }}"
    body:
      - {id: note, type: state_update, path: raw.seen, operation: append, value: "{{ loop.iteration }}: {{ current }}"}
      - id: label
        type: batch_state_update
        updates:
          - {path: "raw.labels[current].turn", value: "{{ loop.iteration }}"}
          - {path: "raw.labels.{{ current }}['a.b']", operation: increment, value: 2}
      - {id: next, type: state_update, path: raw.at, operation: increment}
"""


def test_a_loop_of_three_turns_takes_three_and_computed_fields_are_up_to_date_in_its_condition(
    box: Box,
) -> None:
    found = ran(box, CATEGORIES)
    assert found["seen"] == ["1: tools", "2: books", "3: toys"]
    assert found["labels"]["toys"] == {"turn": 3, "a.b": 2}
    assert (found["current"], found["more"], found["summary"]) == (None, False, "3 seen, 3 labelled")
    assert set(found) == {"categories", "at", "seen", "labels", "current", "more", "summary"}


NESTED = """
default_state: {raw: {found: [], skipped: 0}}
steps:
  - id: rows
    type: foreach
    items: [[1, 2], [3], [], [4, 5, 6]]
    variable_name: row
    index_name: r
    body:
      - id: cells
        type: foreach
        items: "{{ row }}"
        body:
          - id: skip
            type: conditional
            condition: item === 2
            then: [{id: count, type: state_update, path: raw.skipped, operation: increment}, {type: continue}]
          - id: stop
            type: conditional
            condition: "{{ loop.item }} === 5"
            then_steps: [{type: break}]
          - id: note
            type: state_update
            path: raw.found
            operation: append
            value: "{{ [r, index, item, row.length] }}"
  - id: limit
    type: while
    condition: "true"
    max_iterations: 2
    body: [{id: again, type: state_update, path: raw.skipped, operation: multiply, value: 10}]
"""


def test_nested_loops_have_their_own_names_and_leave_at_their_limit(box: Box) -> None:
    found = ran(box, NESTED)
    assert found["found"] == [[0, 0, 1, 2], [1, 0, 3, 1], [3, 0, 4, 3]]
    assert found["skipped"] == 100


STARTS = """
inputs: {branch: {type: string, required: false}, retries: {type: number, default: 4}}
default_state:
  raw:
    at: "{{ now() }}"
    id: "{{ uuid() }}"
    branch: "{{ inputs.branch || 'main' }}"
    config: {retries: "{{ inputs.retries }}", limit: 10}
state_schema: {raw: {later: array}}
steps:
  - {id: keep, type: state_update, path: raw.later, operation: append, value: "{{ branch }}"}
"""


def test_values_at_the_start_are_computed_from_the_inputs_and_the_event(box: Box) -> None:
    found = ran(box, STARTS)
    assert found["at"].startswith("2023-11-14T22:13:20")
    assert len(found["id"]) == 36
    assert (found["branch"], found["config"], found["later"]) == (
        "main",
        {"retries": 4, "limit": 10},
        ["main"],
    )


OLDER = """
inputs: {who: {type: string}}
default_state:
  inputs: {greeting: Hello}
  raw: {said: [], user: {name: ada}}
state_schema:
  inputs: {size: number}
  computed:
    shown:
      from: raw.user
      transform: |
        input.name = input.name.toUpperCase();
        const n = input.name.length; // of the new one
        input.n = n; input
    words: {from: "raw.who", transform: "input.split(' ')"}
steps:
  - id: turns
    type: while_loop
    condition: "{{ state.attempt_number < 3 }}"
    body:
      - {type: state_update, path: raw.said, operation: append, value: "{{ state.attempt_number }} {{ raw.who }}"}
  - type: state_update
    path: raw.said
    operation: append
    value: "{{ [inputs.greeting, inputs.size, global.nobody, words.length, shown, user] }}"
"""


FAILING_TRANSFORM = """default_state:
  raw: {files: null}
state_schema:
  computed:
    names:
      from: raw.files
      on_error: propagate
      transform: |
        const all = input;
        return all.map(one => one.name);
steps:
  - {id: tell, type: user_message, message: "{{ computed.names }}"}
"""


def test_a_transform_that_fails_is_shown_with_its_field_its_line_and_its_column(file_box: Box) -> None:
    error = started(file_box, FAILING_TRANSFORM)["error"]
    assert error["message"] == (
        "`names` can't be computed: cannot read property 'map' of null (in `all.map`, at line 2, column 8)"
    )
    assert error["hint"].endswith(".yaml:8.")  # The line of `names`.


def test_older_spellings_mean_what_they_meant(file_box: Box) -> None:
    found = ran(file_box, OLDER, {"who": "Ada L"})
    shown = {"name": "ADA", "n": 3}
    assert found["said"] == ["1 Ada L", "2 Ada L", ["Hello", None, None, 2, shown, {"name": "ada"}]]


def test_a_workflow_without_steps_ends_at_once_with_its_state(box: Box) -> None:
    text = "default_state: {raw: {n: 2}}\nstate_schema: {computed: {twice: {from: raw.n, transform: input * 2}}}\n"
    assert ran(box, f"{text}steps: []\n") == {"n": 2, "twice": 4}


@pytest.mark.parametrize(
    ("update", "why"),
    [
        ("{path: raw.text, operation: append, value: 1}", "append"),
        ("{path: raw.list, operation: increment}", "increment"),
        ("{path: raw.text.inner, value: 1}", "text"),
        ("{path: raw.list, operation: merge, value: {a: 1}}", "merge"),
    ],
)
def test_an_update_of_the_wrong_kind_fails_the_step_and_writes_nothing(
    file_box: Box, update: str, why: str
) -> None:
    reply = started(
        file_box,
        "default_state: {raw: {text: a, list: [], first: 0}}\nsteps:\n"
        f"  - {{id: change, type: batch_state_update, updates: [{{path: raw.first, value: 1}}, {update}]}}\n",
    )
    assert reply["status"] == "failed"
    assert reply["error"]["step_id"] == "change"
    assert file_box.service.state(reply["workflow_id"], ["first"])["state"] == {"first": 0}


# Results of commands, tools, people and agents.

FORMATS = """
default_state: {raw: {}}
steps:
  - {id: a, type: shell_command, command: one, output_format: lines, state_update: {path: raw.lines}}
  - id: b
    type: shell_command
    command: two
    output_format: json
    state_update: {path: raw.json, value: "{{ result.n + 1 }}"}
  - id: c
    type: shell_command
    command: three
    output_format: key_value
    state_updates: [{path: raw.pairs}, {path: raw.code, value: exit_code}, {path: raw.err, value: stderr.trim()}]
  - {id: d, type: shell_command, command: four, state_update: {path: raw.text}}
"""


def test_the_output_of_a_command_is_read_by_its_format(box: Box) -> None:
    reply = started(box, FORMATS)
    run = reply["workflow_id"]
    for out in ("a\nb c\n", '{"n": 2}', "name = Ada\nage: 36\nno pair\n", "as it is\n"):
        reply = box.service.submit(run, reply["action"]["step_id"], shell(out=out, err=" warned\n"))
    assert reply["result"] == {
        "lines": ["a", "b c"],
        "json": 3,
        "pairs": {"name": "Ada", "age": "36"},
        "code": 0,
        "err": "warned",
        "text": "as it is\n",
    }


FAILURES = """
default_state: {raw: {tried: 0, log: [], got: null}}
steps:
  - id: again
    type: shell_command
    command: flaky
    on_error: retry
    retry_count: 2
    state_update: {path: raw.tried, value: exit_code}
  - id: stand_in
    type: mcp_call
    tool: lint
    error_handling: {strategy: fallback, fallback_value: {ok: false}}
    state_update: {path: raw.got, value: "{{ result }}"}
  - id: go_on
    type: shell_command
    command: "false"
    on_error: continue
    state_update: {path: raw.log, operation: append, value: "{{ 'exit ' + exit_code }}"}
    error_state_update: {path: raw.log, operation: append, value: "{{ error.code }}"}
  - id: skip
    type: mcp_call
    tool: lint
    on_error: continue
    state_update: {path: raw.log, operation: append, value: never}
    error_state_update: {path: raw.log, operation: append, value: "{{ error.message }}"}
"""


def test_a_failed_step_is_retried_replaced_or_passed_over(box: Box) -> None:
    reply = started(box, FAILURES)
    run = reply["workflow_id"]
    for attempt in (1, 2, 0):
        assert reply["action"]["parameters"]["command"] == "flaky"
        reply = box.service.submit(run, reply["action"]["step_id"], shell(attempt))
    reply = box.service.submit(run, reply["action"]["step_id"], {"error": "no such tool"})
    reply = box.service.submit(run, reply["action"]["step_id"], shell(3))
    reply = box.service.submit(run, reply["action"]["step_id"], {"error": "no such tool"})
    found = reply["result"]
    assert (found["tried"], found["got"]) == (0, {"ok": False})
    assert found["log"] == ["exit 3", "exit_code", "no such tool"]


def test_a_command_that_fails_and_handles_nothing_fails_the_run(box: Box) -> None:
    reply = started(box, "steps:\n  - {id: run, type: shell_command, command: make}\n")
    reply = box.service.submit(reply["workflow_id"], "run", shell(2, err="no rule"))
    assert (reply["status"], reply["error"]["code"]) == ("failed", "exit_code")


ASKING = """
default_state: {raw: {verdict: "", fixes: [], asked: 0}}
steps:
  - {id: begin, type: user_message, message: "Looking.", message_type: success}
  - id: review
    type: agent_prompt
    prompt: "Review {{ asked }}."
    context: {depth: 2}
    expected_response: {type: object, required: [verdict]}
  - id: take
    type: agent_response
    response_schema: {type: object, required: [fixes], properties: {fixes: {type: array}}}
    state_updates: [{path: raw.verdict, value: response.verdict}, {path: raw.fixes, value: "{{ response.fixes }}"}]
  - id: hints
    type: apply_hints
    file: a.ts
    hints: "{{ fixes }}"
    state_update: {path: raw.asked, operation: increment, value: "{{ applied_count }}"}
  - {id: tell, type: user_message, message: "{{ verdict }}: {{ fixes }}"}
  - {id: more, type: user_message, message: "{{ asked }} applied"}
"""


def test_a_prompt_with_its_response_is_one_action_and_messages_come_with_the_next_reply(box: Box) -> None:
    reply = started(box, ASKING)
    run = reply["workflow_id"]
    assert reply["messages"] == [
        {"step_id": "begin", "message": "Looking.", "message_type": "success", "format": "text"}
    ]
    assert box.service.next_step(run)["messages"] == reply["messages"]
    assert reply["action"]["parameters"]["context"] == {"depth": 2}
    with pytest.raises(RefusedError, match="'fixes' is a required property"):
        box.service.submit(run, "review", {"verdict": "good"})
    reply = box.service.submit(run, "review", {"verdict": "good", "fixes": ["x"]})
    assert reply["action"]["parameters"]["context"] == {"file": "a.ts", "hints": ["x"]}
    reply = box.service.submit(run, reply["action"]["step_id"], {"applied_count": 3})
    assert [one["message"] for one in reply["messages"]] == ['good: ["x"]', "3 applied"]
    assert reply["result"] == {"verdict": "good", "fixes": ["x"], "asked": 3}


def test_keys_of_a_tool_result_win_over_fields_and_an_exit_ends_with_the_state(box: Box) -> None:
    reply = started(
        box,
        "default_state: {raw: {success: false, errors: [], seen: null}}\nsteps:\n"
        "  - id: a\n    type: mcp_call\n    tool: t\n"
        "    state_update: {path: raw.seen, value: '{{ [success, errors.length, rest] }}'}\n"
        "  - {id: early, type: conditional, condition: 'seen[0]', then: [{type: exit}]}\n"
        "  - {id: never, type: shell_command, command: ls}\n",
    )
    reply = box.service.submit(reply["workflow_id"], "a", {"success": True, "rest": 1})
    assert (reply["status"], reply["result"]["seen"]) == ("completed", [True, 0, 1])


INCLUDED = (
    'name: "shared:count"\ndescription: Counts.\nversion: "1.0.0"\ninputs: {words: {type: array}}\n'
    "state_schema: {computed: {total: {from: inputs.words, transform: input.length}}}\n"
    "steps: [{type: user_message, message: counted}]\n"
)


def test_fields_of_an_included_workflow_are_read_by_name(box: Box) -> None:
    found = ran(
        box,
        "default_state: {raw: {words: [a, b], said: []}}\nsteps:\n"
        "  - id: count\n    type: include_workflow\n    workflow: 'shared:count'\n    inputs: {words: '{{ words }}'}\n"
        "    on_complete: [{id: note, type: state_update, path: raw.said, operation: append, value: '{{ total }}'}]\n"
        "  - {id: again, type: state_update, path: raw.said, operation: append, value: '{{ count.total + 1 }}'}\n",
        None,
        INCLUDED,
    )
    assert found == {"words": ["a", "b"], "said": [2, 3]}


# Sub-agents, and errors of the whole run.

SHARED = """
default_state: {raw: {files: [a.ts, b.ts, c.ts], results: {}, errors: [], log: []}}
state_schema:
  computed:
    clean: {from: raw.results, transform: "Object.keys(input).filter(name => input[name] === 'clean')"}
    left: {from: [raw.files, computed.clean], transform: "input[0].filter(name => !input[1].includes(name))"}
steps:
  - id: all
    type: parallel_foreach
    items: "{{ left }}"
    sub_agent_task: fix
    on_sub_agent_error: {strategy: continue, collect_errors: true, error_state_path: raw.errors}
  - {id: tell, type: user_message, message: "{{ left.length }} left"}
sub_agent_tasks:
  fix:
    inputs: {file: {type: string, required: true}, depth: {type: number, default: 2}}
    steps:
      - {id: begin, type: state_update, path: "raw.log", operation: append, value: "{{ task_id }} of {{ total }}"}
      - {id: ask, type: agent_prompt, prompt: "Fix {{ file }}, {{ depth }} deep, {{ left.length }} left."}
      - {id: take, type: agent_response, state_updates: [{path: "raw.results[file]", value: "{{ response }}"}]}
      - {id: seen, type: user_message, message: "{{ left.length }} left after {{ file }}"}
    error_handling:
      cleanup_on_error: [{id: note, type: state_update, path: "raw.results[item]", value: "{{ error.code }}"}]
"""


def test_sub_agents_work_on_the_state_and_their_updates_are_made_in_the_order_of_the_items(box: Box) -> None:
    reply = started(box, SHARED)
    run = reply["workflow_id"]
    first, second, third = children(reply)
    asked = box.service.next_step(second)
    assert asked["action"]["parameters"]["instructions"] == "Fix b.ts, 2 deep, 3 left."
    # The last one ends first: what it writes is still made after the others.
    for child, answer in ((third, "clean"), (first, "clean")):
        done = box.service.submit(child, "ask", answer)
        assert done["messages"][0]["message"].startswith("2 left after")
    box.service.submit(second, "ask", {"error": "it is locked"})
    reply = box.service.next_step(run)
    assert (reply["status"], reply["messages"][0]["message"]) == ("completed", "1 left")
    found = reply["result"]
    assert (found["clean"], found["left"]) == (["a.ts", "c.ts"], ["b.ts"])
    # What a failed one wrote, its cleanup included, is made in its place.
    assert list(found["results"].items()) == [("a.ts", "clean"), ("b.ts", "agent_error"), ("c.ts", "clean")]
    assert found["log"] == ["fix_0 of 3", "fix_1 of 3", "fix_2 of 3"]
    [error] = found["errors"]
    assert (error["index"], error["item"], error["message"], error["step_id"]) == (
        1,
        "b.ts",
        "it is locked",
        "ask",
    )


def test_a_failed_sub_agent_that_is_retried_makes_none_of_its_updates_twice(box: Box) -> None:
    reply = started(box, SHARED.replace("strategy: continue", "strategy: fail_all"))
    run = reply["workflow_id"]
    first, second, _ = children(reply)
    box.service.submit(first, "ask", "clean")
    box.service.submit(second, "ask", {"error": "it is locked"})
    assert box.service.status(run)["status"] == "failed"
    assert box.service.state(run, ["log"])["state"]["log"] == ["fix_0 of 3", "fix_1 of 3"]
    reply = box.service.retry(run)
    again = [child for child in children(reply) if child != first]
    assert second in again
    for child in again:
        box.service.submit(child, box.service.next_step(child)["action"]["step_id"], "clean")
    found = box.service.next_step(run)["result"]
    assert sorted(found["log"]) == ["fix_0 of 3", "fix_1 of 3", "fix_2 of 3"]
    assert found["results"] == {"a.ts": "clean", "b.ts": "clean", "c.ts": "clean"}
    assert len(found["errors"]) == 1


HANDLED = """
config: {max_retries: 1}
default_state: {raw: {errors: [], status: new}}
error_handling:
  on_error: retry_workflow
  error_collection: {state_path: raw.errors}
  on_failure:
    - {id: say_so, type: user_message, message: "Failed: {{ error.message }}"}
    - {id: mark, type: state_update, path: raw.status, value: failed}
steps:
  - {id: run, type: shell_command, command: make}
"""


def test_a_failed_run_begins_again_and_then_handles_its_failure(box: Box) -> None:
    reply = started(box, HANDLED)
    run = reply["workflow_id"]
    reply = box.service.submit(run, reply["action"]["step_id"], shell(1, err="once"))
    assert reply["status"] == "pending_action"
    reply = box.service.submit(run, reply["action"]["step_id"], shell(2, err="twice"))
    assert (reply["status"], reply["error"]["code"]) == ("failed", "exit_code")
    assert "twice" in reply["messages"][0]["message"]
    state = box.service.state(run, ["errors", "status"])["state"]
    assert state["status"] == "failed"
    assert [one["step_id"] for one in state["errors"]] == ["run", "run@2"]


PERSON = """
default_state: {raw: {count: 0, sure: false, name: ""}}
steps:
  - id: how_many
    type: user_input
    prompt: How many?
    input_type: number
    validation: {min: 1, max: 9, error_message: "Between 1 and 9."}
    state_update: {path: raw.count, value: "{{ input }}"}
  - id: sure
    type: user_input
    prompt: Sure?
    input_type: boolean
    state_update: {path: raw.sure, value: "{{ input }}"}
  - {id: who, type: user_input, prompt: "Who?", default: Ada, state_update: {path: raw.name, value: "{{ input }}"}}
  - {id: pause, type: wait_step, message: Done.}
"""


def test_an_answer_that_does_not_fit_is_refused_with_the_message_of_the_file(box: Box) -> None:
    reply = started(box, PERSON)
    run = reply["workflow_id"]
    with pytest.raises(RefusedError, match=r"Between 1 and 9\."):
        box.service.submit(run, "how_many", {"input": 12})
    box.service.submit(run, "how_many", {"input": "7"})
    box.service.submit(run, "sure", {"input": "yes"})
    reply = box.service.submit(run, "who", {"input": ""})
    assert reply["action"]["type"] == "wait"
    reply = box.service.submit(run, "pause", {"went": "on"})
    assert reply["result"] == {"count": 7, "sure": True, "name": "Ada"}


# Changes of the state by hand.

BY_HAND = """
default_state:
  raw: {files: {}, list: [1, 2], n: 0, text: "", both: 1}
  global: {log: []}
state_schema:
  computed:
    count: {from: raw.list, transform: input.length}
    twice: {from: computed.count, transform: input * 2}
    positive: {from: raw.n, transform: "if (input < 0) throw new Error('negative'); return input", on_error: propagate}
    both: {from: raw.both, transform: input + 1}
steps:
  - {id: note, type: state_update, path: global.log, operation: append, value: begun}
  - {id: ask, type: wait_step, message: "{{ count }}"}
  - {id: many, type: conditional, condition: twice > 5, then: [{id: again, type: wait_step, message: "{{ files }}"}]}
"""


def test_fields_are_changed_by_hand_with_all_that_is_computed_from_them_and_the_run_goes_on_with_them(
    box: Box,
) -> None:
    run = started(box, BY_HAND)["workflow_id"]
    updates = [
        {"path": "raw.list", "operation": "append", "value": 3},
        {"path": "state.files['src/a.ts'].seen", "value": True},
        {"path": "this.n", "operation": "increment"},
        {"path": "raw.both", "operation": "multiply", "value": 10},
        {"path": " global.log[0] ", "value": "by hand"},
    ]
    reply = box.service.update_state(run, updates, actor="me", key="one")
    assert reply["action"]["step_id"] == "ask"
    assert reply["written"] == {
        "list": [1, 2, 3],
        "files": {"src/a.ts": {"seen": True}},
        "n": 1,
        "raw_both": 10,
        "global_log": ["by hand"],
        "count": 3,
        "twice": 6,
        "positive": 1,
        "both": 11,
    }
    # The same call again, by a front whose worker died before it could reply.
    assert box.service.update_state(run, updates, key="one")["written"] == reply["written"]
    events = box.service.history(run)["events"]
    assert [event["event"] for event in events] == ["started", "updated"]
    assert (events[1]["actor"], events[1]["changes"][0]) == ("me", ["list", [], "append", 3])
    assert box.service.state_at(run, 2)["state"]["twice"] == 6
    reply = box.service.submit(run, "ask", {})
    assert reply["action"]["parameters"]["message"] == '{"src/a.ts":{"seen":true}}'
    final = box.service.submit(run, "again", {})["result"]
    assert (final["n"], final["count"], final["both"]) == (1, 3, 11)
    with pytest.raises(RefusedError, match="the run is completed"):
        box.service.update_state(run, [{"path": "raw.n", "value": 1}])


@pytest.mark.parametrize(
    ("updates", "why"),
    [
        (None, "must be a list"),
        ([], "at least one"),
        ([7], "must be an object"),
        ([{"value": 1}], "with a `path`"),
        ([{"path": "raw.n"}], "no `value`"),
        ([{"path": "raw.n", "value": 1, "op": "set"}], "unknown key 'op'"),
        ([{"path": "raw.n", "operation": "divide", "value": 1}], "operation"),
        ([{"path": "raw.n", "operation": {}, "value": 1}], "operation"),
        ([{"path": "n", "value": 1}], "can't be written"),
        ([{"path": "inputs.n", "value": 1}], "can't be written"),
        ([{"path": "computed.count", "value": 1}], "can't be written"),
        ([{"path": "raw", "value": {}}], "names no field"),
        ([{"path": "raw[0]", "value": {}}], "can't be written"),
        ([{"path": "raw.files..a", "value": 1}], "can't be read at character 10"),
        ([{"path": "raw.files['a", "value": 1}], "can't be read at character 10"),
        ([{"path": "raw.files[a]", "value": 1}], "can't be read"),
        ([{"path": "raw.{{ 1 }}", "value": 1}], "can't be read"),
        ([{"path": "raw.count", "value": 1}], "`count` is computed"),
        ([{"path": "raw.lists", "value": 1}], "no field `raw.lists`"),
        ([{"path": "global.list", "value": 1}], "no field `global.list`"),
        ([{"path": "raw.list[7]", "value": 1}], "no place 7"),
        ([{"path": "raw.text.a", "value": 1}], "has no part"),
        ([{"path": "raw.text", "operation": "increment"}], "takes numbers"),
        (
            [{"path": "raw.n", "value": 5}, {"path": "raw.list", "operation": "merge", "value": {}}],
            "two objects",
        ),
        ([{"path": "raw.n", "value": -1}], "negative"),
        ([{"path": "raw.n", "value": "text"}], "can't have this value"),
        ([{"path": "raw.n", "value": float("nan")}], "`updates`"),
        ([{"path": "raw.n", "value": 1}] * 101, "the limit is 100"),
        ([{"path": "raw.text", "value": "x" * 2_000_000}], "`updates`"),
    ],
)
def test_a_change_by_hand_that_is_not_possible_is_refused_and_changes_nothing(
    file_box: Box, updates: Any, why: str
) -> None:
    run = started(file_box, BY_HAND)["workflow_id"]
    before = file_box.service.definition(run)[2].to_json()
    with pytest.raises(WfcError, match=why):
        file_box.service.update_state(run, updates)
    assert file_box.service.definition(run)[2].to_json() == before
    assert len(file_box.service.history(run)["events"]) == 1


# Time limits that are computed.

LIMITED = """
inputs: {seconds: {type: number, default: 30}}
default_state: {raw: {factor: 2, log: []}}
steps:
  - id: ask
    type: agent_prompt
    prompt: Look.
    timeout_seconds: "{{ inputs.seconds * factor }}"
    on_error: continue
    error_state_update: {path: raw.log, operation: append, value: "{{ error.code }}"}
  - id: each
    type: parallel_foreach
    items: [1, 2]
    sub_agent_task: look
    timeout_seconds: "{{ inputs.seconds }}"
    on_sub_agent_error: {strategy: retry_failed, max_retries: 1}
sub_agent_tasks:
  look:
    steps:
      - {id: work, type: agent_prompt, prompt: "Look at {{ item }}."}
      - {id: note, type: state_update, path: raw.log, operation: append, value: "{{ item }}"}
"""


def test_a_computed_time_limit_is_a_deadline_and_a_restarted_child_has_all_of_it_again(box: Box) -> None:
    reply = started(box, LIMITED)
    run = reply["workflow_id"]
    box.clock.pass_(40)
    assert box.service.status(run)["action"]["step_id"] == "ask"
    box.clock.pass_(30)
    reply = box.service.status(run)
    first, second = children(reply)
    box.clock.pass_(20)
    box.service.submit(first, "work", "seen")
    box.clock.pass_(15)
    [again] = children(box.service.status(run))
    assert again != second
    assert box.service.status(second)["error"]["code"] == "deadline"
    # The limit of the first one is over, but not that of the one that replaced it.
    box.clock.pass_(25)
    assert box.service.status(again)["status"] == "pending_action"
    box.service.submit(again, "work", "seen")
    assert box.service.status(run)["result"]["log"] == ["deadline", 1, 2]


@pytest.mark.parametrize("seconds", [0, -1, "soon", None, True, [5]])
def test_a_time_limit_that_is_no_number_of_seconds_fails_the_step(file_box: Box, seconds: Any) -> None:
    text = (
        f"default_state: {{raw: {{limit: {json.dumps(seconds)}}}}}\n"
        "steps: [{id: ask, type: agent_prompt, prompt: Look., timeout_seconds: '{{ limit }}'}]\n"
    )
    reply = started(file_box, text)
    assert (reply["status"], reply["error"]["code"]) == ("failed", "timeout")


def test_what_the_author_says_about_a_failure_is_told_once_all_attempts_have_failed(box: Box) -> None:
    text = """
default_state: {raw: {who: Ada}}
steps:
  - id: run
    type: agent_shell_command
    command: make
    error_handling:
      strategy: continue
      error_message: "{{ who }}, it failed: {{ error.message }}"
  - id: again
    type: agent_shell_command
    command: make
    error_handling: {strategy: retry, max_retries: 1, error_message: "Given up."}
"""
    reply = started(box, text)
    run = reply["workflow_id"]
    reply = box.service.submit(run, "run", shell(1, err="no rule"))
    [told] = reply["messages"]
    assert (told["step_id"], told["message_type"]) == ("run", "error")
    assert told["message"].startswith("Ada, it failed: ")
    assert "messages" not in box.service.submit(run, "again", shell(1))
    reply = box.service.submit(run, "again@2", shell(1))
    assert (reply["status"], [one["message"] for one in reply["messages"]]) == ("failed", ["Given up."])
