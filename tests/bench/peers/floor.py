"""The least that SQLite can do: the bytes of a step of ours, in one transaction, with nothing around it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.bench.peers.driving import Contender, Result, connect, main


class Bare:
    """A table of runs and one of what happened to them, written by hand."""

    def __init__(self, path: Path, snapshot: int, event: int) -> None:
        self.connection = connect(path)
        self.connection.isolation_level = None
        self._snapshot, self._event = "s" * snapshot, "e" * event
        for statement in (
            "CREATE TABLE IF NOT EXISTS runs (key INTEGER PRIMARY KEY, snapshot TEXT)",
            "CREATE TABLE IF NOT EXISTS history (run INTEGER, seq INTEGER, data TEXT)",
            "CREATE UNIQUE INDEX IF NOT EXISTS history_in_order ON history(run, seq)",
        ):
            self.connection.execute(statement)

    def start(self) -> int:
        key = self.connection.execute("INSERT INTO runs (snapshot) VALUES ('')").lastrowid
        assert key is not None
        return key

    def write(self, key: int, number: int, data: str = "") -> None:
        """As many bytes as a step has; those given are among them."""
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.execute("UPDATE runs SET snapshot = ? WHERE key = ?", (self._snapshot, key))
        event = data + self._event[len(data) :]
        self.connection.execute("INSERT INTO history VALUES (?, ?, ?)", (key, number, event))
        self.connection.execute("COMMIT")


def bytes_of_a_step(path: Path) -> tuple[int, int]:
    """What a step of ours writes: the snapshot over the one before, and its event."""
    with closing(sqlite3.connect(path)) as connection:
        [snapshot] = connection.execute("SELECT max(length(snapshot)) FROM runs").fetchone()
        [event] = connection.execute("SELECT avg(length(data)) FROM history WHERE seq > 1").fetchone()
    return int(snapshot), int(event)


class Floor(Contender):
    about = "one transaction writes the bytes that a step of wfc's writes; WAL, synchronous=FULL"

    def __init__(self, folder: Path, steps: int) -> None:
        super().__init__(folder, steps)
        self._bare = Bare(self.path, *json.loads((folder / "bytes.json").read_text(encoding="utf-8")))
        self._numbers: dict[str, int] = {}

    def start(self, name: str) -> str:
        return str(self._bare.start())

    def resume(self, run: str) -> None:
        self._numbers[run] = int(self.outcome(run)["n"])

    def answer(self, run: str, result: Result) -> None:
        number = self._numbers[run] = self._numbers.get(run, 0) + 1
        self._bare.write(int(run), number, json.dumps(result) + "\n")

    def close(self) -> None:
        self._bare.connection.close()

    def outcome(self, run: str) -> Result:
        query = "SELECT seq, data FROM history WHERE run = ? ORDER BY seq DESC LIMIT 1"
        number, data = self._bare.connection.execute(query, (int(run),)).fetchone()
        return {"n": number, "last": json.loads(data.partition("\n")[0])}


if __name__ == "__main__":
    main(Floor)
