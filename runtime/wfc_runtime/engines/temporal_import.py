"""Move or copy runs from a SQLite file to Temporal, with their ids, versions and state.

Temporal can't create an execution that is already closed. A run that has ended is started with its final snapshot and
ends at once, in the same way as before: it is listed, read, retried and deleted there like any other.
"""

from __future__ import annotations

import json
from typing import Any

from temporalio.exceptions import WorkflowAlreadyStartedError

from wfc_runtime.contract import ENDED, Json
from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.values import size_of
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.service.temporal.codec import keyring_of
from wfc_runtime.service.temporal.engine import TemporalService
from wfc_runtime.service.temporal.host import MOST_BYTES
from wfc_runtime.service.temporal.messages import Seed


class CopiedError(Exception):
    """The run is on Temporal, as it was after another event."""

    def __init__(self, run: str, version: int | None) -> None:
        super().__init__(run)
        self.run, self.version = run, version


def move_run(source: SqliteService, target: TemporalService, run: str, actor: str) -> Reply:
    """Start a run and its children on Temporal in their current state, then close them in the file.

    It can be repeated after an interruption: runs that are already there are not started twice.
    """
    reply = source.status(run, masked=True)
    if reply["status"] in ENDED:
        raise RefusedError(
            "finished",
            f"run {run} is {reply['status']}: only a run in progress can be moved",
            "`wfc runs export` and `wfc runs --engine temporal import` copy a run that has ended.",
        )
    try:
        data, started = _copy(source, target, run, actor)
    except CopiedError as error:
        raise RefusedError(
            "run_exists",
            f"run {error.run} was already moved, after event {error.version}, and has continued in the file since",
            "Cancel the copy that should not continue, on Temporal or in the file.",
        ) from None
    # The file was not locked in the meantime: if the run has changed there, the copy is discarded.
    if _exported(source, target, run) != data:
        target.discard(started)
        raise RefusedError("run_busy", f"run {run} continued while it was being moved", "Try again.")
    source.cancel(run, f"moved to Temporal at {target.settings}", actor=actor)
    return target.status(run)


def copy_run(source: SqliteService, target: TemporalService, run: str, actor: str) -> Reply:
    """Start a run and its children on Temporal in their current state, also if they have ended.

    It can be repeated after an interruption.
    """
    try:
        _copy(source, target, run, actor)
    except CopiedError as error:
        raise RefusedError(
            "run_exists",
            f"run {error.run} already exists on Temporal",
            "`wfc runs prune` deletes runs that have ended.",
        ) from None
    return target.status(run)


def _copy(
    source: SqliteService, target: TemporalService, run: str, actor: str
) -> tuple[dict[str, Any], list[str]]:
    """Returns the exported family and its runs on Temporal."""
    data = _exported(source, target, run)
    family = data["runs"]
    for one in family:
        served = None if one["status"] in ENDED else source.status(one["id"], masked=True).get("running")
        if served:
            raise RefusedError(
                "run_busy",
                f"the server is executing `{served[0]['step_id']}` of run {one['id']}",
                "Move the run when the action is done.",
            )
    depths = _depths(family)
    seeds = {one["id"]: _seed(one, depths[one["id"]], target, actor) for one in family}
    for digest, text in data["modules"].items():
        target.modules.keep(target.registry.pin(digest, text, data["line_maps"].get(digest)))
    # Children first: once the run itself is on Temporal, all its children are.
    for member, seed in reversed(seeds.items()):
        _start(target, member, seed)
    # An execution can only end as cancelled when it is cancelled: until then it waits.
    for one in family:
        if one["status"] == "cancelled":
            target.end_cancelled(one["id"])
    return data, list(seeds)


def _exported(source: SqliteService, target: TemporalService, run: str) -> Any:
    try:
        return source.export(run, secrets=bool(keyring_of(target.client)))
    except RefusedError as refused:
        if refused.code != "secrets":
            raise
        raise RefusedError(
            "secrets",
            f"run {run} contains secrets, which the Temporal server would store unencrypted",
            "Set an encryption key first: WFC_TEMPORAL_KEY or key_file.",
        ) from None


def _depths(runs: list[dict[str, Any]]) -> dict[str, int]:
    """The depth of each run; parents come before their children."""
    found: dict[str, int] = {}
    for one in runs:
        found[one["id"]] = found[one["parent"]] + 1 if one["parent"] else 1
    return found


def _seed(one: dict[str, Any], depth: int, target: TemporalService, actor: str) -> Seed:
    snapshot = Snapshot.from_json(json.dumps(one["snapshot"]), one["state"]).to_json()
    if len(snapshot) > MOST_BYTES:
        raise RefusedError(
            "run_size",
            f"run {one['id']} holds {len(snapshot):,} bytes; on Temporal the limit is {MOST_BYTES:,}",
        )
    # What does not fit into the argument of an execution stays where the run comes from.
    fits = len(snapshot) + size_of(one["history"]) <= MOST_BYTES
    history: list[Json] = one["history"] if fits else []
    return Seed(
        workflow=one["workflow"],
        digest=one["digest"],
        actor=actor,
        at=one["updated"] if target.is_simulated else None,
        simulated=target.is_simulated,
        task=one["task"],
        agent=one["agent"],
        parent=one["parent"],
        visit=one["visit"],
        position=one["position"],
        depth=depth,
        # Its parent was moved separately, so Temporal does not report the end of this run to it as a child workflow's.
        # If the run has ended, the parent knows it.
        tells=one["parent"] is not None and one["status"] not in ENDED,
        limits=target.differing_limits,
        keeps_overdue=True,
        lists_overdue=True,
        computes=True,
        lists_details=True,
        snapshot=snapshot,
        version=one["version"],
        created=one["created"],
        updated=one["updated"],
        moved={"from": "sqlite", "events": one["version"]},
        earlier=history,
    )


def _start(target: TemporalService, run: str, seed: Seed) -> None:
    version = target.modules.of_digest(seed.digest, seed.workflow).workflow.version
    try:
        target.begin_now(run, seed, version)
    except WorkflowAlreadyStartedError:
        moved = target.memo_of(run).get("version")
        if moved != seed.version:
            raise CopiedError(run, moved) from None
