"""References in double braces: what they give, what stays text, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.blocks.support import result, run, workflow
from tests.support import W, check, fixed, load
from wfc.cli.convert import to_braces
from wfc.findings import Severity
from wfc.language.dialect import NotRewrittenError
from wfc_runtime.instructions import instruction_for

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))
INPUTS = """
inputs:
  name: {type: str, default: " World "}
  count: {type: num, default: 3}
  loud: {type: bool, default: true}
  items: {type: list, default: [a, b]}
  place: {type: str, default: "{{tmp}}"}
  data: {type: dict, default: {a: 1}}
"""


def in_text(expression: str, folder: Path, inputs: str = INPUTS) -> str:
    """What a file gets that a text with an expression is written to."""
    content = json.dumps(expression)
    blocks = f"""
  - {{id: no, type: Shell, inputs: {{command: echo no}}, condition: "{{{{not inputs.loud}}}}"}}
  - {{id: say, type: Shell, inputs: {{command: "echo hi; exit 3"}}}}
  - id: put
    type: CreateFile
    inputs: {{path: x.txt, content: {content}}}
    depends_on: [{{block: say, required: false}}, {{block: no, required: false}}]
"""
    result(folder, workflow(blocks, "  x: '{{blocks.put.path}}'", inputs))
    return (folder / "work" / "x.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{inputs.name}}|", " World |"),
        ("{{ inputs.name | trim | lower }}", "world"),
        ("{{inputs.count + 1}} {{inputs.loud}} {{inputs.items}}", "4 True ['a', 'b']"),
        ("{{blocks.say.exit_code}} {{blocks['say'].outputs['stdout']}}", "3 hi\n"),
        ("{{blocks.say.failed}} {{not blocks.say.failed}}", "True False"),
        ("{{'yes' if blocks.say.exit_code == 3 else 'no'}}", "yes"),
        ("[{{blocks.no.stdout}}] [{{blocks.no.stdout | default('none')}}]", "[] [none]"),
        ("{{blocks.no.stdout is defined}} {{blocks.no.skipped}}", "False True"),
        (
            "{{get(blocks.no, 'stdout', 'x')}} {{get(inputs, 'nope', {}) | tojson}} {{get(inputs, 'count')}}",
            "x {} 3",
        ),
        ("{{get(inputs.items, 1, '?')}} {{get(inputs.items, 7, inputs.count)}}", "b 3"),
        ("{{render('{{ a }}-{{ b }}', {'a': inputs.count, 'b': 'x'})}}", "3-x"),
        ("{% for one in inputs.items %}{{ one | upper }};{% endfor %}", "A;B;"),
        ("{{ {'a': {'b': inputs.count}} | tojson }}", '{"a": {"b": 3}}'),
        ("a {{- inputs.count -}} b", "a3b"),
        ("{{metadata.workflow_name}}{{metadata.started_at[:2]}}", "case20"),
        ("{{tmp}}/x", "${SCRATCH}/x"),
        ("{{inputs.items[0]}}{{inputs.items | first}}{{inputs.items.1}}", "aab"),
        (
            "{% set d = {} %}{% for x in inputs.items %}{% set _ = d.update({x: loop.index}) %}{% endfor %}"
            "{{ d.a }}{{ d | tojson }}",
            '1{"a": 1, "b": 2}',
        ),
        (
            "{% set l = [0] %}{% for x in inputs.items if x != 'a' %}{% set _ = l.append(l | length ~ x) %}"
            "{% set _ = l.extend(inputs.items) %}{% endfor %}{{ l }}",
            "[0, '1b', 'a', 'b']",
        ),
    ],
)
def test_an_expression_in_braces_gives(text: str, expected: str, tmp_path: Path) -> None:
    assert in_text(text, tmp_path) == expected


@pytest.mark.parametrize(
    "text",
    [
        "docker ps --format '{{.Names}}'",
        "{{ range .Values.inputs }}",
        "{{#each inputs}}x{{/each}}",
        "${{ github.sha }}",
        "${{ secrets.TOKEN }}",
        "{{ item.name }} {{ now }}",
        "{% if user %}x{% endif %}",
        "{{ 'inputs.name' }}",
        "}} {{",
        "${HOME} ${x.y} $name",
        "{% raw %}{{ inputs.name }}{% endraw %}",
    ],
)
def test_braces_that_name_nothing_of_the_language_stay_text(text: str, tmp_path: Path) -> None:
    assert in_text(text + " {{inputs.count}}", tmp_path) == text + " 3"


def test_a_lone_reference_keeps_its_type_and_declared_types_convert(tmp_path: Path) -> None:
    text = workflow(
        """
  - id: say
    type: Shell
    inputs: {command: 'echo 10 > "$SCRATCH/n"; echo hi'}
    outputs: {n: {type: num, path: "$SCRATCH/n"}}
  - id: state
    type: WriteJSONState
    inputs:
      path: s.json
      data: {n: "{{blocks.say.outputs.n}}", ok: "{{blocks.say.succeeded}}", t: "n={{blocks.say.outputs.n}}"}
    depends_on: [say]
  - {id: read, type: ReadJSONState, inputs: {path: s.json}, depends_on: [state]}
""",
        """
  data: "{{blocks.read.data}}"
  code: "{{blocks.say.exit_code}}"
  both: "{{blocks.say.succeeded}} and {{blocks.read.succeeded}}"
  either: "{{inputs.name or 'x'}}"
  said: {value: "{{blocks.say.stdout}}", type: str}
  n: {value: "{{blocks.say.outputs.n * 1.0}}", type: num}
  ok_text: {value: "{{blocks.say.succeeded}}", type: str}
  data_text: {value: "{{blocks.read.data}}", type: str}
  same: {value: "{{blocks.say.exit_code == 0}}", type: bool}
  parsed: {value: "{{ '[1, 2]' | fromjson if inputs.loud else [] }}", type: list}
""",
        INPUTS,
    )
    assert json.dumps(result(tmp_path, text)) == json.dumps(
        {
            "data": {"n": 10, "ok": True, "t": "n=10"},
            "code": 0,
            "both": True,
            "either": " World ",
            "said": "hi",
            "n": 10,
            "ok_text": "true",
            "data_text": '{"n": 10, "ok": true, "t": "n=10"}',
            "same": True,
            "parsed": [1, 2],
        }
    )


@pytest.mark.parametrize(
    ("condition", "runs"),
    [
        ("{{inputs.loud}}", True),
        ("{{not inputs.loud}}", False),
        ("{{inputs.loud and blocks.say.succeeded}}", True),
        ("{{inputs.loud}} and {{blocks.say.failed}}", False),
        ("{{inputs.name | trim | lower == 'world'}}", True),
        ("{{inputs.items | length > 2}} or {{inputs.count}} == 3", True),
        ("{{blocks.say.exit_code}} == 0 and '{{inputs.name}}' != ''", True),
        ("{{'a' in inputs.items and blocks.say.stdout is defined}}", True),
        ("{{ true }}", True),
        ("{{ not (1 == 1) }}", False),
    ],
)
def test_a_condition_in_braces_decides(condition: str, runs: bool, tmp_path: Path) -> None:
    text = workflow(
        f"""
  - {{id: say, type: Shell, inputs: {{command: echo hi}}}}
  - {{id: go, type: Shell, inputs: {{command: echo go}}, condition: {json.dumps(condition)}, depends_on: [say]}}
""",
        "  ran: '{{blocks.go.succeeded}}'",
        INPUTS,
    )
    assert result(tmp_path, text) == {"ran": runs}


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("{{ other == 'x' }}", "`other` is neither a reference (`{{...}}`) nor a quoted text"),
        (
            "{{ other }} and {{inputs.loud}}",
            "these braces name nothing that a condition can read, such as `inputs.name`",
        ),
        (
            "{% if inputs.loud %}true{% endif %}",
            "a condition has no statements: write an expression, such as `{{ a if b else c }}`",
        ),
    ],
)
def test_a_mistake_in_a_condition_is_described_in_the_notation_of_the_file(
    condition: str, message: str
) -> None:
    text = workflow(
        f"  - {{id: go, type: EchoBlock, inputs: {{message: hi}}, condition: {json.dumps(condition)}}}",
        "  ran: '{{blocks.go.succeeded}}'",
        INPUTS,
    )
    assert [one.message for one in check(text) if one.code == "WF201"] == [message]


def test_advice_about_paths_is_in_the_notation_of_the_file() -> None:
    text = workflow(
        '  - {id: read, type: ReadFile, inputs: {path: "{{inputs.name}}"}}',
        "  found: '{{blocks.read.found}}'",
        INPUTS,
    )
    assert [one.help for one in check(text) if one.code == "WF509"] == [
        "use a fixed path, a number, or a value that the block's `condition` compares with fixed texts "
        "(`{{inputs.env}} == 'prod'`); or let a command write the file and check the value there"
    ]


def test_tmp_is_one_folder_in_commands_folders_paths_variables_and_defaults(tmp_path: Path) -> None:
    text = workflow(
        """
  - id: write
    type: Shell
    inputs:
      working_dir: "{{tmp}}"
      env: {HERE: "{{tmp}}/b.txt"}
      command: 'pwd > a.txt; echo b > "$HERE"; [ -f "{{inputs.place}}/a.txt" ] && [ "$(pwd)" = "$SCRATCH" ]'
    outputs: {a: {type: str, path: b.txt}}
  - {id: read, type: ReadFile, inputs: {path: "{{inputs.place}}/b.txt"}, depends_on: [write]}
""",
        "  a: '{{blocks.write.outputs.a}}'\n  b: '{{blocks.read.content}}'\n  ok: '{{blocks.write.succeeded}}'",
        INPUTS,
    )
    assert result(tmp_path, text) == {"a": "b", "b": "b\n", "ok": True}


def test_tmp_is_a_path_where_the_shell_expands_nothing(tmp_path: Path) -> None:
    text = workflow(
        """
  - id: write
    type: Shell
    inputs:
      command: |
        echo a > '{{tmp}}/a'; echo '$SCRATCH' > "$SCRATCH/literal"
        cat > '{{inputs.place}}/script' << 'END'
        echo b > {{ tmp }}/b
        END
        sh "{{tmp}}/script"
    outputs:
      a: {type: str, path: "{{tmp}}/a"}
      b: {type: str, path: "$SCRATCH/b"}
      c: {type: str, path: "$SCRATCH/literal"}
  - {id: plain, type: Shell, inputs: {command: "cat {{tmp}}/a", shell: false}, depends_on: [write]}
""",
        "  all: '{{blocks.write.a}} {{blocks.write.b}} {{blocks.write.c}} {{blocks.plain.stdout}}'",
        INPUTS,
    )
    assert result(tmp_path, text) == {"all": "a b $SCRATCH a\n"}


def test_tmp_in_a_folder_with_a_space_stays_a_variable_of_the_shell(tmp_path: Path) -> None:
    folder = tmp_path / "a b $(touch c)"
    folder.mkdir()
    command = 'echo hi > "{{tmp}}/x" && cat {{tmp}}/"x" 2>&1 || cat "{{tmp}}/x"'
    text = workflow(
        f"  - {{id: a, type: Shell, inputs: {{command: {json.dumps(command)}}}}}",
        "  a: '{{blocks.a.stdout}}'",
    )
    assert str(result(folder, text)["a"]).endswith("hi\n")
    assert not list(tmp_path.rglob("c"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_file_rewritten_in_braces_gives_the_same(case: Path, tmp_path: Path) -> None:
    text = case.read_text(encoding="utf-8")
    try:
        rewritten = to_braces(load(text).files[0])
    except NotRewrittenError as error:
        assert "variables" in str(error) or "already" in str(error)  # noqa: PT017
        return
    expected = json.loads(case.with_suffix(".json").read_text(encoding="utf-8"))
    found = result(tmp_path, rewritten)
    assert {name: _trimmed(value) for name, value in found.items()} == {
        name: _trimmed(value) for name, value in expected.items()
    }


def _trimmed(value: object) -> object:
    """A declared text loses the white space around it in braces."""
    return value.strip() if isinstance(value, str) else value


MIXED = workflow(
    """
  - id: one
    type: Shell
    inputs: {command: "echo {{inputs.name | quote}} {{blocks.two.stdout | quote}}"}
    depends_on: [two]
  - id: two
    type: Shell
    inputs:
      command: "true"
      working_dir: ${inputs.place}
""",
    "  x: ${blocks.one.stdout}\n  y: '{{blocks.one.succeeded}}'",
    INPUTS,
)


def test_a_file_that_refers_in_both_notations_is_an_error_that_a_fix_resolves() -> None:
    found = [one for one in check(MIXED) if one.code == "WF219"]
    assert [one.severity for one in found] == [Severity.ERROR, Severity.ERROR]
    assert "two notations in one file" in found[0].message
    assert "write `{{inputs.place}}`" in (found[0].help or "")
    text = fixed(MIXED, unsafe=False).texts[W]
    assert 'working_dir: "{{inputs.place}}"' in text
    assert 'x: "{{blocks.one.stdout}}"' in text
    assert [one for one in check(text) if one.severity is Severity.ERROR] == []


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("{{inputs.nope}}", "WF204", "nope"),
        ("{{blocks.nope.stdout}}", "WF202", "there is no block `nope`"),
        ("{{blocks.a.nope}}", "WF206", "no output `nope`"),
        ("{{blocks.my-block.stdout}}", "WF202", "there is no block `my`"),
        ("{{inputs.name | }}", "WF201", "expected"),
        ("{{inputs.name | nofilter}}", "WF203", "nofilter"),
        ("{% for x in inputs.items %}{{x}}", "WF201", "never closed"),
        ("{{secrets}}", "WF202", "secrets"),
        ("{{each.value}}", "WF202", "each"),
        ("{{blocks.a.__internal__.x}}", "WF507", "sandbox"),
        # Only a container that the template itself has made can be filled.
        ("{% set d = inputs.data %}{% set _ = d.update({'x': 1}) %}{{d}}", "WF206", "no method `update`"),
        ("{% set _ = inputs.data.update({'x': 1}) %}{{inputs.data}}", "WF206", "no method `update`"),
        ("{% set d = {} %}{% set _ = d.append(inputs.name) %}{{d}}", "WF206", "no method `append`"),
        (
            "{% set l = [] %}{% for l in inputs.items %}{% set _ = l.append(1) %}{% endfor %}",
            "WF206",
            "no method `append`",
        ),
    ],
)
def test_a_mistake_in_braces_is_found_at_its_place(text: str, code: str, message: str) -> None:
    file = workflow(
        f"""
  - {{id: a, type: Shell, inputs: {{command: echo}}}}
  - {{id: my-block, type: Shell, inputs: {{command: echo}}}}
  - {{id: b, type: CreateFile, inputs: {{path: x, content: {json.dumps(text)}}}, depends_on: [a, my-block]}}
""",
        "  x: '{{blocks.b.path}}'",
        INPUTS,
    )
    found = [one for one in check(file) if one.severity is Severity.ERROR]
    assert code in [one.code for one in found], found
    assert any(message in one.message for one in found), found


FILLED = "{% set r = {} %}{% set _ = r.update({'x': inputs.name}) %}{{ r.x }}"


@pytest.mark.parametrize(
    "text",
    [
        FILLED,
        "{{ render('{{ a }}', {'a': inputs.name}) }}",
        "{{ render(inputs.name, {}) }}",
        "{{ get(inputs.data, inputs.count | string, 'x') }}",
        "{{ get({}, 'x', inputs.name) }}",
        "{{ dict({}, {'x': inputs.name}).x }}",
    ],
)
def test_an_untrusted_value_stays_untrusted_through_functions_and_filled_containers(text: str) -> None:
    command = json.dumps(f"echo {text}")
    found = check(workflow(f"  - {{id: a, type: Shell, inputs: {{command: {command}}}}}", "  x: 1", INPUTS))
    assert {"WF501", "WF502"} & {one.code for one in found}, found


def test_an_input_with_statements_can_be_read_by_another_block_unless_it_reads_blocks(tmp_path: Path) -> None:
    def file(content: str) -> str:
        blocks = f"""
  - {{id: one, type: Shell, inputs: {{command: echo}}}}
  - {{id: put, type: CreateFile, inputs: {{path: x.txt, content: {json.dumps(content)}}}, depends_on: [one]}}
  - {{id: say, type: EchoBlock, inputs: {{message: "{{{{blocks.put.inputs.content | trim}}}}!"}}, depends_on: [put]}}
"""
        return workflow(blocks, "  x: '{{blocks.say.message}}'", INPUTS)

    assert result(tmp_path, file(FILLED)) == {"x": "World!"}
    found = check(file(FILLED.replace("inputs.name", "blocks.one.stdout")))
    assert any("reads other blocks or secrets" in one.message for one in found), found


def test_a_github_expression_with_a_name_of_the_file_is_a_warning() -> None:
    file = workflow(
        '  - {id: a, type: CreateFile, inputs: {path: x, content: "${{ inputs.name }} {{inputs.count}}"}}',
        "  x: '{{blocks.a.path}}'",
        INPUTS,
    )
    assert [(one.code, one.severity) for one in check(file) if one.code == "WF219"] == [
        ("WF219", Severity.WARNING)
    ]


# Secrets.

SECRETS = workflow(
    """
  - id: use
    type: Shell
    inputs:
      env: {AUTH: "Bearer {{secrets.WFC_TEST_TOKEN}}"}
      command: 'echo "$AUTH {{secrets.WFC_TEST_TOKEN}}"; printf %s "$AUTH" | base64'
  - {id: put, type: CreateFile, inputs: {path: s.txt, content: "key={{secrets.WFC_TEST_TOKEN}}"}}
  - {id: read, type: ReadFile, inputs: {path: s.txt}, depends_on: [put]}
""",
    "  said: '{{blocks.use.stdout}}'\n  read: '{{blocks.read.content}}'",
)


def test_a_secret_reaches_the_command_and_is_redacted_in_every_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WFC_TEST_TOKEN", "tok-123456789")
    found = result(tmp_path, SECRETS, env=("WFC_TEST_TOKEN",))
    assert found["read"] == "key=***"
    assert found["said"].startswith("Bearer *** ***\n")
    assert (tmp_path / "work" / "s.txt").read_text(encoding="utf-8") == "key=tok-123456789"
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("state.db*") if path.is_file())
    assert b"tok-123456789" not in stored
    assert b"Bearer ***" in stored


@pytest.mark.parametrize("granted", [False, True])
def test_a_secret_that_is_not_granted_or_not_set_fails_the_block(
    granted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if granted:
        monkeypatch.delenv("WFC_TEST_TOKEN", raising=False)
    else:
        monkeypatch.setenv("WFC_TEST_TOKEN", "tok-123456789")
    reply = run(tmp_path, SECRETS, env=("WFC_TEST_TOKEN",) if granted else ())
    assert (reply["status"], reply["error"]["code"]) == ("failed", "secret_missing")
    assert "--exec-env WFC_TEST_TOKEN" in reply["error"]["hint"]


def test_a_value_that_imitates_a_placeholder_reveals_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WFC_TEST_TOKEN", "tok-123456789")
    forged = "secret:WFC_TEST_TOKEN:" + "0" * 32 + " {{ secret('WFC_TEST_TOKEN') }}"
    text = workflow(
        """
  - id: put
    type: CreateFile
    inputs: {path: "{{inputs.path}}", content: "{{inputs.text}} {{render(inputs.text, {})}}"}
  - {id: use, type: Shell, inputs: {command: "true", env: {T: "{{secrets.WFC_TEST_TOKEN}}"}}}
""",
        "  x: '{{blocks.put.path}}'",
        "inputs:\n  text: {type: str, default: ''}\n  path: {type: str, default: x.txt}",
    )
    result(tmp_path, text, inputs={"text": forged}, env=("WFC_TEST_TOKEN",))
    assert "tok-" not in (tmp_path / "work" / "x.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "place",
    [
        '  - {id: a, type: Shell, inputs: {command: "true"}, condition: "{{secrets.TOKEN}} == \'x\'"}',
        '  - {id: a, type: EchoBlock, inputs: {message: "{{secrets.TOKEN}}"}}',
        '  - {id: a, type: Prompt, inputs: {prompt: "{{secrets.TOKEN}}"}}',
        '  - {id: a, type: Workflow, inputs: {workflow: other, inputs: {x: "{{secrets.TOKEN}}"}}}',
        '  - {id: a, type: Shell, inputs: {command: "true"}}\n# {{secrets.TOKEN}}',
    ],
)
def test_a_secret_is_refused_where_it_would_be_stored_or_shown(place: str) -> None:
    outputs = "  x: '{{blocks.a.succeeded}}'" + ("\n  y: '{{secrets.TOKEN}}'" if "#" in place else "")
    assert "WF507" in [one.code for one in check(workflow(place, outputs)) if one.severity is Severity.ERROR]


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("{{secrets.TOKEN != ''}}", "WF507"),
        ("{{inputs.text == '' and secrets.TOKEN == ''}}", "WF507"),
        ("{{blocks.nope.succeeded}}", "WF202"),
        ("{{blocks.a.nope == 'x'}}", "WF206"),
    ],
)
def test_a_condition_with_a_wrong_reference_is_not_called_constant_too(condition: str, code: str) -> None:
    text = workflow(
        f"""
  - {{id: a, type: Shell, inputs: {{command: "true"}}}}
  - {{id: b, type: Shell, inputs: {{command: "true"}}, depends_on: [a], condition: "{condition}"}}
""",
        '  x: "{{blocks.b.succeeded}} {{inputs.text}}"',
        "inputs:\n  text: {type: str, default: x}",
    )
    assert [one.code for one in check(text)] == [code]


def test_a_created_file_has_the_text_that_was_written(tmp_path: Path) -> None:
    text = workflow(
        """
  - {id: a, type: Shell, inputs: {command: "printf out"}}
  - {id: plain, type: CreateFile, depends_on: [a], inputs: {path: p.txt, content: "{{inputs.who}} {{blocks.a.stdout}}"}}
  - {id: cut, type: CreateFile, inputs: {path: c.txt, content: "ssh{% if inputs.who %} -i key{% endif %}"}}
  - {id: not, type: CreateFile, condition: "{{inputs.who == ''}}", inputs: {path: n.txt, content: "for {{inputs.who}}"}}
  - {id: read, type: Shell, depends_on: [plain, cut], inputs: {command: "echo '{{blocks.cut.outputs.content}}'"}}
""",
        """
  plain: "{{blocks.plain.outputs.content | upper}}"
  cut: "{{blocks.cut.content | default('none')}}, {{blocks.read.stdout | trim}}"
  skipped: "[{{blocks.not.outputs.content | default('')}}]"
""",
        "inputs:\n  who: {type: str, default: me}",
    )
    assert result(tmp_path, text) == {
        "plain": "ME OUT",
        "cut": "ssh -i key, ssh -i key",
        "skipped": "[]",
    }


def test_the_text_of_one_of_many_created_files_is_not_recorded() -> None:
    text = workflow(
        '  - {id: a, type: CreateFile, for_each: [x], inputs: {path: "{{each.value}}", content: x}}',
        "  x: \"{{blocks.a['0'].content}}\"",
    )
    assert [one.code for one in check(text) if one.severity is Severity.ERROR] == ["WF206"]


def test_a_created_file_with_a_secret_does_not_show_it() -> None:
    text = workflow(
        '  - {id: a, type: CreateFile, inputs: {path: p.txt, content: "{{secrets.TOKEN}}"}}',
        '  x: "{{blocks.a.outputs.content}}"',
    )
    assert "WF507" in [one.code for one in check(text)]


def test_an_action_of_the_agent_says_what_placeholders_stand_for() -> None:
    parameters = {"command": "echo secret:A:1", "secrets": {"A": "secret:A:1"}}
    assert "put that environment variable" in instruction_for("shell", parameters)
    assert "secrets" not in instruction_for("shell", {"command": "echo"})
