"""Results against JSON Schema, and JSON as such."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counting import calls_of
from wfc_runtime import results
from wfc_runtime.contract import ConfirmAnswer, DelegateResult, NotRequired, ShellResult, TypedDict
from wfc_runtime.machine.values import NotPlainError, check_plain, is_surely_within, size_of, to_text
from wfc_runtime.results import UnusableSchemaError, problems, surely_fits


def test_a_problem_names_its_place() -> None:
    wanted = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}}
    assert problems({"a": [1, "x"]}, wanted) == ["result.a[1]: 'x' is not of type 'integer'"]


def test_no_schema_takes_anything() -> None:
    assert problems(object, None) == problems(3, {}) == []


def test_a_huge_value_does_not_make_a_huge_message() -> None:
    [problem] = problems("x" * 100_000, {"type": "integer"})
    assert len(problem) < 400
    assert problem.endswith("is not of type 'integer'")


@pytest.mark.parametrize(
    ("value", "wanted", "fits"),
    [
        ("abc", {"pattern": "^[a-c]+$"}, True),
        ("abd", {"pattern": "^[a-c]+$"}, False),
        ({"a1": 1}, {"patternProperties": {"^a": {"type": "integer"}}}, True),
        ({"a1": "x"}, {"patternProperties": {"^a": {"type": "integer"}}}, False),
        ({"a1": 1, "b": 2}, {"patternProperties": {"^a": {}}, "additionalProperties": False}, False),
        (
            {"a1": 1, "b": 2},
            {"properties": {"b": {}}, "patternProperties": {"^a": {}}, "additionalProperties": False},
            True,
        ),
        ({"b": "x"}, {"additionalProperties": {"type": "integer"}}, False),
        ({"b": 1}, {"additionalProperties": {"type": "integer"}}, True),
    ],
)
def test_patterns_and_other_properties_are_checked(value: Any, wanted: Any, fits: bool) -> None:
    assert (problems(value, wanted) == []) is fits


def test_a_pattern_that_would_backtrack_for_ever_does_not() -> None:
    assert problems("a" * 50_000 + "!", {"pattern": "^(a+)+$"}) != []


def doubling(keyword: str) -> Any:
    """Each asks for the one before twice: forty of them for more than anybody can wait for."""
    known: dict[str, Any] = {"a0": {"type": "string"}}
    for number in range(1, 40):
        known[f"a{number}"] = {keyword: [{"$ref": f"#/$defs/a{number - 1}"}] * 2}
    return {"$ref": "#/$defs/a39", "$defs": known}


XY = "".join("xy"[number * number % 7 % 2] for number in range(250_000))
MISFITS = {
    "objects that differ": ([{"a": number} for number in range(20_000)] * 2, {"uniqueItems": True}),
    "a long list of another kind": ([1] * 120_000, {"type": "array", "items": {"type": "string"}}),
    "a long list that is one of several": (
        [1] * 120_000,
        {"anyOf": [{"items": {"type": "string"}}, {"type": "string"}]},
    ),
    "a long list that is one of several things": (
        [1] * 120_000,
        {"oneOf": [{"items": {"type": "string"}}, {"type": "string"}]},
    ),
    "a pattern of many states": (XY, {"pattern": "[xy]*x[xy]{900}z"}),
    "a pattern of many more states": (
        XY,
        {"pattern": "|".join(["[xy]*x[xy]{990}z", "[xy]*y[xy]{99}z"] * 30)},
    ),
    "a pattern of many groups": (f"b{'x' * 250_000}", {"pattern": "(" * 900 + "x+" + ")" * 900 + "y"}),
    "a key and a pattern of many states": ({XY: 1}, {"patternProperties": {"[xy]*x[xy]{900}z": {}}}),
}


def counted(value: Any, wanted: Any) -> tuple[list[str], int]:
    """What is wrong with a value, and how many calls it took to find out."""
    problems(1, {"not": {"type": "integer"}})
    found: list[str] = []
    return found, calls_of(lambda: found.extend(problems(value, wanted)))


@pytest.mark.parametrize("what", MISFITS)
def test_a_result_that_does_not_fit_is_refused_with_little_work(what: str) -> None:
    found, calls = counted(*MISFITS[what])
    assert 1 <= len(found) <= 10
    assert sum(map(len, found)) < 4000
    assert calls < 1_000_000


@pytest.mark.parametrize(
    "value",
    [
        [1, 1.0],
        [{"a": 1, "b": 2}, {"b": 2, "a": 1.0}],
        ["a", "a"],
        [None, None],
        [[1, [2]], [1, [2.0]]],
        [1e300, 1e300],
    ],
)
def test_what_is_the_same_in_json_is_not_unique(value: Any) -> None:
    assert problems(value, {"uniqueItems": True})


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (5, doubling("anyOf")),
        ("x", doubling("allOf")),
        (5, doubling("oneOf")),
        (
            {f"k{number}": number for number in range(15_000)},
            {"patternProperties": {f"^{n}": {} for n in range(1000)}},
        ),
        ([XY[:100]] * 500, {"items": {"pattern": "|".join(["[xy]*x[xy]{990}z"] * 60)}}),
    ],
    ids=["anyOf", "allOf", "oneOf", "patterns", "many texts"],
)
def test_a_schema_that_asks_for_too_much_is_given_up(
    monkeypatch: pytest.MonkeyPatch, value: Any, wanted: Any
) -> None:
    monkeypatch.setattr(results, "_LIMITS", replace(results._LIMITS, fuel=200_000))

    def give_up() -> None:
        with pytest.raises(UnusableSchemaError, match="takes too much work: the limit is 200,000"):
            problems(value, wanted)

    assert calls_of(give_up) < 10 * 200_000


def test_a_long_result_may_take_an_elaborate_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    # A tenth of the longest result, with a tenth of what there is for it.
    monkeypatch.setattr(results, "_LIMITS", replace(results._LIMITS, fuel=results._LIMITS.fuel // 10))
    either = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert problems([1] * 12_000, {"type": "array", "items": either}) == []


def test_a_pattern_that_is_cut_off_is_another_one() -> None:
    with pytest.raises(UnusableSchemaError, match="more than 2,000 characters"):
        problems("b", {"pattern": "a|" * 1000 + "b"})


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"pattern": "(?=x)"}, "RE2 does not support the pattern"),
        (
            {"$ref": "https://example.invalid/results.json"},
            "Unresolvable: https://example.invalid/results.json",
        ),
        ({"$ref": "#/nowhere"}, "nowhere"),
        ({"$ref": "#"}, "recursion"),
    ],
)
def test_a_schema_that_cannot_be_used_says_why_and_fetches_nothing(wanted: Any, why: str) -> None:
    with pytest.raises(UnusableSchemaError, match=why):
        problems("x", wanted)


# Not as a class: here annotations are postponed, and TypedDict has to see which keys are NotRequired.
Nested = TypedDict("Nested", {"inner": list[ConfirmAnswer], "either": NotRequired[int | None]})


def test_result_types_become_schemas() -> None:
    assert results.of(None) is None
    assert results.of({"type": "string"}) == {"type": "string"}
    assert results.of(DelegateResult)["required"] == ["response"]
    assert results.of(ShellResult)["properties"]["duration"] == {"type": "number"}
    assert results.of(Nested) == {
        "type": "object",
        "properties": {
            "inner": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"confirmed": {"type": "boolean"}},
                    "required": ["confirmed"],
                },
            },
            "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "required": ["inner"],
    }


def test_a_schema_is_narrowed_without_being_changed() -> None:
    before = to_text(results.of(ConfirmAnswer))
    narrow = results.narrowed(results.of(ConfirmAnswer), {"confirmed": {"enum": [True]}})
    assert narrow["properties"]["confirmed"] == {"type": "boolean", "enum": [True]}
    assert to_text(results.of(ConfirmAnswer)) == before


@pytest.mark.parametrize("value", [None, True, 1.5, "ü", [], {"a": [1, {"b": None}]}])
def test_plain_values_have_their_size_in_bytes(value: Any) -> None:
    assert check_plain(value, 100, 10) == size_of(value) == len(to_text(value).encode())


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (float("nan"), "is not plain JSON"),
        ({"a": object()}, "is not plain JSON"),
        ({1: 2}, "key that is not text"),
        ("\ud800", "half of a surrogate pair"),
        ("x" * 200, "is 202 bytes; the limit is 100"),
        ([[[[[[[[[[[[]]]]]]]]]]]], "nested too deeply; the limit is 10 levels"),
        ([10**5000], "is not plain JSON"),
    ],
)
def test_what_cannot_be_kept_says_why(value: Any, why: str) -> None:
    with pytest.raises(NotPlainError) as caught:
        check_plain(value, 100, 10)
    assert why in str(caught.value)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(PLAIN | st.text(st.characters(max_codepoint=127)))
def test_a_size_that_is_surely_within_a_limit_is_within_it(value: Any) -> None:
    try:
        size = len(to_text(value).encode())
    except UnicodeEncodeError:
        assert not is_surely_within(value, 10**9)
        return
    assert size_of(value) == size
    assert not is_surely_within(value, size - 1)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), [10**5000], "\ud800", "ä", object(), (1,), [1] * 2000]
)
def test_what_may_not_be_written_down_or_is_long_is_never_surely_within(value: Any) -> None:
    assert not is_surely_within(value, 10**9)
    assert not is_surely_within({"a": [value]}, 10**9)


def test_an_everyday_value_is_surely_within_a_limit() -> None:
    assert is_surely_within({"stdout": "fine", "exit_code": 0, "list": [1.5, None, True]}, 300)


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert not is_surely_within(loop, 10**9)
    with pytest.raises(NotPlainError):
        check_plain(loop, 100, 10)


SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(
                ["string", "integer", "number", "boolean", "null", "array", "object", ["string"]]
            ),
            "enum": st.lists(st.sampled_from(["a", "bb", 1, True, None]), min_size=1),
            "minLength": st.integers(0, 2),
            "maximum": st.integers(0, 2),
            "maxItems": st.integers(0, 2),
            "required": st.lists(st.sampled_from(["a", "b"]), unique=True),
            "pattern": st.just("^a"),
            "const": st.just("a"),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {}, optional={"items": inner, "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner)}
    ),
    max_leaves=4,
)
VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.0, 2.5, 3, "", "a", "bb", "abc"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(max_examples=400)
@given(SCHEMAS, VALUES)
def test_the_quick_answer_never_says_yes_where_the_validator_says_no(wanted: Any, value: Any) -> None:
    import jsonschema

    if surely_fits(value, wanted):
        assert jsonschema.Draft202012Validator(wanted).is_valid(value)


@pytest.mark.parametrize(
    "wanted", [{"minLength": "x"}, {"enum": 3}, {"required": 1}, {"items": []}, {"type": "odd"}]
)
def test_a_schema_that_is_none_gets_no_quick_answer(wanted: Any) -> None:
    assert not surely_fits(
        "a" if "minLength" in wanted or "enum" in wanted else {} if "required" in wanted else [1], wanted
    )


def test_everyday_results_get_the_quick_answer() -> None:
    assert surely_fits({"stdout": "", "stderr": "", "exit_code": 0, "duration": 1.5}, results.of(ShellResult))
    assert not surely_fits({"stdout": "", "stderr": "", "exit_code": True}, results.of(ShellResult))
