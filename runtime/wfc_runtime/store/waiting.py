"""A look at which steps runs wait in, without opening the store for work: the compiler asks before a step goes away."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Waiting:
    """A run under way and the steps that it waits in."""

    run: str
    workflow: str
    task: str | None
    steps: tuple[str, ...]
    is_brief: bool = False
    """Whether a named agent works the whole task as one brief: then it waits in no step of the task."""
    is_child: bool = False
    """Whether it works for another run."""


def waiting_runs(path: Path) -> list[Waiting]:
    """Runs under way in a store, children included. A file that is not a store, or not one of ours, has none."""
    if not path.is_file():
        return []
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=1)
        try:
            rows = connection.execute(
                "SELECT id, workflow, task, agent, pending, parent FROM runs WHERE status = 'running' ORDER BY key"
            ).fetchall()
        finally:
            connection.close()
    except sqlite3.Error:
        # Whether the store is sound is for whoever runs it to say; a check of sources does not fail over it.
        return []
    return [
        Waiting(
            run, workflow, task, _steps(pending), agent is not None and agent != "@task", parent is not None
        )
        for run, workflow, task, agent, pending, parent in rows
    ]


def _steps(pending: str) -> tuple[str, ...]:
    """The step of each visit: `improve@2` is a visit of `improve`."""
    return tuple(dict.fromkeys(visit.partition("@")[0] for visit in pending.split()))
