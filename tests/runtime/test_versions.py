"""Pinned definitions: a run goes on with the version that it started with."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.runtime.support import OK, TWO, Box, children, step_ids, steps
from wfc_runtime.errors import DefinitionError, RefusedError
from wfc_runtime.store.database import APPLICATION_ID, MIGRATIONS

CHANGED = TWO.replace("command: make", "command: make all").replace("id: test", "id: verify")
LONGER = TWO.replace("steps:\n", "steps:\n  - {id: first, type: shell, command: pull}\n")


def test_a_recompiled_workflow_does_not_change_under_a_run(box: Box) -> None:
    run = box.compile(TWO).service.start("w")["workflow_id"]
    box.compile(CHANGED)
    assert step_ids(box.service.submit(run, "build", OK)) == ["test"]
    assert box.service.start("w")["action"]["parameters"]["command"] == "make all"


def test_it_goes_on_even_in_a_new_process_that_never_saw_the_old_module(box: Box) -> None:
    run = box.compile(TWO).service.start("w")["workflow_id"]
    box.compile(CHANGED)
    service = box.restart()
    assert step_ids(service.submit(run, "build", OK)) == ["test"]
    assert service.submit(run, "test", OK)["status"] == "completed"


def test_it_goes_on_even_when_the_module_is_gone(box: Box) -> None:
    run = box.compile(TWO).service.start("w")["workflow_id"]
    (box.generated / "w.py").unlink()
    service = box.restart()
    assert step_ids(service.submit(run, "build", OK)) == ["test"]


def test_two_versions_run_side_by_side(box: Box) -> None:
    old = box.compile(TWO).service.start("w")["workflow_id"]
    new = box.compile(CHANGED).service.start("w")["workflow_id"]
    assert step_ids(box.service.submit(old, "build", OK)) == ["test"]
    assert step_ids(box.service.submit(new, "build", OK)) == ["verify"]


def test_a_new_version_with_the_same_body_is_the_same_version(file_box: Box) -> None:
    file_box.compile(TWO).service.start("w")
    file_box.compile(TWO + "# a comment\n").service.start("w")
    with sqlite3.connect(file_box.state) as connection:
        assert connection.execute("SELECT count(*) FROM modules").fetchone() == (1,)
    connection.close()


def lose_module(box: Box) -> None:
    """A store whose kept modules this version of wfc can't read."""
    box.close()
    with sqlite3.connect(box.state) as connection:
        connection.execute("UPDATE modules SET text = 'something else'")
    connection.close()


def test_a_run_whose_version_cannot_be_had_says_how_to_move_or_end_it(file_box: Box) -> None:
    run = file_box.compile(TWO).service.start("w")["workflow_id"]
    file_box.compile(LONGER)
    lose_module(file_box)
    with pytest.raises(DefinitionError) as caught:
        file_box.service.submit(run, "build", OK)
    assert caught.value.code == "definition_missing"
    assert f"`wfc runs migrate {run}` moves it" in caught.value.hint
    assert f'cancel_workflow(workflow_id="{run}") ends it' in caught.value.hint


def test_it_says_which_steps_went_away_when_it_could_not_move_either(file_box: Box) -> None:
    service = file_box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "build", OK)
    file_box.compile(CHANGED)
    lose_module(file_box)
    with pytest.raises(DefinitionError) as caught:
        file_box.service.status(run)
    assert "It can't move to the current version, which has no step `test`" in caught.value.hint


def test_such_a_run_can_still_be_cancelled_with_its_children(file_box: Box) -> None:
    caller = steps("{id: c, type: call, workflow: w, with: {}, output_to: o}", name="caller")
    reply = file_box.compile(TWO, caller).service.start("caller")
    [child] = children(reply)
    for name in ("w.py", "caller.py"):
        (file_box.generated / name).unlink()
    lose_module(file_box)
    assert file_box.service.cancel(reply["workflow_id"], "lost")["status"] == "cancelled"
    assert [run["status"] for run in file_box.service.runs("all")["runs"]] == ["cancelled"]
    row = file_box.service.store.queries.run(child)
    assert row is not None
    assert row.status == "cancelled"


def test_a_damaged_copy_does_not_matter_while_the_module_itself_is_there(file_box: Box) -> None:
    run = file_box.compile(TWO).service.start("w")["workflow_id"]
    lose_module(file_box)
    assert step_ids(file_box.service.submit(run, "build", OK)) == ["test"]


def test_a_kept_module_that_was_tampered_with_is_not_loaded(file_box: Box) -> None:
    run = file_box.compile(TWO).service.start("w")["workflow_id"]
    file_box.compile(LONGER).close()
    with sqlite3.connect(file_box.state) as connection:
        connection.execute("UPDATE modules SET text = replace(text, 'command', 'kommand')")
    connection.close()
    with pytest.raises(DefinitionError, match="has been edited"):
        file_box.service.status(run)


def test_a_run_moves_to_the_current_version_when_told_to(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    box.compile(TWO.replace("id: done", "id: extra, type: shell, command: more}\n  - {id: done"))
    reply = service.migrate(run, actor="me")
    assert step_ids(reply) == ["build"]
    service.submit(run, "build", OK)
    assert step_ids(service.submit(run, "test", OK)) == ["extra"]
    event = service.history(run)["events"][1]
    assert (event["event"], event["actor"]) == ("migrated", "me")
    assert event["from"] != event["to"]


def test_a_run_does_not_move_to_a_version_without_its_steps(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "build", OK)
    box.compile(CHANGED)
    before = service.history(run)
    with pytest.raises(RefusedError, match="waits in `test`, which the current version of `w` does not have"):
        service.migrate(run)
    assert service.history(run) == before
    assert step_ids(service.next_step(run)) == ["test"]


def test_a_step_that_became_another_kind_of_step_is_in_the_way_too(box: Box) -> None:
    service = box.compile(steps("{id: a, type: shell, command: x}")).service
    run = service.start("w")["workflow_id"]
    box.compile(steps("{id: a, type: call, workflow: v, with: {}}"), TWO.replace("name: w", "name: v"))
    with pytest.raises(RefusedError, match="or has as a different kind of step"):
        service.migrate(run)


def test_a_step_that_became_another_kind_of_action_is_in_the_way_too(box: Box) -> None:
    service = box.compile(steps("{id: a, type: shell, command: x}")).service
    run = service.start("w")["workflow_id"]
    box.compile(steps("{id: a, type: delegate, instructions: x}"))
    with pytest.raises(RefusedError, match="or has as a different kind of step"):
        service.migrate(run)


def test_a_run_that_pauses_before_a_retry_can_move(box: Box) -> None:
    text = steps("{id: a, type: shell, command: x, retry: {max_attempts: 3, delay_seconds: 60}}")
    service = box.compile(text).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "a", {"error": "no network"})
    box.compile(text.replace("command: x", "command: y"))
    assert step_ids(service.migrate(run)) == ["a@retry"]


def test_children_move_with_their_parent(box: Box) -> None:
    text = (
        steps("{id: each, type: foreach, items: [1], task: t, output_to: o}")
        + "tasks:\n  t:\n    inputs: {n: {type: number, required: true}}\n"
        "    steps:\n      - {id: s, type: shell, command: 'echo {{ inputs.n }}'}\n"
    )
    service = box.compile(text).service
    reply = service.start("w")
    [child] = children(reply)
    box.compile(text + "      - {id: more, type: shell, command: x}\n")
    service.migrate(reply["workflow_id"])
    assert step_ids(service.submit(child, "s", OK)) == ["more"]


def test_a_visit_is_not_named_twice_after_a_move_into_a_loop(box: Box) -> None:
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    service.submit(run, "build", OK)
    box.compile(
        TWO.replace(
            "id: done", "id: again, type: goto, target: build, max_iterations: 1, else: done}\n  - {id: done"
        )
    )
    service.migrate(run)
    assert step_ids(service.submit(run, "test", OK)) == ["build@2"]


FAILS = steps(
    "{id: build, type: shell, command: make}",
    '{id: read, type: return, value: "{{ state.x.y }}", needs_state: [x]}',
    head="initial_state: {x: {}}",
)


def place_of_failure(box: Box, run: str) -> str:
    return str(box.service.submit(run, "build", OK)["error"]["hint"]).rpartition("See ")[2]


def test_a_run_of_an_older_version_names_the_lines_of_that_version(box: Box) -> None:
    run = box.compile(FAILS).service.start("w")["workflow_id"]
    box.compile("# one\n# two\n" + FAILS.replace("command: make", "command: make all"))
    box.restart()
    assert place_of_failure(box, run) == "workflows/w.yaml:6."


def test_a_run_names_the_lines_of_its_version_also_when_module_and_map_are_gone(box: Box) -> None:
    run = box.compile(FAILS).service.start("w")["workflow_id"]
    for path in box.generated.iterdir():
        path.unlink()
    box.restart()
    assert place_of_failure(box, run) == "workflows/w.yaml:6."


def test_a_new_comment_shifts_the_lines_of_runs_in_progress(box: Box) -> None:
    run = box.compile(FAILS).service.start("w")["workflow_id"]
    box.compile("# one\n" + FAILS)
    assert box.service.start("w")["status"] == "pending_action"
    for path in box.generated.iterdir():
        path.unlink()
    box.restart()
    assert place_of_failure(box, run) == "workflows/w.yaml:7."


def test_a_store_without_line_maps_keeps_its_runs(file_box: Box) -> None:
    run = file_box.compile(TWO).service.start("w")["workflow_id"]
    file_box.close()
    _as_before_line_maps(file_box.state)
    file_box.compile(CHANGED)
    assert step_ids(file_box.restart().submit(run, "build", OK)) == ["test"]


def _as_before_line_maps(state: Path) -> None:
    """Replace a store by one with the tables that it had before modules had line maps, and the same rows."""
    earlier = state.with_name("earlier.db")
    connection = sqlite3.connect(earlier)
    for statement in (one for step in MIGRATIONS[:2] for one in step):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 2")
    connection.execute("ATTACH ? AS now", (str(state),))
    for table in ("modules", "runs", "fields", "history"):
        names = ", ".join(row[1] for row in connection.execute(f"PRAGMA main.table_info({table})"))
        connection.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM now.{table}")
    connection.commit()
    connection.close()
    earlier.replace(state)
