"""`for_each`: a block once per item of a list or an object."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.blocks.support import compiled, result, run, workflow
from tests.support import check
from wfc.findings import Severity
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store

INPUTS = """
inputs:
  names: {type: list, default: [one, two, bad, four]}
  ports: {type: dict, default: {api: {port: 80}, my-worker: {port: 81}}}
  which: {type: str, default: api}
"""
COUNTS = """
  count: "{{blocks.b.metadata.count}}"
  failed: "{{blocks.b.metadata.count_failed}}"
  skipped: "{{blocks.b.metadata.count_skipped}}"
  mode: "{{blocks.b.metadata.mode}}"
  ok: "{{blocks.b.succeeded}}"
"""


def each(more: str, command: str, after: str = "") -> str:
    return f"""
  - id: b
    type: Shell
    {more}
    inputs:
      env: {{V: "{{{{each.value}}}}", K: "{{{{each.key}}}}", I: "{{{{each.index}}}}", W: "{{{{inputs.which}}}}"}}
      command: '{command}'
{after}"""


def test_every_item_of_a_list_has_a_result_by_its_number(tmp_path: Path) -> None:
    text = workflow(
        each(
            'for_each: "{{inputs.names}}"\n    max_parallel: 2',
            'echo "$I $K $V $W"; test "$V" != bad',
            """
  - id: after
    type: Shell
    inputs: {command: "echo {{blocks.b['2'].failed}} {{blocks.b[0].stdout | trim | quote}}"}
    depends_on: [{block: b, required: false}]
  - {id: needs, type: Shell, inputs: {command: "true"}, depends_on: [b]}
""",
        ),
        COUNTS + '  said: "{{blocks.after.stdout}}"\n  needs: "{{blocks.needs.status}}"\n',
        INPUTS,
    )
    assert result(tmp_path, text) == {
        "count": 4,
        "failed": 1,
        "skipped": 0,
        "mode": "parallel",
        "ok": False,
        "said": "True 0 0 one api\n",
        "needs": "skipped",
    }


@pytest.mark.parametrize(
    ("more", "ran", "skipped"),
    [("", ["one", "two", "bad"], 1), ("\n    continue_on_error: true", ["one", "two", "bad", "four"], 0)],
)
def test_one_after_the_other_stops_after_a_failure_unless_told_to_continue(
    more: str, ran: list[str], skipped: int, tmp_path: Path
) -> None:
    mode = f'for_each: "{{{{inputs.names}}}}"\n    for_each_mode: sequential{more}'
    command = 'echo "$V" >> ran.txt; test "$V" != bad'
    text = workflow(each(mode, command), COUNTS, INPUTS)
    found = result(tmp_path, text)
    assert (found["count"], found["failed"], found["skipped"]) == (4, 1, skipped)
    assert (tmp_path / "work" / "ran.txt").read_text(encoding="utf-8").split() == ran


def test_an_object_gives_its_keys_and_a_result_is_read_by_a_computed_key(tmp_path: Path) -> None:
    text = workflow(
        """
  - id: b
    type: Shell
    for_each: "{{inputs.ports}}"
    inputs: {command: 'echo "{{each.key}} {{each.value.port + 1}}" | tee "$SCRATCH/{{each.key}}"'}
    outputs: {line: {type: str, path: "$SCRATCH/{{each.key}}"}}
""",
        """
  chosen: "{{blocks.b[inputs.which].outputs.stdout}}"
  file: "{{blocks.b['my-worker'].outputs.line}}"
  ok: "{{blocks.b[inputs.which].metadata.succeeded and blocks.b.succeeded}}"
""",
        INPUTS,
    )
    assert result(tmp_path, text) == {"chosen": "api 81\n", "file": "my-worker 82", "ok": True}


@pytest.mark.parametrize("items", ["[]", "{}", "'{{[] if inputs.which else []}}'"])
def test_without_items_the_block_has_succeeded(items: str, tmp_path: Path) -> None:
    found = result(tmp_path, workflow(each(f"for_each: {items}", "true"), COUNTS, INPUTS))
    assert (found["count"], found["ok"]) == (0, True)


def test_a_value_without_items_fails_the_run(tmp_path: Path) -> None:
    reply = run(tmp_path, workflow(each('for_each: "{{inputs.names[0]}}"', "true"), COUNTS, INPUTS))
    assert reply["status"] == "failed"
    assert "a list or an object" in reply["error"]["message"]


def test_an_item_that_crashes_is_data(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "one").write_text("first", encoding="utf-8")
    text = workflow(
        '  - {id: b, type: ReadFile, for_each: [one, none], inputs: {path: "{{each.value}}"}}',
        COUNTS + "  one: \"{{blocks.b['0'].content}}\"\n  why: \"{{blocks.b['1'].error.code}}\"\n",
    )
    found = result(tmp_path, text)
    assert (found["failed"], found["one"], found["why"]) == (1, "first", "execution")


def test_a_skipped_block_has_no_items(tmp_path: Path) -> None:
    text = workflow(
        each('for_each: "{{inputs.names}}"\n    condition: "{{inputs.which == \'x\'}}"', "true"),
        '  skipped: "{{blocks.b.skipped}}"\n  count: "{{blocks.b.metadata.count}}"\n',
        INPUTS,
    )
    assert result(tmp_path, text) == {"skipped": True, "count": 0}


def test_a_workflow_is_called_once_per_item_in_the_older_notation_too(tmp_path: Path) -> None:
    child = workflow(
        '  - {id: say, type: Shell, inputs: {command: \'printf %s "$N!"\', env: {N: "${inputs.name}"}}}',
        "  said: ${blocks.say.stdout}",
        "inputs:\n  name: {type: str}",
        name="kid",
    )
    text = workflow(
        """
  - {id: names, type: EchoBlock, inputs: {message: x}}
  - id: b
    type: Workflow
    for_each: ${inputs.names}
    inputs: {workflow: kid, inputs: {name: "${each.value}"}}
    depends_on: [names]
""",
        "  third: ${blocks.b.2.said}\n  count: {value: '${blocks.b.metadata.count}', type: int}",
        INPUTS,
    )
    assert result(tmp_path, text, child) == {"third": "bad!", "count": 4}


def test_a_prompt_for_each_item_is_answered_in_runs_of_its_own(tmp_path: Path) -> None:
    text = workflow(
        '  - {id: b, type: Prompt, for_each: [red, blue], inputs: {prompt: "Is {{each.value}} nice?"}}',
        COUNTS + "  red: \"{{blocks.b['0'].response}}\"\n",
    )
    service = SqliteService(Store(tmp_path / "runs.db"), Registry(compiled(tmp_path, text)))
    try:
        reply: dict[str, Any] = service.start("case", {})
        for child in reply["action"]["parameters"]["children"]:
            asked = service.next_step(child["workflow_id"])["action"]
            assert asked["parameters"]["instructions"] == f"Is {child['item']['value']} nice?"
            service.submit(child["workflow_id"], asked["step_id"], {"response": child["item"]["value"]})
        ended = service.next_step(reply["workflow_id"])
        assert ended["result"] == {
            "count": 2,
            "failed": 0,
            "skipped": 0,
            "mode": "parallel",
            "ok": True,
            "red": "red",
        }
    finally:
        service.close()


def test_a_secret_in_an_item_is_filled_in_and_redacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WFC_TEST_TOKEN", "tok-123456789")
    text = workflow(
        """
  - id: b
    type: Shell
    for_each: [x]
    inputs: {env: {A: "{{each.value}}:{{secrets.WFC_TEST_TOKEN}}"}, command: 'printf %s "$A" > out.txt; echo "$A"'}
""",
        "  said: \"{{blocks.b['0'].stdout}}\"",
    )
    assert result(tmp_path, text, env=("WFC_TEST_TOKEN",)) == {"said": "x:***\n"}
    assert (tmp_path / "work" / "out.txt").read_text(encoding="utf-8") == "x:tok-123456789"


@pytest.mark.parametrize(
    ("block", "code"),
    [
        ('{id: b, type: Shell, inputs: {command: "echo {{each.value}}"}}', "WF202"),
        ('{id: b, type: Shell, for_each: [1], inputs: {command: "echo {{each.valeu}}"}}', "WF206"),
        ('{id: b, type: Shell, for_each: "{{inputs.nope}}", inputs: {command: "true"}}', "WF204"),
        ('{id: b, type: Shell, for_each: "{{blocks.nope.x}}", inputs: {command: "true"}}', "WF202"),
        ('{id: b, type: Shell, for_each: [1], for_each_mode: both, inputs: {command: "true"}}', "WF006"),
        ('{id: b, type: Shell, for_each: [1], max_parallel: 0, inputs: {command: "true"}}', "WF006"),
        (
            '{id: b, type: Shell, for_each: [1], inputs: {command: "{% if each.value %}x{% endif %}"}}',
            "WF202",
        ),
    ],
)
def test_a_mistake_in_a_for_each_is_found(block: str, code: str) -> None:
    found = check(workflow(f"  - {block}", "  x: '{{blocks.b.succeeded}}'", INPUTS))
    assert code in [one.code for one in found if one.severity is Severity.ERROR], found


@pytest.mark.parametrize(
    ("items", "read", "is_found"),
    [
        ("[x, z]", "blocks.b.stdout", True),
        ("[x, z]", "blocks.b.outputs.stdout", True),
        ("[x, z]", "blocks.b['2'].stdout", True),
        ("{api: 1}", "blocks.b['worker'].stdout", True),
        ("'{{inputs.names}}'", "blocks.b.outputs.stdout", True),
        ("[x, z]", "blocks.b['2'].stdout | default('none')", False),
        ("{api: 1}", "blocks.b.api.stdout", False),
        ("'{{inputs.ports}}'", "blocks.b.stdout.stdout", False),
    ],
)
def test_a_key_that_no_item_has_is_found(items: str, read: str, is_found: bool) -> None:
    block = f'  - {{id: b, type: Shell, for_each: {items}, inputs: {{command: "true"}}}}'
    found = check(workflow(block, f"  x: {json.dumps('{{' + read + '}}')}", INPUTS))
    assert ("WF206" in [one.code for one in found]) == is_found, found


def test_the_results_of_items_have_more_than_one_spelling(tmp_path: Path) -> None:
    text = workflow(
        """
  - id: b
    type: Shell
    for_each: "{{inputs.ports}}"
    inputs: {command: "echo {{each.value.port}} of {{each.count}}"}
""",
        """
  static: "{{blocks.b.blocks['api'].outputs.stdout}}"
  short: "{{blocks.b.blocks['api'].stdout}}"
  computed: "{{blocks.b.blocks[inputs.which].outputs.stdout}}"
  computed_short: "{{blocks.b[inputs.which].stdout ~ blocks.b[inputs.which]['exit_code']}}"
  state: "{{blocks.b[inputs.which].succeeded}}"
  twice: "{{blocks.b[inputs.which][inputs.part].stdout}}"
  asked: "{{get(blocks.b[inputs.which], 'stdout', 'none')}}, {{get(blocks.b[inputs.which], 'nope', 'none')}}"
  looped: "{% for k in ['api', 'my-worker'] %}{{blocks.b[k].stdout | trim}};{% endfor %}"
  all: "{{blocks.b.blocks | length}}"
""",
        INPUTS + "  part: {type: str, default: outputs}\n",
    )
    assert result(tmp_path, text) == {
        "static": "80 of 2\n",
        "short": "80 of 2\n",
        "computed": "80 of 2\n",
        "computed_short": "80 of 2\n0",
        "state": True,
        "twice": "80 of 2\n",
        "asked": "80 of 2\n, none",
        "looped": "80 of 2;81 of 2;",
        "all": 2,
    }


def test_a_computed_number_is_a_key_and_every_item_has_the_states_of_a_block(tmp_path: Path) -> None:
    text = workflow(
        """
  - id: b
    type: Shell
    for_each: "{{ [0, 3] }}"
    inputs: {command: "echo {{each.value}}; exit {{each.value}}"}
  - id: c
    type: Shell
    for_each: [1]
    inputs: {command: "true", working_dir: missing}
    continue_on_error: true
""",
        """
  input: "{{blocks.b[inputs.number].exit_code}}"
  sum: "{{blocks.b[inputs.number - 1].exit_code}}"
  got: "{{get(blocks.b[inputs.number], 'exit_code', 'none')}}"
  looped: "{% for n in range(2) %}{{blocks.b[n].exit_code}};{% endfor %}"
  outcomes: "{{blocks.b['0'].outcome}} {{blocks.b[1].outcome}} {{blocks.c[0].metadata.outcome}}"
""",
        "inputs:\n  number: {type: num, default: 1}",
    )
    assert result(tmp_path, text) == {
        "input": 3,
        "sum": 0,
        "got": 3,
        "looped": "0;3;",
        "outcomes": "success failure n/a",
    }


def test_a_message_for_each_item_is_read_by_its_key(tmp_path: Path) -> None:
    text = workflow(
        '  - {id: b, type: EchoBlock, for_each: "{{ range(2) }}", inputs: {message: "no. {{each.value}}"}}',
        "  said: \"{{blocks.b['1'].message}}, {{blocks.b[0].outputs.echoed}}\"",
    )
    assert result(tmp_path, text) == {"said": "no. 1, Echo: no. 0"}


def test_an_item_has_the_outputs_of_its_block_under_all_their_names(tmp_path: Path) -> None:
    child = workflow(
        '  - {id: e, type: EchoBlock, inputs: {message: "for {{inputs.v}}"}}',
        '  said: "{{blocks.e.message}}"',
        "inputs:\n  v: {type: str}",
        "child",
    )
    text = workflow(
        """
  - {id: w, type: Workflow, for_each: [a, b], inputs: {workflow: child, inputs: {v: "{{each.value}}"}}}
  - {id: r, type: RenderTemplate, for_each: [a], inputs: {template: hi}}
  - {id: f, type: CreateFile, for_each: [a], inputs: {path: "{{tmp}}/a", content: x}}
  - {id: e, type: EchoBlock, for_each: [a], inputs: {message: x}}
""",
        """
  call: "{{blocks.w['1'].success}} {{blocks.w['1'].outputs.workflow}} {{blocks.w[1].total_blocks}}"
  said: "{{blocks.w['1'].said}}"
  alias: "{{blocks.r['0'].rendered}} {{blocks.f['0'].file_path == blocks.f['0'].outputs.path}}"
  state: "{{blocks.e['0'].success}} {{blocks.r['0'].outputs.success}}"
""",
    )
    assert result(tmp_path, text, child) == {
        "call": "True child 1",
        "said": "for b",
        "alias": "hi True",
        "state": "True True",
    }
    assert [
        one.message
        for one in check(text.replace(".total_blocks", ".execution_time_ms"))
        if one.code == "WF206"
    ] == ["the time of one call of a `for_each` is not recorded"]


def test_numbers_of_items_are_no_values_from_outside() -> None:
    text = workflow(
        """
  - {id: b, type: Shell, for_each: "{{inputs.names}}", inputs: {command: "echo {{each.index}} of {{each.count}}"}}
  - {id: c, type: Shell, inputs: {command: "test {{blocks.b.metadata.count}} -gt {{blocks.b.metadata.count_failed}}"}}
  - {id: d, type: Shell, for_each: "{{inputs.names}}", inputs: {command: "echo {{each.value}}"}}
  - {id: e, type: Shell, for_each: "{{inputs.ports}}", inputs: {command: "echo {{each.key}}"}}
  - {id: f, type: Shell, inputs: {command: "echo {{blocks.b['0'].stdout}}"}, depends_on: [b]}
""",
        "  done: '{{blocks.c.succeeded}}'",
        INPUTS,
    )
    assert [one.step for one in check(text) if one.code == "WF501"] == ["d", "e", "f"]


def test_items_that_the_block_does_not_read_are_counted_only(tmp_path: Path) -> None:
    text = workflow(
        "  - {id: b, type: Shell, for_each: [1, 2, 3], inputs: {command: echo x >> made}}\n"
        "  - {id: c, type: Shell, inputs: {command: cat made}, depends_on: [b]}",
        "  made: '{{blocks.c.stdout}}'\n  n: '{{blocks.b.metadata.count_succeeded}}'",
    )
    assert "WF309" not in [one.code for one in check(text)]
    assert result(tmp_path, text) == {"made": "x\nx\nx\n", "n": 3}
