"""The files of a store deleted, moved or replaced under a running server: it refuses, and acknowledges nothing."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.runtime.support import OK, TWO, Box, steps
from wfc_runtime.errors import StoreError, WfcError
from wfc_runtime.execute import Grant
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.service.sqlite.serving import ServingService
from wfc_runtime.store import Changes, Store
from wfc_runtime.store.files import OpenFiles

Attack = Callable[[Path], None]


@pytest.fixture
def box(file_box: Box) -> Box:
    """All of this is about the file."""
    return file_box


def logs(state: Path) -> list[Path]:
    return [state.with_name(f"{state.name}{suffix}") for suffix in ("", "-wal", "-shm")]


def another_store(state: Path) -> None:
    """A whole store of another server, in its own process."""
    code = "import sys; from pathlib import Path; from wfc_runtime.store import Store; Store(Path(sys.argv[1])).close()"
    subprocess.run([sys.executable, "-c", code, str(state)], check=True, timeout=60)


# -- the attempts ------------------------------------------------------------------


def delete_the_folder(state: Path) -> None:
    shutil.rmtree(state.parent)


def delete_the_folder_and_make_an_empty_one(state: Path) -> None:
    shutil.rmtree(state.parent)
    state.parent.mkdir()


def clean_with_git(state: Path) -> None:
    root = state.parent.parent
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run(["git", "-C", str(root), "clean", "-fdqX"], check=True)


def clean_with_git_and_start_another_server(state: Path) -> None:
    clean_with_git(state)
    another_store(state)


def delete_the_database(state: Path) -> None:
    state.unlink()


def delete_all_three(state: Path) -> None:
    for path in logs(state):
        path.unlink()


def delete_the_log(state: Path) -> None:
    logs(state)[1].unlink()


def delete_the_index_of_the_log(state: Path) -> None:
    logs(state)[2].unlink()


def delete_the_log_and_its_index(state: Path) -> None:
    for path in logs(state)[1:]:
        path.unlink()


def put_an_empty_file_there(state: Path) -> None:
    state.unlink()
    state.touch()


def put_an_empty_log_there(state: Path) -> None:
    logs(state)[1].unlink()
    logs(state)[1].touch()


def replace_it_with_a_copy_of_itself(state: Path) -> None:
    shutil.copy(state, state.with_name("copy"))
    state.with_name("copy").replace(state)


def replace_all_three_with_copies(state: Path) -> None:
    for path in logs(state):
        shutil.copy(path, path.with_name("copy"))
        path.with_name("copy").replace(path)


def restore_a_backup_by_renaming(state: Path) -> None:
    another_store(state.with_name("backup.db"))
    state.with_name("backup.db").replace(state)


def move_the_database(state: Path) -> None:
    state.rename(state.with_name("old.db"))


def move_the_folder(state: Path) -> None:
    state.parent.rename(state.parent.with_name("old"))


def move_the_folder_and_start_another_server(state: Path) -> None:
    move_the_folder(state)
    another_store(state)


def move_the_project(state: Path) -> None:
    root = state.parent.parent
    root.rename(root.with_name(f"{root.name}-moved"))


def move_the_log(state: Path) -> None:
    logs(state)[1].rename(state.with_name("old-wal"))


def put_a_link_to_another_store_there(state: Path) -> None:
    another_store(state.with_name("other.db"))
    state.unlink()
    state.symlink_to("other.db")


def put_a_dangling_link_there(state: Path) -> None:
    state.unlink()
    state.symlink_to("nowhere.db")


def put_a_link_to_itself_there(state: Path) -> None:
    state.unlink()
    state.symlink_to(state.name)


def put_a_link_to_a_hard_link_there(state: Path) -> None:
    """The same file under another name: the next server looks for a log of that name."""
    os.link(state, state.with_name("same.db"))
    state.unlink()
    state.symlink_to("same.db")


def turn_the_folder_into_a_link_to_another(state: Path) -> None:
    """The same database in another folder, where there is no log."""
    other = state.parent.with_name("other")
    other.mkdir()
    os.link(state, other / state.name)
    state.parent.rename(state.parent.with_name("old"))
    state.parent.symlink_to("other")


def put_a_folder_there(state: Path) -> None:
    state.unlink()
    state.mkdir()


def put_a_file_in_place_of_the_folder(state: Path) -> None:
    shutil.rmtree(state.parent)
    state.parent.touch()


def exchange_two_stores(state: Path) -> None:
    other = state.parent.with_name("other")
    another_store(other / state.name)
    state.parent.rename(state.parent.with_name("old"))
    other.rename(state.parent)


def empty_the_database(state: Path) -> None:
    os.truncate(state, 0)


def cut_the_database(state: Path) -> None:
    os.truncate(state, 4096)


def empty_the_log(state: Path) -> None:
    os.truncate(logs(state)[1], 0)


def cut_the_log(state: Path) -> None:
    path = logs(state)[1]
    os.truncate(path, path.stat().st_size - 1)


ATTACKS: dict[Attack, str] = {
    delete_the_folder: "unknown_run",
    delete_the_folder_and_make_an_empty_one: "unknown_run",
    clean_with_git: "unknown_run",
    clean_with_git_and_start_another_server: "unknown_run",
    delete_the_database: "store_damaged",
    delete_all_three: "unknown_run",
    delete_the_log: "test",
    delete_the_index_of_the_log: "test",
    delete_the_log_and_its_index: "test",
    put_an_empty_file_there: "store_damaged",
    put_an_empty_log_there: "test",
    replace_it_with_a_copy_of_itself: "test",
    replace_all_three_with_copies: "test",
    restore_a_backup_by_renaming: "unknown_run",
    move_the_database: "store_damaged",
    move_the_folder: "unknown_run",
    move_the_folder_and_start_another_server: "unknown_run",
    move_the_project: "unknown_run",
    move_the_log: "test",
    put_a_link_to_another_store_there: "unknown_run",
    put_a_dangling_link_there: "unknown_run",
    put_a_link_to_itself_there: "store_unusable",
    put_a_link_to_a_hard_link_there: "test",
    turn_the_folder_into_a_link_to_another: "test",
    put_a_folder_there: "store_unusable",
    put_a_file_in_place_of_the_folder: "store_unusable",
    exchange_two_stores: "unknown_run",
    empty_the_database: "store_damaged",
    cut_the_database: "store_damaged",
    empty_the_log: "build",
    cut_the_log: "store_damaged",
}
"""Each with what the next server finds: the step that the run waits in, or why the run can't be had."""
attacks = pytest.mark.parametrize("attack", ATTACKS, ids=[one.__name__ for one in ATTACKS])


def begun(box: Box, **more: Any) -> tuple[SqliteService, str]:
    """A server that has acknowledged one answer of a run, some of it in the database and some in the log."""
    box.compile(TWO)
    service = box.another(**more)
    run = service.start("w")["workflow_id"]
    service.store.flush()
    service.submit(run, "build", {**OK, "stdout": "x" * 20_000})
    return service, run


def content(root: Path) -> str:
    """Digests of every file of a tree but the index of a log, which holds locks of readers.

    By another process: to close a file here would release the locks that SQLite holds on it.
    """
    command = ["find", str(root.parent), "-type", "f", "!", "-name", "*-shm", "-exec", "sha256sum", "{}", "+"]
    # Other tests leave files whose names are not UTF-8 beside this one's folder.
    found = os.fsdecode(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)
    return "\n".join(sorted(line for line in found.splitlines() if root.name in line))


def refused(call: Callable[[], object]) -> StoreError:
    with pytest.raises(StoreError) as caught:
        call()
    assert caught.value.code == "store_replaced", caught.value
    assert "is not the store that this server opened" in caught.value.message
    return caught.value


@attacks
def test_every_call_is_refused_once_the_path_names_other_files(box: Box, attack: Attack) -> None:
    service, run = begun(box)
    exported = service.export(run)
    ended = service.start("w")["workflow_id"]
    service.cancel(ended)
    module = service.registry.find("w")
    attack(box.state)
    before = content(box.root)
    calls: list[Callable[[], object]] = [
        lambda: service.submit(run, "test", OK),
        lambda: service.start_module(module),
        lambda: service.next_step(run),
        lambda: service.status(run),
        lambda: service.state(run),
        lambda: service.history(run),
        lambda: service.runs("all"),
        lambda: service.ids(run[:4], 5),
        lambda: service.definition(run),
        lambda: service.cancel(run),
        lambda: service.mark(run, "here"),
        lambda: service.migrate(run),
        lambda: service.erase(ended),
        lambda: service.store.erase(ended),
        lambda: service.export(run),
        lambda: service.import_(exported),
        lambda: service.ended_before(2e9),
        lambda: service.store.exclusively(lambda queries: (Changes(), None)),
        service.store.check_files,
        service.store.flush,
    ]
    for call in calls:
        error = refused(call)
        assert error.hint
    assert content(box.root) == before


def found_by_the_next_server(box: Box, run: str) -> str:
    try:
        return str(box.another().status(run)["action"]["step_id"])
    except WfcError as error:
        return error.code


@attacks
def test_the_next_server_knows_what_was_acknowledged_or_says_why_not(box: Box, attack: Attack) -> None:
    service, run = begun(box)
    attack(box.state)
    refused(lambda: service.submit(run, "test", OK))
    service.close()
    assert found_by_the_next_server(box, run) == ATTACKS[attack]


@pytest.mark.parametrize(
    "attack",
    [
        delete_the_log,
        delete_the_index_of_the_log,
        delete_the_log_and_its_index,
        move_the_log,
        put_an_empty_log_there,
    ],
)
def test_a_server_that_ends_saves_what_it_acknowledged_into_a_log_that_was_deleted(
    box: Box, attack: Attack
) -> None:
    service, run = begun(box)
    attack(box.state)
    refused(lambda: service.submit(run, "test", OK))
    service.close()
    assert box.another().status(run)["action"]["step_id"] == "test"


def test_a_server_that_ends_leaves_the_log_of_another_process_alone(box: Box) -> None:
    service, run = begun(box)
    for path in logs(box.state)[1:]:
        path.unlink()
    # It commits to its own log, which it leaves behind as a killed process does.
    code = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('CREATE TABLE mark (x)'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(box.state)], check=True, timeout=60)
    before = content(box.root)
    refused(lambda: service.status(run))
    service.close()
    assert content(box.root) == before
    with sqlite3.connect(box.state) as connection:
        assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'mark'").fetchall()
    connection.close()


def test_a_server_that_ends_leaves_a_database_that_another_process_has_changed_alone(box: Box) -> None:
    service, run = begun(box)
    for path in logs(box.state)[1:]:
        path.unlink()
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('CREATE TABLE mark (x)'); c.close()"
    )
    subprocess.run([sys.executable, "-c", code, str(box.state)], check=True, timeout=60)
    before = content(box.root)
    refused(lambda: service.status(run))
    service.close()
    assert content(box.root) == before


# -- what is no attack ---------------------------------------------------------------


def nothing(state: Path) -> None:
    pass


def move_the_folder_and_back(state: Path) -> None:
    old = state.parent.with_name("old")
    state.parent.rename(old)
    old.rename(state.parent)


def move_the_folder_and_link_to_it(state: Path) -> None:
    state.parent.rename(state.parent.with_name("old"))
    state.parent.symlink_to("old")


def link_to_the_folder_of_the_project(state: Path) -> None:
    root = state.parent.parent
    root.rename(root.with_name(f"{root.name}-moved"))
    root.symlink_to(f"{root.name}-moved")


def make_a_hard_link(state: Path) -> None:
    os.link(state, state.with_name("same.db"))


def change_its_mode(state: Path) -> None:
    state.chmod(0o660)


def let_another_process_write_and_end(state: Path) -> None:
    another_store(state)


def let_another_process_empty_the_log(state: Path) -> None:
    code = "import sys; from pathlib import Path; from wfc_runtime.store import Store; Store(Path(sys.argv[1])).flush()"
    subprocess.run([sys.executable, "-c", code, str(state)], check=True, timeout=60)
    assert logs(state)[1].stat().st_size == 0


def vacuum_it(state: Path) -> None:
    """The database becomes shorter than it was."""
    connection = sqlite3.connect(state, isolation_level=None)
    connection.execute("CREATE TABLE big (x)")
    connection.execute("INSERT INTO big SELECT randomblob(200000)")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = state.stat().st_size
    connection.execute("DROP TABLE big")
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    assert state.stat().st_size < before


def read_it_elsewhere(state: Path) -> None:
    subprocess.run(["cat", *map(str, logs(state))], check=True, stdout=subprocess.DEVNULL)


def put_the_log_back(state: Path) -> None:
    move_the_log(state)
    state.with_name("old-wal").rename(logs(state)[1])


HARMLESS = [
    nothing,
    move_the_folder_and_back,
    move_the_folder_and_link_to_it,
    link_to_the_folder_of_the_project,
    make_a_hard_link,
    change_its_mode,
    let_another_process_write_and_end,
    let_another_process_empty_the_log,
    vacuum_it,
    read_it_elsewhere,
    put_the_log_back,
]


@pytest.mark.parametrize("change", HARMLESS, ids=[one.__name__ for one in HARMLESS])
def test_a_server_goes_on_as_long_as_the_path_leads_to_its_files(box: Box, change: Attack) -> None:
    service, run = begun(box)
    change(box.state)
    assert service.status(run)["action"]["step_id"] == "test"
    assert service.submit(run, "test", OK)["status"] == "completed"
    service.close()
    assert box.another().status(run)["status"] == "completed"


@pytest.mark.parametrize("attack", [move_the_folder, move_the_database, move_the_log])
def test_files_that_are_put_back_are_used_again(box: Box, attack: Attack) -> None:
    service, run = begun(box)
    was = {path.stat().st_ino: path for path in logs(box.state)}
    attack(box.state)
    refused(lambda: service.submit(run, "test", OK))
    for path in list(box.root.rglob("*")):
        if path.is_file() and path.stat().st_ino in was:
            was[path.stat().st_ino].parent.mkdir(exist_ok=True)
            path.rename(was[path.stat().st_ino])
    assert service.submit(run, "test", OK)["status"] == "completed"


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_store_behind_a_link_is_compared_with_what_the_link_leads_to(box: Box, is_folder: bool) -> None:
    real, link = box.root / "real" / "runs.db", box.state
    if is_folder:
        real = real.with_name(link.name)
        real.parent.mkdir()
        link.parent.symlink_to("real")
    else:
        Store(real).close()
        link.parent.mkdir()
        link.symlink_to(real)
    service, run = begun(box)
    assert service.status(run)["action"]["step_id"] == "test"
    elsewhere = box.root / "elsewhere" / real.name
    another_store(elsewhere)
    (link.parent if is_folder else link).unlink()
    (link.parent if is_folder else link).symlink_to(elsewhere.parent if is_folder else elsewhere)
    error = refused(lambda: service.submit(run, "test", OK))
    assert f"moved to {real}" in error.message


def test_a_relative_path_is_that_of_the_folder_it_was_opened_in(
    box: Box, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(box.root)
    box.state = Path(".wfc") / "state.db"
    service, run = begun(box)
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert service.submit(run, "test", OK)["status"] == "completed"


def test_a_refusal_says_where_the_file_is_now(box: Box) -> None:
    service, run = begun(box)
    move_the_folder(box.state)
    error = refused(lambda: service.status(run))
    old = box.root / "old" / "state.db"
    assert f"was moved to {old}" in error.message
    assert "Move it back together with its -wal and -shm files" in error.hint
    assert "restart the server" in error.hint


def test_a_folder_that_may_not_be_looked_into_is_refused_until_it_may(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, run = begun(box)

    def denied(path: object, **more: object) -> os.stat_result:
        raise PermissionError(13, "Permission denied")

    # Tests may be run by root, whom no mode keeps out.
    with monkeypatch.context() as patch:
        patch.setattr(os, "lstat", denied)
        with pytest.raises(StoreError, match="can't be inspected: Permission denied") as caught:
            service.submit(run, "test", OK)
        assert caught.value.code == "store_unusable"
    assert service.submit(run, "test", OK)["status"] == "completed"


# -- at any moment ----------------------------------------------------------------------


@pytest.mark.parametrize("point", ["begun", "run", "event", "written", "committed"])
@pytest.mark.parametrize("attack", [delete_the_folder, move_the_folder_and_start_another_server])
def test_an_answer_is_not_acknowledged_if_the_store_goes_at_any_point_of_its_commit(
    box: Box, attack: Attack, point: str
) -> None:
    armed: list[str] = []

    def hook(at: str) -> None:
        if armed and at == point:
            armed.clear()
            attack(box.state)

    service, run = begun(box, hook=hook)
    armed.append(point)
    refused(lambda: service.submit(run, "test", OK))
    assert not armed
    refused(lambda: service.submit(run, "test", OK))


def test_before_the_commit_nothing_is_written_into_the_old_file(box: Box) -> None:
    armed: list[str] = []
    old = box.state.parent.with_name("old")

    def hook(at: str) -> None:
        if armed and at == "written":
            armed.clear()
            move_the_folder(box.state)

    service, run = begun(box, hook=hook)
    armed.append("now")
    refused(lambda: service.submit(run, "test", OK))
    service.close()
    box.state = old / "state.db"
    assert box.another().status(run)["action"]["step_id"] == "test"


def test_nobody_who_shares_the_commit_is_acknowledged(box: Box) -> None:
    armed: list[str] = []

    def hook(at: str) -> None:
        if armed and at == "committed":
            armed.clear()
            delete_the_folder(box.state)

    service, _ = begun(box, hook=hook)
    runs = [service.start("w")["workflow_id"] for _ in range(6)]
    gate, outcomes = threading.Barrier(len(runs)), list[object]()

    def submit(run: str) -> None:
        gate.wait(60)
        try:
            outcomes.append(service.submit(run, "build", OK))
        except StoreError as error:
            outcomes.append(error.code)

    armed.append("now")
    threads = [threading.Thread(target=submit, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert outcomes == ["store_replaced"] * len(runs)


def test_a_file_replaced_while_it_is_opened_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, replaced = tmp_path / "state.db", []

    class Racing(OpenFiles):
        def __init__(self, path: Path) -> None:
            if not replaced:
                replaced.append(True)
                for one in logs(path):
                    one.unlink()
                state.touch(0o600)
            super().__init__(path)

    monkeypatch.setattr("wfc_runtime.store.store.OpenFiles", Racing)
    store = Store(state)
    store.check_files()
    assert replaced
    store.close()


def test_a_file_that_is_replaced_again_and_again_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Racing(OpenFiles):
        def __init__(self, path: Path) -> None:
            for one in logs(path):
                one.unlink()
            super().__init__(path)

    monkeypatch.setattr("wfc_runtime.store.store.OpenFiles", Racing)
    with pytest.raises(StoreError, match="keeps being replaced") as caught:
        Store(tmp_path / "state.db")
    assert caught.value.code == "store_replaced"


# -- a server that works by itself ---------------------------------------------------------


def test_a_server_begins_no_work_and_claims_nothing_in_a_store_that_was_replaced(box: Box) -> None:
    did = box.root / "did"
    box.compile(
        steps(
            "{id: ask, type: prompt, prompt_type: confirm, message: ok?, output_to: a}",
            f"{{id: do, type: shell, runner: server, command: 'touch {did}', output_to: d}}",
        )
    )
    grant = Grant.all_commands(box.root)
    service = ServingService(Store(box.state), Registry(box.generated), grant, None, box.clock)
    try:
        run = service.start("w")["workflow_id"]
        move_the_folder_and_start_another_server(box.state)
        before = content(box.root)
        refused(lambda: service.submit(run, "ask", True))
        runnable: Any = SimpleNamespace(run=run, visit="do")
        refused(lambda: service.claim(runnable))
        assert content(box.root) == before
        assert not did.exists()
        assert not box.state.with_name("state.db-servers").exists()
    finally:
        service.close()
