"""What a machine is started with."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import codes
from tests.unit.machine.support import AnyMachine, compiled
from wfc_runtime.errors import RequestError, StepError
from wfc_runtime.machine.inputs import bind_item, check_inputs
from wfc_runtime.machine.values import Limits

RULES = """
name: w
version: 1.0.0
inputs:
  name: {type: string, required: true, validation: {pattern: "^[a-z]+$", min_length: 2, max_length: 5}}
  level: {type: string, default: low, validation: {enum: [low, high]}}
  count: {type: number, default: 3, validation: {min: 1, max: 9}}
  fast: {type: boolean, default: false}
  tags: {type: array, default: [], validation: {min_items: 0, max_items: 2, item_type: string}}
  place:
    type: object
    default: {host: h}
    validation: {required_keys: [host], properties: {host: {type: string}, port: {type: number},
      code: {type: string, pattern: "^[a-z]+$", max_length: 3}}}
  note: {type: string}
steps:
  - id: a
    type: return
    value: ["{{ inputs.name }}", "{{ inputs.level }}", "{{ inputs.count }}", "{{ inputs.fast }}",
            "{{ inputs.tags }}", "{{ inputs.place }}", "{{ inputs.note }}"]
"""


def given(**values: Any) -> dict[str, Any]:
    return check_inputs(compiled(RULES).machine, values, Limits())


def test_defaults_are_filled_in_and_an_optional_input_is_null() -> None:
    assert given(name="abc") == {
        "name": "abc",
        "level": "low",
        "count": 3,
        "fast": False,
        "tags": [],
        "place": {"host": "h"},
        "note": None,
    }


def test_a_property_that_was_not_given_is_missing_and_a_null_that_was_given_is_kept() -> None:
    assert given(name="abc", place={"host": "h"})["place"] == {"host": "h"}
    assert given(name="abc", place={"host": "h", "port": None, "more": 1})["place"] == {
        "host": "h",
        "port": None,
        "more": 1,
    }


NESTED = """
name: w
version: 1.0.0
inputs:
  o: {type: object, default: {}, properties: {m: {type: integer}, n: {type: integer, default: 2}}}
steps:
  - {id: a, type: return, value: "{{ (inputs.o.m | default(5)) + inputs.o.n }}"}
"""


@pytest.mark.parametrize(("o", "sum_"), [({}, 7), ({"m": 1}, 3), ({"m": 1, "n": 1}, 2)])
def test_default_applies_to_a_property_that_was_not_given(o: dict[str, Any], sum_: int) -> None:
    assert codes(NESTED) == []
    run = compiled(NESTED).machine.simulate({"o": o})
    assert (run.error, run.result) == (None, sum_)


@pytest.mark.parametrize("read", ["inputs.o.m + 1", "inputs.o.m or 5", "inputs.o.m is none"])
def test_reading_a_property_that_may_not_have_been_given_is_reported(read: str) -> None:
    assert codes(NESTED.replace("(inputs.o.m | default(5)) + inputs.o.n", read)) == ["WF223"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"name": "a"}, "`name` must have at least 2 characters; it has 1"),
        ({"name": "abcdef"}, "`name` must have at most 5 characters; it has 6"),
        ({"name": "ABC"}, "`name` must match the pattern ^[a-z]+$, not the text 'ABC'"),
        ({"name": 3}, "`name` must be text, not the number 3"),
        ({"name": None}, "`name` must be text, not null"),
        ({"level": "mid"}, "`level` must be one of 'low' or 'high', not the text 'mid'"),
        ({"count": 0}, "`count` must be at least 1, not the number 0"),
        ({"count": 10}, "`count` must be at most 9, not the number 10"),
        ({"count": "3"}, "`count` must be a number, not the text '3'"),
        ({"count": True}, "`count` must be a number, not the boolean true"),
        ({"fast": 1}, "`fast` must be true or false, not the number 1"),
        ({"tags": ["a", "b", "c"]}, "`tags` must have at most 2 items; it has 3"),
        ({"tags": [1]}, "`tags[0]` must be text, not the number 1"),
        ({"tags": {}}, "`tags` must be a list, not an object"),
        ({"place": {}}, "`place.host` is required"),
        ({"place": {"host": "h", "port": "80"}}, "`place.port` must be a number, not the text '80'"),
        ({"nmae": "x"}, "`nmae` is not an input; did you mean `name`?"),
    ],
)
def test_each_rule_says_what_it_wants_and_what_it_got(values: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError) as caught:
        given(**{"name": "abc", **values})
    assert message in caught.value.message
    assert caught.value.hint.startswith("Inputs: `name`, `level` (optional)")


def test_all_problems_are_in_one_message() -> None:
    with pytest.raises(RequestError) as caught:
        given(level="mid", count=0, fast="no", extra=1)
    for part in (
        "`name` is required",
        "`level` must",
        "`count` must",
        "`fast` must",
        "`extra` is not an input",
    ):
        assert part in caught.value.message


@pytest.mark.parametrize(
    ("values", "messages"),
    [
        (
            {"name": "ABCDEF"},
            ["`name` must have at most 5 characters; it has 6", "`name` must match the pattern"],
        ),
        (
            {"name": "A"},
            ["`name` must have at least 2 characters; it has 1", "`name` must match the pattern"],
        ),
        (
            {"tags": [1, "b", 3, "d"]},
            ["`tags` must have at most 2 items; it has 4", "`tags[0]` must be text"],
        ),
        (
            {"place": {"host": "h", "code": "ABCD"}},
            ["`place.code` must have at most 3", "`place.code` must match"],
        ),
    ],
)
def test_every_rule_that_one_value_breaks_is_told(values: dict[str, Any], messages: list[str]) -> None:
    with pytest.raises(RequestError) as caught:
        given(**{"name": "abc", **values})
    for message in messages:
        assert caught.value.message.count(message) == 1


def test_the_pattern_that_a_secret_breaks_does_not_show_it() -> None:
    text = """
name: w
version: 1.0.0
inputs: {key: {type: string, required: true, secret: true, validation: {pattern: "^[a-z]+$", max_length: 3}}}
steps: [{id: a, type: shell, command: "login {{ inputs.key | shquote }}"}]
"""
    with pytest.raises(RequestError) as caught:
        check_inputs(compiled(text).machine, {"key": "HIDDEN"}, Limits())
    assert "`key` must match the pattern ^[a-z]+$" in caught.value.message
    assert "HIDDEN" not in caught.value.message


@pytest.mark.parametrize(
    "value", ["HIDDEN", ["HIDDEN"], {"key": ["HIDDEN"]}, {"in": "HIDDEN"}, {"in": {"pin": ["HIDDEN"]}}]
)
def test_what_stands_where_an_object_with_a_secret_should_be_is_not_shown(value: Any) -> None:
    text = """
name: w
version: 1.0.0
inputs:
  login:
    type: object
    required: true
    properties:
      key: {type: string, secret: true}
      in: {type: object, properties: {pin: {type: string, secret: true}}}
steps: [{id: a, type: shell, command: "login {{ inputs.login.key | shquote }}"}]
"""
    with pytest.raises(RequestError) as caught:
        check_inputs(compiled(text).machine, {"login": value}, Limits())
    assert "its value is secret" in caught.value.message
    assert "HIDDEN" not in caught.value.message


@pytest.mark.parametrize("values", [[1], "x", 3, None])
def test_inputs_are_an_object(values: Any) -> None:
    with pytest.raises(RequestError, match="`inputs` must be an object"):
        check_inputs(compiled(RULES).machine, values, Limits())


@pytest.mark.parametrize("value", [float("nan"), "\ud800", "x" * 300_000])
def test_inputs_are_plain_json_within_the_limit(value: Any) -> None:
    with pytest.raises(RequestError, match=r"`inputs` (is|has|contains)"):
        given(name=value)


def task(inputs: str, used: str = "1") -> AnyMachine:
    text = f"""
name: w
version: 1.0.0
inputs: {{items: {{type: array, required: true}}}}
steps:
  - {{id: e, type: foreach, items: "{{{{ inputs.items }}}}", task: t, output_to: o, with: {used}}}
tasks:
  t: {{inputs: {inputs}, steps: [{{id: r, type: return, value: "{{{{ inputs }}}}"}}]}}
"""
    return compiled(text).tasks["t"]


ONE = "{x: {type: string, required: true}}"
OBJECT = "{x: {type: object, required: true}}"
TWO = "{x: {type: string, required: true}, y: {type: number, default: 1}}"


@pytest.mark.parametrize(
    ("inputs", "item", "bound"),
    [
        (ONE, "m1", {"x": "m1"}),
        (ONE, {"x": "m1", "more": 1}, {"x": "m1"}),
        (ONE, {"other": 1}, {"x": {"other": 1}}),
        (OBJECT, {"x": 1}, {"x": {"x": 1}}),
        (TWO, {"x": "a", "y": 2, "z": 3}, {"x": "a", "y": 2}),
        (TWO, {"x": "a"}, {"x": "a"}),
    ],
)
def test_an_item_fills_the_inputs_of_its_task(inputs: str, item: Any, bound: dict[str, Any]) -> None:
    used = "{x: '{{ item }}'}" if inputs is not OBJECT else "{x: {}}"
    assert bind_item(task(inputs, used), item) == bound


def test_a_bare_item_for_several_inputs_is_said_to_need_a_with() -> None:
    with pytest.raises(StepError, match="the item is the text 'a', and the task has the inputs `x`, `y`"):
        bind_item(task(TWO, "{x: '{{ item }}'}"), "a")


WHOLE = """
name: w
version: 1.0.0
inputs:
  n: {type: integer, required: true, validation: {min: 0.5, max: 9.5}}
  m: {type: integer, convert: true, default: 2}
  many: {type: array, default: [], validation: {item_type: integer}}
steps: [{id: a, type: return, value: ["{{ inputs.n }}", "{{ inputs.m }}", "{{ inputs.many }}"]}]
"""


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n": 1.5}, "`n` must be a whole number, not the number 1.5"),
        ({"n": "3"}, "`n` must be a whole number, not the text '3'"),
        ({"n": True}, "`n` must be a whole number, not the boolean true"),
        ({"n": 10}, "`n` must be at most 9, not the number 10"),
        ({"n": 1, "m": "1.5"}, "`m` must be a whole number, not the number 1.5"),
        ({"n": 1, "m": "x"}, "`m` must be a whole number, not the text 'x'"),
        ({"n": 1, "many": [1, 2.5]}, "`many[1]` must be a whole number, not the number 2.5"),
    ],
)
def test_an_integer_takes_whole_numbers_only(values: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError) as caught:
        check_inputs(compiled(WHOLE).machine, values, Limits())
    assert caught.value.message == message


def test_a_whole_number_is_one_in_letters_too_where_inputs_are_converted() -> None:
    machine = compiled(WHOLE).machine
    assert check_inputs(machine, {"n": 3, "m": "4"}, Limits())["m"] == 4
    got = check_inputs(machine, {"n": 3, "m": "4.0"}, Limits())["m"]
    assert (got, type(got)) == (4, int)
    schema = machine.inputs.model_json_schema()["properties"]
    assert (schema["n"]["type"], schema["n"]["minimum"], schema["m"]["type"]) == ("integer", 1, "integer")
