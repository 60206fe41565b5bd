"""Writing: all of a call or nothing, one winner, several calls to a commit, room that grows with the steps."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.runtime.support import NOON, OK, TWO, Box, children, steps
from tests.support import PATIENCE
from wfc_runtime.errors import NotFoundError, RefusedError
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Changes, ClaimRow, ConflictError, HistoryRow, ModuleRow, RunRow, Store


@pytest.fixture
def box(file_box: Box) -> Box:
    """All of this is about the file."""
    return file_box


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "state.db")


def created(store: Store, run_id: str = "r1") -> RunRow:
    row = RunRow(id=run_id, workflow="w", digest="d", version=1, created=NOON, updated=NOON, snapshot="{}")
    row.fields = {"b": "1", "a": "2"}
    history = [(row, HistoryRow(1, NOON, "started", "{}"))]
    store.commit(Changes(created=[row], history=history, modules={"d": ModuleRow("w", "text", None, NOON)}))
    return row


def moved(row: RunRow, read_version: int) -> Changes:
    changed = replace(row, version=read_version + 1, fields={})
    event = HistoryRow(read_version + 1, NOON, "submitted", "{}", visit=f"v{read_version}")
    return Changes(updated={row.key: (changed, read_version)}, history=[(changed, event)])


def test_what_was_read_decides_who_wins(store: Store) -> None:
    row = created(store)
    store.commit(moved(row, 1))
    with pytest.raises(ConflictError):
        store.commit(moved(row, 1))
    assert [event.seq for event in store.queries.history(row.key, 0, 10)] == [1, 2]
    store.close()


def test_a_conflict_in_one_run_takes_back_the_others_of_the_same_call(store: Store) -> None:
    one, two = created(store, "one"), created(store, "two")
    store.commit(moved(two, 1))
    both = moved(one, 1)
    both.updated.update(moved(two, 1).updated)
    with pytest.raises(ConflictError):
        store.commit(both)
    found = store.queries.run("one")
    assert found is not None
    assert found.version == 1
    store.close()


@pytest.mark.parametrize("same", [True, False], ids=["the same result", "another result"])
def test_whoever_loses_a_step_that_starts_children_is_told_so(
    box: Box, monkeypatch: pytest.MonkeyPatch, same: bool
) -> None:
    text = steps(
        "{id: a, type: shell, command: x}", "{id: each, type: foreach, items: [1, 2], task: t, output_to: o}"
    )
    inputs, work = "{n: {type: number, required: true}}", "{id: s, type: shell, command: 'y {{ inputs.n }}'}"
    box.compile(f"{text}tasks: {{t: {{inputs: {inputs}, steps: [{work}]}}}}\n")
    service = box.service
    other = SqliteService(Store(box.state), Registry(box.generated), clock=service._clock)
    run = service.start("w")["workflow_id"]
    commit, first = service.store.commit, []

    def too_late(changes: Changes) -> None:
        if not first:
            first.append(other.submit(run, "a", OK))
        commit(changes)

    monkeypatch.setattr(service.store, "commit", too_late)
    if same:
        assert service.submit(run, "a", OK) == {**first[0], "repeated": True}
    else:
        with pytest.raises(RefusedError, match="with a different result"):
            service.submit(run, "a", {**OK, "exit_code": 3})
    assert len(children(other.status(run))) == 2
    other.close()


def test_a_visit_can_be_answered_only_once_even_by_a_writer_with_a_bug(store: Store) -> None:
    row = created(store)
    store.commit(moved(row, 1))
    twice = moved(row, 2)
    twice.history[0][1].visit = "v1"
    with pytest.raises(Exception, match="UNIQUE"):
        store.commit(twice)
    store.close()


def test_fields_come_back_in_the_order_in_which_they_were_first_written(store: Store) -> None:
    row = created(store)
    changes = moved(row, 1)
    changes.updated[row.key][0].fields = {"c": "3", "b": "9"}
    store.commit(changes)
    whole = store.queries.whole(row.key)
    assert whole is not None
    assert list(whole[1].items()) == [("b", 9), ("a", 2), ("c", 3)]
    store.close()


def test_reading_waits_for_nobody_and_sees_the_last_commit(tmp_path: Path) -> None:
    written, go_on = threading.Event(), threading.Event()

    def hook(point: str) -> None:
        if point == "written" and moving.is_set():
            written.set()
            go_on.wait(PATIENCE)

    moving = threading.Event()
    store = Store(tmp_path / "state.db", hook=hook)
    row = created(store)
    moving.set()
    thread = threading.Thread(target=store.commit, args=(moved(row, 1),))
    thread.start()
    assert written.wait(PATIENCE)
    assert _version(store) == 1
    go_on.set()
    thread.join(PATIENCE)
    assert _version(store) == 2
    store.close()


def _version(store: Store) -> int:
    found = store.queries.run("r1")
    assert found is not None
    return found.version


def test_the_log_begins_anew_instead_of_growing(store: Store, tmp_path: Path) -> None:
    row, log = created(store), tmp_path / "state.db-wal"
    sizes: set[int] = set()
    for version in range(1, 200):
        store.commit(moved(row, version))
        sizes.add(log.stat().st_size)
    assert max(sizes) < 150 * 4120, "not much more than the pages that make it begin anew"
    assert len(sizes) < 60, "most commits leave its size alone"
    store.close()


EACH = (
    steps("{id: each, type: foreach, items: [1, 2], task: t, output_to: o}")
    + """
tasks:
  t:
    inputs: {n: {type: number, required: true}}
    steps: [{id: s, type: shell, command: "echo {{ inputs.n }}", output_to: secret}]
"""
)


def test_erasing_a_run_leaves_nothing_of_it_or_its_children(box: Box) -> None:
    service = box.compile(EACH, TWO.replace("name: w", "name: v")).service
    reply = service.start("w")
    kept = service.start("v")["workflow_id"]
    for child in children(reply):
        service.submit(child, "s", {**OK, "stdout": "find me"})
    assert service.store.erase(reply["workflow_id"]) == 3
    with sqlite3.connect(box.state) as connection:
        for table in ("runs", "fields", "history"):
            key = "key" if table == "runs" else "run"
            rows = connection.execute(f"SELECT DISTINCT {key} FROM {table}").fetchall()
            assert len(rows) == (1 if table != "fields" else 0)
    connection.close()
    assert service.status(kept)["status"] == "pending_action"
    with pytest.raises(NotFoundError):
        service.store.erase(children(reply)[0])


def test_a_child_is_erased_with_its_parent_only(box: Box) -> None:
    box.compile(
        steps("{id: c, type: call, workflow: v, with: {}, output_to: o}"), TWO.replace("name: w", "name: v")
    )
    reply = box.service.start("w")
    with pytest.raises(NotFoundError, match="to delete"):
        box.service.store.erase(children(reply)[0])


@pytest.mark.parametrize("field", ["out", "out{}"])
def test_a_step_of_300_bytes_takes_less_than_a_kilobyte(box: Box, field: str) -> None:
    count = 100
    lines = [
        f"{{id: s{n}, type: shell, command: 'echo {n}', output_to: {field.format(n)}}}" for n in range(count)
    ]
    service = box.compile(steps(*lines)).service
    runs = 5
    for _ in range(runs):
        reply = service.start("w")
        while reply["status"] == "pending_action":
            result = {"stdout": "x" * 255, "stderr": "", "exit_code": 0}
            reply = service.submit(reply["workflow_id"], reply["action"]["step_id"], result)
    module = len((box.generated / "w.py").read_bytes())
    box.close()
    size = box.state.stat().st_size - module
    assert size / (runs * count) < 1000


def test_a_list_that_grows_each_turn_is_not_kept_whole_each_time(box: Box) -> None:
    text = """
name: w
version: 1.0.0
initial_state: {all: []}
steps:
  - id: loop
    type: while
    needs_state: [all]
    if: "{{ state.all | length < 60 }}"
    max_iterations: 100
    steps:
      - {id: ask, type: shell, command: x, output_to: out}
      - id: add
        type: set_state
        needs_state: [all, out]
        updates: {all: "{{ state.all + [state.out.stdout] }}"}
"""
    service = box.compile(text).service
    reply = service.start("w")
    while reply["status"] == "pending_action":
        reply = service.submit(reply["workflow_id"], reply["action"]["step_id"], {**OK, "stdout": "y" * 1000})
    assert len(reply["result"]["all"]) == 60
    with sqlite3.connect(box.state) as connection:
        (size,) = connection.execute("SELECT sum(length(data)) FROM history").fetchone()
    connection.close()
    assert size < 60 * 1700


def test_of_an_erased_run_no_page_has_a_word_left(file_box: Box) -> None:
    text = steps(
        "{id: a, type: shell, command: \"say '{{ inputs.words }}'\", output_to: o}",
        "{id: keep, type: set_state, needs_state: [o], updates: {kept: '{{ state.o.stdout * 3 }}'}}",
        "{id: again, type: goto, needs_state: [o], when: '{{ state.o.exit_code }}', target: a, max_iterations: 9}",
        head="inputs: {words: {type: string, required: true}}",
    )
    service = file_box.compile(text).service
    run = service.start("w", {"words": "remarkable " * 3000})["workflow_id"]
    for visit, code in (("a", 1), ("a@2", 1), ("a@3", 0)):
        service.submit(run, visit, {**OK, "stdout": f"{visit} remarkable " * 2000, "exit_code": code})
    assert service.erase(run) == 1
    file_box.close()
    assert b"remarkable" not in file_box.state.read_bytes()


def test_a_visit_is_claimed_only_of_the_run_that_was_read(file_box: Box) -> None:
    service = file_box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    read = service.store.queries.require(run)
    service.submit(run, "build", OK)
    claim = ClaimRow(read.root, read.key, "build", NOON, "somebody")
    with pytest.raises(ConflictError):
        service.store.commit(Changes(claims=[(claim, read.version)]))
    assert service.store.queries.claims(read.root) == []
