"""What each step type, task and setting becomes in the steps language."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.reactive.support import HEAD, STATE, reports, step, translated

STEPS = """
- from: {id: a, type: user_message, message: "Hi {{ who }}", message_type: warning, format: markdown}
  to: {id: a, type: say, message: "Hi {{ inputs.who }}", message_type: warning, format: markdown}
- from: {id: a, type: shell_command, command: "ls {{ text }}", output_format: lines, state_update: {path: raw.names}}
  to:
    {id: a, type: shell, command: "ls {{ state.text }}", runner: server, fails_on_exit: true, output_format: lines,
     timeout: 60, needs_state: [text], changes: [{path: [names], value: "{{ result.value }}"}]}
- from:
    {id: a, type: shell_command, command: ls, execution_context: client, working_directory: sub, timeout_seconds: 5,
     on_error: continue, error_state_update: {path: raw.text, value: "{{ error.message }}"}}
  to:
    {id: a, type: shell, command: ls, fails_on_exit: true, working_dir: sub, timeout: 5, deadline: 5,
     on_error: continue, error_changes: [{path: [text], value: "{{ error.message }}"}]}
- from: {id: a, type: agent_shell_command, command: ls, reason: Because., timeout: 300000}
  to: {id: a, type: shell, command: ls, fails_on_exit: true, reason: Because., timeout: 300}
- from:
    {id: a, type: shell_command, command: ls, on_error: retry, retry_count: 2, retry_delay: 1500, fallback_value: [],
     state_update: {path: raw.names, value: "{{ result }}"}}
  to:
    {id: a, type: shell, command: ls, runner: server, fails_on_exit: true, output_format: text, timeout: 60,
     changes: [{path: [names], value: "{{ result.value }}"}], fallback: [],
     retry: {max_attempts: 3, delay_seconds: 1.5}}
- from: {id: a, type: mcp_call, mcp: {method: lint, params: {files: "{{ names }}"}}, store_result: raw.by_name}
  to:
    {id: a, type: mcp_call, tool: lint, parameters: {files: "{{ state.names }}"}, timeout: 60, needs_state: [names],
     changes: [{path: [by_name], value: "{{ result }}"}]}
- from:
    {id: a, type: mcp_call, tool: lint, error_handling: {strategy: fallback, fallback_value: {ok: false}},
     state_updates: [{path: raw.ready, value: result.ok}, {path: raw.count, operation: increment}]}
  to:
    {id: a, type: mcp_call, tool: lint, timeout: 60, fallback: {ok: false},
     changes: [{path: [ready], value: "{{ result.ok }}"}, {path: [count], operation: increment}]}
- from:
    {id: a, type: mcp_call, tool: workflow_state.update,
     parameters: {updates: [{path: raw.count, value: "{{ size }}"}]}}
  to: {id: a, type: change, changes: [{path: [count], value: "{{ inputs.size }}"}]}
- from: {id: a, type: mcp_call, tool: workflow_state_update, parameters: {updates: [{path: this.count, value: 2}]}}
  to: {id: a, type: change, changes: [{path: [count], value: 2}]}
- from:
    {id: a, type: state_update, path: raw.count, value: 2, on_error: continue,
     error_state_update: {path: raw.text, value: "{{ error.message }}"}}
  to:
    {id: a, type: change, changes: [{path: [count], value: 2}], on_error: continue,
     error_changes: [{path: [text], value: "{{ error.message }}"}]}
- from: {id: a, type: wait_step, message: Wait., timeout_seconds: "{{ count * 2 }}"}
  to:
    {id: a, type: wait, until_answer: true, message: Wait., duration_seconds: "{{ state.count * 2 }}",
     needs_state: [count]}
- from:
    {id: a, type: user_input, prompt: "Who?", validation: {pattern: "^a", error_message: No.}, default: ada,
     max_retries: 2, state_update: {path: raw.text, value: "{{ input }}"}}
  to:
    {id: a, type: prompt, prompt_type: text, message: "Who?", default: ada, validation: {pattern: "^a"},
     error_message: No., max_answers: 3, changes: [{path: [text], value: "{{ result.input }}"}]}
- from:
    {id: a, type: user_input, prompt: "How many?", input_type: number, validation: {min: 1},
     state_update: {path: raw.count}}
  to:
    {id: a, type: prompt, prompt_type: text, message: "How many?", input_type: number, validation: {min: 1},
     changes: [{path: [count], value: "{{ result.input }}"}]}
- from: {id: a, type: user_input, prompt: "Which?", input_type: choice, choices: [x, y], state_update: {path: raw.text}}
  to:
    {id: a, type: prompt, prompt_type: choice, message: "Which?", options: [x, y],
     changes: [{path: [text], value: "{{ result.selected }}"}]}
- from: {id: a, type: agent_prompt, prompt: "Do {{ text }}", context: {n: "{{ count }}"}}
  to:
    {id: a, type: delegate, instructions: "Do {{ state.text }}", context: {n: "{{ state.count }}"}, result_schema: {},
     timeout: 300, needs_state: [text, count]}
- from: {id: a, type: agent_response, response_schema: {type: object}, store_response: raw.by_name}
  to:
    {id: a, type: delegate, instructions: Answer with what the work so far has given., result_schema: {type: object},
     timeout: 300, changes: [{path: [by_name], value: "{{ result }}"}]}
- from:
    {id: a, type: apply_hints, file: "{{ text }}", hints: "{{ names }}",
     state_update: {path: raw.count, value: "{{ applied_count }}"}}
  to:
    {id: a, type: delegate, instructions: "Apply the hints to the file, and count those that you applied.",
     context: {file: "{{ state.text }}", hints: "{{ state.names }}"},
     result_schema: {type: object, properties: {applied_count: {type: integer}}, required: [applied_count]},
     timeout: 300, needs_state: [text, names], changes: [{path: [count], value: "{{ result.applied_count }}"}]}
- from: {id: a, type: wait_step, message: Wait., timeout_seconds: 30}
  to: {id: a, type: wait, until_answer: true, message: Wait., duration_seconds: 30}
- from: {id: a, type: exit}
  to: {id: a, type: return, state: true}
- from:
    {id: a, type: state_update, updates: [{path: global.log, operation: append, value: x},
     {path: raw.by_name.k, operation: merge, value: {a: 1}}]}
  to:
    {id: a, type: change, changes: [{path: [global_log], operation: append, value: x},
     {path: [by_name, k], operation: merge, value: {a: 1}}]}
- from:
    {id: a, type: conditional, condition: "count > 1", then: [{id: b, type: break}], else: [{id: c, type: continue}]}
  to:
    {id: a, type: condition, if: "{{ state.count > 1 }}", then: [{id: b, type: break}],
     else: [{id: c, type: continue}], needs_state: [count]}
- from: {id: a, type: while_loop, condition: "{{ ready }}", body: [{id: b, type: break}]}
  to:
    {id: a, type: while, if: "{{ state.ready }}", max_iterations: 100, at_limit: leave, steps: [{id: b, type: break}],
     needs_state: [ready]}
- from: {id: a, type: include_workflow, workflow: "x:y", inputs: {n: "{{ count }}"}}
  to: {id: a, type: call, workflow: "x:y", output_to: a, with: {n: "{{ state.count }}"}, needs_state: [count]}
"""
CASES: list[dict[str, Any]] = yaml.safe_load(STEPS)


@pytest.mark.parametrize("case", CASES, ids=[f"{n}-{one['from']['type']}" for n, one in enumerate(CASES)])
def test_a_step_becomes_a_step_of_the_core(case: dict[str, Any]) -> None:
    text = yaml.safe_dump(case["from"], default_flow_style=True, width=1000, sort_keys=False).strip()
    assert step(text) == case["to"]


def test_a_prompt_and_the_response_behind_it_are_one_action() -> None:
    steps = translated(
        f"{HEAD}{STATE}steps:\n"
        "  - {id: ask, type: agent_prompt, prompt: Go., expected_response: {type: object, required: [a]}}\n"
        "  - id: take\n    type: agent_response\n    response_schema: {type: object, required: [b]}\n"
        "    state_updates: [{path: raw.text, value: response.a}]\n    store_response: raw.by_name\n"
        "    error_handling: {strategy: retry, max_retries: 2}\n"
        "  - {id: alone, type: agent_response}\n"
    )["steps"]
    assert [one["id"] for one in steps] == ["ask", "alone"]
    assert steps[0]["result_schema"] == {"type": "object", "required": ["a", "b"]}
    assert steps[0]["changes"] == [
        {"path": ["text"], "value": "{{ result.a }}"},
        {"path": ["by_name"], "value": "{{ result }}"},
    ]
    assert steps[0]["retry"] == {"max_attempts": 3}


def test_steps_without_an_id_are_counted_by_type_in_the_order_of_the_file() -> None:
    steps = translated(
        f"{HEAD}{STATE}steps:\n"
        "  - {type: user_message, message: a}\n"
        "  - {type: conditional, condition: ready, then: [{type: user_message, message: b}]}\n"
        "  - {id: user_message_3, type: user_message, message: c}\n"
        "  - {type: user_message, message: d}\n"
    )["steps"]
    assert [one["id"] for one in steps] == [
        "user_message_1",
        "conditional_1",
        "user_message_3",
        "user_message_4",
    ]
    assert steps[1]["then"][0]["id"] == "user_message_2"


def test_a_checkpoint_does_nothing() -> None:
    steps = translated(
        f"{HEAD}{STATE}steps:\n  - {{type: mcp_call, tool: workflow.checkpoint}}\n  - {{type: exit}}\n"
    )["steps"]
    assert [one["type"] for one in steps] == ["return"]


TASKS = f"""{HEAD}{STATE}
steps:
  - id: all
    type: parallel_foreach
    items: "{{{{ names }}}}"
    max_parallel: 4
    sub_agent_task: shared
    timeout_seconds: 600
    sub_agent_prompt_override: "Work on {{{{ text }}}}"
    on_sub_agent_error: {{strategy: retry_failed, max_retries: 2, collect_errors: true, error_state_path: raw.errors}}
  - {{id: own, type: parallel_foreach, items: "{{{{ names }}}}", sub_agent_task: alone}}
  - {{id: told, type: parallel_foreach, items: "{{{{ names }}}}", sub_agent_task: by_prompt}}
  - {{id: given, type: parallel_foreach, items: "{{{{ names }}}}", sub_agent_task: bound}}
sub_agent_tasks:
  shared:
    inputs: {{file: {{type: string, required: true}}, depth: {{type: number, default: 2}}}}
    steps:
      - {{id: note, type: state_update, path: "raw.by_name[file]", value: "{{{{ lines.length + depth }}}}"}}
    error_handling:
      return_on_error: false
      cleanup_on_error:
        - {{id: cleanup, type: state_update, path: "raw.by_name[item]", value: "{{{{ error.code }}}}"}}
  alone:
    default_state: {{raw: {{seen: "{{{{ uuid() }}}}"}}}}
    state_schema: {{computed: {{size: {{from: raw.seen, transform: input.length}}}}}}
    steps:
      - {{id: look, type: user_message, message: "{{{{ seen }}}} {{{{ size }}}} {{{{ index }}}}/{{{{ total }}}}"}}
      - {{id: log, type: state_update, path: global.log, operation: append, value: "{{{{ task_id }}}}"}}
  by_prompt:
    prompt_template: "Look at {{{{ item }}}} of {{{{ count }}}}."
  bound:
    inputs: {{name: "{{{{ item.name }}}}", limit: 3, all: "{{{{ names }}}}"}}
    steps: [{{id: say, type: user_message, message: "{{{{ name }}}} {{{{ inputs.limit }}}}"}}]
"""


def test_a_task_shares_the_fields_that_it_uses_or_has_its_own() -> None:
    found = translated(TASKS)
    every, own, told, given = found["steps"]
    shared, alone, by_prompt = (found["tasks"][name] for name in ("shared", "alone", "by_prompt"))
    assert every["shares"] == ["by_name", "listing"]
    assert shared["derived"].keys() == {"lines"}
    assert shared["initial_state"] == {"by_name": {}, "listing": ""}
    assert every["with"] == {
        "file": "{{ Object(item).file ?? item }}",
        "depth": "{{ Object(item).depth ?? 2 }}",
    }
    assert (every["child_deadline"], every["prompt"]) == (600, "Work on {{ state.text }}")
    assert every["on_child_error"] == {"retries": 2, "collect": ["errors"]}
    assert shared["completes_on_failure"] is True
    assert shared["on_failure"][0]["changes"] == [
        {"path": ["by_name", "{{ item }}"], "value": "{{ error.code }}"}
    ]
    assert own["shares"] == ["global_log"]
    assert alone["start_values"] == {"seen": "{{ uuid() }}"}
    assert alone["steps"][0]["message"] == "{{ state.seen }} {{ state.size }} {{ index }}/{{ total }}"
    assert told["shares"] == ["count"]
    assert by_prompt["steps"][0]["instructions"] == "Look at {{ item }} of {{ state.count }}."
    assert given["with"] == {"name": "{{ item.name }}", "limit": 3, "all": "{{ state.names }}"}


def test_an_input_of_a_task_given_as_text_is_an_expression_if_all_its_names_are_known() -> None:
    texts = [
        "item",
        "index * 10",
        "count + item.length",
        "inputs.size",
        "item.name.trim()",
        "high",
        "a 'b'",
        "high + item",
    ]
    given = ", ".join(f'i{n}: "{text}"' for n, text in enumerate(texts))
    found = translated(
        f"{HEAD}{STATE}steps: [{{type: parallel_foreach, items: names, sub_agent_task: t}}]\n"
        f"sub_agent_tasks: {{t: {{inputs: {{{given}}}, steps: [{{type: user_message, message: '{{{{ i1 }}}}'}}]}}}}\n"
    )
    assert list(found["steps"][0]["with"].values()) == [
        "{{ item }}",
        "{{ index * 10 }}",
        "{{ state.count + item.length }}",
        "{{ inputs.size }}",
        "{{ item.name.trim() }}",
        "high",
        "a 'b'",
        "high + item",
    ]


def test_settings_of_the_whole_run() -> None:
    found = translated(
        f"{HEAD}config: {{timeout_seconds: 60, max_retries: 3}}\n"
        "default_state: {raw: {errors: [], at: '{{ now() }}', who: '{{ inputs.who || 1 }}'}}\n"
        "inputs: {who: {type: string}, n: {type: integer, required: false, validation: {min: 1, error_message: No.}}}\n"
        "error_handling:\n  on_error: retry_workflow\n  error_collection: {state_path: raw.errors}\n"
        "  on_failure: [{id: tell, type: user_message, message: '{{ error.message }}'}]\n"
        "steps: [{id: a, type: user_message, message: a}]\n"
    )
    assert (found["deadline"], found["restarts"], found["collect_errors"]) == (60, 3, ["errors"])
    assert found["on_failure"] == [{"id": "tell", "type": "say", "message": "{{ error.message }}"}]
    assert found["start_values"] == {"at": "{{ now() }}", "who": "{{ inputs.who || 1 }}"}
    assert found["initial_state"] == {"errors": []}
    assert found["inputs"] == {
        "who": {"type": "string", "required": True},
        "n": {"type": "integer", "required": False, "validation": {"min": 1}},
    }


def test_a_workflow_that_continues_makes_every_step_continue_that_says_nothing_itself() -> None:
    steps = translated(
        f"{HEAD}error_handling: {{on_error: continue}}\nsteps:\n"
        "  - {id: a, type: shell_command, command: ls}\n"
        "  - {id: b, type: shell_command, command: ls, on_error: fail}\n"
    )["steps"]
    assert [one.get("on_error") for one in steps] == ["continue", None]


def test_a_fallback_of_an_update_has_no_effect_since_it_has_no_result() -> None:
    text = f"{HEAD}{STATE}steps:\n  - {{id: a, type: state_update, path: raw.count, value: 1, fallback_value: 2}}\n"
    found = reports(text, "WF009")
    assert [one.message for one in found] == ["no effect: a state_update step has no result"]


def test_a_computed_field_may_follow_the_turns_of_loops() -> None:
    found = translated(
        f"{HEAD}state_schema:\n"
        "  computed: {more: {from: [loop.iteration, loop.item], transform: 'input[0] < 3'}}\n"
        "steps:\n"
        "  - {id: turns, type: while, condition: more, body: [{id: x, type: user_message, message: x}]}\n"
        "  - {id: each, type: foreach, items: [1], body: [{id: y, type: user_message, message: y}]}\n"
    )
    turns, each = found["steps"]
    assert found["derived"]["more"]["from"] == ["{{ state.loop_iteration }}", "{{ state.loop_item }}"]
    assert (turns["count_to"], each["item_to"]) == ("loop_iteration", "loop_item")
    assert found["internal"] == ["loop_iteration", "loop_item"]


def test_fields_of_an_included_workflow_can_be_read_by_bare_name_afterwards() -> None:
    steps = translated(
        f"{HEAD}{STATE}steps:\n"
        "  - id: checks\n    type: include_workflow\n    workflow: 'a:b'\n"
        "    on_complete: [{id: x, type: user_message, message: '{{ total }}'}]\n"
        "  - {id: more, type: include_workflow, workflow: 'c:d'}\n"
        "  - {id: say, type: user_message, message: '{{ checks.total }} {{ total }} {{ count }}'}\n"
    )["steps"]
    assert steps[1]["message"] == "{{ Object(state.checks).total }}"
    assert steps[3]["message"] == (
        '{{ state.checks.total }} {{ ("total" in Object(state.more) ? state.more.total : '
        "Object(state.checks).total) }} {{ state.count }}"
    )


def test_a_name_that_nothing_has_is_reported_at_its_place_with_the_nearest_one() -> None:
    message = "é {{ cuont }} {{ computed.line }}"
    text = f"{HEAD}{STATE}steps:\n  - {{id: a, type: user_message, message: '{message}'}}\n"
    found = reports(text, "WF202")
    assert [(one.span.text, one.help) for one in found] == [
        ("cuont", "did you mean `count`?"),
        ("line", "did you mean `lines`?"),
    ]
