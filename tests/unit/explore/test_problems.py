"""Mistakes put into workflows on purpose are found, with the smallest answers that show them."""

from __future__ import annotations

import pytest

from tests.unit.explore.support import HEAD, explored, search_of, told

COUNT = """\
  - id: count
    type: mcp_call
    tool: x.count
    result_schema:
      type: object
      required: [total, parts, code]
      properties:
        total: {type: integer}
        parts: {type: array, items: {type: string}}
        code: {type: string}
        rest: {type: integer}
    output_to: count
"""


def test_a_division_by_zero_is_found_with_the_one_answer_that_matters() -> None:
    report = explored(
        f"{HEAD}steps:\n{COUNT}"
        '  - {id: share, type: set_state, needs_state: [count], updates: {s: "{{ 100 / state.count.total }}"}}\n'
    )
    [problem] = report.problems
    assert (problem.kind, problem.step, problem.place) == ("expression", "share", "w1.yaml:16")
    assert problem.message == "division by zero (in `100 / state.count.total`, at character 3)"
    assert problem.case is not None
    assert problem.case.answers[("w", "count")][0]["total"] == 0
    assert problem.case.inputs == {}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{{ state.count.parts[0] }}", "state.count.parts has no item 0"),
        ("{{ state.count.parts | first | upper }}", ""),
        ("{{ state.count.rest + 1 }}", "state.count.rest is not defined"),
        ("{{ state.count.code | parse_json }}", ""),
    ],
    ids=["index out of range", "first of nothing", "missing key", "text that is not JSON"],
)
def test_an_expression_that_fails_on_some_results_is_found(value: str, message: str) -> None:
    report = explored(
        f'{HEAD}steps:\n{COUNT}  - {{id: use, type: return, needs_state: [count], value: "{value}"}}\n'
    )
    assert told(report) == [("expression", "use")]
    assert message in report.problems[0].message


def test_a_failure_that_the_workflow_takes_care_of_is_no_problem() -> None:
    report = explored(
        f"{HEAD}steps:\n{COUNT}"
        "  - id: use\n    type: set_state\n    needs_state: [count]\n"
        '    updates: {x: "{{ 100 / state.count.total }}"}\n    on_error: continue\n'
    )
    assert (told(report), report.reached, report.branches) == ([], 1, 1)


HIDDEN = """\
  - id: hidden
    type: condition
    needs_state: [count]
    if: "{{ state.count.code == 'magic' and (state.count.total > 37 or 'key' in state.count.parts) }}"
    then:
      - id: deeper
        type: condition
        needs_state: [count]
        if: "{{ state.count.parts | length == 3 and not state.count.total > 40 }}"
        then:
          - {id: boom, type: return, needs_state: [count], value: "{{ state.count.parts[3] }}"}
"""


def test_what_is_hidden_behind_magic_words_numbers_and_lengths_is_reached() -> None:
    report = explored(f"{HEAD}steps:\n{COUNT}{HIDDEN}")
    assert (report.reached, report.branches) == (4, 4)
    assert told(report) == [("expression", "boom")]
    case = report.problems[0].case
    assert case is not None
    [result] = case.answers[("w", "count")]
    assert result["code"] == "magic"
    assert len(result["parts"]) == 3


def test_conditions_on_computed_fields_are_followed_back_to_results() -> None:
    report = explored(
        f"{HEAD}inputs:\n  target: {{type: number, default: 80}}\nsteps:\n"
        "  - {id: run, type: shell, command: make, output_to: run}\n"
        "  - id: read\n    type: set_state\n    needs_state: [run]\n    updates:\n"
        "      total: \"{{ state.run.stdout | regex_search('TOTAL +([0-9]+)%') | first | default('0') | int }}\"\n"
        "      checks: \"{{ (state.run.stderr | trim or '[]') | parse_json }}\"\n"
        "      failed: \"{{ checks | selectattr('state', 'equalto', 'failed') | list }}\"\n"
        "    on_error: continue\n"
        '  - {id: good, type: condition, needs_state: [total], if: "{{ state.total >= inputs.target }}",\n'
        "     then: [{id: yes, type: shell, command: a}]}\n"
        '  - {id: bad, type: condition, needs_state: [failed], if: "{{ state.failed | length > 1 }}",\n'
        "     then: [{id: no, type: shell, command: b}]}\n",
        runs=150,
    )
    assert report.unreached == []


TASKS = """\
inputs:
  groups: {type: array, required: true, validation: {item_type: object}}
steps:
  - {id: outer, type: foreach, items: "{{ inputs.groups }}", task: group, max_items: 9}
tasks:
  group:
    steps:
      - id: list
        type: mcp_call
        tool: x.list
        result_schema: {type: array, items: {type: object, required: [size], properties: {size: {type: integer}}}}
        output_to: files
      - {id: inner, type: foreach, needs_state: [files], items: "{{ state.files }}", task: one, max_items: 9}
  one:
    inputs: {size: {type: number, required: true}}
    steps:
      - id: large
        type: condition
        if: "{{ inputs.size > 99 }}"
        then:
          - {id: look, type: shell, command: x, output_to: found}
          - {id: rate, type: return, needs_state: [found], value: "{{ 1 / state.found.exit_code }}"}
"""


def test_a_problem_in_a_task_inside_a_task_is_found() -> None:
    report = explored(HEAD + TASKS)
    assert told(report) == [("expression", "rate")]
    problem = report.problems[0]
    assert problem.scope == "one"
    assert report.unreached == []
    assert problem.case is not None
    assert sum(map(len, problem.case.answers.values())) == 2


def test_an_item_that_does_not_fit_its_task_is_found() -> None:
    text = TASKS.replace(
        "{type: object, required: [size], properties: {size: {type: integer}}}", "{type: object}"
    )
    assert ("items", "inner") in told(explored(HEAD + text))


def test_a_goto_that_nothing_ends_is_found() -> None:
    report = explored(
        f"{HEAD}steps:\n"
        "  - {id: ask, type: shell, command: x, output_to: a}\n"
        "  - {id: again, type: goto, needs_state: [a], when: \"{{ state.a.exit_code != 'no' }}\","
        " target: ask, max_iterations: 4}\n"
    )
    assert told(report) == [("endless", "again")]
    assert "max_iterations (4) was reached" in report.problems[0].message
    case = report.problems[0].case
    assert case is not None
    # Said once, for every time.
    assert len(case.answers[("w", "ask")]) == 1


def test_a_loop_that_can_be_left_is_not_endless_though_it_has_a_limit() -> None:
    report = explored(
        f"{HEAD}steps:\n"
        "  - {id: ask, type: shell, command: x, output_to: a}\n"
        '  - {id: again, type: goto, needs_state: [a], when: "{{ state.a.exit_code != 0 }}",'
        " target: ask, max_iterations: 4}\n"
    )
    assert told(report) == []


def test_an_on_error_that_leads_back_for_ever_is_found_and_told_in_one_answer() -> None:
    report = explored(
        f"{HEAD}steps:\n  - {{id: a, type: shell, command: x}}\n"
        "  - {id: b, type: shell, command: y, on_error: {goto: a}}\n",
        runs=25,
    )
    [problem] = report.problems
    assert problem.kind == "endless"
    assert problem.case is not None
    assert problem.case.answers[("w", "b")] == [{"error": "could not be done"}]
    assert "b:\n    error: could not be done\n" in problem.case.text()


@pytest.mark.parametrize(
    "schema",
    [
        "{type: object, required: [n], properties: {n: {type: integer, minimum: 5, maximum: 4}}}",
        "{type: string, enum: [a], minLength: 2}",
        "{type: array, minItems: 2, maxItems: 1}",
    ],
)
def test_a_result_schema_that_nothing_fits_is_found(schema: str) -> None:
    report = explored(
        f"{HEAD}steps:\n  - {{id: a, type: mcp_call, tool: x.y, result_schema: {schema}}}\n", runs=30
    )
    assert told(report) == [("schema", "a")]


def test_a_branch_that_nothing_can_lead_to_is_told_from_one_that_was_only_not_reached() -> None:
    report = explored(
        f"{HEAD}steps:\n  - {{id: ask, type: shell, command: x, output_to: a}}\n"
        '  - {id: never, type: condition, if: "{{ false }}", then: [{id: x, type: shell, command: x}]}\n'
        "  - {id: hard, type: condition, needs_state: [a], if: \"{{ state.a.stdout | hash == 'feedfacecafebeef' }}\",\n"
        "     then: [{id: y, type: shell, command: y}]}\n",
        runs=60,
    )
    assert [(one.kind, one.step) for one in report.problems] == [("unreachable", "never")]
    assert [(one.step, one.kind) for one in report.unreached] == [("hard", "then")]


BRIEFED = """\
steps:
  - {id: each, type: foreach, items: [a], task: rate, agent: "@judge", output_to: rates}
  - id: look
    type: condition
    needs_state: [rates]
    if: "{{ state.rates[0].score > 90 }}"
    then:
      - {id: best, type: shell, command: x}
tasks:
  rate:
    steps:
      - {id: read, type: shell, command: "cat {{ item | shquote }}", output_to: text}
      - {id: short, type: condition, needs_state: [text], if: "{{ state.text.exit_code == 1 }}",
         then: [{id: none, type: return, value: {score: 0}}]}
      - {id: give, type: return, value: {score: 1}}
"""


def test_a_task_that_a_named_agent_gets_as_a_whole_is_answered_as_a_whole() -> None:
    report = explored(HEAD + BRIEFED, runs=100)
    # Its own branches are the agent's affair; its value can be anything that has the keys.
    assert (report.reached, report.branches) == (2, 2)
    assert told(report) == [("expression", "look")]
    case = report.problems[0].case
    assert case is not None
    assert list(case.by_key()) == ["rate/do-task"]


def test_what_can_fail_behind_a_long_way_is_tried_as_soon_as_a_run_has_come_there() -> None:
    wide = "a: {type: integer}, b: {type: string}, c: {type: array}, d: {enum: [p, q, r]}"
    result = f"{{type: object, properties: {{{wide}}}, required: [a, b, c, d]}}"
    text = f"{HEAD}steps:\n" + "".join(
        f"  - {{id: s{number}, type: mcp_call, tool: t, output_to: o{number}, result_schema: {result}}}\n"
        for number in range(12)
    )
    text += """
  - id: gate
    type: mcp_call
    tool: t
    output_to: gate
    result_schema: {type: object, properties: {size: {type: integer, minimum: 0, maximum: 9}}, required: [size]}
  - id: closed
    type: condition
    needs_state: [gate]
    if: "{{ (state.gate.size * 7 + 3) % 5 != 1 }}"
    then: [{id: out, type: return, value: 0}]
  - {id: last, type: delegate, instructions: go, on_error: {goto: mend}}
  - {id: fine, type: return, value: 1}
  - {id: mend, type: return, value: 2}
"""
    search = search_of(text, runs=100)
    search.go()
    assert all(map(search.is_reached, search.branches))
