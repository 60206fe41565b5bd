"""DBOS: a workflow that waits with `recv` for what `send` brings, on its SQLite system database."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID
from sqlalchemy import Engine, event

from tests.bench.peers.driving import Contender, Result, connect, main

_WAIT_SECONDS = 3600
_waiting: defaultdict[str, SimpleQueue[int]] = defaultdict(SimpleQueue)
"""Where a workflow says that it is about to wait, so that nobody has to poll for that: free, and not durable."""


@event.listens_for(Engine, "connect")
def _as_durable(connection: sqlite3.Connection, record: Any) -> None:
    connection.execute("PRAGMA synchronous = FULL")


@DBOS.workflow()
def turns(steps: int) -> Result:
    run = DBOS.workflow_id
    assert run is not None
    count, last = 0, None
    while count < steps:
        _waiting[run].put(count)
        last = DBOS.recv(timeout_seconds=_WAIT_SECONDS)
        count += 1
    return {"n": count, "last": last}


class Dbos(Contender):
    about = (
        "DBOS.send from outside, DBOS.recv in the workflow; the message, the wait and what was received are rows, each "
        "in its transaction; WAL set by us, synchronous=FULL; its listener polls as often as it can be told to "
        "(0.001 s; by default once a second)"
    )
    clients = 100
    """Each run is a thread of DBOS's anyway."""

    def __init__(self, folder: Path, steps: int) -> None:
        super().__init__(folder, steps)
        connect(self.path).close()
        config: DBOSConfig = {
            "name": "turns",
            "system_database_url": f"sqlite:///{self.path}",
            "application_version": "1",
            "notification_listener_polling_interval_sec": 0.001,
            "max_executor_threads": 128,
            "log_level": "ERROR",
        }
        DBOS(config=config)
        self._counts: dict[str, int] = {}
        DBOS.launch()

    def start(self, name: str) -> str:
        with SetWorkflowID(name):
            DBOS.start_workflow(turns, self.steps)
        self._wait(name, 0)
        return name

    def resume(self, run: str) -> None:
        # What was pending when the other process ended runs again by itself, up to where it was.
        self._wait(run, self.steps // 2)

    def answer(self, run: str, result: Result) -> None:
        count = self._counts[run] + 1
        DBOS.send(run, result)
        if count < self.steps:
            self._wait(run, count)
        else:
            DBOS.retrieve_workflow(run).get_result(polling_interval_sec=0.001)

    def _wait(self, run: str, count: int) -> None:
        while (found := _waiting[run].get(timeout=600)) < count:
            pass
        assert found == count
        self._counts[run] = count

    def outcome(self, run: str) -> Result:
        handle: Any = DBOS.retrieve_workflow(run)
        return dict(handle.get_result())

    def close(self) -> None:
        DBOS.destroy()


if __name__ == "__main__":
    main(Dbos)
