"""Workflows of blocks that call each other: what is handed over, what is told, and how long it may take."""

from __future__ import annotations

from pathlib import Path

from tests.blocks.support import INPUTS, result, run, workflow
from tests.execute.conftest import is_alive
from tests.support import check, wait_until
from wfc.findings import Severity
from wfc_runtime.store import Store

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


def test_null_leaves_an_input_of_the_child_its_default(tmp_path: Path) -> None:
    parent = workflow(
        '  - {id: one, type: Workflow, inputs: {workflow: adder, inputs: {a: 1, b: "{{inputs.b}}"}}}',
        '  sum: "{{blocks.one.sum}}"',
        "inputs:\n  b: {type: int, required: false}",
    )
    assert result(tmp_path, parent, ADDER) == {"sum": "2"}


def test_a_call_that_may_crash_leaves_the_run_as_it_is(tmp_path: Path) -> None:
    parent = workflow(
        """
  - id: one
    type: Workflow
    continue_on_error: true
    inputs: {workflow: adder, inputs: {a: "not a number"}}
  - id: two
    type: Shell
    inputs: {command: "echo ${blocks.one.status} ${blocks.one.failed} [${blocks.one.sum}]"}
    depends_on: [{block: one, required: false}]
""",
        "  said: ${blocks.two.stdout}\n  one: ${blocks.one.failed} and not ${blocks.one.succeeded}\n"
        "  status: ${blocks.one.status}",
    )
    expected = {"said": "failed true []\n", "one": True, "status": "failed"}
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


def test_a_child_that_crashes_is_seen_by_blocks_that_only_wait_for_its_call(tmp_path: Path) -> None:
    child = workflow(
        """
  - {id: read, type: ReadFile, inputs: {path: none.txt}}
  - {id: tidy, type: CreateFile, inputs: {path: tidy.txt, content: x}, depends_on: [{block: read, required: false}]}
""",
        "  error: ${blocks.read.content}",
        "",
        "reader",
    )
    parent = workflow(
        """
  - {id: call, type: Workflow, inputs: {workflow: reader}}
  - id: tell
    type: CreateFile
    inputs: {path: told.txt, content: "${blocks.call.status} ${blocks.call.failed} [${blocks.call.error}]"}
    depends_on: [{block: call, required: false}]
""",
        "  x: ${blocks.call.error}",
    )
    reply = run(tmp_path, parent, child)
    assert (reply["status"], reply["error"]["step_id"]) == ("failed", "call")
    assert "none.txt" in reply["error"]["message"]
    assert (tmp_path / "work" / "tidy.txt").exists()
    assert (tmp_path / "work" / "told.txt").read_text(encoding="utf-8") == "failed true []"


def test_a_call_says_what_it_called_how_that_went_and_how_long_it_took(tmp_path: Path) -> None:
    parent = workflow(
        """
  - {id: ran, type: ExecuteWorkflow, inputs: {workflow: slow}}
  - {id: kept, type: Workflow, inputs: {workflow: slow}, condition: "${inputs.count} > 5"}
  - {id: said, type: EchoBlock, inputs: {message: a}}
""",
        """
  called: ${blocks.ran.outputs.workflow}, ${blocks.ran.success}
  took: ${blocks.ran.outputs.execution_time_ms} > 100 and ${blocks.ran.metadata.execution_time_ms} > 100
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
  - {id: nap, type: Shell, inputs: {command: "echo $$ > pid; exec sleep 1000", timeout: 1000}}
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
    reply = run(tmp_path, parent, workflow(SLOW_KID, "  x: '1'", name="kid"))
    assert reply["status"] == "failed"
    assert (reply["error"]["code"], reply["error"]["step_id"]) == ("timeout", "ran")
    assert "`kid` did not end within 0.3 seconds" in reply["error"]["message"]
    store = Store(tmp_path / "state.db")
    row = store.queries.run(reply["workflow_id"])
    assert row is not None
    assert row.key is not None
    assert [child.status for child in store.queries.children(row.key)] == ["cancelled"]
    store.close()
    pid = tmp_path / "work" / "pid"
    # On a busy machine the time may be up before the command has begun.
    if pid.exists() and pid.read_text():
        wait_until(lambda: not is_alive(int(pid.read_text())), "the end of the command")


def test_a_call_that_ran_out_of_time_is_tried_again(tmp_path: Path) -> None:
    parent = workflow(
        # Only the first attempt must run out of time; on a busy machine others may as well.
        "  - {id: ran, type: Workflow, inputs: {workflow: kid, timeout_ms: 3000}, retry: {max_attempts: 50}}",
        "  x: ${blocks.ran.x}",
        name="parent",
    )
    kid = workflow(
        "  - {id: once, type: Shell, inputs: {command: 'test -e seen || { touch seen; sleep 999; }; echo ok'}}",
        "  x: ${blocks.once.stdout}",
        name="kid",
    )
    assert result(tmp_path, parent, kid) == {"x": "ok\n"}


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


# Computed names.


def named(name: str, says: str) -> str:
    return workflow(
        f"  - {{id: say, type: Shell, inputs: {{command: echo {says}}}}}",
        "  said: ${blocks.say.stdout}",
        name=name,
    )


def chooser(name: str) -> str:
    return workflow(
        f"  - {{id: one, type: Workflow, inputs: {{workflow: {name}}}}}",
        "  said: ${blocks.one.said}" if "$" in name else '  said: "{{blocks.one.said}}"',
        "inputs:\n  kind: {type: str, default: python}",
    )


BOTH = (named("python-tests", "snake"), named("node-tests", "nodes"))


def test_a_workflow_is_called_by_a_name_that_a_run_computes(tmp_path: Path) -> None:
    for number, name in enumerate(('"${inputs.kind}-tests"', '"{{inputs.kind | lower}}-tests"')):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert result(folder, chooser(name), *BOTH) == {"said": "snake\n"}
    choice = """"{{'python-tests' if inputs.kind == 'x' else 'node-tests'}}\""""
    assert result(tmp_path, chooser(choice), *BOTH) == {"said": "nodes\n"}


def test_a_computed_name_that_the_file_does_not_allow_is_not_called(tmp_path: Path) -> None:
    secret = named("deploy-production", "never")
    parent = chooser('"${inputs.kind}-tests"')
    for number, (kind, code) in enumerate((("deploy-production", "child_failed"), ("rust", "child_failed"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        reply = run(folder, parent, *BOTH, secret, inputs={"kind": kind})
        assert (reply["status"], reply["error"]["code"]) == ("failed", code)
        assert "never" not in str(reply)


def test_a_name_that_may_be_anything_is_an_error_and_one_that_nothing_has_is_reported() -> None:
    anything = check(chooser('"${inputs.kind}"'), *BOTH)
    assert [one.code for one in anything if one.severity is Severity.ERROR] == ["WF506"]
    nothing = check(chooser('"${inputs.kind}-lint"'), *BOTH)
    assert ("WF111", Severity.WARNING) in [(one.code, one.severity) for one in nothing]
    assert [
        one for one in check(chooser('"${inputs.kind}-tests"'), *BOTH) if one.code in ("WF111", "WF506")
    ] == []
