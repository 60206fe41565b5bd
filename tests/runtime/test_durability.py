"""Kill any process at any moment: nothing acknowledged is lost, and nothing happens twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.driving import drive
from tests.runtime.support import OK, Box, children, compile_to, step_ids, steps
from tests.support import PATIENCE, ROOT
from wfc_runtime.errors import RefusedError
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Changes, ConflictError, Store


@pytest.fixture
def box(file_box: Box) -> Box:
    """All of this is about the file."""
    return file_box


FAMILY = (
    steps(
        "{id: first, type: shell, command: one, output_to: a}",
        "{id: each, type: foreach, items: [x, y], task: t, output_to: b}",
        "{id: last, type: prompt, prompt_type: confirm, message: ok?, output_to: c}",
        "{id: end, type: return, needs_state: [a, b, c],"
        " value: ['{{ state.a.stdout }}', '{{ state.b }}', '{{ state.c }}']}",
    )
    + """
tasks:
  t:
    inputs: {n: {type: string, required: true}}
    steps:
      - {id: s, type: shell, command: "echo {{ inputs.n }}", output_to: out}
      - {id: r, type: return, needs_state: [out], value: "{{ state.out.stdout }} {{ inputs.n }}"}
"""
)


def run_driver(root: Path, fatal: int | str) -> tuple[int, list[Any]]:
    command = [sys.executable, "-m", "tests.runtime.driving", str(root), str(fatal)]
    done = subprocess.run(command, capture_output=True, cwd=ROOT, timeout=PATIENCE, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def story(service: SqliteService) -> tuple[Any, set[tuple[str, str]]]:
    """The result of the only run, and every answer in the history of its family, which must have no gap."""
    [run] = service.runs("all")["runs"]
    answers: set[tuple[str, str]] = set()
    family = [run["workflow_id"]]
    for one in family:
        events = service.history(one)["events"]
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        for event in events:
            family += event.get("children", [])
            if event["event"] == "submitted":
                assert (one, event["step_id"]) not in answers
                answers.add((one, event["step_id"]))
    return service.status(family[0]).get("result"), answers


def test_killed_at_any_write_the_run_comes_to_the_same_end(tmp_path: Path) -> None:
    compile_to(tmp_path / "generated", FAMILY)
    run_driver(tmp_path, "each")
    folders = sorted(tmp_path.glob("at-*"))
    assert len(folders) > 30
    for folder in folders:
        said = [json.loads(line) for line in (folder / "said").read_text().splitlines()]
        service = SqliteService(Store(folder / "state.db"), Registry(tmp_path / "generated"))
        if service.runs("all")["runs"]:
            _, answered = story(service)
            assert {(run, step_id) for run, step_id in said if run not in ("result", "writes")} <= answered
        drive(service, lambda line: None)
        result, answers = story(service)
        assert result == ["fine", ["fine x", "fine y"], {"confirmed": True}]
        assert len(answers) == 4
        [run] = service.runs("all")["runs"]
        entries = service.journal(run["workflow_id"]).entries
        assert [(one.task, one.content) for one in entries] == [("first", {"message": "begun"})]
        service.close()


def test_killed_at_any_write_a_family_that_failed_is_retried_once_and_as_a_whole(tmp_path: Path) -> None:
    compile_to(tmp_path / "generated", FAMILY.replace("{id: s,", "{id: flaky,"))
    run_driver(tmp_path, "each")
    folders = sorted(tmp_path.glob("at-*"))
    assert len(folders) > 40
    for folder in folders:
        service = SqliteService(Store(folder / "state.db"), Registry(tmp_path / "generated"))
        drive(service, lambda line: None)
        result, answers = story(service)
        assert result == ["fine", ["fine x", "fine y"], {"confirmed": True}]
        assert len(answers) == 6
        [run] = service.runs("all")["runs"]
        events = service.history(run["workflow_id"])["events"]
        [retried] = [event for event in events if event["event"] == "retried"]
        assert len(retried["reopened"]) == 2
        for child in retried["reopened"]:
            kinds = [event["event"] for event in service.history(child)["events"]]
            assert kinds == ["started", "submitted", "retried", "submitted"]
        service.close()


def test_a_process_killed_in_the_middle_is_followed_by_another(tmp_path: Path) -> None:
    compile_to(tmp_path / "generated", FAMILY)
    code, said = run_driver(tmp_path, 25)
    assert code == -signal.SIGKILL
    code, more = run_driver(tmp_path, 0)
    assert code == 0
    assert ["result", ["fine", ["fine x", "fine y"], {"confirmed": True}]] in more
    acknowledged = [tuple(line) for line in said]
    assert not set(acknowledged) & {tuple(line) for line in more if line[0] not in ("result", "writes")}


# Answers every step of a run as soon as it can, against others that do the same.
RACER = """
import json, sys
from pathlib import Path
from wfc_runtime.errors import RefusedError
from wfc_runtime.service.sqlite import SqliteService

root, run, me = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
service = SqliteService.open(root / ".wfc" / "state.db", root / "generated")
print("ready", flush=True)
sys.stdin.readline()
won = []
reply = service.next_step(run)
while reply["status"] == "pending_action":
    step_id = reply["action"]["step_id"]
    try:
        reply = service.submit(run, step_id, {"stdout": me, "stderr": "", "exit_code": 0}, actor=me)
        won.append(step_id)
    except RefusedError as refused:
        assert refused.code in ("answered", "not_pending", "finished"), refused
        reply = service.next_step(run)
print(json.dumps(won), flush=True)
"""


def test_two_processes_on_one_file_never_both_win_a_step(box: Box) -> None:
    lines = [
        f"{{id: s{number}, type: shell, command: 'echo {number}', output_to: o}}" for number in range(60)
    ]
    box.clock.now = time.time()
    run = box.compile(steps(*lines)).service.start("w")["workflow_id"]
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(box.root), run, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    wins = []
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    for racer in racers:
        out, _ = racer.communicate(timeout=PATIENCE)
        assert racer.returncode == 0
        wins.append(json.loads(out))
    assert sorted(wins[0] + wins[1]) == sorted(f"s{number}" for number in range(60))
    events = box.service.history(run, limit=500)["events"]
    assert len(events) == 61
    for event in events[1:]:
        assert event["step_id"] in wins[0 if event["actor"] == "a" else 1]
        assert event["result"]["stdout"] == event["actor"]


def test_threads_that_answer_the_same_step_agree_on_who_did(box: Box) -> None:
    service = box.compile(steps("{id: a, type: shell, command: x, output_to: o}")).service
    run = service.start("w")["workflow_id"]
    outcomes: list[str] = []
    gate = threading.Barrier(8)

    def answer(name: str) -> None:
        gate.wait()
        try:
            service.submit(run, "a", {**OK, "stdout": name})
            outcomes.append(name)
        except RefusedError as refused:
            outcomes.append(refused.code)

    threads = [threading.Thread(target=answer, args=(f"t{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    winners = [name for name in outcomes if name.startswith("t")]
    assert len(winners) == 1
    assert outcomes.count("answered") == 7
    assert service.status(run)["result"]["o"]["stdout"] == winners[0]


def test_children_that_end_at_the_same_moment_all_count(box: Box) -> None:
    text = (
        steps("{id: each, type: foreach, items: '{{ range(24) }}', task: t, output_to: o}")
        + "tasks:\n  t:\n    inputs: {n: {type: number, required: true}}\n"
        "    steps:\n      - {id: s, type: shell, command: 'echo {{ inputs.n }}', output_to: out}\n"
        "      - {id: r, type: return, value: '{{ inputs.n }}'}\n"
    )
    reply = box.compile(text).service.start("w")
    ids = children(reply)
    services = [box.service, box.another(), box.another()]
    threads = [
        threading.Thread(target=services[number % 3].submit, args=(child, "s", OK))
        for number, child in enumerate(ids)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert box.restart().status(reply["workflow_id"])["result"]["o"] == list(range(24))


def test_runs_in_many_threads_do_not_disturb_each_other(box: Box) -> None:
    lines = [f"{{id: s{number}, type: shell, command: x, output_to: o}}" for number in range(5)]
    service = box.compile(steps(*lines)).service
    results: list[str] = []

    def walk(name: str) -> None:
        reply = service.start("w")
        while reply["status"] == "pending_action":
            [step_id] = step_ids(reply)
            reply = service.submit(reply["workflow_id"], step_id, {**OK, "stdout": name})
        results.append(reply["result"]["o"]["stdout"])

    threads = [threading.Thread(target=walk, args=(f"t{number}",)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(results) == sorted(f"t{number}" for number in range(20))


def test_a_call_that_keeps_losing_takes_the_file_for_itself(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = box.compile(steps("{id: a, type: shell, command: x, output_to: o}")).service
    run = service.start("w")["workflow_id"]
    losses = []

    def lose(changes: Changes) -> None:
        losses.append(changes)
        raise ConflictError(run)

    monkeypatch.setattr(service.store, "commit", lose)
    assert service.submit(run, "a", OK)["status"] == "completed"
    assert len(losses) == 8
    with pytest.raises(RefusedError, match="with a different result"):
        service.submit(run, "a", {**OK, "exit_code": 3})
    assert len(service.history(run)["events"]) == 2
