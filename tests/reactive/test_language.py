"""Which files are reactive, how their names are resolved, and what paths and values mean."""

from __future__ import annotations

import pytest

from tests.reactive.support import HEAD, STATE, step, translated
from tests.support import check, file_of
from wfc.dialects.reactive.updates import parse_path
from wfc.findings import Severity

# Which language a file is in.

LANGUAGES = {
    "name: a\nsteps: [{id: a, type: shell, command: ls}]\n": "steps",
    "name: a\nblocks: [{id: a, type: Shell, inputs: {command: ls}}]\n": "blocks",
    "name: a\nsteps: [{type: shell_command, command: ls}]\n": "reactive",
    "name: a\nsteps: [{id: a, type: while, condition: a}, {type: user_message, message: a}]\n": "reactive",
    "name: a\nstate_schema: {}\nsteps: [{type: foreach}]\n": "reactive",
    "name: a\ndefault_state: {}\nsteps: []\n": "reactive",
    "name: a\nsub_agent_tasks: {}\nsteps: []\n": "reactive",
    "name: a\nimports: []\nsteps: []\n": "reactive",
    "name: a\nerror_handling: {}\nsteps: []\n": "reactive",
    "workflow: {name: a, steps: [{type: break}]}\n": "reactive",
    "workflow: a\nsteps: [{id: a, type: shell, command: ls}]\n": "steps",
    # The keys of an earlier design: `action` instead of `type`.
    "name: hello\nsteps: [{id: greet, action: shell, command: ls}]\n": "steps",
    "name: a\n": "steps",
}


@pytest.mark.parametrize("text", LANGUAGES)
def test_a_file_is_recognised_by_what_only_its_language_has(text: str) -> None:
    assert file_of(text).dialect.name == LANGUAGES[text]


def test_a_whole_file_may_stand_under_one_key() -> None:
    inside = "  " + f"{HEAD}{STATE}steps: [{{type: user_message, message: Hi.}}]\n".replace("\n", "\n  ")
    found = translated(f"workflow:\n{inside}\n")
    assert (found["name"], found["steps"][0]["message"]) == ("case:one", "Hi.")


# Names.

READS = {
    "{{ count }}": ("{{ state.count }}", ["count"]),
    "{{ raw.count }}": ("{{ state.count }}", ["count"]),
    "{{ state.count }}": ("{{ state.count }}", ["count"]),
    "{{ this.count }}": ("{{ state.count }}", ["count"]),
    "{{ raw['count'] }}": ("{{ state.count }}", ["count"]),
    "{{ raw?.count }}": ("{{ state.count }}", ["count"]),
    "{{ computed.lines }}": ("{{ state.lines }}", ["lines"]),
    "{{ this.lines }}": ("{{ state.lines }}", ["lines"]),
    "{{ lines }}": ("{{ state.lines }}", ["lines"]),
    "{{ global.log }}": ("{{ state.global_log }}", ["global_log"]),
    "{{ inputs.who }}": ("{{ inputs.who }}", None),
    "{{ who }}": ("{{ inputs.who }}", None),
    "{{ names.map(who => who + count) }}": (
        "{{ state.names.map(who => who + state.count) }}",
        ["names", "count"],
    ),
    "{{ {count, who} }}": ("{{ {count: state.count, who: inputs.who} }}", ["count"]),
    "{{ `${text}!` }}": ("{{ `${state.text}!` }}", ["text"]),
    "{{ by_name[who].count }}": ("{{ state.by_name[inputs.who].count }}", ["by_name"]),
    "a {{ count }} b {{ names.length }}": (
        "a {{ state.count }} b {{ state.names.length }}",
        ["count", "names"],
    ),
    "{{ 'count' + \"raw.count\" }}": ("{{ 'count' + \"raw.count\" }}", None),
    "{{ count | path_to_key }}": ("{{ path_to_key(state.count) }}", ["count"]),
    "{{ count || who }}": ("{{ state.count || inputs.who }}", ["count"]),
    "{{ Object.keys(by_name) }}": ("{{ Object.keys(state.by_name) }}", ["by_name"]),
    "no holes, and {count}": ("no holes, and {count}", None),
    "{{ x => x.count }}": ("{{ x => x.count }}", None),
}


@pytest.mark.parametrize("text", READS)
def test_references_become_those_of_the_core(text: str) -> None:
    quoted = "'" + text.replace("'", "''") + "'"
    made = step(f"{{type: state_update, path: raw.text, value: {quoted}}}")
    wanted, reads = READS[text]
    assert made["changes"][0]["value"] == wanted
    assert made.get("needs_state") == reads


def test_both_spellings_mean_the_same_and_can_be_mixed() -> None:
    old = f"{HEAD}default_state: {{raw: {{n: 1}}}}\n" + (
        "state_schema: {raw: {n: number}, computed: {twice: {from: raw.n, transform: input * 2}}}\n"
        "steps:\n  - {id: a, type: conditional, condition: '{{ twice > raw.n }}', then: [{id: b, type: break}]}\n"
    )
    new = f"{HEAD}default_state: {{state: {{n: 1}}}}\n" + (
        "state_schema: {state: {n: number}, computed: {twice: {from: this.n, transform: input * 2}}}\n"
        "steps:\n  - {id: a, type: conditional, condition: this.twice > state.n, then_steps: [{id: b, type: break}]}\n"
    )
    assert translated(old) == translated(new)


LOOPS = f"""{HEAD}{STATE}
steps:
  - id: outer
    type: foreach
    items: "{{{{ names }}}}"
    variable_name: name
    index_name: at
    body:
      - id: inner
        type: foreach
        items: [1, 2]
        steps:
          - {{id: say, type: user_message, message: "{{{{ [name, at, loop.name, item, loop.item, index] }}}}"}}
      - {{id: say2, type: user_message, message: "{{{{ [item, loop.index, loop.iteration] }}}}"}}
      - id: again
        type: while
        condition: loop.iteration < 3
        body:
          - {{id: say3, type: user_message, message: "{{{{ [loop.iteration, loop.item, name] }}}}"}}
"""


def test_loop_names_are_those_of_the_innermost_loop_that_has_them() -> None:
    outer = translated(LOOPS)["steps"][0]
    inner, second, again = outer["steps"]
    assert (outer["as"], outer["index_as"], inner["as"]) == ("name", "at", "item")
    assert inner["steps"][0]["message"] == "{{ [name, at, name, item, item, index] }}{{ '' }}"
    assert second["message"] == "{{ [name, at, (at + 1)] }}{{ '' }}"
    assert again["if"] == "{{ state.again_turn < 3 }}"
    assert again["steps"][0]["message"] == "{{ [state.again_turn, name, name] }}{{ '' }}"
    assert again["count_to"] == "again_turn"


def test_names_of_the_result_come_before_fields_and_only_in_the_updates() -> None:
    state = STATE.replace("text: ", "stdout: 1, text: ")
    made = step(
        "{type: shell_command, command: 'echo {{ stdout }}', state_update: {path: raw.text, value: stdout}}",
        state,
    )
    assert made["command"] == "echo {{ state.stdout }}"
    assert made["changes"] == [{"path": ["text"], "value": "{{ result.stdout }}"}]


def test_keys_of_a_tool_result_come_before_fields_where_it_has_them() -> None:
    made = step(
        "{type: mcp_call, tool: t, state_update: {path: raw.text, value: '{{ count + errors + result.x }}'}}"
    )
    assert made["changes"][0]["value"] == (
        '{{ ("count" in Object(result) ? result.count : state.count) + Object(result).errors + result.x }}'
    )


TEXTS = {
    "{{ text }}": "{{ state.text }}",
    "{{ who }}": "{{ inputs.who }}",
    "{{ count }}": "{{ state.count }}{{ '' }}",
    "{{ lines }}": "{{ state.lines }}{{ '' }}",
    "{{ text.length }}": "{{ state.text.length }}{{ '' }}",
    "{{ text + who }}": "{{ state.text + inputs.who }}{{ '' }}",
    "a {{ count }}": "a {{ state.count }}",
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_value_alone_in_a_message_is_printed_as_within_text(text: str) -> None:
    assert step(f"{{type: user_message, message: '{text}'}}")["message"] == TEXTS[text]


# Paths.

PATHS = {
    "raw.a": ("raw", "a", []),
    "this.a.b.c": ("this", "a", ["b", "c"]),
    "state['a']['b.c'][0]": ("state", "a", ["b.c", "0"]),
    "raw.a.{{ x }}.b": ("raw", "a", ["{{ x }}", "b"]),
    "raw.a[{{ x }}][y.z]": ("raw", "a", ["{{ x }}", "y.z"]),
    "raw.a['x_{{ y[0] }}'].b": ("raw", "a", ["x_{{ y[0] }}", "b"]),
    "raw.a['n' + {{ b[']'] }}]": ("raw", "a", ["'n' + {{ b[']'] }}"]),
    "raw.a.{{ x['.'] }}_y": ("raw", "a", ["{{ x['.'] }}_y"]),
    "global.log": ("global", "log", []),
    "computed.x": ("computed", "x", []),
    "attempts": ("attempts", "", []),
}


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_split_at_dots_and_brackets_and_never_inside_of_a_hole(path: str) -> None:
    found = parse_path(path)
    assert (found.tier, found.field, [path[part.start : part.end] for part in found.rest]) == PATHS[path]


@pytest.mark.parametrize(
    "path", ["raw.", "raw..a", "raw.a[", "raw.a['b", "raw.a.b.", ".a", "{{ x }}.a", "raw.{{ x }}"]
)
def test_a_path_that_is_none_is_an_error(path: str) -> None:
    found = parse_path(path)
    assert found.problem or not found.field


# The value rule.

VALUES = {
    ("raw.count", "'{{ count + 1 }}'"): "{{ state.count + 1 }}",
    ("raw.count", "state.count + 1"): "{{ state.count + 1 }}",
    ("raw.count", "'5'"): 5,
    ("raw.count", "5"): 5,
    ("raw.ready", "'true'"): True,
    ("raw.ready", "true"): True,
    ("raw.names", "'[]'"): "{{ [] }}",
    ("raw.names", '\'["a", "b"]\''): '{{ ["a", "b"] }}',
    ("raw.names", "[a, '{{ who }}']"): ["a", "{{ inputs.who }}"],
    ("raw.by_name", "'{}'"): "{{ ({}) }}",
    ("raw.by_name", "'{\"n\": {{ count }}}'"): '{{ ({"n": ( state.count )}) }}',
    ("raw.text", "count"): "count",
    ("raw.text", "'true'"): "true",
    ("raw.text", "'5'"): "5",
    ("raw.text", "'[1, 2]'"): "[1, 2]",
    ("raw.text", '\'{"a": {"b": 1}}\''): '{"a": {"b": 1}}',
    ("raw.text", "'[count, 2]'"): "{{ [state.count, 2] }}",
    ("raw.undeclared", "'[1, 2]'"): "{{ [1, 2] }}",
    ("raw.text", "'Hello, {{ who }}!'"): "Hello, {{ inputs.who }}!",
    ("raw.text", "'`n is ${count}`'"): "{{ `n is ${state.count}` }}",
    ("raw.text", "this works (mostly)"): "this works (mostly)",
    ("raw.text", "raw"): "raw",
    ("raw.text", "inputs.who"): "{{ inputs.who }}",
    ("raw.by_name.x", "'12'"): "12",
}


@pytest.mark.parametrize(("path", "value"), VALUES)
def test_a_value_without_braces_is_an_expression_only_where_it_reads_like_one(path: str, value: str) -> None:
    made = step(f"{{type: state_update, path: '{path}', value: {value}}}")
    assert made["changes"][0]["value"] == VALUES[(path, value)]


@pytest.mark.parametrize(
    ("path", "value", "made"),
    [
        ("raw.base.x", "'10'", 10),
        ("this.base.deep.on", "'true'", True),
        ("raw.base.x", "ten", "ten"),
        ("raw.base.x", "'true'", "true"),
        ("raw.base.name", "'10'", "10"),
        ("raw.base.y", "'10'", "10"),
        ('raw.base["x"]', "'10'", 10),
        ("raw.base[{{ inputs.who }}]", "'10'", "10"),
        ("global.base.x", "'10'", "10"),
        ("raw.base.x", "base.y", "base.y"),
    ],
)
def test_text_for_a_number_or_a_boolean_inside_of_a_field_is_read_as_json(
    path: str, value: str, made: object
) -> None:
    state = "default_state:\n  raw: {base: {x: 1, name: one, deep: {on: false}}}\n"
    [change] = step(f"{{type: state_update, path: '{path}', value: {value}}}", state)["changes"]
    assert change["value"] == made
    assert type(change["value"]) is type(made)


@pytest.mark.parametrize(
    "transform",
    [
        "input.rows.reduce((sum, row) => sum + row.n, 0)",
        "input.rows.sort((a, b) => a.name.localeCompare(b.name))",
        "input.text.replace(/(a)/, (all, one) => one.toUpperCase())",
        "String(input.text).replace(/(a)/, (all, one) => one.toUpperCase())",
    ],
)
def test_the_second_argument_of_a_callback_is_an_index_only_for_methods_that_pass_one(transform: str) -> None:
    text = f"""{HEAD}inputs: {{data: {{type: object}}}}
default_state: {{raw: {{n: 1}}}}
state_schema: {{computed: {{made: {{from: inputs.data, transform: "{transform}", fallback: 0}}}}}}
steps: [{{type: user_message, message: "{{{{ made }}}} {{{{ n }}}}"}}]
"""
    assert [one.message for one in check(text)] == []


# What files of older versions have.


def test_a_file_of_step_types_that_other_languages_have_is_reactive_by_its_scopes() -> None:
    call = "steps: [{id: a, type: mcp_call, tool: t, parameters: {value: '{{ global.x }}'}}]\n"
    assert [(one.code, one.message) for one in check(HEAD + call)] == [("WF202", "nothing writes `global.x`")]
    # A step type of another language decides.
    other = call.replace("mcp_call", "set_state").replace("tool: t, parameters", "updates")
    assert "undefined name `global`" in [one.message for one in check(HEAD + other)]


def conditions(depth: int) -> str:
    """A step inside of this many conditions."""
    inner = "{type: user_message, message: Hello}"
    for _ in range(depth):
        inner = f"{{type: conditional, condition: inputs.x, then: [{inner}]}}"
    return inner


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("steps: []\ndefault_state: {}\n", ["WF006"]),
        (
            "default_state: {raw: {n: 1}}\n"
            "state_schema: {computed: {c: {from: raw.n, transform: input + 1}}}\nsteps: []\n",
            ["WF006"],
        ),
        ("steps: [{type: user_message, message: '{{ global.x }}'}]\n", ["WF202"]),
        ("inputs: {x: {type: string}}\nsteps: [{type: user_message, message: '{{ raw.x }}'}]\n", ["WF012"]),
        (
            "default_state: {raw: {n: 1}}\nstate_schema: {computed: {c: {from: raw.n, transform: eval('1')}}}\n"
            "steps: [{type: exit}]\n",
            ["WF507"],
        ),
        ("default_state: {inputs: {x: 1}}\nsteps: [{type: user_message, message: '{{ inputs.x }}'}]\n", []),
        (
            "default_state: {raw: {n: 1}}\nsteps: [{type: mcp_call, tool: t, store_result: found}, "
            "{type: user_message, message: '{{ found.size }} of {{ n }}'}]\n",
            [],
        ),
        (
            "default_state: {raw: {list: [1]}}\n"
            "steps: [{id: p, type: parallel_foreach, items: '{{ list }}', sub_agent_task: t}]\n"
            "sub_agent_tasks: {t: {inputs: {item: {type: object}}, prompt_template: 'Look at {{ item.name }}.'}}\n",
            ["WF207"],
        ),
        (f"inputs: {{x: {{type: boolean}}}}\nsteps: [{conditions(7)}]\n", ["WF010"]),
    ],
)
def test_what_older_tools_accepted_compiles_with_a_warning(text: str, found: list[str]) -> None:
    reported = check(HEAD + text)
    assert [one.code for one in reported] == found
    assert {one.severity for one in reported} <= {Severity.WARNING}


def test_an_input_that_is_read_as_a_field_is_renamed_safely() -> None:
    text = f"{HEAD}inputs: {{x: {{type: string}}}}\nsteps: [{{type: user_message, message: '{{{{ raw.x }}}}'}}]\n"
    [found] = check(text)
    assert found.fix is not None
    assert found.fix.safe
    [edit] = found.fix.edits
    assert text[: edit.span.start] + edit.text + text[edit.span.end :] == text.replace("raw.x", "inputs.x")


@pytest.mark.parametrize(
    "lines",
    [
        "config: {timeout_seconds: -5}\nsteps: [{type: exit}]",
        "steps: [{type: shell_command, command: ls, timeout: 0}]",
        "steps: [{type: agent_shell_command, command: ls, timeout: -100}]",
        "steps: [{type: agent_prompt, prompt: go, timeout_seconds: -1}]",
        "steps: [{type: wait_step, timeout_seconds: -1}]",
        "steps: [{type: exit}]\nsub_agent_tasks: {t: {timeout_seconds: 0, steps: [{type: exit}]}}",
    ],
)
def test_a_time_limit_that_is_not_positive_is_an_error(lines: str) -> None:
    found = check(f"{HEAD}default_state: {{raw: {{n: 1}}}}\n{lines}\n")
    assert [one.code for one in found if one.severity is Severity.ERROR] == ["WF006"]


def test_a_wait_of_no_time_ends_at_once() -> None:
    assert step("{type: wait_step, timeout_seconds: 0}")["duration_seconds"] == 0
