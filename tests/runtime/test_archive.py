"""Runs as a whole: taken out, brought in elsewhere, forgotten."""

from __future__ import annotations

import json
import math
from pathlib import Path
from threading import Semaphore, Thread
from typing import Any

import pytest

from tests.runtime.support import OK, TWO, Box, children, steps
from wfc.emit.module import with_header
from wfc_runtime.errors import DefinitionError, RefusedError, RequestError, WfcError
from wfc_runtime.header import digest, read_header

FAN = """\
name: w
version: 1.0.0
steps:
  - {id: build, type: shell, command: make, output_to: built}
  - {id: each, type: foreach, items: "{{ ['a', 'b'] }}", task: one, output_to: all}
  - {id: done, type: return, needs_state: [all, built], value: ["{{ state.all }}", "{{ state.built.stdout }}"]}
tasks:
  one:
    inputs: {name: {type: string, required: true}}
    steps:
      - {id: look, type: shell, command: "ls {{ inputs.name | shquote }}", output_to: seen}
      - {id: back, type: return, needs_state: [seen], value: "{{ inputs.name }}{{ state.seen.exit_code }}"}
"""


@pytest.fixture
def box(file_box: Box) -> Box:
    """Only an engine with its own store has an archive."""
    return file_box


def halfway(box: Box) -> str:
    """A run with one child ended and one at work."""
    box.compile(FAN)
    run = str(box.service.start("w")["workflow_id"])
    reply = box.service.submit(run, "build", OK, actor="me")
    box.service.submit(children(reply)[0], "look", OK)
    return run


def other_box(tmp_path: Path) -> Box:
    """A project that has none of the workflows."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return Box(folder)


def test_an_exported_run_goes_on_in_another_store_without_its_workflow(box: Box, tmp_path: Path) -> None:
    run = halfway(box)
    data = json.loads(json.dumps(box.service.export(run)))
    other = other_box(tmp_path)
    reply = other.service.import_(data, trust_modules=True)
    assert (reply["workflow_id"], reply["status"]) == (run, "pending_action")
    [child] = children(reply)
    other.restart()
    other.service.submit(child, "look", {**OK, "exit_code": 3})
    assert other.service.next_step(run)["result"] == [["a0", "b3"], "fine"]
    # The same answer again is known, though it was given elsewhere.
    again = other.service.submit(run, "build", OK)
    assert (again["status"], again["repeated"]) == ("completed", True)
    other.close()


def test_history_and_state_come_along_as_they_were(box: Box, tmp_path: Path) -> None:
    run = halfway(box)
    other = other_box(tmp_path)
    other.service.import_(box.service.export(run), trust_modules=True)
    assert other.service.history(run) == box.service.history(run)
    assert other.service.state(run, ["built"]) == box.service.state(run, ["built"])
    assert other.service.export(run) == box.service.export(run)
    other.close()


def test_an_import_never_touches_a_run_that_is_there(box: Box) -> None:
    run = halfway(box)
    data = box.service.export(run)
    with pytest.raises(RefusedError, match=f"run {run} already exists in the store"):
        box.service.import_(data)
    before = box.service.export(run)
    # A clash further down is one too, and nothing of the rest is written.
    renamed = json.loads(json.dumps(data).replace(run, "another"))
    with pytest.raises(RefusedError, match="already exists in the store"):
        box.service.import_(renamed)
    assert box.service.export(run) == before
    assert [one["workflow_id"] for one in box.service.runs("all")["runs"]] == [run]


def _with(data: Any, value: Any, *path: Any) -> Any:
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return data


def _without(data: Any, *path: Any) -> Any:
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return data


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: [], "this is not an exported run"),
        (lambda data: {"runs": []}, "this is not an exported run"),
        (
            lambda data: {**data, "format": 2},
            "the export has format 2, but this version of wfc reads format 1",
        ),
        (lambda data: {**data, "runs": []}, "it contains no run"),
        (lambda data: {**data, "modules": {}}, "has unexpected content: KeyError"),
        (lambda data: _without(data, "runs", 0, "history", 1), "the history of run .* has gaps"),
        (lambda data: _without(data, "runs", 0), "has unexpected content"),
        (lambda data: _without(data, "runs", 2), "run .* waits for run .*, which it does not contain"),
        (
            lambda data: _without(data, "runs", 0, "snapshot", "configuration"),
            "the snapshot is in states that don't go together",
        ),
        (
            lambda data: {**data, "modules": dict.fromkeys(data["modules"], "print('hello')")},
            "does not match its digest",
        ),
        (
            lambda data: {**data, "modules": {key: text + "#" for key, text in data["modules"].items()}},
            "has been edited",
        ),
        (lambda data: {**data, "runs": [{**data["runs"][0], "id": "../x"}]}, "is not a valid id"),
        (lambda data: {**data, "runs": [{**data["runs"][0], "status": "completed"}]}, "has two statuses"),
        (lambda data: _with(data, "x", "runs", 0, "created"), "'x' is not a time"),
        (lambda data: _with(data, math.inf, "runs", 0, "created"), "inf is not a time"),
        (lambda data: _with(data, -1e300, "runs", 0, "updated"), "is not a time"),
        (lambda data: _with(data, math.nan, "runs", 0, "due"), "nan is not a time"),
        (lambda data: _with(data, 10**30, "runs", 0, "history", 0, "at"), "is not a time"),
        (lambda data: _with(data, "x", "runs", 0, "history", 0, "data"), "event 1 is not an event"),
        (lambda data: _with(data, 7, "runs", 0, "history", 0, "kind"), "event 1 is not an event"),
        (lambda data: _with(data, -5, "runs", 1, "position"), "is not a natural number"),
        (lambda data: _with(data, 7, "runs", 1, "agent"), "a name is not text"),
        (lambda data: _with(data, "other", "runs", 0, "workflow"), "of `other` has the module of `w`"),
    ],
)
def test_a_damaged_export_is_refused_with_the_reason_and_nothing_is_written(
    box: Box, tmp_path: Path, change: Any, message: str
) -> None:
    data = json.loads(json.dumps(box.service.export(halfway(box))))
    other = other_box(tmp_path)
    with pytest.raises(WfcError, match=message):
        other.service.import_(change(data), trust_modules=True)
    assert other.service.runs("all")["runs"] == []
    other.close()


@pytest.mark.parametrize("status", ["completed", "running"])
def test_an_export_whose_failed_run_claims_another_status_is_refused(
    box: Box, tmp_path: Path, status: str
) -> None:
    failed = box.compile(TWO).service.start("w")["workflow_id"]
    box.service.submit(failed, "build", {"error": "broken"})
    data = _with(box.service.export(failed), status, "runs", 0, "status")
    other = other_box(tmp_path)
    with pytest.raises(WfcError, match="has what only a retry needs"):
        other.service.import_(_with(data, status, "runs", 0, "snapshot", "status"), trust_modules=True)
    other.close()


def _with_module(data: Any, change: Any) -> Any:
    """The export with other modules, each under the digest that its body has."""
    text = json.dumps(data)
    for was, module in data["modules"].items():
        changed = change(module)
        header = read_header(changed)
        assert header is not None
        text = text.replace(was, header.body)
        data = json.loads(text)
        data["modules"][header.body] = changed
    return data


def test_an_export_with_code_that_the_project_lacks_is_refused_and_nothing_of_it_is_executed(
    box: Box, tmp_path: Path
) -> None:
    mark = f"open({str(tmp_path / 'executed')!r}, 'w').close()\n"
    data = json.loads(json.dumps(box.service.export(halfway(box))))
    other = other_box(tmp_path)
    evil = _with_module(
        data, lambda text: with_header("workflows/w.yaml", digest("x"), mark + text.split("\n", 4)[4])
    )
    for one in (data, evil):
        with pytest.raises(RefusedError, match=r"contains a version of `w` .* does not have") as refused:
            other.service.import_(one)
        assert refused.value.code == "module_untrusted"
        assert "--trust-modules" in refused.value.hint
    assert other.service.runs("all")["runs"] == []
    assert not (tmp_path / "executed").exists()
    # The mark is real.
    other.service.import_(evil, trust_modules=True)
    assert (tmp_path / "executed").exists()
    other.close()


def test_an_export_of_a_version_that_the_project_has_brings_no_code_of_its_own(
    box: Box, tmp_path: Path
) -> None:
    """A carriage return ends a comment too: what follows it in the header is covered by no digest."""
    run = halfway(box)
    data = json.loads(json.dumps(box.service.export(run)))
    mark = f"open({str(tmp_path / 'executed')!r}, 'w').close()"
    for key, text in data["modules"].items():
        data["modules"][key] = text.replace("workflows/w.yaml", f"x\r{mark}\r#", 1)
    other = other_box(tmp_path)
    other.compile(FAN)
    assert other.service.import_(data)["workflow_id"] == run
    other.restart()
    assert other.service.status(run)["status"] == "pending_action"
    assert not (tmp_path / "executed").exists()
    other.service.cancel(run)
    other.service.erase(run)
    other.close()
    (other.generated / "w.py").unlink()
    with pytest.raises(DefinitionError, match="does not match its digest"):
        other.service.import_(data, trust_modules=True)
    assert not (tmp_path / "executed").exists()
    other.close()


def test_an_export_of_a_version_that_only_the_store_has_is_taken(box: Box, tmp_path: Path) -> None:
    first, second = halfway(box), halfway(box)
    exported = [box.service.export(run) for run in (first, second)]
    other = other_box(tmp_path)
    other.service.import_(exported[0], trust_modules=True)
    other.restart()
    assert other.service.import_(exported[1])["workflow_id"] == second
    other.close()


def test_an_export_shows_one_moment_however_the_run_moves_meanwhile(box: Box) -> None:
    box.compile(FAN.replace("['a', 'b']", "range(40) | map('string') | list"))
    run = str(box.service.start("w")["workflow_id"])
    reply = box.service.submit(run, "build", OK)
    turns = Semaphore(0)

    def work() -> None:
        for child in children(reply):
            turns.acquire()
            box.service.submit(child, "look", OK)

    worker = Thread(target=work)
    other = box.another()
    worker.start()
    seen, wrong = set(), 0
    while worker.is_alive():
        # A few at a time, so that it does not come to its end during the first look.
        turns.release(4)
        data = other.export(run)
        statuses = {one["id"]: one["status"] for one in data["runs"]}
        pending = data["runs"][0]["snapshot"].get("pending", {})
        awaited = [child["run"] for one in pending.values() for child in one["children"] if "run" in child]
        wrong += any(statuses[child] != "running" for child in awaited)
        seen.add(len(awaited))
        # Else whoever works the run would hardly get at the file.
        worker.join(0.01)
    worker.join()
    assert (wrong, len(seen) > 1) == (0, True)


def test_only_a_whole_family_is_exported_or_erased(box: Box) -> None:
    run = halfway(box)
    [child] = children(box.service.next_step(run))
    with pytest.raises(RequestError, match="is a child run"):
        box.service.export(child)
    box.service.cancel(run)
    with pytest.raises(RefusedError, match="is a child run"):
        box.service.erase(child)


def test_erasing_takes_children_state_and_history_out_of_the_file(box: Box) -> None:
    box.compile(FAN)
    run = str(box.service.start("w")["workflow_id"])
    reply = box.service.submit(run, "build", {**OK, "stdout": "tell-tale-text"})
    with pytest.raises(RefusedError, match="is in progress"):
        box.service.erase(run)
    for child in children(reply):
        box.service.submit(child, "look", OK)
    box.service.store.flush()
    assert b"tell-tale-text" in box.state.read_bytes()
    assert box.service.erase(run) == 3
    box.service.store.flush()
    assert b"tell-tale-text" not in box.state.read_bytes()
    with pytest.raises(WfcError, match="there is no run"):
        box.service.status(run)
    # The module stays: another process may be about to start a run of it.
    assert box.service.start("w")["status"] == "pending_action"


def test_old_runs_are_those_that_ended_before_the_moment(box: Box) -> None:
    box.compile(TWO, steps("{id: x, type: shell, command: x}", name="open"))
    service = box.service
    for _ in range(2):
        run = service.start("w")["workflow_id"]
        for visit in ("build", "test"):
            service.submit(run, visit, OK)
        box.clock.pass_(100)
    cancelled = service.start("w")["workflow_id"]
    service.cancel(cancelled)
    service.start("open")
    old = service.ended_before(box.clock.now - 150)["runs"]
    assert [one["status"] for one in old] == ["completed"]
    every = service.ended_before(box.clock.now + 1)["runs"]
    assert [one["status"] for one in every] == ["completed", "completed", "cancelled"]
    assert [one["workflow_id"] for one in service.ended_before(box.clock.now + 1, ["cancelled"])["runs"]] == [
        cancelled
    ]
    with pytest.raises(RequestError, match="`running` is not a terminal status"):
        service.ended_before(box.clock.now, ["running"])
