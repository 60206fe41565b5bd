"""Texts with JavaScript in their holes: what they evaluate to, and where their errors are."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

pytest.importorskip("quickjs")

from tests.support import PATIENCE
from wfc_runtime.expr import ExpressionError, ExprLimits
from wfc_runtime.javascript import evaluate, evaluate_condition, evaluate_tree, find_holes

CONTEXT: dict[str, Any] = {
    "state": {
        "n": 3,
        "xs": [3, 1, 2],
        "text": "it's",
        "none": None,
        "constructor": 1,
        "big": {"a": {"b": [True]}},
    },
    "inputs": {"env": "dev"},
    "item": {"path": "src/a b.ts"},
    "class": "not a name",
}
NOW = datetime(2024, 5, 6, 7, 8, 9, 120_000, tzinfo=UTC)


def value_of(text: str, seed: str = "event", **more: Any) -> Any:
    return evaluate(text, CONTEXT, now=NOW, uuid_seed=seed, **more)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain {text}", "plain {text}"),
        ("{{ state.n + 1 }}", 4),
        ("{{ state.n / 2 }}", 1.5),
        ("{{ state.missing }}", None),
        ("  {{ state.xs }}\n", [3, 1, 2]),
        ("{{ state.xs.sort() }} {{ state.xs }}", "[1,2,3] [3,1,2]"),
        ("{{ true }} {{ null }} {{ 1.50 }} {{ 'x' }} {{ {a: 1} }}", 'true null 1.5 x {"a":1}'),
        ("{{ state.big?.a?.['b'][0] ?? 'no' }}", True),
        ("{{ state.none?.x ?? 'no' }}", "no"),
        ("{{ {a: {b: 1}} }}", {"a": {"b": 1}}),
        ("{{ `a ${state.xs.map(x => `${x}}}`)} b` }}", "a 3}},1}},2}} b"),
        ("{{ /[/}}]+/.test('}}') && 4 / 2 / 1 }}", 2),
        ("{{ '}}' + \"{{\" }}", "}}{{"),
        ("{{ state.n // the end }} of it\n }}", 3),
        ("{{ (() => { const a = {}; a.constructor = 2; return a })() }}", {"constructor": 2}),
        ("{{ Object.groupBy(state.xs, x => x > 1 ? 'big' : 'small') }}", {"big": [3, 2], "small": [1]}),
        ("{{ [state.xs.at(-1), state.xs.toSorted(), Object.entries(inputs)] }}", [2, [1, 2, 3], [["env", "dev"]]]),
        ("{{ now() }}", "2024-05-06T07:08:09.120Z"),
        ("{{ [Date.now(), new Date().getHours(), String(new Date(2024, 0, 2))] }}",
         [1714979289120, 7, "Tue Jan 02 2024 00:00:00 GMT+0000 (UTC)"]),
        ("{{ new Date('Jan 2 2024 10:00').toISOString() }}", "2024-01-02T10:00:00.000Z"),
        ("cat {{ shquote(item.path) }} {{ shquote('a.txt') }}", "cat 'src/a b.ts' a.txt"),
        ("{{ path_to_key(item.path) }}", "src_a_b_ts"),
    ],
)  # fmt: skip
def test_a_text_has_the_value_of_its_holes(text: str, value: object) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize(
    ("text", "message", "at"),
    [
        ("{{ state.n +* 2 }}", "unexpected token in expression: '*'", "*"),
        ("a {{ state.missing }}", "the value is undefined", "state.missing"),
        ("é {{ 'ä' + state.none.x }}", "cannot read property 'x' of null", "state.none.x"),
        ("{{ state.xs\n  .map(x => x.a.b) }}", "cannot read property 'b' of undefined", "x.a.b"),
        ("{{ staet.n }}", "staet is not defined", "staet.n"),
        ("{{ state.n.push(1) }}", "not a function", "state.n.push("),
        ("{{ JSON.parse('{') }}", "", "JSON.parse("),
        ("{{ state.n", "`{{` is never closed", "{{"),
        ("{{ }}", "an expression is missing between the braces", ""),
        ("{{ state.n) || (1 }}", "Unexpected token ')'", ")"),
        ("{{ state.secret }}", "state.secret exists, but the step does not declare it", "state.secret"),
        ("{{ state[`sec${'ret'}`] }}", "state.secret exists, but the step does not declare it", "state"),
    ],
)
def test_an_error_is_at_the_authors_place(text: str, message: str, at: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        value_of(text, hidden=frozenset({"secret"}))
    error = caught.value
    assert message in error.message
    assert error.template == text
    assert text[error.start : error.end].startswith(at.rstrip("("))


def test_conditions_have_the_truth_of_javascript() -> None:
    for text, is_true in [
        ("{{ [] }}", True), ("{{ ({}) }}", True), ("{{ '' }}", False), ("{{ 0 }}", False), ("{{ NaN }}", False),
        ("{{ undefined }}", False), ("{{ 'false' }}", True), ("{{ state.n > 2 && state.xs.includes(1) }}", True),
        (True, True), (False, False), ("x", True), ("", False),
    ]:  # fmt: skip
        assert evaluate_condition(text, CONTEXT, now=NOW, uuid_seed="s") is is_true


def test_ids_come_from_the_event_and_differ_within_it() -> None:
    tree = ["{{ uuid() }}", "{{ uuid() }}", "{{ [uuid(), uuid()] }}"]
    one = evaluate_tree(tree, CONTEXT, now=NOW, uuid_seed="a")
    assert one == evaluate_tree(tree, CONTEXT, now=NOW, uuid_seed="a")
    assert len({*one[:2], *one[2]}) == 4
    assert value_of("{{ uuid() }}", "b") not in one
    assert value_of("{{ uuid()[14] + '89ab'.includes(uuid()[19]) }}") == "4true"


def test_results_have_limits() -> None:
    with pytest.raises(ExpressionError, match="too large a value"):
        value_of("{{ 'x'.repeat(2000) }}", limits=ExprLimits(value=1000))
    with pytest.raises(ExpressionError, match="renders too much text"):
        value_of("{{ 'x'.repeat(600) }}{{ 'x'.repeat(600) }}", limits=ExprLimits(output=1000))
    with pytest.raises(ExpressionError, match="nested too deeply"):
        value_of("{{ (() => { let a = 1; for (let i = 0; i < 300; i++) a = [a]; return a })() }}")
    with pytest.raises(ExpressionError, match="surrogate"):
        value_of("{{ '\\ud800' }}")
    assert value_of("{{ '\\ud83d\\ude00' }}") == "😀"


def test_a_tree_names_the_text_that_failed() -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate_tree({"a": ["x", "{{ nope }}"]}, CONTEXT, now=NOW, uuid_seed="s")
    assert caught.value.path == ("a", 1)


def test_an_unfinished_hole_ends_at_the_first_braces_so_that_its_mistake_is_found_there() -> None:
    assert [hole[:2] for hole in find_holes("{{ it's }} and {{ b }}")] == [(0, 10), (15, 22)]


def test_the_time_zone_of_the_machine_has_no_effect() -> None:
    code = (
        "import json; from datetime import UTC, datetime; from wfc_runtime.javascript import evaluate\n"
        "text = \"{{ [String(new Date(2024, 6, 1)), new Date('2024-07-01T10:00').toJSON()] }}\"\n"
        "print(json.dumps(evaluate(text, {}, now=datetime(2024, 1, 1, tzinfo=UTC), uuid_seed='s')))"
    )
    found = [
        json.loads(subprocess.run([sys.executable, "-c", code], env={"TZ": zone}, capture_output=True, text=True,
                                  check=True, timeout=PATIENCE).stdout)
        for zone in ("America/New_York", "Asia/Kathmandu")
    ]  # fmt: skip
    assert found[0] == found[1] == ["Mon Jul 01 2024 00:00:00 GMT+0000 (UTC)", "2024-07-01T10:00:00.000Z"]
