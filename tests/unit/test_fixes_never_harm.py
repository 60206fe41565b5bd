"""The engine of `--fix`: a fix is applied only if the second check finds that it does no harm."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from tests.support import W, check, codes, fixed
from wfc.findings import Diagnostic, Edit, Fix, Severity
from wfc.struct import replace
from wfc.yaml import Source
from wfc_runtime.expr import evaluate

TYPES = {"flag": "boolean", "text": "string", "other": "string"}


def whole(steps: str) -> str:
    """A workflow of these steps, with the inputs that they read."""
    used = [name for name in TYPES if f"inputs.{name}" in steps]
    inputs = "".join(f"  {name}: {{type: {TYPES[name]}, required: true}}\n" for name in used)
    return f'name: w\nversion: "1.0.0"\n{"inputs:" if used else ""}\n{inputs}steps:\n{steps}'


def after_fixes(steps: str, *, unsafe: bool = True) -> str:
    return fixed(whole(steps), unsafe=unsafe).texts[W].partition("steps:\n")[2]


# The engine, with findings and fixes made for the purpose.


def a_fix(
    *edits: tuple[int, int, str], safe: bool = True, code: str = "WF999"
) -> Callable[[str], Diagnostic]:
    def find(text: str) -> Diagnostic:
        source = Source("w1.yaml", text)
        fix = Fix("change it", tuple(Edit(source.span(*edit[:2]), edit[2]) for edit in edits), safe)
        return Diagnostic(
            code, "made-up", Severity.WARNING, "it is wrong", source.span(*edits[0][:2]), fix=fix
        )

    return find


FINE = whole(
    '  - {id: a, type: shell, command: make}\n  - {id: b, type: return, value: "{{ inputs.text }}"}\n'
)


def tried(*finders: Callable[[str], Diagnostic], text: str = FINE) -> tuple[str, list[str]]:
    """The text, and why fixes were refused. Each finding is found in the original text only."""

    def look(now: str) -> list[Diagnostic]:
        own = [replace(one, fix=None) for one in check(now)]
        return own + [find(now) for find in finders if now == text]

    result = fixed(text, look)
    return result.texts[W], [one.reason for one in result.refused]


def at(what: str, new: str) -> tuple[int, int, str]:
    start = FINE.index(what)
    return start, start + len(what), new


def test_a_fix_that_does_no_harm_is_applied() -> None:
    text, refused = tried(a_fix(at("make", "make all"), safe=False))
    assert "command: make all" in text
    assert refused == []


def test_a_fix_after_which_the_file_does_not_parse_is_refused() -> None:
    assert tried(a_fix(at("make", "[make"))) == (FINE, ["the file would no longer parse"])


def test_a_fix_whose_finding_stays_is_refused() -> None:
    always = a_fix(at("make", "make all"))
    result = fixed(FINE, lambda now: [always(now)])
    assert result.texts[W] == FINE
    assert [one.reason for one in result.refused] == ["the finding would remain"]


def test_a_fix_that_brings_a_finding_is_refused_and_says_which() -> None:
    text, refused = tried(a_fix(at("command: make", 'command: "echo {{ inputs.text }}"')))
    assert text == FINE
    assert refused[0].startswith(
        "it would cause WF501: untrusted value used unquoted in a shell command (from a run input)"
    )


def test_a_fix_that_brings_a_finding_elsewhere_is_refused() -> None:
    text, refused = tried(a_fix(at("{id: a,", "{id: b,")))
    assert (text, refused[0][:20]) == (FINE, "it would cause WF101")


def test_a_fix_that_changes_nothing_is_refused() -> None:
    assert tried(a_fix(at("make", "make"))) == (FINE, ["it changes nothing"])


def test_the_harmless_among_many_fixes_are_applied() -> None:
    steps = "".join(f"  - {{id: s{n}, type: shell, command: make}}\n" for n in range(9))
    text = whole(steps)
    starts = [place for place in range(len(text)) if text.startswith("make", place)]
    finders = [
        a_fix((start, start + 4, "[" if n in (3, 7) else f"make m{n}"), safe=False)
        for n, start in enumerate(starts)
    ]
    now, _ = tried(*finders, text=text)
    assert [f"m{n}" in now for n in range(9)] == [n not in (3, 7) for n in range(9)]


def test_a_safe_fix_of_a_file_that_compiles_may_only_change_the_step_it_edits() -> None:
    inside = a_fix(at("make", "make all"))
    assert tried(inside)[1] == []
    start = FINE.index("  - {id: b")
    around = a_fix((start, start, "  - {id: c, type: shell, command: make}\n"))
    assert tried(around) == (FINE, ["it would change other steps"])


def test_an_unsafe_fix_may_change_more() -> None:
    start = FINE.index("  - {id: b")
    assert tried(a_fix((start, start, "  - {id: c, type: shell, command: make}\n"), safe=False))[1] == []


def test_findings_that_an_error_hid_are_allowed_and_shown() -> None:
    steps = '  - {id: a, type: shell, comand: "cat {{ inputs.txt }}{{ inputs.text | shquote }}"}\n'
    result = fixed(whole(steps))
    assert '"cat -- {{ inputs.text | shquote }}{{' in result.texts[W]
    steps = "  - {id: a, type: shel, comand: make, output_to: out, target: b}\n"
    text = after_fixes(steps)
    assert "type: shell, command: make" in text


# Fixes that harmed once.


def test_a_field_name_with_a_dash_is_reported_at_its_writer_only() -> None:
    steps = (
        "  - {id: build, type: shell, command: make, output_to: built-out}\n"
        '  - {id: end, type: return, needs_state: [built_out], value: "{{ state.built_out.stdout }}"}\n'
    )
    assert codes(whole(steps)).count("WF303") == 0
    assert after_fixes(steps) == steps.replace("built-out", "built_out")


def test_quote_becomes_shquote_once() -> None:
    steps = '  - {id: a, type: shell, command: "echo {{ inputs.text | quote }}"}\n'
    assert after_fixes(steps) == steps.replace("quote", "shquote")


@pytest.mark.parametrize("name", ["strftime", "fmt", "x", "frobnicate"])
def test_a_filter_like_no_other_is_not_replaced(name: str) -> None:
    steps = f"  - {{id: a, type: return, value: \"{{{{ inputs.text | {name}('%Y') }}}}\"}}\n"
    assert after_fixes(steps) == steps
    assert "did you mean" not in " ".join(one.help for one in check(whole(steps)))


FIXED_AND_VERIFIED = """\
  - {id: fix, type: shell, command: make fix, output_to: fixed}
  - {id: verify, type: shell, command: make verify, output_to: verified}
  - {id: end, type: return, needs_state: [verified], value: "{{ state.verified.exit_code }}"}
"""


def test_an_unread_field_is_never_renamed_to_one_that_another_step_writes() -> None:
    assert after_fixes(FIXED_AND_VERIFIED) == FIXED_AND_VERIFIED.replace(", output_to: fixed", "")
    near = FIXED_AND_VERIFIED.replace("output_to: fixed", "output_to: verifid")
    assert "output_to: verifid" in after_fixes(near)


@pytest.mark.parametrize("written", ["goto done", "goto: done", "GOTO done", "go to done", "done"])
def test_the_advice_on_a_jump_names_the_step(written: str) -> None:
    steps = f"""  - {{id: a, type: shell, command: make, on_error: "{written}"}}
  - {{id: done, type: return}}
"""
    assert [one.help for one in check(whole(steps)) if one.code == "WF006"] == [
        "to continue with a step, write `{goto: done}`"
    ]


SPLITS = [
    "(inputs.text if inputs.flag else inputs.other) | split(',')",
    "(inputs.text ~ inputs.other).split('\\n')",
    "inputs.text.split('\\n')",
    "inputs.text.strip().split('\\n')",
    "((inputs.text) ~ '') | split(';')",
]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = ["", "a", "a,b;c", "a\n", "a\fb\x0bc\x1cd\x85e\u2028f\ng", " ", "\n", ",", "a\r\nb"]


@pytest.mark.parametrize("expression", SPLITS)
def test_the_fix_of_a_split_changes_what_an_empty_text_gives_and_nothing_else(expression: str) -> None:
    steps = f"  - id: a\n    type: return\n    value: |-\n      {{{{ {expression} }}}}\n".replace(
        "'\\n'", '"\\n"'
    )
    before = steps.splitlines()[-1].strip()
    now = after_fixes(steps, unsafe=False)
    after = now.splitlines()[-1].strip()
    assert after != before
    assert codes(whole(now)) == []
    for text in TEXTS:
        for other in TEXTS:
            inputs = {"flag": bool(other), "text": text, "other": other}
            old, new = (
                evaluate(one, {"inputs": inputs, "state": {}}, now=NOW, uuid_seed="")
                for one in (before, after)
            )
            assert new == old or (old == [""] and new == []), (text, other)


def test_advice_puts_brackets_around_what_needs_them() -> None:
    steps = (
        '  - {id: a, type: return, value: "{{ (inputs.text if inputs.flag else inputs.other) | trim }}"}\n'
    )
    help = next(
        one.help for one in check(whole(steps).replace(", required: true", "")) if one.code == "WF217"
    )
    assert help == "supply a fallback: `(inputs.text if inputs.flag else inputs.other) | default(..., true)`"


def test_a_key_is_not_renamed_to_one_that_does_not_take_its_value() -> None:
    steps = '  - {id: a, type: return, value: "{{ inputs.names }}"}\n'
    text = whole(steps).replace("steps:", "inputs:\n  names: {type: array, items: {type: object}}\nsteps:")
    result = fixed(text)
    assert result.texts[W] == text
    assert [one.reason[:20] for one in result.refused] == ["it would cause WF006"]
    simple = text.replace("items: {type: object}", "items: object")
    assert "item_type: object" in fixed(simple).texts[W]


@pytest.mark.parametrize(
    "step",
    [
        '{id: a, type: return, value: "${inputs.text}"}',
        '{id: a, type: prompt, prompt_type: info, message: "Hello { inputs.text }"}',
        '{id: a, type: mcp_call, tool: x.y, parameters: {"{{ inputs.text }}": 1}}',
        '{id: a, type: return, value: {deep: [{"{{ inputs.text }}": 1}]}}',
        '{id: a, type: return, value: "{{ inputs.text"}',
    ],
)
def test_an_input_is_not_removed_where_a_reference_to_it_is_only_misspelt(step: str) -> None:
    text = whole(f"  - {step}\n")
    assert "WF309" not in codes(text)
    assert fixed(text).texts[W] == text


def test_a_field_is_not_removed_where_a_reference_to_it_is_only_misspelt() -> None:
    steps = (
        "  - {id: a, type: shell, command: make, output_to: built}\n"
        '  - {id: b, type: return, needs_state: [built], value: {"{{ state.built.stdout }}": 1}}\n'
    )
    assert "output_to: built" in after_fixes(steps)


@pytest.mark.parametrize("written", ['"{goto: done}"', '"{ goto: done }"', "goto done", "goto: done", "done"])
def test_a_jump_that_is_written_as_text_gets_advice_with_one_pair_of_braces(written: str) -> None:
    value = written if written[0] == '"' else f'"{written}"'
    steps = f"  - {{id: a, type: shell, command: make, on_error: {value}}}\n  - {{id: done, type: return}}\n"
    assert [one.help for one in check(whole(steps))] == ["to continue with a step, write `{goto: done}`"]


def test_a_value_behind_a_misspelt_filter_is_not_to_be_quoted_twice() -> None:
    steps = '  - {id: a, type: shell, command: "echo -- {{ inputs.text | quote }}"}\n'
    assert codes(whole(steps)) == ["WF203"]
    assert after_fixes(steps) == steps.replace("quote", "shquote")
    assert codes(whole(steps.replace("quote", "trim"))) == ["WF501"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [("if", "condition"), ("when", "condition"), ("needs", "depends_on"), ("after", "depends_on")],
)
def test_the_words_of_other_tools_are_known_in_blocks(written: str, meant: str) -> None:
    value = "[build]" if meant == "depends_on" else '"${inputs.go}"'
    text = (
        "name: w\ninputs:\n  go: {type: bool, default: true}\nblocks:\n"
        "  - {id: build, type: Shell, condition: '${inputs.go}', inputs: {command: make}}\n"
        f"  - {{id: test, type: Shell, {written}: {value}, inputs: {{command: make test}}}}\n"
    )
    assert [(one.code, one.help) for one in check(text)] == [("WF004", f"did you mean `{meant}`?")]
    assert codes(fixed(text).texts[W]) == []


def test_a_condition_is_not_turned_into_its_opposite() -> None:
    steps = '  - {id: a, type: shell, unless: "{{ inputs.flag }}", command: make}\n'
    assert after_fixes(steps) == steps
