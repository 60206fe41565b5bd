"""Full disks, folders that can't be written, stores that were damaged: a clear error, and nothing made worse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.runtime.support import OK, TWO, Box, compile_to
from tests.support import PATIENCE, ROOT
from tests.torture.damage import cut, flip, make_store
from wfc_runtime.errors import StoreError


def test_a_flipped_byte_gives_a_clear_error_or_a_right_answer(tmp_path: Path) -> None:
    made = make_store(tmp_path)
    for seed in range(12):
        flip(made, Random(seed))
    assert made.outcomes["answered"]
    assert made.outcomes["store_damaged"] + made.outcomes["not opened: store_damaged"]


def test_a_store_cut_short_anywhere_gives_a_clear_error_or_a_right_answer(tmp_path: Path) -> None:
    made = make_store(tmp_path)
    # An empty file is what a store begins as.
    for size in (1, 100, 4095, 4096, len(made.data) // 2, len(made.data) - 1):
        cut(made, size)
    assert made.outcomes["store_damaged"] + made.outcomes["not opened: store_damaged"]


# Writes until the file may not grow any more, then with more room. The limit is the kernel's own (RLIMIT_FSIZE).
FILLS = """
import json, resource, signal, sys
from pathlib import Path
from wfc_runtime.errors import StoreError
from wfc_runtime.service.sqlite import SqliteService

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
root = Path(sys.argv[1])
service = SqliteService.open(root / "state.db", root / "generated")
run = service.start("w")["workflow_id"]
size = (root / "state.db-wal").stat().st_size
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
result = {"stdout": "x" * 100_000, "stderr": "", "exit_code": 0}
said = []
for room in range(0, 100_000, 20_000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, most))
    try:
        service.submit(run, "build", result)
        said.append("taken")
    except StoreError as error:
        said.append(str(error))
    assert service.status(run)["action"]["step_id"] == "build"
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
reply = service.submit(run, "build", result)
print(json.dumps([said, reply["action"]["step_id"], len(service.history(run)["events"])]))
"""


def test_a_file_that_may_not_grow_is_said_so_and_nothing_is_lost(tmp_path: Path) -> None:
    compile_to(tmp_path / "generated", TWO)
    done = subprocess.run(
        [sys.executable, "-c", FILLS, str(tmp_path)],
        capture_output=True,
        cwd=ROOT,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    said, pending, events = json.loads(done.stdout)
    assert len(said) == 5
    assert all("state.db can't be read or written" in one or "no room left" in one for one in said)
    assert (pending, events) == ("test", 2)


def test_a_disk_that_fills_up_page_by_page_loses_nothing(file_box: Box) -> None:
    service = file_box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    connection = service.store._write_connection
    large, full = {**OK, "stdout": "x" * 100_000}, 0
    codes: set[str] = set()
    [pages] = connection.execute("PRAGMA page_count").fetchone()
    for room in range(100):
        connection.execute(f"PRAGMA max_page_count = {pages + room}")
        try:
            service.submit(run, "build", large)
            break
        except StoreError as error:
            codes.add(error.code)
            full += service.status(run)["action"]["step_id"] == "build"
    assert codes == {"store_full"}
    assert room == full > 20
    assert service.status(run)["action"]["step_id"] == "test"
    assert [event["seq"] for event in service.history(run)["events"]] == [1, 2]


# Opens a store as a user that may not write there; whoever is root gives that up first.
OPENS = """
import os, sys
from pathlib import Path
from wfc_runtime.errors import StoreError
from wfc_runtime.store import Store

if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    Store(Path(sys.argv[1]))
except StoreError as error:
    print(error.code, error)
"""


@pytest.mark.parametrize("there", [True, False], ids=["with a store", "empty"])
def test_a_folder_that_cannot_be_written_is_said_so(tmp_path: Path, there: bool) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    path = folder / "state.db"
    if there:
        path.write_bytes(b"")
        path.chmod(0o444)
    folder.chmod(0o555)
    for above in [tmp_path, *tmp_path.parents][:4]:
        if above.owner() == folder.owner() and above != Path("/tmp"):
            above.chmod(above.stat().st_mode | 0o055)
    before = sorted(os.listdir(folder))
    done = subprocess.run(
        [sys.executable, "-c", OPENS, str(path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    folder.chmod(0o755)
    assert done.stdout.startswith("store_read_only "), done
    assert "Make the file and its folder writable" in done.stdout
    assert sorted(os.listdir(folder)) == before


def test_a_file_in_place_of_the_folder_is_said_so(tmp_path: Path) -> None:
    from wfc_runtime.store import Store

    (tmp_path / ".wfc").write_text("not a folder")
    with pytest.raises(StoreError, match=r"state.db can't be opened: Not a directory"):
        Store(tmp_path / ".wfc" / "state.db")
    assert (tmp_path / ".wfc").read_text() == "not a folder"
