"""Answers files: read, given out, written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfc.author.answers import Answers, NoAnswerError, fill, read_answers, write_answers
from wfc_runtime import results
from wfc_runtime.contract import ChoiceAnswer, ConfirmAnswer, DelegateResult, TextAnswer

ANY: dict[str, Any] = {}


def answers(text: str) -> Answers:
    file = read_answers("a.yaml", text.encode())
    assert not file.problems, [str(found.message) for found in file.problems]
    return Answers(file.scripts)


def problems(text: str) -> list[str]:
    found = read_answers("a.yaml", text.encode()).problems
    return [
        f"{one.span.line}:{one.span.column} {one.message}; {one.help}".removesuffix("; ") for one in found
    ]


def test_a_list_gives_one_result_per_visit_and_then_says_that_it_is_used_up() -> None:
    script = answers("answers: {draft: [first, second]}")
    assert [script.take("w", visit, "delegate", ANY).value for visit in ("draft", "draft@2")] == [
        "first",
        "second",
    ]
    with pytest.raises(NoAnswerError, match="asked once more, and the answers have 2 for it"):
        script.take("w", "draft@3", "delegate", ANY)


def test_a_single_result_serves_every_visit() -> None:
    script = answers("answers: {draft: same}")
    assert {script.take("w", f"draft@{number}", "delegate", ANY).value for number in (2, 3, 4)} == {"same"}


def test_a_result_that_is_a_list_stands_in_a_list() -> None:
    assert answers("answers: {files: [[a, b]]}").take("w", "files", "delegate", ANY).value == ["a", "b"]


def test_a_key_with_its_scope_wins_over_the_plain_one() -> None:
    script = answers("answers: {read: plain, one/read: scoped}")
    assert script.take("one", "read", "shell", ANY).value["stdout"] == "scoped"
    assert script.take("two", "read", "shell", ANY).value["stdout"] == "plain"


def test_a_step_without_an_answer_is_named_with_what_to_add() -> None:
    with pytest.raises(NoAnswerError, match=r"nothing for step `build` of `w`; add `build: <result>`"):
        answers("answers: {}").take("w", "build@2", "shell", ANY)


def test_what_was_never_asked_for_is_known() -> None:
    script = answers("answers: {a: 1, b: [1, 2], c: 3}")
    for visit in ("a", "b"):
        script.take("w", visit, "mcp_call", ANY)
    assert [key for key, _ in script.unused()] == ["b", "c"]


@pytest.mark.parametrize(
    ("kind", "result", "value", "meant"),
    [
        ("shell", None, "out", {"stdout": "out", "stderr": "", "exit_code": 0}),
        ("shell", None, {"exit_code": 2}, {"stdout": "", "stderr": "", "exit_code": 2}),
        ("shell", None, {"error": "no"}, {"error": "no"}),
        ("shell", None, {"timed_out": True}, {"timed_out": True}),
        ("prompt", ConfirmAnswer, False, {"confirmed": False}),
        ("prompt", TextAnswer, "hello", {"input": "hello"}),
        ("prompt", ChoiceAnswer, "go", {"selected": "go"}),
        ("delegate", DelegateResult, "done", {"response": "done"}),
        ("delegate", {"type": "array"}, "done", "done"),
        ("delegate", {"type": "object", "required": ["a", "b"]}, "done", "done"),
        ("mcp_call", None, 3, 3),
    ],
)
def test_short_spellings_stand_for_whole_results(kind: str, result: Any, value: Any, meant: Any) -> None:
    assert fill(kind, results.of(result), value) == meant


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1 the file is empty; it needs the key `answers`"),
        ("answer: {a: 1}", "1:1 an answers file has no key `answer`; did you mean `answers`?"),
        ("- a", "1:1 an answers file must be a mapping"),
        ("answers: [a]", "1:10 `answers` must be a mapping"),
        ("answers:\n  a@2: 1", "2:3 `a@2` names a visit; give `a` a list, with one result per visit"),
        ("answers:\n  a: 1\n  a: 2", "3:3 duplicate key `a` in one mapping; remove one of them"),
        ("answers:\n  a: {b: 1, b: 2}", "2:13 duplicate key `b` in one mapping; remove one of them"),
    ],
)
def test_a_mistake_in_the_file_is_said_at_its_place(text: str, message: str) -> None:
    assert message in problems(text)


def test_a_file_that_is_no_yaml_says_so_at_its_place() -> None:
    [found] = read_answers("a.yaml", b"answers: {a: 1").problems
    assert (found.code, found.span.line) == ("WF001", 1)


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(
        st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff\ufffe\uffff")
        | st.just("\n")
    )
    | st.sampled_from(
        ["no", "0o17", "1e3", "~", "12:30", "a\nb\n", " lead\nx", "- a", "{{ x }}", "null", "2026-01-01"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab0-: ", min_size=1), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z-]{0,5}", fullmatch=True), st.lists(_JSON, min_size=1, max_size=3)
    )
)
def test_what_is_written_is_read_back_as_it_was(results: dict[str, list[Any]]) -> None:
    inputs = {"given": results}
    file = read_answers("a.yaml", write_answers(inputs, results).encode())
    assert not file.problems
    assert file.inputs == inputs
    script = Answers(file.scripts)
    for key, values in results.items():
        assert [script.take("w", key, "mcp_call", None).value for _ in values] == values
