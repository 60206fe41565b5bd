"""`wfc run` with an answers file, and wrong uses of it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.e2e.command import inside as wfc
from tests.e2e.command import write
from wfc_runtime.service.sqlite import SqliteService

FLOW = """\
name: flow
version: "1.0.0"
inputs:
  count: {type: number, required: true}
  who: {type: string, default: nobody}
  tags: {type: array, default: []}
steps:
  - id: greet
    type: shell
    command: "echo {{ inputs.who | shquote }}"
    output_to: greeting
  - id: approve
    type: prompt
    prompt_type: confirm
    needs_state: [greeting]
    message: "{{ state.greeting.stdout }} times {{ inputs.count }}?"
    output_to: approval
  - id: check
    type: condition
    needs_state: [approval]
    if: "{{ not state.approval.confirmed }}"
    then:
      - {id: stop, type: return, value: stopped}
  - {id: rest, type: wait, duration_seconds: 3600}
  - {id: each, type: foreach, items: "{{ [1, 2] }}", task: one, output_to: all}
  - {id: tell, type: call, workflow: callee, output_to: told}
  - {id: done, type: return, needs_state: [all, told], value: {all: "{{ state.all }}", told: "{{ state.told }}"}}
tasks:
  one:
    inputs: {n: {type: number, required: true}}
    steps:
      - id: double
        type: delegate
        instructions: "Double {{ inputs.n }}"
        result_schema: {type: object, required: [twice, how], properties: {twice: {type: integer}, how: {type: string}}}
        output_to: doubled
      - {id: back, type: return, needs_state: [doubled], value: "{{ state.doubled.twice }}"}
"""
CALLEE = """\
name: callee
version: "1.0.0"
steps:
  - {id: ask, type: prompt, prompt_type: text, message: What?, output_to: said}
  - {id: back, type: return, needs_state: [said], value: "{{ state.said.input }}"}
"""
ANSWERS = """\
inputs: {count: 2}
answers:
  greet: hello
  approve: true
  double: [{twice: 2, how: a}, {twice: 4, how: b}]
  callee/ask: fine
"""
RESULT = {"all": [2, 4], "told": "fine"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n")
    write(tmp_path / "workflows", flow=FLOW, callee=CALLEE)
    (tmp_path / "answers.yaml").write_text(ANSWERS)
    return tmp_path


def test_a_file_is_worked_from_answers_with_children_calls_and_waits(project: Path) -> None:
    done = wfc(
        "run", "workflows/flow.yaml", "--answers", "answers.yaml", "--skip-waits", "--json", cwd=project
    )
    assert done.status == 0, done.err
    reply = json.loads(done.out)
    assert (reply["status"], reply["result"]) == ("completed", RESULT)
    assert (
        "greet → approve → check → rest → each → double → back → double → back → tell → ask → back"
        in done.err
    )
    assert "rest waits: 3600 s skipped" in done.err
    assert not (project / "generated").exists()


def test_the_run_is_kept_where_servers_and_wfc_runs_find_it(project: Path) -> None:
    arguments = (
        "--answers",
        "answers.yaml",
        "--skip-waits",
        "--json",
        "--state",
        "kept.db",
        "-i",
        "who=O'Hara",
    )
    run = json.loads(wfc("run", "workflows/flow.yaml", *arguments, cwd=project).out)["workflow_id"]
    service = SqliteService.open(project / "kept.db", project / "generated")
    first, second = service.history(run)["events"][:2]
    service.close()
    assert (first["inputs"]["who"], first["inputs"]["count"]) == ("O'Hara", 2)
    assert (second["step_id"], second["actor"]) == ("greet", "wfc run --answers")


def test_a_compiled_workflow_is_run_by_name_and_a_stale_one_is_told_of(project: Path) -> None:
    assert wfc("compile", cwd=project).status == 0
    write(project / "workflows", flow=FLOW.replace("value: stopped", "value: halted"))
    (project / "no.yaml").write_text(ANSWERS.replace("approve: true", "approve: false"))
    done = wfc("run", "flow", "--answers", "no.yaml", cwd=project)
    assert (done.status, done.out) == (0, "stopped\n")
    assert "workflows/flow.yaml has changed since `flow` was compiled" in done.err
    assert wfc("run", "workflows/flow.yaml", "--answers", "no.yaml", cwd=project).out == "halted\n"


def test_a_name_that_is_not_compiled_runs_from_its_source(project: Path) -> None:
    (project / "say.yaml").write_text("answers: {ask: hello}")
    done = wfc("run", "callee", "--answers", "say.yaml", cwd=project)
    assert (done.status, done.out) == (0, "hello\n")
    assert "`callee` is not compiled: running workflows/callee.yaml as it is" in done.err


def test_errors_of_the_workflow_are_shown_as_check_shows_them_and_nothing_starts(project: Path) -> None:
    write(project / "workflows", flow=FLOW.replace("needs_state: [greeting]", "needs_state: []"))
    done = wfc("run", "workflows/flow.yaml", "--answers", "answers.yaml", cwd=project)
    assert (done.status, done.out) == (1, "")
    assert "workflows/flow.yaml:16:24: error[WF301 needs-state-missing]" in done.err
    assert not (project / ".wfc").exists()


def test_all_problems_with_the_inputs_are_in_one_message(project: Path) -> None:
    pairs = ("-i", "count=many", "-i", "tags=x", "-i", "hwo=me")
    done = wfc("run", "workflows/flow.yaml", "--answers", "answers.yaml", *pairs, cwd=project)
    assert done.status == 2
    assert "`count` must be a number, not the text 'many'" in done.err
    assert "`tags` must be a list, not the text 'x'" in done.err
    assert "`hwo` is not an input; did you mean `who`?" in done.err
    assert wfc("runs", "list", "--status", "all", cwd=project).out == "no runs\n"


def test_inputs_are_read_by_their_types_and_the_command_line_wins_over_the_file(project: Path) -> None:
    (project / "inputs.yaml").write_text("{count: 1, who: file, tags: [a]}")
    pairs = ("-i", "who=007", "-i", "count=3")
    arguments = ("--inputs", "inputs.yaml", *pairs, "--answers", "answers.yaml", "--skip-waits", "--json")
    run = json.loads(wfc("run", "workflows/flow.yaml", *arguments, cwd=project).out)["workflow_id"]
    events = json.loads(wfc("runs", "history", run, "--json", cwd=project).out)["events"]
    assert events[0]["inputs"] == {"count": 3, "who": "007", "tags": ["a"]}


def test_without_a_terminal_and_without_answers_it_says_so_and_starts_nothing(project: Path) -> None:
    done = wfc("run", "workflows/flow.yaml", "-i", "count=1", cwd=project, stdin="")
    assert done.status == 2
    assert "standard input is not a terminal, so prompts can't be answered; use --answers FILE" in done.err
    assert not (project / ".wfc").exists()


def test_a_step_that_the_answers_lack_is_named_and_the_run_goes_on_once_it_is_added(project: Path) -> None:
    text = ANSWERS.replace("  callee/ask: fine\n", "")
    (project / "answers.yaml").write_text(text)
    arguments = ("--answers", "answers.yaml", "--skip-waits")
    done = wfc("run", "workflows/flow.yaml", *arguments, cwd=project)
    assert done.status == 2
    assert "the answers have nothing for step `ask` of `callee`; add `ask: <result>` to `answers`" in done.err
    resume = done.err.split("continue it with `wfc ")[1].split("`")[0].split()
    (project / "answers.yaml").write_text(text + "  ask: late\n")
    resumed = wfc(*resume, *arguments, "--json", cwd=project)
    assert json.loads(resumed.out)["result"] == {"all": [2, 4], "told": "late"}, resumed.err


def test_a_list_of_answers_goes_on_where_the_run_was_left(project: Path) -> None:
    text = ANSWERS.replace(", {twice: 4, how: b}", "")
    (project / "answers.yaml").write_text(text)
    arguments = ("--answers", "answers.yaml", "--skip-waits")
    done = wfc("run", "workflows/flow.yaml", *arguments, cwd=project)
    assert "step `double` is asked once more, and the answers have 1 for it" in done.err
    (project / "answers.yaml").write_text(ANSWERS)
    resume = done.err.split("continue it with `wfc ")[1].split("`")[0].split()
    assert json.loads(wfc(*resume, *arguments, "--json", cwd=project).out)["result"] == RESULT


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ("gret: x", "answers.yaml:2:3: error: there is no step `gret`\n    2 |   gret: x\n"),
        ("gret: x", "help: did you mean `greet`?"),
        ("each: []", "error: step `each` takes no answer"),
        ("rest: true", "error: step `rest` takes no answer"),
        ("two/double: 1", "error: there is no task or called workflow `two` that produces an action"),
        (
            "approve: maybe",
            "2:12: error: this can't be the result of `approve`: result.confirmed: 'maybe' is not of type",
        ),
        (
            "double: [{twice: x, how: a}]",
            "2:12: error: this can't be the result of `double`: result.twice: 'x' is not",
        ),
    ],
)
def test_a_mistake_in_the_answers_is_said_at_its_place_before_anything_starts(
    project: Path, answers: str, message: str
) -> None:
    (project / "answers.yaml").write_text(f"answers:\n  {answers}\n")
    done = wfc("run", "workflows/flow.yaml", "--answers", "answers.yaml", "-i", "count=1", cwd=project)
    assert done.status == 2
    assert message in done.err
    assert not (project / ".wfc").exists()


def test_a_run_that_fails_exits_with_1_and_says_where(project: Path) -> None:
    (project / "answers.yaml").write_text("inputs: {count: 1}\nanswers: {greet: {error: no network}}\n")
    done = wfc("run", "workflows/flow.yaml", "--answers", "answers.yaml", cwd=project)
    assert (done.status, done.out) == (1, "")
    assert "step `greet`: no network" in done.err
    assert "See workflows/flow.yaml:8." in done.err
    failed = wfc("run", "workflows/flow.yaml", "--answers", "answers.yaml", "--json", cwd=project)
    assert json.loads(failed.out)["error"]["code"] == "agent_error"


def test_commands_are_executed_with_allow_exec_where_the_answers_say_nothing(project: Path) -> None:
    (project / "answers.yaml").write_text("inputs: {count: 1, who: a b}\nanswers: {approve: false}\n")
    plain = wfc("run", "workflows/flow.yaml", "--answers", "answers.yaml", cwd=project)
    assert plain.status == 2
    assert "add `greet: <result>` to `answers`, or allow its execution with --allow-exec" in plain.err
    done = wfc("run", "workflows/flow.yaml", "--answers", "answers.yaml", "--allow-exec", cwd=project)
    assert (done.status, done.out) == (0, "stopped\n")
    assert "a b\n times 1?" in done.err or "a b\n     times 1?" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere",), "there is no workflow or file `nowhere`"),
        (("workflows",), "`workflows` is a folder"),
        (("workflows/flow.yaml", "-i", "count"), "--input takes name=value, not `count`"),
        (("workflows/flow.yaml", "-i", "count=1", "-i", "count=2"), "--input count was given twice"),
        (("workflows/flow.yaml", "--answers", "no.yaml"), "can't read `no.yaml`"),
        (("workflows/flow.yaml", "--inputs", "-", "--answers", "-"), "only one of --inputs and --answers"),
        (
            ("workflows/flow.yaml", "--inputs", "answers.txt"),
            "answers.txt:1:1: error: the inputs must be a mapping",
        ),
    ],
)
def test_wrong_uses_are_told(project: Path, arguments: tuple[str, ...], message: str) -> None:
    (project / "answers.txt").write_text("- a\n")
    done = wfc("run", *arguments, cwd=project)
    assert (done.status, message in done.err) == (2, True), done.err


def test_how_to_go_on_names_the_file_that_keeps_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "workflows", build="")
    (tmp_path / "a.yaml").write_text("answers: {}\n")
    arguments = ("run", "build", "--answers", "a.yaml")
    left = wfc(*arguments, "--state", "my runs.db", cwd=tmp_path).err
    said = left.split("continue it with `wfc ")[1].split("`")[0]
    assert said.startswith("runs --state 'my runs.db' resume ")
    (tmp_path / "a.yaml").write_text("answers: {build: made}\n")
    assert wfc(*shlex.split(said), "--answers", "a.yaml", cwd=tmp_path).status == 0
    (tmp_path / "a.yaml").write_text("answers: {}\n")
    monkeypatch.setenv("WFC_STATE", str(tmp_path / "set.db"))
    assert "continue it with `wfc runs resume " in wfc(*arguments, cwd=tmp_path).err
