"""Works the only run of a store to its end and, if told so, dies by SIGKILL at one of its writes.

`python -m tests.runtime.driving FOLDER WRITE` does it once, on FOLDER/state.db. With `each` for the write, it is done
once per write, each in a child and a folder of its own. Nothing but the runtime is imported, as in a server.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from wfc_runtime.registry import Registry
from wfc_runtime.results import problems
from wfc_runtime.service.journal_entries import Logged
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store

RESULT = {"stdout": "fine", "stderr": "", "exit_code": 0}


def drive(service: SqliteService, say: Callable[[Any], None]) -> None:
    """Work whatever run there is, or a new one. Says each answer once it is acknowledged.

    The first visit of a step called `flaky` fails, and a run that failed is retried.
    """
    runs = service.runs("all")["runs"]
    reply = service.status(runs[0]["workflow_id"]) if runs else service.start("w")
    root = reply["workflow_id"]
    while reply["status"] in ("pending_action", "failed"):
        if reply["status"] == "failed":
            reply = service.retry(root, reply["error"]["step_id"])
            continue
        action = reply["action"]
        run, step_id = root, action["step_id"]
        if action["type"] == "foreach":
            run = action["parameters"]["children"][0]["workflow_id"]
            step_id = service.next_step(run)["action"]["step_id"]
        if step_id == "first":
            # A run that is worked again logs the same: the journal must have it once.
            service.log(Logged(run, step_id, "milestone", {"message": "begun"}))
        result = {"confirmed": True} if action["type"] == "prompt" else RESULT
        service.submit(run, step_id, {"error": "not yet"} if step_id == "flaky" else result)
        say([run, step_id])
        reply = service.status(root)
    say(["result", reply["result"]])


def drive_and_die(state: Path, registry: Registry, fatal: int, out: IO[str]) -> None:
    """At write number `fatal`; 0 lives to tell how many there were."""
    writes = 0

    def hook(point: str) -> None:
        nonlocal writes
        writes += 1
        if writes == fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def say(line: Any) -> None:
        print(json.dumps(line), file=out, flush=True)

    drive(SqliteService(Store(state, hook=hook), registry), say)
    say(["writes", writes])


def die_at_each_write(folder: Path) -> None:
    """A folder per write: its store as the killed process left it, and what that process had said."""
    # Loaded once, here: the children start from a copy.
    registry = Registry(folder / "generated")
    registry.modules()
    problems({}, {"type": "object"})
    total = 0
    while True:
        place = folder / f"at-{total}"
        place.mkdir()
        child = os.fork()
        if child == 0:
            with (place / "said").open("w") as out:
                drive_and_die(place / "state.db", registry, total, out)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        # Number 0 is the undisturbed run; the first number that nobody reaches is the end.
        if total and not os.WIFSIGNALED(status):
            return
        total += 1


if __name__ == "__main__":
    where = Path(sys.argv[1])
    if sys.argv[2] == "each":
        die_at_each_write(where)
    else:
        drive_and_die(where / "state.db", Registry(where / "generated"), int(sys.argv[2]), sys.stdout)
