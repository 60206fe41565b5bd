"""What is wrong with an expression, and where; and what is tricky but right."""

from __future__ import annotations

import pytest

from tests.unit.infer.support import infer, problems
from wfc.analysis.types.environment import Kind


@pytest.mark.parametrize(
    ("expression", "kind", "place"),
    [
        ("state.build.exit_cod", Kind.PROPERTY, "exit_cod"),
        ("state.build['exit_cod']", Kind.PROPERTY, "exit_cod"),
        ("state.text.lines", Kind.PROPERTY, "lines"),
        ("state.count[0]", Kind.PROPERTY, "0"),
        ("state.text.stip()", Kind.PROPERTY, "stip"),
        ("state.unknown.frobnicate()", Kind.PROPERTY, "frobnicate"),
        ("state.issues | map(attribute='titel')", Kind.PROPERTY, "titel"),
        ("state.issues | selectattr('siez', 'gt', 1)", Kind.PROPERTY, "siez"),
        ("state.issues | sort(attribute='issue.size')", Kind.PROPERTY, "issue"),
        ("state.build.exit_cod | default(0)", Kind.PROPERTY, "exit_cod"),
        ("state.text > 3", Kind.MISMATCH, "state.text > 3"),
        ("state.answer.confirmed > 3", Kind.MISMATCH, "state.answer.confirmed > 3"),
        ("1 < state.count < 'a'", Kind.MISMATCH, "state.count < 'a'"),
        ("state.count == '3'", Kind.MISMATCH, "state.count == '3'"),
        ("state.count is equalto('3')", Kind.MISMATCH, "state.count is equalto('3')"),
        ("state.text + 1", Kind.MISMATCH, "state.text + 1"),
        ("state.text[1:1.5]", Kind.MISMATCH, "1.5"),
        ("state.names[: state.count / 2]", Kind.MISMATCH, "state.count / 2"),
        ("state.text * 1.5", Kind.MISMATCH, "1.5"),
        ("-0.5 * state.names", Kind.MISMATCH, "-0.5"),
        ("2.5 is odd", Kind.MISMATCH, "2.5"),
        ("(state.count / 2) is even", Kind.MISMATCH, "state.count / 2"),
        ("state.ratio is divisibleby(2)", Kind.MISMATCH, "state.ratio"),
        ("''[0]", Kind.PROPERTY, "0"),
        ("state.text.partition(':')[3]", Kind.PROPERTY, "3"),
        ("'ab'[2]", Kind.PROPERTY, "2"),
        ("3 in state.count", Kind.MISMATCH, "state.count"),
        ("3 in state.text", Kind.MISMATCH, "3"),
        ("state.build | trim", Kind.MISMATCH, "state.build"),
        ("state.text | replace('a', 1)", Kind.MISMATCH, "1"),
        ("state.text | join(',')", Kind.NOT_A_LIST, "state.text"),
        ("1 if state.answer else 2", Kind.CONSTANT, "state.answer"),
        ("inputs.env == 'prod'", Kind.CONSTANT, "'prod'"),
        ("state.names | length | default(0)", Kind.DEAD_DEFAULT, "default"),
        ("inputs.note | default('none')", Kind.DEAD_DEFAULT, "default"),
        ("1 if state.word else 2", Kind.STRINGIFIED, "state.word"),
        ("state.word == true", Kind.STRINGIFIED, "state.word"),
        ("1 / state.count", Kind.ZERO_DIVISION, "state.count"),
        ("state.text.split(',')", Kind.EMPTY_SPLIT, "split(',')"),
        ("state.plan.response", Kind.NULLABLE, "response"),
        ("inputs.note | trim", Kind.NULLABLE, "inputs.note"),
        ("inputs.note.strip()", Kind.NULLABLE, "inputs.note"),
        ("state.issue.owner", Kind.OPTIONAL, "owner"),
        ("state.scores.get('a') + 1", Kind.NULLABLE, "state.scores.get('a')"),
        ("state.object.get('a') | length", Kind.NULLABLE, "state.object.get('a')"),
        ("state.text | regex_search('a') | first", Kind.EMPTY, "first"),
        ("state.maybe", Kind.UNSET, "maybe"),
        ("state.nothing.x", Kind.UNSET, "x"),
    ],
)
def test_a_mistake_is_found_at_its_place(expression: str, kind: Kind, place: str) -> None:
    found = problems(expression)
    assert [one for one in found if one[0] is kind] == [(kind, place)]


@pytest.mark.parametrize(
    "expression",
    [
        "state.text[1 : state.ratio]",
        "state.text[: state.count // 2] * 2",
        "state.text * state.ratio",
        "state.count is odd",
        "'ab'[1] ~ 'ab'[-2]",
        "''[0] | default('-')",
        "state.scores.get('a', 0) + 1",
        "state.object.get('a', '') | length",
        "state.object.get('a')",
        "state.object.get(state.text) | length",
        "state.plan.response if state.plan else ''",
        "state.plan.response if state.plan is not none else ''",
        "'' if state.plan is none else state.plan.response",
        "'' if not state.plan else state.plan.response",
        "state.plan and state.plan.response",
        "state.plan is none or state.plan.response == 'ok'",
        "(state.plan.response if state.plan != none else '') | trim",
        "state.plan.response | default('')",
        "state.plan.response is defined and state.plan.response",
        "state.maybe | default('')",
        "state.maybe is defined and state.maybe | trim == 'a'",
        "state.maybe.x.y | default(0)",
        "state.issue.owner if state.issue.owner is defined else ''",
        "state.issue.owner if 'owner' in state.issue else ''",
        "state.issues | selectattr('owner', 'defined') | map(attribute='owner') | list",
        "state.issue.parent | default('none', true) | upper",
        "1 / state.count if state.count else 0",
        "1 / state.count if state.count > 0 else 0",
        "0 if state.count == 0 else 1 / state.count",
        "1 / (state.count or 1)",
        "1 / (state.names | length) if state.names else 0",
        "state.text.split(',') if state.text else []",
        "state.text.split(',') | select | list",
        "state.text.split(',')[0]",
        "state.text.split()",
        "'a,b'.split(',')",
        "(state.text | regex_search('a') | first) if state.text | regex_search('a') else ''",
        "state.text | regex_search('a') | first | default('')",
        "state.count == 0 or state.count == 1.5 or state.flag == 1",
        "state.text == none or none == state.count",
        "state.text in state.names and 'a' in state.text and 'a' in state.scores",
        "inputs.env == 'staging' and inputs.env in ['production', 'other']",
        "state.word == 'true' or state.word | bool",
        "state.unknown > 3 and state.unknown > 'a' and state.unknown.x.y()",
        "state.names | first | upper",
        "state.issues | sum(attribute='size') / 2",
        "[true, false] | sum",
        "state.text | default('x', true)",
        "state.unknown.owner | default('nobody')",
        "'%s: %d' | format(state.text, state.count)",
    ],
)
def test_what_is_tricky_but_right_is_passed_over(expression: str) -> None:
    right = {Kind.PROPERTY, Kind.MISMATCH, Kind.NULLABLE, Kind.UNSET, Kind.ZERO_DIVISION, Kind.EMPTY_SPLIT}
    kinds = {kind for kind, _ in problems(expression)}
    if "unknown.x.y()" in expression:
        kinds -= {Kind.PROPERTY}
    assert not kinds & (right | {Kind.CONSTANT, Kind.DEAD_DEFAULT, Kind.STRINGIFIED, Kind.NOT_A_LIST})


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("{% if state.plan %}{{ state.plan.response }}{% endif %}", 0),
        ("{% if state.plan is none %}none{% else %}{{ state.plan.response }}{% endif %}", 0),
        ("{% if not state.plan %}none{% elif state.flag %}{{ state.plan.response }}{% endif %}", 0),
        ("{% if state.flag %}{% endif %}{{ state.plan.response }}", 1),
        ("{% if state.plan or state.flag %}{{ state.plan.response }}{% endif %}", 1),
        ("{% for i in state.issues if i.owner is defined %}{{ i.owner }}{% endfor %}", 0),
        ("{% for i in state.issues %}{{ i.owner }}{% endfor %}", 1),
    ],
)
def test_branches_and_loops_know_what_their_conditions_have_shown(text: str, count: int) -> None:
    assert len(infer(text)[1]) == count


def test_a_message_says_what_is_there_and_what_was_probably_meant() -> None:
    text = "{{ state.build.exit_cod }}"
    problem = infer(text)[1][0]
    assert problem.message == "`state.build` is a shell result: it has no property `exit_cod`"
    assert problem.help == "did you mean `exit_code`?"
    change = problem.changes[0]
    assert text[: change.start] + change.text + text[change.end :] == "{{ state.build.exit_code }}"


def test_a_template_of_a_thousand_operands_is_looked_at_once() -> None:
    text = "{{ " + " ~ ".join(["state.build.exit_cod"] * 60) + " }}"
    assert len(infer(text)[1]) == 60


def test_tests_inside_brackets_inside_tests_do_not_multiply() -> None:
    inner = "state.count"
    for _ in range(25):
        inner = f"state.unknown[{inner} is none]"
    assert infer("{{ " + inner + " }}")[1] == []
