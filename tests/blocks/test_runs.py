"""What workflows of blocks do when they run: each feature of the language, small, with real commands.

`cases/<what>.yaml` is a workflow, `cases/<what>.json` what it gives back.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.blocks.support import compiled, result, run
from tests.support import load
from wfc.check import check_project
from wfc_runtime.errors import RefusedError, RequestError
from wfc_runtime.registry import Registry
from wfc_runtime.server.about import info, listed
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_workflow_gives_back(case: Path, tmp_path: Path) -> None:
    expected = json.loads(case.with_suffix(".json").read_text(encoding="utf-8"))
    assert result(tmp_path, case.read_text(encoding="utf-8")) == expected


INPUTS = """
inputs:
  name: {type: str, default: world}
  count: {type: int, default: 3}
  loud: {type: bool, default: true}
"""


def workflow(blocks: str, outputs: str, inputs: str = "", name: str = "case") -> str:
    return f"name: {name}\ndescription: A case.\n{inputs}\nblocks:\n{blocks}\noutputs:\n{outputs}\n"


ADDER = workflow(
    """
  - {id: add, type: Shell, inputs: {command: "printf $((${inputs.a} + ${inputs.b}))"}}
""",
    """
  sum: ${blocks.add.stdout}
  ok: ${blocks.add.succeeded}
  big: {value: "${blocks.add.stdout}", type: int}
""",
    """
inputs:
  a: {type: int}
  b: {type: int, default: 1}
""",
    "adder",
)


def test_a_child_gets_what_it_is_given_and_gives_back_its_outputs(tmp_path: Path) -> None:
    parent = workflow(
        """
  - {id: one, type: Workflow, inputs: {workflow: adder, inputs: {a: "${inputs.count}", b: 4}}}
  - id: two
    type: ExecuteWorkflow
    inputs: {workflow: adder, inputs: {a: "${blocks.one.outputs.sum}"}}
    condition: ${blocks.one.outputs.ok} and ${blocks.one.ok} == true
    depends_on: [one]
""",
        """
  one: ${blocks.one.sum}
  two: ${blocks.two.outputs.sum}
  typed: {value: "${blocks.two.big}", type: int}
  ok: ${blocks.two.succeeded} and ${blocks.two.success}
  status: ${blocks.two.status} ${blocks.two.outcome}
""",
        INPUTS,
    )
    expected = {"one": "7", "two": "8", "typed": 8, "ok": True, "status": "completed success"}
    assert result(tmp_path, parent, ADDER) == expected


def test_a_child_does_not_see_what_it_has_no_input_for(tmp_path: Path) -> None:
    parent = workflow(
        "  - {id: one, type: Workflow, inputs: {workflow: adder, inputs: {a: 1, working_dir: ., mode: fast}}}",
        "  sum: ${blocks.one.sum}",
    )
    assert result(tmp_path, parent, ADDER) == {"sum": "2"}


def test_a_child_that_crashes_fails_its_parent(tmp_path: Path) -> None:
    child = workflow(
        "  - {id: read, type: ReadFile, inputs: {path: none.txt}}",
        "  x: ${blocks.read.content}",
        "",
        "reader",
    )
    parent = workflow("  - {id: call, type: Workflow, inputs: {workflow: reader}}", "  x: ${blocks.call.x}")
    reply = run(tmp_path, parent, child)
    assert reply["status"] == "failed"
    assert reply["error"]["step_id"] == "call"
    assert "none.txt" in reply["error"]["message"]


def test_an_answer_is_the_response_of_a_prompt(tmp_path: Path) -> None:
    text = workflow(
        """
  - {id: ask, type: Prompt, inputs: {prompt: "Deploy to ${inputs.name}?"}}
  - id: go
    type: Shell
    inputs: {command: echo go}
    condition: ${blocks.ask.response} == 'yes'
    depends_on: [ask]
  - id: stay
    type: Shell
    inputs: {command: echo stay}
    condition: ${blocks.ask.outputs.response} != 'yes'
    depends_on: [ask]
""",
        """
  answer: ${blocks.ask.response}
  go: ${blocks.go.succeeded}
  stay: ${blocks.stay.succeeded}
""",
        INPUTS,
    )
    assert result(tmp_path, text, answers={"ask": "yes"}) == {"answer": "yes", "go": "true", "stay": "false"}


@pytest.mark.parametrize(
    ("block", "code"),
    [
        ("type: ReadFile, inputs: {path: none.txt}", "execution"),
        ("type: ReadJSONState, inputs: {path: none.json, required: true}", "execution"),
        ("type: Shell, inputs: {command: sleep 30, timeout: 1}", "timeout"),
        ("type: Shell, inputs: {command: ls, working_dir: none}", "execution"),
        ("type: Shell, inputs: {command: ls}, outputs: {x: {type: int, path: none.txt}}", "output_missing"),
        ('type: RenderTemplate, inputs: {template: "{{ missing }}"}', "execution"),
    ],
    ids=["file", "state", "timeout", "folder", "output", "template"],
)
def test_a_crashed_block_fails_the_run(block: str, code: str, tmp_path: Path) -> None:
    reply = run(tmp_path, workflow(f"  - {{id: b, {block}}}", "  ok: ${blocks.b.succeeded}"))
    assert reply["status"] == "failed"
    assert (reply["error"]["code"], reply["error"]["step_id"]) == (code, "b")
    assert "on_error" not in reply["error"]["hint"]


def test_inputs_are_converted_to_what_is_declared(tmp_path: Path) -> None:
    text = workflow(
        "  - {id: say, type: Shell, inputs: {command: printf x}}",
        """
  n: {value: "${inputs.count}", type: int}
  b: ${inputs.loud} == false
  s: ${inputs.name}
""",
        INPUTS,
    )
    given = {"count": "12", "loud": "false", "name": 5}
    assert result(tmp_path, text, inputs=given) == {"n": 12, "b": True, "s": "5"}


@pytest.mark.parametrize("given", [1.5, "1.5", "many", [1]])
def test_an_int_is_a_whole_number(tmp_path: Path, given: object) -> None:
    text = workflow("  - {id: say, type: EchoBlock, inputs: {message: a}}", "  n: ${inputs.count}", INPUTS)
    with pytest.raises(RequestError, match="`count` must be a whole number"):
        run(tmp_path, text, inputs={"count": given})


def test_an_input_without_a_default_must_be_given(tmp_path: Path) -> None:
    text = workflow(
        '  - {id: say, type: Shell, inputs: {command: "echo ${inputs.who}"}}',
        "  x: ${blocks.say.stdout}",
        "inputs:\n  who: {type: str}",
    )
    with pytest.raises(RequestError, match="`who` is required"):
        run(tmp_path, text)


OLD = workflow(
    """
  - {id: before, type: ReadJSONState, inputs: {path: s.json}}
  - id: first
    type: WriteJSONState
    depends_on: [before]
    condition: "not ${blocks.before.outputs.found}"
    inputs: {path: s.json, state: {phase: "one", done: []}}
  - id: ask
    type: Prompt
    depends_on: [first]
    inputs:
      prompt: Go on?
      operation: "go_on_with_${inputs.name}"
      details: {path: "${blocks.first.path}"}
      allow_empty: false
  - {id: after, type: ReadJSONState, depends_on: [ask], inputs: {path: s.json}}
""",
    """
  phase: ${blocks.after.state.phase}
  goes_on: "${blocks.ask.response == 'yes'}"
""",
    INPUTS,
)


def test_inputs_of_old_blocks_are_taken_and_what_nothing_heeds_is_said(tmp_path: Path) -> None:
    assert result(tmp_path, OLD, answers={"ask": "yes"}) == {"phase": "one", "goes_on": True}
    found = [
        (one.code, one.severity.value) for one in check_project(load(OLD)) if one.code in "WF004 WF005 WF009"
    ]
    assert found == [("WF009", "warning"), ("WF009", "warning")]


def test_a_call_says_what_it_called_how_that_went_and_how_long_it_took(tmp_path: Path) -> None:
    parent = workflow(
        """
  - {id: ran, type: ExecuteWorkflow, inputs: {workflow: slow}}
  - {id: kept, type: Workflow, inputs: {workflow: slow}, condition: "${inputs.count} > 5"}
  - {id: said, type: EchoBlock, inputs: {message: a}}
""",
        """
  called: ${blocks.ran.outputs.workflow}, ${blocks.ran.success}
  took: ${blocks.ran.outputs.execution_time_ms} > 100 and ${blocks.ran.metadata.execution_time_ms} < 60000
  in_order: ${blocks.ran.metadata.started_at} < ${blocks.ran.metadata.completed_at}
  not_called: "'${blocks.kept.outputs.workflow}', ${blocks.kept.success}, ${blocks.kept.execution_time_ms}"
  at_once: ${blocks.said.metadata.execution_time_ms} == 0 and ${blocks.said.metadata.started_at} != ''
  own: ${blocks.ran.outputs.total_blocks}
  waves: {value: "${blocks.ran.outputs.execution_waves}", type: int}
  uncalled: "${blocks.kept.outputs.execution_waves}"
""",
        INPUTS,
        "parent",
    )
    slow = workflow(
        "  - {id: nap, type: Shell, inputs: {command: sleep 0.15}}", '  total_blocks: "7"', name="slow"
    )
    assert result(tmp_path, parent, slow) == {
        "called": "slow, true",
        "took": True,
        "in_order": True,
        "not_called": "'', false, 0",
        "at_once": True,
        "own": "7",
        "waves": 1,
        "uncalled": "0",
    }


def test_an_agent_has_to_say_what_the_declared_files_hold(tmp_path: Path) -> None:
    counting = workflow(
        """
  - id: count
    type: Shell
    inputs: {command: "ls | wc -l > $SCRATCH/n"}
    outputs: {files: {type: int, path: $SCRATCH/n}, note: {type: str, path: $SCRATCH/note, required: false}}
""",
        "  files: ${blocks.count.outputs.files}, ${blocks.count.outputs.note}",
    )
    service = SqliteService.open(tmp_path / "state.db", compiled(tmp_path, counting))
    try:
        run_id = service.start("case", {})["workflow_id"]
        answer = {"stdout": "", "stderr": "", "exit_code": 0}
        for outputs, complaint in (({}, "outputs"), ({"outputs": {"files": "3", "note": None}}, "files")):
            with pytest.raises(RefusedError, match=complaint):
                service.submit(run_id, "count", {**answer, **outputs})
        reply = service.submit(run_id, "count", {**answer, "outputs": {"files": 3, "note": None}})
    finally:
        service.close()
    assert reply["result"] == {"files": "3, "}


LARGE = workflow(
    """
  - id: make
    type: Shell
    inputs: {command: "head -c ${inputs.size} /dev/zero | tr '\\\\0' x | tee copy > $SCRATCH/big"}
    outputs: {big: {type: str, path: $SCRATCH/big}}
  - {id: read, type: ReadFile, depends_on: [make], inputs: {path: copy}}
  - {id: write, type: CreateFile, depends_on: [read], inputs: {path: again, content: "${blocks.make.outputs.big}"}}
  - {id: small, type: Shell, depends_on: [write], inputs: {command: "cmp copy again && wc -c < again"}}
""",
    """
  made: ${blocks.make.outputs.big}.count('x') == ${inputs.size}
  read: ${blocks.read.outputs.size_bytes}
  counted: ${blocks.small.outputs.stdout}
""",
    "inputs: {size: {type: int}}",
)


def test_a_file_of_megabytes_is_an_output_like_any_other(tmp_path: Path) -> None:
    size = 10 * 1024 * 1024
    got = result(tmp_path, LARGE, inputs={"size": size})
    assert got == {"made": True, "read": str(size), "counted": f"{size}\n"}


def test_a_file_of_more_than_ten_megabytes_is_none(tmp_path: Path) -> None:
    reply = run(tmp_path, LARGE, inputs={"size": 10 * 1024 * 1024 + 1})
    assert (reply["status"], reply["error"]["step_id"]) == ("failed", "make")
    assert "too large" in reply["error"]["message"]


def test_a_block_may_wait_for_hundreds_of_others(tmp_path: Path) -> None:
    many = [f"b{number}" for number in range(300)]
    blocks = [f"  - {{id: {name}, type: Shell, inputs: {{command: 'true'}}}}" for name in many]
    last = f"  - {{id: last, type: Shell, depends_on: [{', '.join(many)}], inputs: {{command: 'true'}}}}"
    condition = " or ".join(f"${{blocks.{name}.failed}}" for name in many)
    generated = compiled(tmp_path, workflow("\n".join([*blocks, last]), f"  bad: {condition}"))
    assert "state.b299.exit_code == 0)" in (generated / "case.py").read_text(encoding="utf-8")


def test_workflows_call_each_other_deeper_than_steps_may(tmp_path: Path) -> None:
    def link(number: int) -> str:
        call = f"  - {{id: a, type: Workflow, inputs: {{workflow: link-{number + 1}}}}}"
        return workflow(call, "  said: ${blocks.a.outputs.said}", name=f"link-{number}")

    end = workflow(
        "  - {id: a, type: EchoBlock, inputs: {message: hi}}", "  said: ${blocks.a.echoed}", name="link-8"
    )
    assert result(tmp_path, *map(link, range(8)), end) == {"said": "Echo: hi"}


def test_an_output_of_a_child_is_compared_with_true_whatever_it_says(tmp_path: Path) -> None:
    child = workflow(
        "  - {id: look, type: Shell, inputs: {command: 'true'}}",
        "  mode: production\n  ok: ${blocks.look.succeeded}",
        name="child",
    )
    parent = workflow(
        """
  - {id: call, type: Workflow, inputs: {workflow: child}}
  - {id: a, type: EchoBlock, inputs: {message: a}, condition: "${blocks.call.mode} == 'true'", depends_on: [call]}
  - {id: b, type: EchoBlock, inputs: {message: b}, condition: "${blocks.call.mode} != true", depends_on: [call]}
  - {id: c, type: EchoBlock, inputs: {message: c}, condition: "${blocks.call.ok} == 'True'", depends_on: [call]}
""",
        "  ran: ${blocks.a.succeeded} ${blocks.b.succeeded} ${blocks.c.succeeded}",
    )
    assert result(tmp_path, parent, child) == {"ran": "false true true"}


def test_a_workflow_is_found_by_its_tags(tmp_path: Path) -> None:
    tagged = workflow(
        "  - {id: say, type: EchoBlock, inputs: {message: hi}}", "  said: ${blocks.say.message}"
    )
    registry = Registry(compiled(tmp_path, f"tags: [zebra, ci]\n{tagged}"))
    assert [one["workflow"] for one in listed(registry, "zebra case")["workflows"]] == ["case"]
    assert listed(registry, "zebras")["workflows"] == []
    assert info(registry.find("case"))["tags"] == ["zebra", "ci"]


def test_a_call_says_how_many_blocks_and_waves_the_workflow_has_that_it_called(tmp_path: Path) -> None:
    parent = workflow(
        "  - {id: outer, type: Workflow, inputs: {workflow: middle}}",
        """
  sizes: "${blocks.outer.outputs.total_blocks}/${blocks.outer.execution_waves}"
  inner: ${blocks.outer.outputs.inner}
""",
        name="parent",
    )
    middle = workflow(
        """
  - {id: a, type: EchoBlock, inputs: {message: a}}
  - {id: b, type: EchoBlock, inputs: {message: b}}
  - {id: ran, type: Workflow, inputs: {workflow: small}, depends_on: [a, b]}
""",
        "  inner: ${blocks.ran.outputs.total_blocks} > 0 and ${blocks.ran.outputs.execution_waves} == 1",
        name="middle",
    )
    small = workflow("  - {id: a, type: EchoBlock, inputs: {message: a}}", "  x: z", name="small")
    assert result(tmp_path, parent, middle, small) == {"sizes": "3/2", "inner": "true"}


def test_a_workflow_of_steps_that_is_called_has_no_blocks_to_count(tmp_path: Path) -> None:
    parent = workflow(
        "  - {id: ran, type: Workflow, inputs: {workflow: plain}}",
        "  sizes: '[${blocks.ran.outputs.total_blocks}] ${blocks.ran.outputs.x}'",
        name="parent",
    )
    plain = "name: plain\nversion: '1'\nsteps:\n  - {id: r, type: return, value: {x: 1}}\n"
    assert result(tmp_path, parent, plain) == {"sizes": "[0] 1"}


SLOW_KID = """
  - {id: nap, type: Shell, inputs: {command: "sleep 30; echo late > late.txt"}}
"""


def test_a_workflow_that_is_called_is_stopped_when_its_time_is_up(tmp_path: Path) -> None:
    parent = workflow(
        """
  - {id: ran, type: Workflow, inputs: {workflow: kid, timeout_ms: "${inputs.count}00"}}
  - {id: after, type: EchoBlock, inputs: {message: a}, depends_on: [{block: ran, required: false}]}
""",
        "  x: ${blocks.after.message}",
        INPUTS,
        "parent",
    )
    began = time.monotonic()
    reply = run(tmp_path, parent, workflow(SLOW_KID, "  x: '1'", name="kid"))
    assert time.monotonic() - began < 20
    assert reply["status"] == "failed"
    assert (reply["error"]["code"], reply["error"]["step_id"]) == ("timeout", "ran")
    assert "`kid` did not end within 0.3 seconds" in reply["error"]["message"]
    store = Store(tmp_path / "state.db")
    row = store.queries.run(reply["workflow_id"])
    assert row is not None
    assert row.key is not None
    assert [child.status for child in store.queries.children(row.key)] == ["cancelled"]
    store.close()
    assert not (tmp_path / "work" / "late.txt").exists()


def test_a_call_that_ran_out_of_time_is_tried_again(tmp_path: Path) -> None:
    parent = workflow(
        "  - {id: ran, type: Workflow, inputs: {workflow: kid, timeout_ms: 3000}, retry: {max_attempts: 2}}",
        "  x: ${blocks.ran.x}",
        name="parent",
    )
    kid = workflow(
        "  - {id: once, type: Shell, inputs: {command: 'test -e seen || { touch seen; sleep 30; }; echo ok'}}",
        "  x: ${blocks.once.stdout}",
        name="kid",
    )
    assert result(tmp_path, parent, kid) == {"x": "ok\n"}


def test_a_number_that_only_the_run_knows_is_no_condition(tmp_path: Path) -> None:
    text = workflow(
        """
  - {id: state, type: ReadJSONState, inputs: {path: s.json}}
  - id: next
    type: EchoBlock
    depends_on: [state]
    condition: ${blocks.state.outputs.data.open}
    inputs: {message: a}
""",
        "  ran: ${blocks.next.succeeded}",
    )
    for number, (kept, ended) in enumerate(
        [({"open": True}, "true"), ({"open": "False"}, "false"), ({"open": 3}, None)]
    ):
        folder = tmp_path / str(number)
        (folder / "work").mkdir(parents=True)
        (folder / "work" / "s.json").write_text(json.dumps(kept), encoding="utf-8")
        reply = run(folder, text)
        if ended is not None:
            assert reply["result"] == {"ran": ended}
        else:
            assert reply["status"] == "failed"
            assert reply["error"]["step_id"] == "next"
            assert "a number is not true or false" in reply["error"]["message"]


def test_workflows_hand_each_other_files_as_large_as_blocks_may_read(tmp_path: Path) -> None:
    top = workflow(
        """
  - {id: outer, type: Workflow, inputs: {workflow: middle}}
  - id: kept
    type: Workflow
    depends_on: [outer]
    inputs: {workflow: writer, inputs: {text: "${blocks.outer.text}"}}
""",
        "  bytes: {value: '${blocks.kept.bytes}', type: int}",
        name="top",
    )
    writer = workflow(
        '  - {id: kept, type: CreateFile, inputs: {path: copy.txt, content: "${inputs.text}"}}',
        "  bytes: ${blocks.kept.size_bytes}",
        "inputs:\n  text: {type: str}",
        "writer",
    )
    middle = workflow(
        "  - {id: inner, type: Workflow, inputs: {workflow: reader}}",
        "  text: ${blocks.inner.outputs.text}",
        name="middle",
    )
    reader = workflow(
        """
  - {id: make, type: Shell, inputs: {command: "head -c 3000000 /dev/zero | tr '\\\\0' x > large.txt"}}
  - {id: read, type: ReadFile, depends_on: [make], inputs: {path: large.txt}}
""",
        "  text: ${blocks.read.content}",
        name="reader",
    )
    assert result(tmp_path, top, middle, reader, writer) == {"bytes": 3_000_000}
