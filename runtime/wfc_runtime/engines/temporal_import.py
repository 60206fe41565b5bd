"""Move runs from a SQLite file to Temporal, with their ids, versions and state."""

from __future__ import annotations

import json
from typing import Any

from temporalio.exceptions import WorkflowAlreadyStartedError

from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.values import size_of
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.service.temporal.codec import keyring_of
from wfc_runtime.service.temporal.engine import TemporalService
from wfc_runtime.service.temporal.host import MOST_BYTES
from wfc_runtime.service.temporal.messages import Seed

_MOST_HISTORY = 400_000
"""Bytes of history that are moved; a longer history stays in the file."""


def move_run(source: SqliteService, target: TemporalService, run: str, actor: str) -> Reply:
    """Start a run and its children on Temporal in their current state, then close them in the file.

    It can be repeated after an interruption: runs that are already there are not started twice.
    """
    reply = source.status(run, masked=True)
    if reply["status"] not in ("pending_action", "running"):
        raise RefusedError("finished", f"run {run} is {reply['status']}: there is nothing to move")
    data = _exported(source, target, run)
    family = [one for one in data["runs"] if one["status"] == "running"]
    for one in family:
        served = source.status(one["id"], masked=True).get("running")
        if served:
            raise RefusedError(
                "run_busy",
                f"the server is executing `{served[0]['step_id']}` of run {one['id']}",
                "Move the run when the action is done.",
            )
    depths = _depths(data["runs"])
    seeds = {one["id"]: _seed(one, depths[one["id"]], target, actor) for one in family}
    for digest, text in data["modules"].items():
        target.modules.keep(target.registry.pin(digest, text, data["line_maps"].get(digest)))
    # Children first: once the run itself is on Temporal, all its children are.
    for member, seed in reversed(seeds.items()):
        _start(target, member, seed)
    # The file was not locked in the meantime: if the run has changed there, the copy is discarded.
    if _exported(source, target, run) != data:
        target.terminate(list(seeds), "the run continued in the file while it was being moved")
        raise RefusedError("run_busy", f"run {run} continued while it was being moved", "Try again.")
    source.cancel(run, f"moved to Temporal at {target.settings}", actor=actor)
    return target.status(run)


def _exported(source: SqliteService, target: TemporalService, run: str) -> Any:
    try:
        return source.export(run, secrets=bool(keyring_of(target.client)))
    except RefusedError as refused:
        if refused.code != "secrets":
            raise
        raise RefusedError(
            "secrets",
            f"run {run} contains secrets, which the Temporal server would store in clear",
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
    history: list[Json] = one["history"] if size_of(one["history"]) <= _MOST_HISTORY else []
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
        tells=one["parent"] is not None,
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
            raise RefusedError(
                "run_exists",
                f"run {run} was already moved, after event {moved}, and has continued in the file since",
                "Cancel the copy that should not continue, on Temporal or in the file.",
            ) from None
