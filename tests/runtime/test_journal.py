"""What agents log is an event of the run's own history, on either engine: kept once, redacted, and moving nothing."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.runtime.support import OK, TWO, Box, Reply, children, step_ids, steps
from tests.support import wait_until
from wfc_runtime.errors import NotFoundError, RefusedError, RequestError
from wfc_runtime.service.journal_entries import (
    MOST_OF_TASK,
    CompletedPhase,
    CompletedTask,
    Draft,
    Logged,
    Resolved,
    StartedPhase,
    StartedTask,
    Summary,
    text_of,
)
from wfc_runtime.service.journal_pages import Filter, page_of, whole_journal

DECISION = {"question": "Which database?", "chosen": "SQLite", "reasoning": "One file."}
ASKING = steps(
    "{id: work, type: delegate, agent: '@writer', instructions: Write., output_to: text}",
    "{id: sure, type: prompt, prompt_type: confirm, message: ok?}",
)


def started(box: Box, *texts: str) -> str:
    return str(box.compile(*texts or (TWO,)).service.start("w")["workflow_id"])


def log(box: Box, draft: Draft, actor: str | None = None) -> Reply:
    return box.service.log(draft, actor=actor)


def decision(run: str, task: str = "", **content: Any) -> Logged:
    return Logged(run, task, "decision", {**DECISION, **content})


def issue(run: str, task: str = "", text: str = "No licence", blocks: bool = True) -> Logged:
    return Logged(run, task, "issue", {"description": text, "requires_human": blocks or None})


def context(box: Box, run: str, *include: str, after: int = 0, limit: int = 50, **chosen: str) -> Reply:
    return page_of(box.service.journal(run), include, Filter.of(chosen), after, limit)


def kinds(box: Box, run: str) -> list[str]:
    return [event["event"] for event in box.service.history(run)["events"]]


def refusal(box: Box, draft: Draft) -> str:
    with pytest.raises((RefusedError, RequestError, NotFoundError)) as caught:
        box.service.log(draft)
    return caught.value.code


def test_an_entry_is_an_event_of_the_run_and_the_same_content_gives_the_entry_that_is_there(box: Box) -> None:
    run = started(box)
    before = box.service.status(run)
    made = log(box, decision(run, "build", category="library_choice"), "toolu_1")
    assert made == {"entry": f"{run}:2", "next": "nothing: continue your work"}
    assert log(box, decision(run, "build", reasoning="Other words.")) == made
    assert log(box, decision(run))["entry"] == f"{run}:3"
    assert kinds(box, run) == ["started", "journal", "journal"]
    event = box.service.history(run)["events"][1]
    assert (event["step_id"], event["actor"]) == ("build", "toolu_1")
    assert event["journal"] == {
        "entry": "decision",
        "task": "build",
        "by": "orchestrator",
        "category": "library_choice",
        **DECISION,
    }
    # It moves nothing: the same step is pending, with the same action, and its answer is taken.
    assert box.service.status(run)["action"] == before["action"]
    assert step_ids(box.service.submit(run, "build", OK)) == ["test"]
    assert box.service.submit(run, "test", OK)["status"] == "completed"
    [one, other] = context(box, run, "decisions")["decisions"]
    assert (one["task"], other["task"]) == (f"{run}/build", run)
    # The state at an event is computed from the same history.
    assert box.service.state_at(run, 4)["state"]["built"] == OK
    assert box.service.path(run)["current"] == []


def test_a_restarted_server_has_the_same_journal(box: Box) -> None:
    run = started(box, ASKING)
    log(box, decision(run, "work"))
    log(box, StartedTask(run, "Read the sources", agent="reader", areas=["src"]))
    first = whole_journal(box.service.journal(run))
    box.restart()
    again = whole_journal(box.service.journal(run))
    assert first == again
    [step, task] = again["tasks"]
    assert (step["task"], step["agent"], step["by"], step["status"]) == (
        *(f"{run}/work", "writer"),
        *("subagent", "open"),
    )
    assert (task["task"], task["agent"], task["areas"]) == (f"{run}/t1", "reader", ["src"])


def test_a_blocker_is_in_every_reply_until_the_answer_of_the_person_is_logged(box: Box) -> None:
    run = started(box)
    reply = log(box, issue(run, "build"))
    assert reply["blocks"] is True
    id = reply["entry"]
    status = box.service.status(run)
    assert status["blockers"] == [{"issue_id": id, "description": "No licence"}]
    assert status["next"].startswith("ask the person about `blockers` first")
    assert status["next"].endswith(f'submit_result(workflow_id="{run}", step_id="build", result=...)')
    assert list(status)[-1] == "next"
    assert box.service.submit(run, "build", OK)["blockers"] == status["blockers"]
    assert log(box, issue(run, "build"))["blocks"] is True
    assert [one["entry"] for one in context(box, run)["blockers"]] == [id]
    box.restart()
    assert "blockers" in box.service.next_step(run)
    solved = log(box, Resolved(run, id, "Use the MIT one."))
    assert solved == {"entry": id, "blocks": False, "next": "nothing: continue your work"}
    count = len(kinds(box, run))
    assert log(box, Resolved(run, id, "Use the MIT one.")) == solved
    assert len(kinds(box, run)) == count
    assert "blockers" not in box.service.status(run)
    found = context(box, run, "issues", "blockers")
    assert (found["blockers"], found["issues"][0]["resolution"]) == ([], "Use the MIT one.")
    assert refusal(box, Resolved(run, f"{run}:1", "x")) == "unknown_issue"
    assert "blockers" not in log(box, issue(run, "build", "Slow tests", blocks=False))
    assert box.service.submit(run, "test", OK)["status"] == "completed"


def test_tasks_have_a_beginning_an_end_and_no_end_before_their_parts(box: Box) -> None:
    run = started(box)
    outer = log(box, StartedTask(run, "Outer", by="subagent", agent="a"))
    assert (outer["task_id"], outer["proof"]) == (f"{run}/t1", "agent")
    assert log(box, StartedTask(run, "Outer", by="subagent", agent="a")) == outer
    inner = log(box, StartedTask(run, "Inner", parent="t1"))
    assert inner["task_id"] == f"{run}/t2"
    log(box, decision(run, "t1"))
    assert refusal(box, CompletedTask(run, "t1", "success")) == "subtasks_open"
    box.clock.pass_(90)
    files = {"files_changed": ["src/a.py"], "tokens_input": 7}
    done = log(box, CompletedTask(run, "t2", "success", "Done.", files))
    assert (done["duration_seconds"], done["files_changed"]) == (90.0, ["src/a.py"])
    assert log(box, CompletedTask(run, "t2", "success", "Done.", files)) == done
    assert refusal(box, CompletedTask(run, "t2", "failed", "Done.")) == "task_completed"
    assert refusal(box, StartedTask(run, "Late", parent="t2")) == "task_completed"
    assert refusal(box, CompletedTask(run, "t9", "success")) == "unknown_task"
    assert refusal(box, CompletedTask(run, "build", "success")) == "step_pending"
    log(box, CompletedTask(run, "t1", "partial"))
    found = context(box, run, "tasks", "decisions")
    assert [one["status"] for one in found["tasks"]] == ["partial", "success"]
    [entry] = found["decisions"]
    assert (entry["by"], entry["agent"], entry["task"]) == ("subagent", "a", f"{run}/t1")
    # A new task of the same name is another one, since the first has ended.
    assert log(box, StartedTask(run, "Outer", by="subagent", agent="a"))["task_id"] == f"{run}/t3"


def test_the_task_of_a_step_that_was_given_is_the_step(box: Box) -> None:
    run = started(box, ASKING)
    for draft in (
        StartedTask(run, "work"),
        StartedTask(run, "My part", agent="writer"),
    ):
        reply = log(box, draft)
        assert reply["task_id"] == f"{run}/work"
        assert "submit_result" in reply["next"]
    assert kinds(box, run) == ["started"]
    # A part of the step is another task, although the same agent works on it.
    part = StartedTask(run, "A part of it", agent="writer", parent="work")
    assert log(box, part)["task_id"] == f"{run}/t1"
    box.service.submit(run, "work", {"response": "text"})
    assert log(box, StartedTask(run, "work"))["task_id"] == f"{run}/t2"


def test_a_task_never_has_the_name_of_a_step(box: Box) -> None:
    text = steps("{id: t1, type: shell, command: a}", "{id: t3, type: shell, command: b}")
    run = started(box, text)
    assert log(box, StartedTask(run, "One"))["task_id"] == f"{run}/t2"
    assert log(box, StartedTask(run, "Two"))["task_id"] == f"{run}/t4"
    assert refusal(box, decision(run, "t3")) == "unknown_task"
    assert log(box, decision(run, "t1"))["entry"]


def test_phases_are_opened_once_and_closed_after_their_tasks(box: Box) -> None:
    run = started(box)
    made = log(box, StartedPhase(run, 1, "Design"))
    assert (made["phase_id"], made["already_exists"]) == (f"{run}/p1", False)
    assert log(box, StartedPhase(run, 1, "Another name"))["already_exists"] is True
    log(box, StartedTask(run, "Sketch", phase="p1"))
    assert refusal(box, StartedTask(run, "Sketch", phase="p2")) == "unknown_phase"
    assert refusal(box, CompletedPhase(run, "p1", "completed")) == "tasks_open"
    log(box, CompletedTask(run, "t1", "success"))
    log(box, CompletedPhase(run, "p1", "completed", "A sketch."))
    log(box, CompletedPhase(run, "p1", "completed", "A sketch."))
    assert refusal(box, CompletedPhase(run, "p1", "failed")) == "phase_completed"
    assert refusal(box, StartedTask(run, "More", phase="p1")) == "phase_completed"
    [phase] = context(box, run, "phase_summary")["phase_summary"]
    assert (phase["phase"], phase["status"], phase["tasks"], phase["summary"]) == (
        *(f"{run}/p1", "completed"),
        *(1, "A sketch."),
    )


def test_pages_are_whole_and_filters_hold(box: Box) -> None:
    run = started(box, ASKING)
    for number in range(7):
        task = "work" if number % 2 else ""
        log(box, Logged(run, task, "milestone", {"message": f"m{number}", "progress": number}))
        box.clock.pass_(60)
    seen: list[str] = []
    after, pages = 0, 0
    while True:
        page = context(box, run, "milestones", after=after, limit=3)
        seen += [one["message"] for one in page["milestones"]]
        pages += 1
        if page["next"].startswith("nothing"):
            break
        after = int(page["next"].partition("after=")[2].partition(",")[0])
        assert page["next"].startswith(f'get_context(workflow_id="{run}", include=["milestones"], after=')
    assert (seen, pages) == ([f"m{number}" for number in range(7)], 3)
    assert len(context(box, run, "milestones", task="work")["milestones"]) == 3
    assert len(context(box, run, "milestones", agent="@writer")["milestones"]) == 3
    assert context(box, run, "milestones", phase="p1")["milestones"] == []
    moment = context(box, run, "milestones")["milestones"][4]["at"]
    assert [one["message"] for one in context(box, run, "milestones", since=moment)["milestones"]] == [
        *("m4", "m5", "m6"),
    ]
    for wrong in ({"agents": "x"}, {"since": "yesterday"}, {"task": 1}):
        with pytest.raises(RequestError):
            Filter.of(wrong)
    with pytest.raises(RequestError, match="Did you mean `decisions`"):
        context(box, run, "decision")


def test_what_an_ended_run_accepts_is_a_summary(box: Box) -> None:
    run = started(box)
    log(box, issue(run))
    box.service.submit(run, "build", OK)
    box.service.submit(run, "test", OK)
    assert "blockers" not in box.service.status(run)
    assert refusal(box, decision(run)) == "finished"
    assert refusal(box, StartedTask(run, "More")) == "finished"
    before = box.service.status(run)
    count = len(kinds(box, run))
    made = log(box, Summary(run, "completed", "It works.", ["fast"]), "toolu_9")
    assert made == {"entry": f"{run}:{count + 1}"}
    assert log(box, Summary(run, "completed", "It works.", ["fast"])) == made
    more = log(box, Summary(run, "partial", "Almost."))
    assert more == {"entry": f"{run}:{count + 2}"}
    box.restart()
    # What the run did and returned is as it was, and an answer of before is still known.
    after = box.service.status(run)
    assert {key: after[key] for key in before if key != "progress"} == {
        key: value for key, value in before.items() if key != "progress"
    }
    assert box.service.submit(run, "test", OK)["status"] == "completed"
    assert refusal(box, decision(run)) == "finished"
    whole = whole_journal(box.service.journal(run))
    assert [one["summary"] for one in whole["summaries"]] == ["It works.", "Almost."]
    events = box.service.history(run)["events"]
    assert [one["seq"] for one in events] == list(range(1, count + 3))
    assert (events[-2]["event"], events[-2]["actor"]) == ("journal", "toolu_9")
    metrics = box.service.journal(run).metrics()
    assert (metrics["tasks"], metrics["tokens"]) == (0, {"input": 0, "output": 0})
    assert len(box.service.export(run)["runs"][0]["history"]) == count + 2


def test_a_run_with_a_summary_is_listed_and_counted_once(box: Box) -> None:
    run = started(box)
    box.service.submit(run, "build", OK)
    box.service.submit(run, "test", OK)
    log(box, Summary(run, "completed", "It works."))
    log(box, Summary(run, "completed", "It still works."))
    box.restart()

    def listed() -> list[str]:
        return [one["workflow_id"] for one in box.service.runs("completed")["runs"]]

    wait_until(lambda: run in listed())
    assert listed().count(run) == 1
    assert box.service.counts()["workflows"] == {"w": {"completed": 1}}
    assert box.service.erase(run) == 1


def test_a_failed_run_with_a_summary_is_retried_and_its_events_stay_in_order(box: Box) -> None:
    run = started(box)
    box.service.submit(run, "build", {"error": {"code": "x", "message": "no"}})
    assert box.service.status(run)["status"] == "failed"
    log(box, Summary(run, "failed", "The build is broken."))
    box.restart()
    wait_until(lambda: [one["workflow_id"] for one in box.service.runs("failed")["runs"]] == [run])
    assert box.service.counts()["workflows"] == {"w": {"failed": 1}}
    assert step_ids(box.service.retry(run)) == ["build@2"]
    box.service.submit(run, "build@2", OK)
    assert box.service.submit(run, "test", OK)["status"] == "completed"
    log(box, Summary(run, "completed", "It works after all."))
    whole = whole_journal(box.service.journal(run))
    assert [one["summary"] for one in whole["summaries"]] == ["The build is broken.", "It works after all."]
    events = box.service.history(run)["events"]
    assert [one["seq"] for one in events] == list(range(1, len(events) + 1))
    assert [one["event"] for one in events if one["event"] in ("journal", "retried")] == [
        *("journal", "retried", "journal"),
    ]


def test_a_cancelled_run_takes_a_summary_and_stays_cancelled(box: Box) -> None:
    run = started(box)
    box.service.cancel(run, "no longer wanted")
    made = log(box, Summary(run, "failed", "Nobody wanted it."))
    box.restart()
    assert log(box, Summary(run, "failed", "Nobody wanted it.")) == made
    assert box.service.status(run)["status"] == "cancelled"
    assert box.service.cancel(run)["status"] == "cancelled"
    assert whole_journal(box.service.journal(run))["summaries"][0]["summary"] == "Nobody wanted it."


def test_of_summaries_at_the_same_time_none_is_lost(box: Box) -> None:
    run = started(box)
    box.service.submit(run, "build", OK)
    box.service.submit(run, "test", OK)
    threads = [
        threading.Thread(target=log, args=[box, Summary(run, "completed", f"Part {number}.")])
        for number in range(4)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    found = whole_journal(box.service.journal(run))["summaries"]
    assert sorted(one["summary"] for one in found) == [f"Part {number}." for number in range(4)]
    events = box.service.history(run)["events"]
    assert [one["seq"] for one in events] == list(range(1, len(events) + 1))


def test_the_journal_of_a_task_and_of_a_run_has_a_limit(
    file_box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wfc_runtime.service import journal_entries

    run = started(file_box)
    for number in range(MOST_OF_TASK):
        log(file_box, Logged(run, "build", "milestone", {"message": f"m{number}"}))
    assert refusal(file_box, decision(run, "build")) == "journal_full"
    # What is there already can be said again, and other tasks have room.
    assert log(file_box, Logged(run, "build", "milestone", {"message": "m3"}))["entry"] == f"{run}:5"
    log(file_box, decision(run))
    monkeypatch.setattr(journal_entries, "MOST_OF_RUN", MOST_OF_TASK + 1)
    assert refusal(file_box, decision(run, chosen="Another")) == "journal_full"
    assert refusal(file_box, StartedTask(run, "More")) == "journal_full"
    with pytest.raises(RequestError, match="4,001 characters; the limit is 4,000"):
        text_of("reasoning", "x" * 4001)
    with pytest.raises(RequestError, match="surrogate"):
        text_of("reasoning", "\ud800")
    with pytest.raises(RequestError, match="must not be empty"):
        text_of("question", " \n", required=True)


def test_a_run_has_no_more_open_blockers_than_a_person_can_read(file_box: Box) -> None:
    run = started(file_box)
    for number in range(50):
        log(file_box, issue(run, text=f"Question {number}"))
    assert refusal(file_box, issue(run, text="One more")) == "blockers_open"
    shown = file_box.service.status(run)["blockers"]
    assert [one["description"] for one in shown] == [f"Question {number}" for number in range(10)]
    log(file_box, Resolved(run, shown[0]["issue_id"], "Yes."))
    assert file_box.service.status(run)["blockers"][-1]["description"] == "Question 10"
    log(file_box, issue(run, text="One more"))


SECRET = (
    "name: w\nversion: 1.0.0\ninputs: {key: {type: string, required: true, secret: true}}\n"
    "steps:\n  - {id: build, type: shell, command: 'login {{ inputs.key | shquote }}'}\n"
)


def test_secrets_never_reach_the_journal(box: Box) -> None:
    run = box.compile(SECRET).service.start("w", {"key": "hunter2secret"})["workflow_id"]
    log(box, decision(run, chosen="the key hunter2secret", options_considered=["hunter2secret"]))
    log(box, issue(run, text="hunter2secret is refused"))
    log(box, StartedTask(run, "try hunter2secret", areas=["src/hunter2secret"]))
    log(box, CompletedTask(run, "t1", "failed", "hunter2secret"))
    said = json.dumps(
        [
            box.service.history(run),
            whole_journal(box.service.journal(run)),
            box.service.status(run, masked=True),
        ]
    )
    assert "hunter2secret" not in said
    assert "the key ***" in said


def test_a_journal_is_exported_imported_and_erased_with_its_run(file_box: Box, tmp_path: Any) -> None:
    run = started(file_box)
    log(file_box, decision(run, "build"))
    log(file_box, issue(run))
    data = json.loads(json.dumps(file_box.service.export(run)))
    first = whole_journal(file_box.service.journal(run))
    other = Box(tmp_path / "other")
    (tmp_path / "other").mkdir()
    other.compile(TWO)
    other.clock.now = file_box.clock.now
    other.service.import_(data)
    assert whole_journal(other.service.journal(run)) == first
    assert "blockers" in other.service.status(run)
    other.service.cancel(run)
    other.service.erase(run)
    with pytest.raises(NotFoundError):
        other.service.journal(run)
    other.close()


FAMILY = (
    steps("{id: each, type: foreach, items: [x, y], task: t, agent: '@reviewer'}")
    + "\ntasks:\n  t: {steps: [{id: look, type: shell, command: ls}]}\n"
)


def test_a_child_has_a_journal_of_its_own_and_its_blockers_are_in_the_replies_of_its_parent(box: Box) -> None:
    reply = box.compile(FAMILY).service.start("w")
    child, _ = children(reply)
    visit = step_ids(box.service.next_step(child))[0]
    log(box, issue(child, visit))
    now = box.service.next_step(child)
    assert now["next"].startswith("stop, and answer with `blockers`")
    [found] = context(box, child)["blockers"]
    assert (found["by"], found["agent"]) == ("subagent", "reviewer")
    assert context(box, reply["workflow_id"])["blockers"] == []
    # The parent, whose agent can ask the person, is told too.
    outer = box.service.status(reply["workflow_id"])
    assert outer["blockers"] == [
        {"issue_id": found["entry"], "workflow_id": child, "description": "No licence"}
    ]
    assert outer["next"].startswith(
        f'ask the person about `blockers` first, and record the answer with log_issue(task_id="{child}"'
    )
    own = log(box, issue(reply["workflow_id"], "", "Who pays?"))["entry"]
    assert [one["issue_id"] for one in box.service.next_step(reply["workflow_id"])["blockers"]] == [
        own,
        found["entry"],
    ]
    log(box, Resolved(reply["workflow_id"], own, "We do."))
    log(box, Resolved(child, found["entry"], "Use MIT."))
    assert "blockers" not in box.service.status(reply["workflow_id"])


def test_only_named_agents_write_where_the_project_demands_it(file_box: Box) -> None:
    run = started(file_box, ASKING)
    strict = Logged(run, "", "decision", DECISION, requires_agent=True)
    assert refusal(file_box, strict) == "agent_required"
    assert refusal(file_box, StartedTask(run, "x", requires_agent=True)) == "agent_required"
    log(file_box, Logged(run, "work", "decision", DECISION, requires_agent=True))
    task = log(file_box, StartedTask(run, "x", agent="auditor", requires_agent=True))
    assert task["task_id"] == f"{run}/t1"
    log(file_box, Logged(run, "t1", "decision", DECISION, requires_agent=True))


def test_agents_that_log_at_the_same_time_lose_nothing(box: Box) -> None:
    run = started(box)
    services = [box.service, box.another()]
    errors: list[Exception] = []

    def work(number: int) -> None:
        try:
            for turn in range(5):
                message = {"message": f"{number}.{turn}"}
                services[number].log(Logged(run, "build", "milestone", message))
                services[number].log(Logged(run, "build", "milestone", {"message": "both"}))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    found = [one["message"] for one in context(box, run, "milestones", limit=200)["milestones"]]
    assert sorted(found) == sorted([*(f"{one}.{turn}" for one in range(2) for turn in range(5)), "both"])
    assert [event["seq"] for event in box.service.history(run)["events"]] == list(range(1, 13))


def test_an_entry_reads_only_what_was_logged_since_the_last_one(
    file_box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wfc_runtime.store import Queries

    read: list[int] = []
    usual = Queries.journal

    def counted(self: Queries, key: int, first: int = 0) -> Any:
        found = usual(self, key, first)
        read.append(len(found))
        return found

    monkeypatch.setattr(Queries, "journal", counted)
    run = started(file_box)
    other = file_box.another()
    for number in range(20):
        log(file_box, Logged(run, "build", "milestone", {"message": f"m{number}"}))
    # The last one that it knows, and the one that it has written since.
    assert max(read) == 2
    # Another server reads all of it once, and sees what this one has written.
    assert other.log(Logged(run, "build", "milestone", {"message": "m7"}))["entry"] == f"{run}:9"
    assert read.pop() == 20
    other.log(Logged(run, "build", "milestone", {"message": "mine"}))
    assert log(file_box, Logged(run, "build", "milestone", {"message": "mine"}))["entry"] == f"{run}:22"
    assert max(read) == 3
    # A run that was deleted and imported again is another one.
    data = file_box.service.export(run)
    file_box.service.cancel(run)
    file_box.service.erase(run)
    file_box.service.import_(data)
    log(file_box, decision(run))
    assert len(context(file_box, run, "milestones", limit=200)["milestones"]) == 21


def test_a_store_of_the_previous_version_gets_the_index_and_keeps_its_runs(file_box: Box) -> None:
    import sqlite3

    run = started(file_box)
    file_box.close()
    connection = sqlite3.connect(file_box.state)
    connection.execute("DROP INDEX history_journal")
    connection.execute("PRAGMA user_version = 6")
    connection.commit()
    connection.close()
    log(file_box, decision(run))
    plan = sqlite3.connect(file_box.state).execute(
        "EXPLAIN QUERY PLAN SELECT data FROM history INDEXED BY history_journal WHERE run = 1 AND kind = 'journal'"
    )
    assert "history_journal" in str(plan.fetchall())


REPORTING = steps(
    "{id: audit, type: delegate, agent: '@auditor', instructions: Audit., result: report, output_to: report}",
    "{id: done, type: prompt, prompt_type: confirm, message: ok?, output_to: sure}",
    "{id: end, type: return, needs_state: [report], value: '{{ state.report }}'}",
)
FRAMED = """\
The agent has finished. Its answer follows.

  STATUS: success
  SUMMARY: Two files were read.
  DECISIONS:
  - Question: Which database?
    Chosen: SQLite
    Reasoning: As logged.
  - Question: Rename it?
    Chosen: No
  ISSUES:
  - Description: The key is in the repository
    RequiresHuman: yes

agentId: a1b2
<usage>total_tokens: 10</usage>
"""


def test_what_was_logged_for_a_step_becomes_a_part_of_its_report_once(box: Box) -> None:
    run = started(box, REPORTING)
    log(box, decision(run, "audit"), "toolu_1")
    log(box, Logged(run, "audit", "milestone", {"message": "Half", "progress": 50}))
    solved = log(box, issue(run, "audit", "Two spaces"))["entry"]
    log(box, Resolved(run, solved, "One is enough."))
    log(box, issue(run, "audit", "Who pays?"))
    reply = box.service.submit(run, "audit", FRAMED, actor="toolu_2")
    assert step_ids(reply) == ["done"]
    again = box.service.submit(run, "audit", FRAMED)
    assert again["repeated"] is True
    with pytest.raises(RefusedError, match="already been answered"):
        box.service.submit(run, "audit", FRAMED.replace("Two files", "Three files"))
    # In a language without phases, the replies carry what is open: what was logged, and what was reported.
    [logged, reported] = reply["blockers"]
    assert (logged["issue_id"], logged["description"]) == (f"{run}:6", "Who pays?")
    assert (reported["issue_id"], reported["description"]) == (f"{run}:7.4", "The key is in the repository")
    report = box.service.state(run, ["report"])["state"]["report"]
    assert [one["chosen"] for one in report["decisions"]] == ["SQLite", "No"]
    assert report["milestones"] == [{"message": "Half", "progress": 50}]
    assert [(one["description"], one.get("resolution")) for one in report["issues"]] == [
        ("The key is in the repository", None),
        ("Two spaces", "One is enough."),
        ("Who pays?", None),
    ]
    # The journal has each thing once, whichever way it came.
    found = context(box, run)
    assert [(one["chosen"], one["actor"]) for one in found["decisions"]] == [
        ("SQLite", "toolu_1"),
        ("No", "toolu_2"),
    ]
    assert [one["entry"] for one in found["blockers"]] == [f"{run}:6", f"{run}:7.4"]
    assert [one["resolution"] for one in found["issues"]] == ["One is enough."]
    [task] = found["tasks"]
    assert (task["status"], task["outcome"], task["agent"]) == ("success", "Two files were read.", "auditor")
    for one in found["blockers"]:
        log(box, Resolved(run, one["entry"], "The person: later."))
    assert "blockers" not in box.service.status(run)
    box.restart()
    ended = box.service.submit(run, "done", {"confirmed": True})
    assert len(ended["result"]["issues"]) == 3
    assert {one["resolution"] for one in context(box, run)["issues"]} == {
        "The person: later.",
        "One is enough.",
    }
    # The event has the report, not the text; the state refers to it.
    event = next(one for one in box.service.history(run)["events"] if one["event"] == "submitted")
    assert event["result"] == event["written"]["report"]
    assert "answer" not in event


def test_an_answer_that_is_no_report_is_refused_and_an_error_stays_one(box: Box) -> None:
    run = started(box, REPORTING)
    log(box, decision(run, "audit"))
    with pytest.raises(RefusedError, match="STATUS"):
        box.service.submit(run, "audit", "I am done.")
    assert context(box, run)["decisions"]
    assert box.service.submit(run, "audit", {"error": "no access"})["status"] == "failed"


def test_more_than_a_result_may_hold_stays_in_the_journal(file_box: Box) -> None:
    file_box.limited(result_bytes=6_000)
    run = started(file_box, REPORTING)
    for number in range(6):
        log(file_box, decision(run, "audit", chosen=f"{number}", reasoning="x" * 2_000))
    log(file_box, issue(run, "audit", "Who pays?"))
    report = {"status": "success", "summary": "s"}
    reply = file_box.service.submit(run, "audit", report)
    assert [one["description"] for one in reply["blockers"]] == ["Who pays?"]
    kept = file_box.service.state(run, ["report"])["state"]["report"]
    assert ([one["description"] for one in kept["issues"]], len(kept["decisions"])) == (["Who pays?"], 2)
    assert len(context(file_box, run, "decisions")["decisions"]) == 6
    assert file_box.service.submit(run, "audit", report)["repeated"] is True


def test_what_was_logged_before_a_run_continues_as_new_is_still_in_its_report(temporal_box: Any) -> None:
    temporal_box.compile(REPORTING)
    service = temporal_box.another(renew_after=12)
    run = service.start("w")["workflow_id"]
    for number in range(6):
        service.log(Logged(run, "audit", "milestone", {"message": f"m{number}"}))
    service.log(issue(run, "audit"))
    seed, _ = service._run(service._calls.whole(run))
    assert seed.noted == 7
    reply = service.submit(run, "audit", {"status": "success", "summary": "s"})
    assert [one["description"] for one in reply["blockers"]] == ["No licence"]
    report = service.state(run, ["report"])["state"]["report"]
    assert [one["message"] for one in report["milestones"]] == [f"m{number}" for number in range(6)]
    assert len(page_of(service.journal(run), ["milestones"], Filter(), 0, 50)["milestones"]) == 6
    part = service._run(service._calls.rpc.query(run, "history", [0, 1], dict))
    assert part["previous"] is not None, "it did not continue as new"


def test_files_outside_the_areas_of_a_task_are_named(box: Box) -> None:
    run = started(box)
    log(box, StartedTask(run, "Edit", areas=["src/**", "!src/secret"]))
    files = {"files_changed": ["src/a.py", "src/secret/key", "docs/b.md"]}
    done = log(box, CompletedTask(run, "t1", "success", "", files))
    assert done["outside_scope"] == ["src/secret/key", "docs/b.md"]
    log(box, StartedTask(run, "Think", areas=["the whole design"]))
    assert log(box, CompletedTask(run, "t2", "success", "", files))["outside_scope"] == []


MISSION = """
name: w
version: 1.0.0
proof: none
phases:
  - id: design
    number: 1
    name: Design
    agents: [{type: architect, subagent_type: general-purpose, prompt: Design it.}]
    completion: all agents success
  - id: build
    number: 2
    name: Build
    requires: 1
    parallel: true
    agents:
      - {type: backend, subagent_type: general-purpose, scope: [src/], prompt: Build it.}
      - {type: writer, subagent_type: general-purpose, scope: [docs/], prompt: Describe it.}
    completion: all agents success
"""


def test_in_a_run_of_phases_a_logged_blocker_stops_the_phase_and_the_answer_resolves_it(box: Box) -> None:
    run = started(box, MISSION)
    good = {"status": "success", "summary": "s", "files": ["src/a.py"], "tokens_input": 7}
    assert log(box, StartedPhase(run, 1, "Design"))["phase_id"] == f"{run}/design"
    assert refusal(box, CompletedPhase(run, "design", "completed")) == "phase_of_workflow"
    assert log(box, StartedTask(run, "My part", agent="architect"))["task_id"] == f"{run}/design"
    id = log(box, issue(run, "design", "Which licence?"))["entry"]
    # The machine itself stops at it, once the agent reports.
    assert "blockers" not in box.service.status(run)
    [waiting] = step_ids(box.service.submit(run, "design", good))
    assert waiting == "design-stop"
    [found] = context(box, run)["blockers"]
    assert (found["entry"], found["phase"], found["agent"]) == (id, "design", "architect")
    reply = box.service.submit(run, waiting, {"selected": "go on"})
    assert step_ids(reply) == ["build-backend", "build-writer"]
    now = context(box, run)
    assert (now["blockers"], now["issues"][0]["resolution"]) == ([], "The person chose: go on")
    assert [(one["phase"], one["status"]) for one in now["phase_summary"]] == [
        (f"{run}/design", "completed"),
        (f"{run}/build", "open"),
    ]
    log(box, decision(run, "build-writer"))
    box.restart()
    box.service.submit(run, "build-backend", good)
    ended = box.service.submit(run, "build-writer", good)
    assert ended["status"] == "completed"
    book = box.service.journal(run)
    assert [one["task"] for one in page_of(book, ["tasks"], Filter(phase="build"), 0, 50)["tasks"]] == [
        f"{run}/build-backend",
        f"{run}/build-writer",
    ]
    [chosen] = page_of(book, ["decisions"], Filter(agent="writer"), 0, 50)["decisions"]
    assert (chosen["phase"], chosen["by"]) == ("build", "subagent")
    metrics = book.metrics()
    assert (metrics["tasks"], metrics["completed_tasks"], metrics["files"]) == (3, 3, 1)
    assert metrics["tokens"] == {"input": 21, "output": 0}


STAGES = """\
name: w
proof: none
phases:
  - {id: build, number: 1, agents: [{type: a, subagent_type: Explore}], completion: done}
  - {id: build-docs, number: 2, agents: [{type: b, subagent_type: Explore}], completion: done, checkpoint: human}
  - {id: go, number: 3, checkpoint: human}
  - {id: after, number: 4, agents: [{type: c, subagent_type: Explore}], completion: done}
"""


def stages(box: Box, run: str) -> dict[str, str]:
    found = context(box, run, "phase_summary")["phase_summary"]
    return {one["phase"].partition("/")[2]: one["status"] for one in found}


def test_a_phase_is_what_the_run_made_of_it_even_if_names_begin_alike_and_the_run_fails(
    file_box: Box,
) -> None:
    service = file_box.compile(STAGES).service
    run = str(service.start("w")["workflow_id"])
    assert list(stages(file_box, run).values()) == ["open", "pending", "pending", "pending"]
    good = {"status": "success", "summary": "Done."}
    service.submit(run, "build", good)
    assert list(stages(file_box, run).values()) == ["completed", "open", "pending", "pending"]
    service.submit(run, "build-docs", good)
    assert list(stages(file_box, run).values()) == ["completed", "open", "pending", "pending"]
    service.submit(run, "build-docs-checkpoint", {"selected": "approve"})
    assert list(stages(file_box, run).values()) == ["completed", "completed", "open", "pending"]
    assert service.submit(run, "go-checkpoint", {"selected": "stop"})["status"] == "failed"
    assert list(stages(file_box, run).values()) == ["completed", "completed", "failed", "pending"]


@pytest.mark.parametrize(
    ("answers", "then"),
    [
        ({"build": {"status": "failed", "summary": "No."}, "build-stop": {"selected": "abort"}}, "failed"),
        ({"build": {"status": "failed", "summary": "No."}}, "cancelled"),
        ({}, "cancelled"),
    ],
)
def test_the_phase_in_which_a_run_is_given_up_is_not_completed(
    file_box: Box, answers: dict[str, Any], then: str
) -> None:
    service = file_box.compile(STAGES).service
    run = str(service.start("w")["workflow_id"])
    for visit, answer in answers.items():
        service.submit(run, visit, answer)
    if then == "cancelled":
        service.cancel(run)
    assert list(stages(file_box, run).values()) == [then, "pending", "pending", "pending"]
