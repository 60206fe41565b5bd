"""What gets from where to where: each test is a workflow whose last command, or only one, says what came of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import check
from wfc.findings import Diagnostic, Severity
from wfc.render.sarif import render_sarif

HEAD = 'name: w{}\nversion: "1.0.0"\n'
ASK = "  - {id: ask, type: prompt, prompt_type: text, message: Who?, output_to: answer}\n"
INJECTED = ("WF501", "WF502")


def injections(*texts: str) -> list[Diagnostic]:
    files = [HEAD.format(number) + text for number, text in enumerate(texts, 1)]
    return [found for found in check(*files) if found.code in INJECTED]


def hops(found: Diagnostic) -> list[str]:
    return [note.message for note in found.flow]


def asked(expression: str) -> list[Diagnostic]:
    """What is found in a command with this expression over a person's answer."""
    command = json.dumps(f"echo {{{{ {expression} }}}}")
    return injections(
        f"steps:\n{ASK}  - {{id: run, type: shell, needs_state: [answer], command: {command}}}\n"
    )


@pytest.mark.parametrize(
    "expression",
    [
        "state.answer.input",
        "state.answer['input']",
        "state.answer",
        "state | tojson",
        "state.answer.input | trim | upper",
        "state.answer.input.strip()[:10]",
        "'a' ~ state.answer.input",
        "'%s!' | format(state.answer.input)",
        "state.answer.input or 'x'",
        "'x' if state.answer.input is defined else state.answer.input",
        "state.answer.input.split(',') | first",
        "state.answer.input.split(',') | map('upper') | join(' ')",
        "[1, state.answer.input] | last",
        "{'a': state.answer.input}.a",
        "dict(a=state.answer.input).a",
        "state.answer.get('input', '')",
        "state.answer.values() | list | first",
        "state.answer | tojson",
        "state.answer.input | parse_json",
        "state.answer.input | regex_replace('a', 'b')",
        "state.answer.input | regex_search('(.*)') | join",
        "state.missing | default(state.answer.input)",
        "', '.join([state.answer.input])",
        "(state.answer.input | shquote) ~ state.answer.input",
    ],
)
def test_what_a_person_typed_stays_what_it_is_through_text_work(expression: str) -> None:
    assert len(asked(expression)) == 1


@pytest.mark.parametrize(
    "expression",
    [
        "state.answer.input | shquote",
        "('a' ~ state.answer.input) | shquote",
        "state.answer.input.split(',') | map('shquote') | join(' ')",
        "state.answer.input | int",
        "state.answer.input | length",
        "state.answer.input | hash",
        "state.answer.input == 'a'",
        "state.answer.input is defined",
        "not state.answer.input",
        "state.answer.input.count('a')",
        "state.answer.input.startswith('a')",
        "'yes' if state.answer.input else 'no'",
        "(state.answer.input | int) + 1",
        "state.answer.input | regex_replace('[^a-z]', '')",
        "{'a': state.answer.input, 'b': 1}.b",
        "state.answer.input.split(',') | map('length') | join(' ')",
        "now().isoformat()",
        "uuid()",
    ],
)
def test_quoting_counting_and_comparing_make_it_harmless(expression: str) -> None:
    assert asked(expression) == []


def test_loops_and_set_blocks_inside_a_template_pass_it_on() -> None:
    text = "{% set name = state.answer.input %}{% for part in name.split(' ') %}{{ loop.index }}{{ part }}{% endfor %}"
    found = injections(
        f"steps:\n{ASK}  - {{id: run, type: shell, needs_state: [answer], command: {json.dumps('echo ' + text)}}}\n"
    )
    assert [item.span.text for item in found] == ["part"]


def test_a_field_that_was_made_harmless_before_is_harmless() -> None:
    found = injections(
        f"steps:\n{ASK}"
        "  - {id: a, type: set_state, needs_state: [answer], updates: {name: '{{ state.answer.input }}'}}\n"
        "  - {id: b, type: set_state, needs_state: [name], updates: {name: '{{ state.name | shquote }}'}}\n"
        "  - {id: run, type: shell, needs_state: [name], command: 'echo {{ state.name }}'}\n"
    )
    assert found == []


def test_a_loop_brings_back_what_is_written_later() -> None:
    found = injections(
        "initial_state: {name: x}\nsteps:\n"
        "  - {id: run, type: shell, needs_state: [name], command: 'echo {{ state.name }}'}\n"
        f"{ASK}"
        "  - {id: b, type: set_state, needs_state: [answer], updates: {name: '{{ state.answer.input }}'}}\n"
        "  - {id: again, type: goto, target: run, max_iterations: 3}\n"
    )
    assert [hops(item) for item in found] == [
        ["the answer to `ask` is untrusted", "`b` stores it in `state.name`"]
    ]


def test_siblings_of_one_update_pass_it_on() -> None:
    found = injections(
        f"steps:\n{ASK}"
        "  - {id: a, type: set_state, needs_state: [answer], updates: {x: '{{ state.answer.input }}', y: '{{ x }}'}}\n"
        "  - {id: run, type: shell, needs_state: [y], command: 'echo {{ state.y }}'}\n"
    )
    assert len(found) == 1


TASK = (
    "tasks:\n  work:\n    inputs:\n      name: {type: string, required: true}\n      size: {type: number, default: 1}\n"
    "    steps:\n      - {id: inner, type: shell, command: 'echo {{ inputs.name }} {{ inputs.size }}'}\n"
    "      - {id: done, type: return, value: {name: '{{ inputs.name }}', size: '{{ inputs.size }}'}}\n"
)


def test_a_task_is_as_trusted_as_what_its_foreach_gives_it() -> None:
    trusted = injections(f"steps:\n  - {{id: each, type: foreach, items: [a, b], task: work}}\n{TASK}")
    given = "with: {name: '{{ state.answer.input ~ item }}'}"
    doubtful = injections(
        f"steps:\n{ASK}  - {{id: each, type: foreach, needs_state: [answer], items: [a], task: work, {given}}}\n{TASK}"
    )
    assert trusted == []
    assert [item.severity for item in doubtful] == [Severity.ERROR]
    assert hops(doubtful[0])[1] == "`each` passes it to `work` as `inputs.name`"


def test_an_item_that_is_an_object_fills_inputs_by_name() -> None:
    found = injections(
        f"steps:\n{ASK}"
        "  - id: each\n    type: foreach\n    needs_state: [answer]\n    task: work\n"
        "    items: [{name: a, other: '{{ state.answer.input }}'}]\n"
        f"{TASK}"
    )
    assert found == []


def test_what_tasks_return_is_followed_part_by_part() -> None:
    found = injections(
        f"steps:\n{ASK}"
        "  - {id: each, type: foreach, needs_state: [answer], items: ['{{ state.answer.input }}'], task: work, "
        "with: {name: '{{ item | shquote }}'}, output_to: all}\n"
        "  - {id: each2, type: foreach, needs_state: [answer], items: ['{{ state.answer.input }}'], task: back, "
        "output_to: most}\n"
        "  - {id: a, type: shell, needs_state: [all], command: 'echo {{ state.all[0].name }}'}\n"
        "  - {id: b, type: shell, needs_state: [most], command: 'echo {{ state.most[0].size }}'}\n"
        "  - {id: c, type: shell, needs_state: [most], command: 'echo {{ state.most[0].name }}'}\n"
        f"{TASK}"
        "  back:\n    inputs:\n      who: {type: string, required: true}\n    steps:\n"
        "      - {id: end, type: return, value: {name: '{{ inputs.who }}', size: 3}}\n"
    )
    assert [item.step for item in found] == ["c"]
    assert hops(found[0])[-1] == "`each2` collects the results of `back`"


def test_a_named_agent_returns_what_it_likes() -> None:
    found = injections(
        "steps:\n"
        "  - {id: each, type: foreach, items: [a], task: work, agent: '@worker', output_to: all}\n"
        "  - {id: a, type: shell, needs_state: [all], command: 'echo {{ state.all[0].size }}'}\n"
        f"{TASK}"
    )
    assert [item.step for item in found] == ["a"]


def test_an_option_of_a_choice_is_as_trusted_as_the_options() -> None:
    options = "options: [a, '{{ state.answer.input }}']"
    found = injections(
        f"steps:\n{ASK}"
        "  - {id: one, type: prompt, prompt_type: choice, message: m, options: [a, b], output_to: x}\n"
        "  - {id: two, type: prompt, prompt_type: choice, message: m, needs_state: [answer], output_to: y, "
        f"{options}}}\n"
        "  - id: run\n    type: shell\n    needs_state: [x, y]\n"
        "    command: echo {{ state.x.selected }} {{ state.y.selected }}\n"
    )
    assert [item.span.text for item in found] == ["state.y.selected"]


def test_another_workflow_returns_what_it_was_given() -> None:
    echo = (
        "inputs:\n  a: {type: string, required: true}\nsteps:\n"
        "  - {id: r, type: return, value: {a: '{{ inputs.a }}', n: 1}}\n"
    )
    caller = (
        f"steps:\n{ASK}"
        "  - {id: one, type: call, workflow: w1, with: {a: fixed}, output_to: x}\n"
        "  - {id: two, type: call, workflow: w1, needs_state: [answer], output_to: y, "
        "with: {a: '{{ state.answer.input }}'}}\n"
        "  - id: run\n    type: shell\n    needs_state: [x, y]\n"
        "    command: echo {{ state.x.a }} {{ state.y.a }} {{ state.y.n }}\n"
    )
    found = injections(echo, caller)
    assert [item.span.text for item in found] == ["state.y.a"]


def test_workflows_that_call_each_other_end() -> None:
    calls = (
        "steps:\n  - {{id: a, type: call, workflow: {}, output_to: x}}\n"
        "  - {{id: r, type: return, needs_state: [x], value: '{{{{ state.x }}}}'}}\n"
    )
    first, second = calls.format("w2"), calls.format("w1")
    assert injections(first, second) == []


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("state.answer.input in ['a', 'b']", []),
        ("state.answer.input == 'a'", []),
        ("not (state.answer.input != 'a')", []),
        ("state.answer.input != 'a'", ["state.answer.input"]),
        ("state.answer.input not in ['a']", ["state.answer.input"]),
        ("'a' in state.answer.input", ["state.answer.input"]),
    ],
)
def test_a_condition_that_allows_only_texts_of_the_file_makes_it_harmless(
    condition: str, expected: list[str]
) -> None:
    found = injections(
        f"steps:\n{ASK}"
        f'  - {{id: run, type: shell, needs_state: [answer], when: "{{{{ {condition} }}}}", '
        'command: "echo {{ state.answer.input }}"}\n'
    )
    assert [item.span.text for item in found] == expected


def test_an_input_is_a_warning_and_strict_ones_are_silent() -> None:
    found = injections(
        "inputs:\n  a: {type: string, required: true}\n  b: {type: number, required: true}\n"
        "  c: {type: string, required: true, validation: {pattern: '^[a-z]+$'}}\n"
        "  d: {type: object, required: true, validation: {properties: {x: {type: number}, y: {type: string}}}}\n"
        "steps:\n  - id: run\n    type: shell\n"
        "    command: echo {{ inputs.a }} {{ inputs.b }} {{ inputs.c }} {{ inputs.d.x }} {{ inputs.d.y }}\n"
    )
    assert [(item.span.text, item.severity) for item in found] == [
        ("inputs.a", Severity.WARNING),
        ("inputs.d.y", Severity.WARNING),
    ]


def test_sarif_has_the_flow_from_the_source_to_the_command() -> None:
    found = asked("state.answer.input")
    result: Any = json.loads(render_sarif(found))["runs"][0]["results"][0]
    locations = result["codeFlows"][0]["threadFlows"][0]["locations"]
    lines = [place["location"]["physicalLocation"]["region"]["startLine"] for place in locations]
    assert lines == [4, 5]
    assert locations[0]["location"]["message"]["text"] == "the answer to `ask` is untrusted"


def test_hundreds_of_hops_are_followed() -> None:
    steps = [
        f"  - {{id: s{n}, type: set_state, needs_state: [f{n - 1}], updates: {{f{n}: '{{{{ state.f{n - 1} }}}}'}}}}\n"
        for n in range(1, 400)
    ]
    found = injections(
        f"steps:\n{ASK}"
        "  - {id: s, type: set_state, needs_state: [answer], updates: {f0: '{{ state.answer.input }}'}}\n"
        + "".join(steps)
        + "  - {id: run, type: shell, needs_state: [f399], command: 'echo {{ state.f399 }}'}\n"
    )
    assert len(found) == 1
    assert len(found[0].flow) == 8
