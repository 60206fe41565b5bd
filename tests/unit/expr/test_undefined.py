"""What isn't there is an error that names it, unless the template asked."""

import pytest

from .support import ev, failure, value

STATE = {"build": {"exit_code": 0, "stdout": ""}, "none": None, "n": 3, "items": [1], "text": "x"}


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("total", "'total' is not defined; there is: state, inputs"),
        ("stat.n", "'stat' is not defined; there is: state, inputs; did you mean 'state'?"),
        ("n", "'n' is not defined: did you mean state.n?"),
        ("env", "'env' is not defined: did you mean inputs.env?"),
        ("now", "'now' is a function: write now()"),
        ("state.build.zz", "state.build.zz is not defined; state.build has: exit_code, stdout"),
        (
            "state.txt",
            "state.txt is not defined; state has: build, none, n, items, text; did you mean 'text'?",
        ),
        ("state['build']['x']", "state['build'].x is not defined; state['build'] has: exit_code, stdout"),
        ("state.zzz.further", "state.zzz is not defined; state has: build, none, n, items, text"),
        ("state.none.x", "state.none is null: it has no 'x'"),
        ("state.n.x", "state.n is a number: it has no 'x'"),
        ("state.items[3]", "state.items has no item 3: it has 1"),
        ("state.items.gone", "state.items is a list: it has no 'gone'"),
        ("state.n[0]", "state.n is a number: it has no item 0"),
        ("state.text.strip", "'strip' is a method of text: write state.text.strip()"),
        ("[] | first", "there is no first item: the list is empty"),
        ("[{'a': 1}] | map(attribute='b')", "an item has no 'b'; it has: a"),
    ],
)
def test_an_undefined_name_is_an_error_that_names_it(expression: str, message: str) -> None:
    error = failure("{{ " + expression + " }}", state=STATE, inputs={"env": "x"})
    assert error.message == message
    assert error.reason == "undefined"


def test_the_error_has_the_place_in_the_template() -> None:
    text = "exit {{ state.n }} of {{ state.build.exit_cod + 1 }}"
    error = failure(text, state=STATE)
    assert error.start is not None
    assert text[error.start : error.end] == "state.build.exit_cod"
    assert str(error).endswith("(in `state.build.exit_cod`, at character 25)")


def test_a_field_the_step_did_not_declare_is_named_as_such() -> None:
    error = failure("{{ state.secret }}", state={"n": 1}, hidden=frozenset({"secret"}))
    assert (error.message, error.reason) == ("state.secret is not in this step's needs_state", "hidden")
    for way in ("state['secret']", "(state).secret", "[state] | map(attribute='secret') | first"):
        again = failure(f"{{{{ {way} }}}}", state={}, hidden=frozenset({"secret"}))
        assert (again.message, again.reason) == (error.message, "hidden")


def test_a_field_that_is_not_there_at_all_is_not_said_to_be_hidden() -> None:
    state = {"step": {"needs_state": 1}}
    for way in ("state.other", "state.step.secret", "inputs.secret"):
        error = failure(f"{{{{ {way} }}}}", state=state, inputs={}, hidden=frozenset({"secret"}))
        assert error.reason == "undefined"


@pytest.mark.parametrize(
    "path",
    [
        "gone",
        "state.gone",
        "state.gone.b",
        "state.gone['b'].c[0]",
        "state.none.b",
        "state.items[9].x",
        "state.n.x",
    ],
)
def test_default_and_the_tests_for_it_take_what_is_not_there(path: str) -> None:
    assert value(f"{path} | default([])", state=STATE) == []
    assert value(f"{path} | d('x')", state=STATE) == "x"
    assert value(f"{path} is defined", state=STATE) is False
    assert value(f"{path} is undefined", state=STATE) is True


def test_default_leaves_what_is_there() -> None:
    assert value("state.n | default(1)", state=STATE) == 3
    assert value("state.none | default(1)", state=STATE) is None
    assert value("state.none | default(1, true)", state=STATE) == 1
    assert value("'' | default('x', boolean=true)") == "x"
    assert value("state.n | default(state.gone)", state=STATE) == 3


def test_a_default_that_is_undefined_itself_is_an_error() -> None:
    assert "state.b" in failure("{{ state.a | default(state.b) }}", state={}).message


@pytest.mark.parametrize(
    "expression",
    [
        "gone + 1",
        "gone ~ 'x'",
        "gone == 1",
        "1 in gone",
        "not gone",
        "gone and true",
        "gone or true",
        "1 if gone else 2",
        "gone | upper",
        "gone | length | default(0)",
        "gone.strip() | default('')",
        "[gone]",
        "{'a': gone}",
        "-gone",
        "gone[1:]",
        "gone is none",
        "range(gone)",
        "'x' | replace(gone, 'y')",
        "(gone ~ 'x') | default('')",
    ],
)
def test_any_other_use_is_an_error(expression: str) -> None:
    assert failure("{{ " + expression + " }}").message == "'gone' is not defined; there is nothing"


@pytest.mark.parametrize(
    "text", ["a {{ gone }}", "{% for x in gone %}{% endfor %}", "{% if gone %}{% endif %}"]
)
def test_statements_do_not_take_it_either(text: str) -> None:
    assert "'gone' is not defined" in failure(text).message


def test_an_undefined_value_may_pass_through_set() -> None:
    assert ev("{% set x = state.gone %}{{ x | default('none') }}", state={}) == "none"
    assert "state.gone" in failure("{% set x = state.gone %}{{ x }}", state={}).message


def test_an_if_without_else_is_empty() -> None:
    assert ev("a{{ ', ' if false }}b") == "ab"
    assert value("1 if false") is None
    assert value("(1 if false) | default(2)") == 2
    assert value("not (1 if false)") is True


def test_selectattr_can_ask_for_presence() -> None:
    results = [{"ok": 1}, {"error": "x"}]
    assert value("r | selectattr('error', 'defined')", r=results) == [{"error": "x"}]
    assert value("r | rejectattr('error', 'defined')", r=results) == [{"ok": 1}]
    assert "no 'ok'" in failure("{{ r | selectattr('ok') }}", r=results).message
