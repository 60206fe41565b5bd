"""What workflows of blocks do when they run: each feature of the language, small, with real commands.

`cases/<what>.yaml` is a workflow, `cases/<what>.json` what it gives back.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.blocks.support import INPUTS, compiled, result, run, workflow
from tests.support import load
from wfc.checker import check_project
from wfc_runtime.errors import RefusedError, RequestError
from wfc_runtime.registry import Registry
from wfc_runtime.server.workflows import info, listed
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_workflow_gives_back(case: Path, tmp_path: Path) -> None:
    expected = json.loads(case.with_suffix(".json").read_text(encoding="utf-8"))
    assert result(tmp_path, case.read_text(encoding="utf-8")) == expected


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


def test_a_prompt_is_an_action_of_the_agent_unless_a_person_must_answer(tmp_path: Path) -> None:
    text = workflow(
        """
  - {id: ask, type: Prompt, inputs: {prompt: "Which one is it?"}}
  - {id: approve, type: Prompt, inputs: {prompt: "Go on?", human: true}, depends_on: [ask]}
""",
        "  a: ${blocks.ask.response}\n  b: ${blocks.approve.response}",
    )
    service = SqliteService(Store(tmp_path / "runs.db"), Registry(compiled(tmp_path, text)))
    try:
        asked = service.start("case", {})
        assert (asked["action"]["type"], asked["action"]["parameters"]["instructions"]) == (
            "delegate",
            "Which one is it?",
        )
        # Only what a person must answer is in the inbox.
        assert service.waiting()["waiting"] == []
        gate = service.submit(asked["workflow_id"], "ask", {"response": "this"})
        assert (gate["action"]["type"], gate["action"]["parameters"]["message"]) == ("prompt", "Go on?")
        assert service.waiting()["total"] == 1
        ended = service.submit(asked["workflow_id"], "approve", {"input": "yes"})
        assert ended["result"] == {"a": "this", "b": "yes"}
    finally:
        service.close()


def test_the_outputs_of_a_workflow_are_told_with_their_types(tmp_path: Path) -> None:
    text = workflow(
        "  - {id: say, type: Shell, inputs: {command: echo 1}}",
        """
  n: {value: "${blocks.say.stdout}", type: num, description: What it said.}
  plain: ${blocks.say.succeeded}
""",
    )
    module = Registry(compiled(tmp_path, text)).modules()[0]
    assert info(module)["outputs"] == {"n": {"type": "num", "description": "What it said."}, "plain": {}}


@pytest.mark.parametrize(
    ("block", "code"),
    [
        ("type: ReadFile, inputs: {path: none.txt}", "execution"),
        ("type: ReadJSONState, inputs: {path: none.json, required: true}", "execution"),
        ("type: Shell, inputs: {command: sleep 1000, timeout: 1}", "timeout"),
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


def test_a_block_that_only_waits_for_one_that_crashed_runs_and_sees_it(tmp_path: Path) -> None:
    asked = [
        "succeeded",
        "failed",
        "skipped",
        "status",
        "outcome",
        "metadata.status",
        "metadata.error",
        "content",
    ]
    text = workflow(
        f"""
  - {{id: bad, type: ReadFile, inputs: {{path: none.txt}}}}
  - id: tell
    type: CreateFile
    inputs: {{path: told.txt, content: "{" ".join(f"${{blocks.bad.{one}}}" for one in asked)}|"}}
    depends_on: [{{block: bad, required: false}}]
  - id: alert
    type: CreateFile
    inputs: {{path: alert.txt, content: crashed}}
    condition: ${{blocks.bad.status}} == 'failed' and ${{blocks.bad.outcome}} == 'n/a'
    depends_on: [{{block: bad, required: false}}]
  - {{id: never, type: CreateFile, inputs: {{path: never.txt, content: x}}, depends_on: [bad]}}
  - id: cleanup
    type: CreateFile
    inputs: {{path: cleanup.txt, content: "${{blocks.never.status}}"}}
    depends_on: [{{block: never, required: false}}]
""",
        "  ok: ${blocks.bad.succeeded}",
    )
    reply = run(tmp_path, text)
    assert (reply["status"], reply["error"]["step_id"]) == ("failed", "bad")
    assert "none.txt" in reply["error"]["message"]
    files = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "work").glob("*.txt")}
    assert files == {
        "told.txt": "false true false failed n/a failed the block crashed |",
        "alert.txt": "crashed",
        "cleanup.txt": "skipped",
    }


def test_a_block_that_was_skipped_is_told_from_one_that_crashed(tmp_path: Path) -> None:
    text = workflow(
        """
  - {id: bad, type: ReadFile, inputs: {path: none.txt}, condition: "${inputs.loud}"}
  - id: tell
    type: CreateFile
    inputs: {path: told.txt, content: "${blocks.bad.status} ${blocks.bad.failed} ${blocks.bad.skipped}"}
    depends_on: [{block: bad, required: false}]
""",
        "  told: ${blocks.tell.path}",
        INPUTS,
    )
    told = tmp_path / "work" / "told.txt"
    assert run(tmp_path, text)["status"] == "failed"
    assert told.read_text(encoding="utf-8") == "failed true false"
    (again := tmp_path / "again").mkdir()
    assert run(again, text, inputs={"loud": False})["status"] == "completed"
    assert (again / "work" / "told.txt").read_text(encoding="utf-8") == "skipped false true"


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


def test_a_block_may_wait_for_hundreds_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("black.format_str", None)  # It would take seconds over such a module.
    many = [f"b{number}" for number in range(300)]
    blocks = [f"  - {{id: {name}, type: Shell, inputs: {{command: 'true'}}}}" for name in many]
    last = f"  - {{id: last, type: Shell, depends_on: [{', '.join(many)}], inputs: {{command: 'true'}}}}"
    condition = " or ".join(f"${{blocks.{name}.failed}}" for name in many)
    generated = compiled(tmp_path, workflow("\n".join([*blocks, last]), f"  bad: {condition}"))
    text = (generated / "case.py").read_text(encoding="utf-8")
    assert "state.b299 is ok) }}" in text
    assert 'class wave_1_part_6(State.Parallel, name="wave-1-part-6"):' in text


def test_a_workflow_is_found_by_its_tags(tmp_path: Path) -> None:
    tagged = workflow(
        "  - {id: say, type: EchoBlock, inputs: {message: hi}}", "  said: ${blocks.say.message}"
    )
    registry = Registry(compiled(tmp_path, f"tags: [zebra, ci]\n{tagged}"))
    assert [one["workflow"] for one in listed(registry, "zebra case")["workflows"]] == ["case"]
    assert listed(registry, "zebras")["workflows"] == []
    assert info(registry.find("case"))["tags"] == ["zebra", "ci"]


def test_what_only_the_run_knows_is_a_condition_if_it_says_true_or_false(tmp_path: Path) -> None:
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
        [
            ({"open": True}, "true"),
            ({"open": "False"}, "false"),
            ({"open": " true\n"}, "true"),
            ({"open": None}, "false"),
            ({"open": 3}, "a number"),
            ({"open": "yes"}, "'yes'"),
            ({"open": ""}, "''"),
        ]
    ):
        folder = tmp_path / str(number)
        (folder / "work").mkdir(parents=True)
        (folder / "work" / "s.json").write_text(json.dumps(kept), encoding="utf-8")
        reply = run(folder, text)
        if ended in ("true", "false"):
            assert reply["result"] == {"ran": ended}
        else:
            assert reply["status"] == "failed"
            assert reply["error"]["step_id"] == "next"
            assert f"{ended} is not true or false" in reply["error"]["message"]
