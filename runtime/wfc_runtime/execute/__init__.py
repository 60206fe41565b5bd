"""Actions that a server executes itself, if its operator allowed it: the table of action kinds.

SECURITY. Nothing in this package decides whether an action may run: `Grant` does, and `execute` asks it each time. An
error that a workflow can cause (a missing file, a command that is not allowed) is returned as `{"error": ...}`, which
the step's retry rule handles; only bugs of wfc are raised.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from threading import Event

from wfc_runtime.contract import Json
from wfc_runtime.execute.base import ECHO, NESTING, ExecutionError, Executor, Job, Parameters, Result
from wfc_runtime.execute.check_files import CHECK_FILES
from wfc_runtime.execute.edit_file import EDIT_FILE
from wfc_runtime.execute.files import (
    CREATE_FILE,
    MERGE_JSON_STATE,
    READ_FILE,
    READ_JSON_STATE,
    RENDER_TEMPLATE,
    WRITE_JSON_STATE,
)
from wfc_runtime.execute.git import GIT_CHANGES, GIT_SNAPSHOT
from wfc_runtime.execute.http_call import HTTP_CALL
from wfc_runtime.execute.own_blocks import RUN_BLOCK
from wfc_runtime.execute.permissions import Grant
from wfc_runtime.execute.protected import protected_paths
from wfc_runtime.execute.read_files import READ_FILES
from wfc_runtime.execute.secrets import with_secrets
from wfc_runtime.execute.shell import SHELL
from wfc_runtime.execute.sql import SQL
from wfc_runtime.execute.worktree import CREATE_WORKTREE
from wfc_runtime.machine.redaction import NO_MASK
from wfc_runtime.machine.values import NotPlainError, check_plain

__all__ = [
    "EXECUTORS",
    "Executor",
    "Grant",
    "can_execute",
    "execute",
    "execute_pure",
    "is_pure",
    "protected_paths",
    "refusal_of",
]

EXECUTORS: dict[str, Executor] = {
    one.kind: one
    for one in (
        SHELL,
        CHECK_FILES,
        CREATE_FILE,
        EDIT_FILE,
        READ_FILE,
        READ_FILES,
        RENDER_TEMPLATE,
        READ_JSON_STATE,
        WRITE_JSON_STATE,
        MERGE_JSON_STATE,
        CREATE_WORKTREE,
        GIT_SNAPSHOT,
        GIT_CHANGES,
        HTTP_CALL,
        SQL,
        RUN_BLOCK,
        ECHO,
    )
}


def refusal_of(action: Mapping[str, Json], grant: Grant) -> str:
    """Why the server does not execute an action; empty if it does."""
    executor = EXECUTORS.get(str(action.get("type")))
    if executor is None:
        return f"the server can't execute {action.get('type')!r} actions"
    try:
        return executor.refusal(Parameters(action.get("parameters") or {}), grant)
    except ExecutionError:
        # Invalid parameters fail the step here; handing the action to the agent would not help.
        return "" if grant.anything else "nothing was granted to the server"


def can_execute(action: Mapping[str, Json], grant: Grant) -> bool:
    return not refusal_of(action, grant)


def is_pure(action: Mapping[str, Json]) -> bool:
    """Whether an action computes its result and nothing else: it needs no grant and takes no time."""
    # A delay would block the call in which the action is executed.
    waits = (action.get("parameters") or {}).get("delay_ms")
    return not waits and can_execute(action, Grant.nothing())


def execute_pure(action: Mapping[str, Json], run: str, at: float) -> dict[str, Json]:
    """Execute an action that only computes. Its result has the time `at`, so that it is the same in every replay."""
    result = execute(action, Grant.nothing(), run)
    return result if "error" in result else {**result, **_timing(at, 0)}


def execute(
    action: Mapping[str, Json], grant: Grant, run: str = "run", stop: Event | None = None
) -> dict[str, Json]:
    """Execute an action as it appears in replies; returns the result to submit."""
    begun, since = time.time(), time.monotonic()
    mask = NO_MASK
    try:
        executor = EXECUTORS.get(str(action.get("type")))
        if executor is None:
            raise ExecutionError(f"the server can't execute {action.get('type')!r} actions", "refused")
        # Secrets are put in here, at the last moment, and redacted in everything that comes back.
        values, mask = with_secrets(action.get("parameters") or {}, grant)
        parameters = Parameters(values)
        # Asked again, although the caller did: the grant must hold at the moment of execution.
        refused = executor.refusal(parameters, grant)
        if refused:
            raise ExecutionError(refused, "refused")
        result = executor.work(Job(parameters, grant, run, stop or Event()))
        timing = _timing(begun, time.monotonic() - since)
        # Redacted before it is measured: the redacted result is what is stored.
        return _fitting(mask.value({**result, **timing}), grant)
    except ExecutionError as error:
        record = error.record()
        return {"error": {**record, "message": mask.message(str(record["message"]))}}


def _timing(begun: float, seconds: float) -> Result:
    return {
        "duration": round(seconds, 6),
        "execution_time_ms": round(seconds * 1000, 3),
        "started_at": _to_milliseconds(begun),
        "completed_at": _to_milliseconds(begun + seconds),
    }


def _to_milliseconds(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _fitting(result: Result, grant: Grant) -> Result:
    try:
        check_plain(result, grant.result_bytes, NESTING)
    except NotPlainError as error:
        raise ExecutionError(
            f"the result {error}", "output_invalid", "Write large data to a file and return its path."
        ) from None
    return result
