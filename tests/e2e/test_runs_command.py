"""`wfc runs`, and what `wfc check` says of runs under way."""

from __future__ import annotations

import json
from contextlib import chdir
from datetime import datetime
from pathlib import Path

import pytest
from click.shell_completion import get_completion_class

from tests.e2e.command import inside as wfc
from tests.e2e.command import write
from wfc.cli.main import cli
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store

ASKS = """\
name: asks
version: "1.0.0"
steps:
  - id: ask-first
    type: prompt
    prompt_type: text
    message: What?
    output_to: answer
  - id: confirm-it
    type: prompt
    prompt_type: confirm
    needs_state: [answer]
    message: "Really {{ state.answer.input }}?"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n")
    write(tmp_path / "workflows", asks=ASKS)
    assert wfc("compile", cwd=tmp_path).status == 0
    return tmp_path


@pytest.fixture
def run(project: Path) -> str:
    service = SqliteService.open(project / ".wfc" / "state.db", project / "generated")
    started = service.start("asks", {}, actor="test")
    service.close()
    return str(started["workflow_id"])


def test_list_shows_what_is_under_way_and_where_it_waits(project: Path, run: str) -> None:
    done = wfc("runs", "list", cwd=project)
    listed = json.loads(wfc("runs", "list", "--json", cwd=project).out)["runs"][0]
    assert listed["workflow_id"] == run
    times = f"started {listed['started']}, last moved {listed['updated']}"
    assert done.out == f"{run}  pending_action  asks  waits in ask-first  {times}\n"
    assert datetime.fromisoformat(listed["started"]) <= datetime.fromisoformat(listed["updated"])


def test_show_and_history_tell_of_one_run(project: Path, run: str) -> None:
    shown = wfc("runs", "show", run, cwd=project).out
    assert "waits in ask-first (prompt)" in shown
    timeline = wfc("runs", "history", run, cwd=project).out
    assert timeline.startswith(f"asks, run {run}: pending_action\n")
    assert "+0.0 s  started, by test\n" in timeline
    assert timeline.endswith("-> ask-first\n")


def test_what_agents_send_never_controls_the_terminal(project: Path, run: str) -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07 \u202e \x9b31m\r\nend \U000e0041"
    service = SqliteService.open(project / ".wfc" / "state.db", project / "generated")
    service.submit(run, "ask-first", {"input": hostile}, actor=f"me{hostile}")
    other = service.start("asks")["workflow_id"]
    service.submit(other, "ask-first", {"error": hostile})
    service.close()
    for command in (
        *(["show", one] for one in (run, other)),
        *(["history", one] for one in (run, other)),
        ["state", run],
        ["state", run, "answer"],
        ["list", "--status", "all"],
        ["export", run],
    ):
        for form in ([], ["--json"]):
            done = wfc("runs", *command, *form, cwd=project)
            assert done.status == 0
            assert "end" in done.out
            assert [char for char in done.out if not (char.isprintable() or char == "\n")] == [], command
            if form:
                json.loads(done.out)
    shown = json.loads(wfc("runs", "state", run, "--json", cwd=project).out)
    assert shown["state"]["answer"] == {"input": hostile}


def test_cancel_ends_a_run_and_keeps_the_reason(project: Path, run: str) -> None:
    assert wfc("runs", "cancel", run, "--reason", "no need", cwd=project).out == f"{run} is cancelled\n"
    told = "no runs in progress; `--status all` also shows runs that have ended\n"
    assert wfc("runs", "list", cwd=project).out == told
    assert "no need" in wfc("runs", "show", run, cwd=project).out


def test_retry_continues_a_failed_run_and_says_where_it_waits(project: Path, run: str) -> None:
    early = wfc("runs", "retry", run, cwd=project)
    assert early.status == 2
    assert "the run is in progress: only a failed run can be retried" in early.err
    service = SqliteService.open(project / ".wfc" / "state.db", project / "generated")
    service.submit(run, "ask-first", {"error": "nobody is there"})
    service.close()
    wrong = wfc("runs", "retry", run, "--step", "confirm-it", cwd=project)
    assert wrong.status == 2
    assert "Failed: `ask-first`." in wrong.err
    assert (
        wfc("runs", "retry", run[:8], "--step", "ask-first", cwd=project).out
        == f"{run} waits in ask-first@2\n"
    )
    again = wfc("runs", "retry", run, "--step", "ask-first", cwd=project).out
    assert again == f"{run} was retried before and waits in ask-first@2\n"
    reply = json.loads(wfc("runs", "retry", run, "--json", cwd=project).out)
    assert (reply["workflow_id"], reply["repeated"]) == (run, True)
    assert "ask-first: retried, by wfc runs" in wfc("runs", "history", run, cwd=project).out


def test_a_retried_run_is_exported_and_imported_and_only_an_ended_one_is_pruned(
    project: Path, run: str
) -> None:
    service = SqliteService.open(project / ".wfc" / "state.db", project / "generated")
    service.submit(run, "ask-first", {"error": "nobody is there"})
    service.close()
    exported = wfc("runs", "export", run, cwd=project).out
    (project / "failed.json").write_text(exported)
    assert wfc("runs", "prune", "--older-than", "0s", "--yes", cwd=project).status == 0
    assert wfc("runs", "import", "failed.json", cwd=project).out == f"{run} is here, failed\n"
    assert wfc("runs", "retry", run, cwd=project).out == f"{run} waits in ask-first@2\n"
    assert wfc("runs", "prune", "--older-than", "0s", "--yes", cwd=project).out == "no run is that old\n"
    (project / "retried.json").write_text(wfc("runs", "export", run, cwd=project).out)
    assert wfc("runs", "cancel", run, cwd=project).status == 0
    assert "erased 1 run" in wfc("runs", "prune", "--older-than", "0s", "--yes", cwd=project).out
    assert wfc("runs", "import", "retried.json", cwd=project).out == f"{run} is here, pending_action\n"


def test_check_warns_of_a_step_that_a_run_waits_in_and_migrate_refuses_to_lose_it(
    project: Path, run: str
) -> None:
    write(project / "workflows", asks=ASKS.replace("ask-first", "ask-early"))
    checked = wfc("check", cwd=project)
    assert checked.status == 1
    assert (
        f"warning[WF703 breaks-running-instances]: run `{run}` waits in step `ask-first`, which no longer exists"
        in checked.out
    )
    assert wfc("compile", cwd=project).status == 0
    moved = wfc("runs", "migrate", run, cwd=project)
    assert moved.status == 2
    assert "ask-first" in moved.err


def test_migrate_moves_a_run_whose_step_is_still_there(project: Path, run: str) -> None:
    write(project / "workflows", asks=ASKS.replace("Really", "Truly"))
    assert wfc("check", cwd=project).status == 0
    assert wfc("compile", cwd=project).status == 0
    assert wfc("runs", "migrate", run, cwd=project).out == f"{run} continues with the current version\n"


def test_a_project_in_which_nothing_was_started_has_no_runs(project: Path) -> None:
    assert wfc("runs", "list", cwd=project).out == "no runs\n"
    assert json.loads(wfc("runs", "list", "--json", cwd=project).out) == {"runs": []}
    assert not (project / ".wfc").exists()


def test_without_a_store_or_with_a_wrong_id_the_error_is_clear(project: Path) -> None:
    nothing = wfc("runs", "show", "x", cwd=project)
    assert (nothing.status, nothing.err.split(":")[0:2]) == (2, ["wfc", " there are no runs"])
    assert wfc("runs", "--state", "other.db", "list", cwd=project).status == 2
    write(project / ".wfc")
    (project / ".wfc" / "state.db").write_bytes(b"not a store at all")
    assert wfc("runs", "list", cwd=project).status == 2
    assert wfc("check", cwd=project).status == 0


@pytest.fixture
def ended(project: Path, run: str) -> str:
    (project / "answers.yaml").write_text("answers: {ask-first: a word, confirm-it: true}")
    done = wfc("runs", "resume", run, "--answers", "answers.yaml", cwd=project)
    assert (done.status, json.loads(done.out)["answer"]["input"]) == (0, "a word"), done.err
    return run


def test_a_timeline_says_when_who_where_what_came_and_what_was_written(project: Path, ended: str) -> None:
    timeline = wfc("runs", "history", ended, cwd=project).out
    for line in (
        f"asks, run {ended}: completed",
        "started, by test",
        "ask-first: answered, by wfc run --answers",
        'came: {"input": "a word"}',
        "wrote answer",
        "-> confirm-it",
        "the run is completed",
    ):
        assert line in timeline
    reply = json.loads(wfc("runs", "history", ended, "--json", cwd=project).out)
    events = reply["events"]
    assert "next" not in reply, "all of it is there"
    assert [event["event"] for event in events] == ["started", "submitted", "submitted"]


def test_history_is_whole_however_long_and_shows_children_by_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wfc_runtime.service.sqlite.views.MOST_LISTED", 4)  # Of a page: it takes several.
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n")
    items = "{{ range(10) | list }}"
    fan = f"""\
name: fan
version: "1.0.0"
steps:
  - {{id: each, type: foreach, items: "{items}", task: one, sequential: true, output_to: all}}
  - {{id: done, type: return, value: fine}}
tasks:
  one:
    inputs: {{n: {{type: number, required: true}}}}
    steps:
      - {{id: look, type: shell, command: ls, output_to: seen}}
      - {{id: again, type: shell, command: ls, output_to: seen}}
      - {{id: back, type: return, value: 1}}
"""
    write(tmp_path / "workflows", fan=fan)
    (tmp_path / "answers.yaml").write_text("answers: {look: x, again: y}")
    done = wfc("run", "workflows/fan.yaml", "--answers", "answers.yaml", "--json", cwd=tmp_path)
    run = json.loads(done.out)["workflow_id"]
    events = json.loads(wfc("runs", "history", run, "--json", cwd=tmp_path).out)["events"]
    assert [event["seq"] for event in events] == list(range(1, 12))
    timeline = wfc("runs", "history", run, "--children", cwd=tmp_path).out
    assert timeline.count("] look: answered, by wfc run --answers") == 10
    assert "each: child 9 ended" in timeline


def test_state_shows_all_fields_in_short_or_those_named_whole(project: Path, ended: str) -> None:
    assert wfc("runs", "state", ended, cwd=project).out == 'answer  {"input": "a word"}\n'
    assert json.loads(wfc("runs", "state", ended, "answer", cwd=project).out) == {"input": "a word"}
    shown = json.loads(wfc("runs", "state", ended, "--json", cwd=project).out)
    assert shown["state"] == {"answer": {"input": "a word"}}
    wrong = wfc("runs", "state", ended, "anser", cwd=project)
    assert (wrong.status, "Did you mean `answer`?" in wrong.err) == (2, True)


def test_state_of_a_run_that_has_written_nothing_says_so(project: Path, run: str) -> None:
    assert wfc("runs", "state", run, cwd=project).out == "nothing has been written yet\n"


def test_prune_lists_what_it_would_erase_and_erases_with_yes(project: Path, ended: str, run: str) -> None:
    assert wfc("runs", "prune", "--older-than", "1h", cwd=project).out == "no run is that old\n"
    listed = wfc("runs", "prune", "--older-than", "0s", cwd=project).out
    assert listed.startswith(f"{ended}  completed  asks  ended ")
    assert listed.endswith("1 run would be deleted; confirm with --yes\n")
    assert ended in wfc("runs", "list", "--status", "all", cwd=project).out
    kept = wfc("runs", "prune", "--older-than", "0s", "--status", "failed", "--yes", cwd=project)
    assert kept.out == "no run is that old\n"
    assert wfc("runs", "prune", "--older-than", "0s", "--yes", cwd=project).out.endswith("erased 1 run\n")
    assert wfc("runs", "list", "--status", "all", cwd=project).out == "no runs\n"


def test_export_and_import_carry_a_run_to_another_store(project: Path, run: str, tmp_path: Path) -> None:
    assert wfc("runs", "export", run, "-o", "run.json", cwd=project).status == 0
    assert oct((project / "run.json").stat().st_mode)[-3:] == "600"
    taken = wfc("runs", "--state", "other.db", "import", "run.json", cwd=project)
    assert taken.out == f"{run} is here, pending_action\n"
    (project / "answers.yaml").write_text("answers: {ask-first: x, confirm-it: true}")
    resume = ("--state", "other.db", "resume", run, "--answers", "answers.yaml", "--json")
    assert json.loads(wfc("runs", *resume, cwd=project).out)["status"] == "completed"
    again = wfc("runs", "--state", "other.db", "import", "run.json", cwd=project)
    assert (again.status, f"run {run} already exists in the store" in again.err) == (2, True)
    assert json.loads(wfc("runs", "export", run, cwd=project).out)["format"] == 1


def test_an_import_executes_only_what_the_project_has_or_what_it_is_told_to_trust(
    project: Path, run: str
) -> None:
    def taken(*options: str) -> int:
        return wfc("runs", "--state", "other.db", "import", *options, "run.json", cwd=project).status

    wfc("runs", "export", run, "-o", "run.json", cwd=project)
    [module] = [path for path in (project / "generated").glob("*.py") if path.stem == "asks"]
    module.unlink()
    # Its source still compiles to it.
    assert taken() == 0
    (project / "other.db").unlink()
    [source] = [path for path in project.rglob("*.yaml") if "name: asks" in path.read_text(encoding="utf-8")]
    source.write_text(source.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    refused = wfc("runs", "--state", "other.db", "import", "run.json", cwd=project)
    assert refused.status == 2
    assert "the export contains a version of `asks`" in refused.err
    assert "--trust-modules" in refused.err
    assert taken("--trust-modules") == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("prune",), "Missing option '--older-than'"),
        (("prune", "--older-than", "soon"), "`soon` is not an age; examples: 30d, 12h, 90m"),
        (("prune", "--older-than", "1d", "--status", "running"), "only runs that have ended can be pruned"),
        (("import", "nothing.json"), "can't read `nothing.json`"),
        (("import", "pyproject.toml"), "`pyproject.toml` is not JSON"),
        (("export", "nosuchrun"), "there is no run `nosuchrun`"),
        (("resume", "nosuchrun"), "there is no run `nosuchrun`"),
        (("history", "nosuchrun"), "there is no run `nosuchrun`. `wfc runs list --status all` lists"),
        (("list", "--status", "odd"), "unknown status 'odd'"),
    ],
)
def test_wrong_uses_of_runs_are_told(
    project: Path, run: str, arguments: tuple[str, ...], message: str
) -> None:
    done = wfc("runs", *arguments, cwd=project)
    assert (done.status, message in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    "arguments",
    [("show",), ("history", "--json"), ("state", "--json"), ("export",), ("migrate", "--json"), ("cancel",)],
)
def test_the_beginning_of_an_id_names_a_run(project: Path, run: str, arguments: tuple[str, ...]) -> None:
    done = wfc("runs", arguments[0], run[:4], *arguments[1:], cwd=project)
    assert (done.status, run in done.out) == (0, True), done.err


def test_the_beginning_of_an_id_is_enough_to_go_on(project: Path, run: str) -> None:
    (project / "answers.yaml").write_text("answers: {ask-first: x, confirm-it: true}")
    assert wfc("runs", "resume", run[:4], "--answers", "answers.yaml", cwd=project).status == 0
    assert wfc("runs", "list", "--status", "all", "--before", run[:4], cwd=project).out == "no runs\n"


def test_a_beginning_that_several_runs_have_or_that_is_too_short_is_refused(project: Path) -> None:
    ids = iter(["abcd2", "abcd3", "abcd"])
    (project / ".wfc").mkdir()
    store, registry = Store(project / ".wfc" / "state.db"), Registry(project / "generated")
    service = SqliteService(store, registry, make_id=lambda: next(ids))
    service.start("asks", {})
    service.start("asks", {})
    short = wfc("runs", "show", "abc", cwd=project)
    assert short.status == 2
    assert "there is no run `abc`" in short.err
    assert "a unique prefix of at least 4 characters" in short.err
    several = wfc("runs", "cancel", "abcd", cwd=project)
    assert several.status == 2
    assert "`abcd` matches several runs: abcd2, abcd3. Give more characters" in several.err
    service.start("asks", {})
    service.close()
    assert wfc("runs", "show", "abcd", cwd=project).out.startswith("asks abcd: "), "a whole id is that run's"


def test_shells_complete_the_ids_of_runs(project: Path, ended: str) -> None:
    command = get_completion_class("bash")
    assert command is not None
    found = command(cli, {}, "wfc", "_WFC_COMPLETE")
    with chdir(project):
        assert [item.value for item in found.get_completions(["runs", "show"], ended[:3])] == [ended]
        assert found.get_completions(["runs", "show"], "nosuch") == []


def test_a_journal_is_shown_as_text_markdown_and_json(project: Path, run: str) -> None:
    from wfc_runtime.service.journal_entries import Logged, StartedTask

    assert "nothing has been logged" in wfc("runs", "journal", run, cwd=project).out
    service = SqliteService.open(project / ".wfc" / "state.db", project / "generated")
    chosen = {"question": "Which\nway?", "chosen": "# Left", "reasoning": "<b>Short</b>\x1b[2J"}
    service.log(Logged(run, "ask-first", "decision", chosen), actor="toolu_1")
    service.log(Logged(run, "", "issue", {"description": "No key", "requires_human": True}))
    service.log(StartedTask(run, "Read | it", agent="reader"))
    service.close()
    text = wfc("runs", "journal", run[:8], cwd=project).out
    assert "decision   ask-first (person)  Which way? -> # Left" in text
    assert "BLOCKER    run (orchestrator)  No key" in text
    assert "t1 Read | it (reader)  open" in text
    assert "\x1b" not in text
    markdown = wfc("runs", "journal", run, "--format", "markdown", cwd=project).out
    assert "- **Which way? -> \\# Left** (person, " in markdown.replace("\\>", ">")
    assert "| Read \\| it | reader | open |" in markdown
    assert "<b>" not in markdown
    found = json.loads(wfc("runs", "journal", run, "--format", "json", cwd=project).out)
    assert found["decisions"][0]["actor"] == "toolu_1"
    timeline = wfc("runs", "history", run, cwd=project).out
    assert "journal: decision of ask-first: Which\\nway? -> # Left, by toolu_1" in timeline
    assert "journal: task started of t1: Read | it" in timeline
