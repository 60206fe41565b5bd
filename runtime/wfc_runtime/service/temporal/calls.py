"""Calls of the service on one run: queries, updates and cancellation, and waiting for their effects."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.service import RPCError, RPCStatusCode

from wfc_runtime.errors import DefinitionError, NotFoundError, RefusedError, StoreError, WfcError
from wfc_runtime.service.answers import as_repeated, with_blockers
from wfc_runtime.service.interface import Reply, actions_of
from wfc_runtime.service.replies import Subject, Worker, cancelled_reply, with_workers, worker
from wfc_runtime.service.temporal.children import NAME
from wfc_runtime.service.temporal.codec import cancel_reason, from_error, keyring_of, read_cancel_reason
from wfc_runtime.service.temporal.connection import translated
from wfc_runtime.service.temporal.encryption import UnreadableError
from wfc_runtime.service.temporal.messages import (
    Answer,
    BudgetChange,
    CallResult,
    Entry,
    Lease,
    Note,
    Seed,
    StateUpdates,
)
from wfc_runtime.service.temporal.rpc import ClosedError, Rpc, SentAgainError, WorkerUnableError, unknown_run

# Queries and updates.

_SETTLE = 5.0
# Temporal delivers the end of a child to its parent asynchronously. A caller expects the state after its own call.
"""Seconds that a reply waits for its effects on parent and child runs."""


def _children_in(reply: Reply) -> list[str]:
    """The child runs that a reply lists."""
    listed = [one["parameters"].get("children", ()) for one in actions_of(reply)]
    return [str(child["workflow_id"]) for one in listed for child in one]


class Calls:
    def __init__(self, rpc: Rpc, clock: Callable[[], float] | None) -> None:
        self.rpc = rpc
        self._clock = clock

    def simulated_time(self) -> float | None:
        """The simulated time to pass on; None with a real clock."""
        return self._clock() if self._clock else None

    def time(self) -> float:
        return self._clock() if self._clock else time.time()

    # -- asking ----------------------------------------------------------------

    async def look(
        self, run: str, progress: bool = False, masked: bool = False, workers: bool = True
    ) -> Reply:
        """The pending actions of a run; with `workers`, also the workers of its children, each of which is queried."""
        found = await self.said(run, progress, masked)
        if not found.is_quiet or found.unsettled:
            await self.settle(run)
            found = await self.said(run, progress, masked)
        reply = await self.reply(run, found)
        children = _children_in(reply) if workers else []
        if not children:
            return reply
        found_below = dict(zip(children, await asyncio.gather(*map(self._below, children)), strict=True))
        reply = with_workers(reply, lambda child: found_below[child][0])
        below = {issue: text for _, blockers in found_below.values() for issue, text in blockers.items()}
        return with_blockers(reply, below, is_for_agent="rules" in reply)

    async def _below(self, child: str) -> tuple[Worker | None, dict[str, str]]:
        """The agent that works on a child, and the open blockers of the child and those below it; nothing if no worker
        of the task queue answers."""
        try:
            said = await self.rpc.query(child, "look", [self.time(), False], CallResult)
        except (WfcError, ClosedError):
            return None, {}
        blockers = {one["issue_id"]: one["description"] for one in said.reply.get("blockers", ())}
        for _, more in await asyncio.gather(*map(self._below, _children_in(said.reply))):
            blockers |= more
        by = None if said.answered_at is None else worker(said.answered_by, said.answered_at)
        return by, blockers

    async def said(self, run: str, progress: bool = False, masked: bool = False) -> CallResult:
        try:
            return await self.rpc.query(run, "look", [self.time(), progress, masked], CallResult)
        except WfcError as error:
            return CallResult(reply=await self._terminated(run, error))

    async def wake(self, run: str) -> None:
        """Make a run and its children check the clock."""
        _, children = await self.whole(run)
        with suppress(ClosedError):
            await self.rpc.update(run, "wake", self.simulated_time(), type(None))
        for child in children:
            await self.wake(child)

    async def reply(self, run: str, said: CallResult) -> Reply:
        if said.error is not None:
            raise from_error(said.error)
        return said.reply

    async def _terminated(self, run: str, error: WfcError) -> Reply:
        """The reply for a terminated run, which can't be queried; raises `error` for any other run."""
        if isinstance(error, NotFoundError):
            raise error
        found = await self.rpc.describe(run)
        if found.status != WorkflowExecutionStatus.TERMINATED:
            raise error
        reason = ""
        try:
            await self.rpc.client.get_workflow_handle(run).result()
        except WorkflowFailureError as ended:
            said = getattr(ended.cause, "message", "")
            with suppress(UnreadableError):
                reason = read_cancel_reason(said, run, keyring_of(self.rpc.client))[0]
        return cancelled_reply(Subject(run), reason)

    async def state(self, run: str, fields: Sequence[str] | None) -> Reply:
        return await self.reply(run, await self.rpc.query(run, "state", [fields], CallResult))

    async def whole(self, run: str) -> tuple[Seed, list[str]]:
        found = await self.rpc.query(run, "whole", [], dict[str, Any])
        return Seed(**found["seed"]), found["children"]

    async def history(self, run: str, after: int, limit: int) -> Reply:
        """The events of a run, collected from the execution with the first requested event up to the latest."""
        parts: list[dict[str, Any]] = []
        execution: str | None = None
        while True:
            part = await self.rpc.query(run, "history", [after, limit], dict[str, Any], execution)
            parts.append(part)
            execution = part["previous"]
            if part["first"] <= after or execution is None:
                break
        events = [event for part in reversed(parts) for event in part["events"]][:limit]
        reply: Reply = {"workflow_id": run, "workflow": parts[0]["workflow"], "events": events}
        last = events[-1]["seq"] if events else after
        if last < parts[0]["version"]:
            reply["next"] = f'get_workflow_history(workflow_id="{run}", after={last})'
        return reply

    # -- moving ----------------------------------------------------------------

    async def submit(self, run: str, answer: Answer) -> Reply:
        answer.at = self.simulated_time()
        try:
            if answer.unfit:
                # Such a result is never accepted; a query finds the reason and can't change the run.
                return await self._judged(run, answer)
            said = await self.rpc.update(run, "submit", answer, CallResult)
        except SentAgainError:
            return await self._judged(run, answer)
        except ClosedError:
            return await self._judged(run, answer)
        except RefusedError as refused:
            if refused.code != "not_pending":
                raise
            return await self._answered_before(run, answer, refused)
        if said.error is not None:
            raise from_error(said.error)
        await self.follow(run, said)
        if said.unsettled:
            await self.settle(run)
        if said.unsettled or not said.reply:
            said = await self.said(run)
        return await self.reply(run, said)

    async def lease(self, run: str, asked: Lease) -> bool:
        """Whether a lease was taken, renewed or given back."""
        asked.at = self.simulated_time()
        try:
            return await self.rpc.update(run, "lease", asked, bool)
        except (RefusedError, ClosedError, NotFoundError):
            return False

    async def charge(self, run: str, visit: str, entry: Entry) -> None:
        """Record what a call has cost: in its run or, if that has ended, in the nearest one around it that has not."""
        entry.at = self.simulated_time()
        while True:
            entry.visit, entry.data = visit, {**entry.data, "step_id": visit}
            try:
                await self.rpc.update(run, "record", entry, type(None))
                return
            except (RefusedError, ClosedError):
                seed, _ = await self.whole(run)
                if seed.parent is None:
                    return
                run, visit = seed.parent, seed.visit or ""

    async def record(self, run: str, entry: Entry) -> None:
        entry.at = self.simulated_time()
        await self.rpc.update(run, "record", entry, type(None))

    async def set_budget(self, run: str, change: BudgetChange) -> None:
        change.at = self.simulated_time()
        try:
            await self.rpc.update(run, "set_budget", change, type(None))
        except ClosedError:
            raise RefusedError("finished", "the run has ended") from None

    async def note(self, run: str, note: Note) -> int:
        """Enter something into the journal; returns the number of its event. Raises `RefusedError`."""
        note.at = self.simulated_time()
        try:
            return await self.rpc.update(run, "note", note, int)
        except ClosedError:
            raise RefusedError("finished", "the run has ended, so its journal is closed") from None

    async def update_state(self, run: str, asked: StateUpdates) -> Reply:
        asked.at = self.simulated_time()
        try:
            written = await self.rpc.update(run, "update_state", asked, dict[str, Any])
        except ClosedError:
            status = (await self.look(run))["status"]
            raise RefusedError("finished", f"the run is {status}: nothing is pending") from None
        return {"written": written, **await self.look(run)}

    async def _judged(self, run: str, answer: Answer) -> Reply:
        # A query, since the run can't accept this answer: it has ended, or it has the answer already.
        said = await self.rpc.query(run, "judge", [answer], CallResult)
        try:
            return await self.reply(run, said)
        except RefusedError as refused:
            return await self._answered_before(run, answer, refused)

    async def _answered_before(self, run: str, answer: Answer, refused: RefusedError) -> Reply:
        """Look for the answer in earlier executions of the run."""
        # Each execution only knows the answers that it got itself, so the chain is searched backwards.
        part = await self.rpc.query(run, "history", [0, 1], dict[str, Any])
        may_know = refused.code in ("not_pending", "finished") and not answer.unfit
        while may_know and part["previous"] is not None:
            execution = part["previous"]
            try:
                said = await self.rpc.query(run, "judge", [answer], CallResult, execution)
                part = await self.rpc.query(run, "history", [0, 1], dict[str, Any], execution)
            except NotFoundError:
                break
            if said.error is None and said.reply:
                # The earlier execution knows the answer, but not where the run is now.
                return as_repeated(await self.look(run))
            if said.error is not None and said.error["code"] == "answered":
                message = said.error["message"]
                raise RefusedError("answered", message, refused.hint, refused.next_call)
        raise refused

    async def follow(self, run: str, said: CallResult) -> None:
        """Wait until the parent of an ended run has processed its end."""
        while said.parent is not None:
            parent = said.parent
            if not await self._until(partial(self._has_processed, parent, run)):
                return
            run = parent
            try:
                said = await self.rpc.query(parent, "look", [self.time(), False], CallResult)
            except WfcError:
                return

    async def _has_processed(self, parent: str, child: str) -> bool:
        try:
            return not await self.rpc.query(parent, "waits_for", [child], bool)
        except (WfcError, ClosedError):
            return True

    async def settle(self, run: str) -> None:
        """Wait until a run and its children make no more progress on their own, and their parents know."""
        said = CallResult(is_quiet=False)

        async def is_quiet() -> bool:
            nonlocal said
            with suppress(NotFoundError):
                said = await self.rpc.query(run, "look", [self.time(), False], CallResult)
            return said.is_quiet

        if await self._until(is_quiet):
            await asyncio.gather(*(self.settle(child) for child in said.unsettled))
            await self.follow(run, said)

    async def _until(self, condition: Callable[[], Any]) -> bool:
        end, pause = time.monotonic() + _SETTLE, 0.005
        while not await condition():
            if time.monotonic() > end:
                return False
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.1)
        return True


# Cancelling runs, and terminating those that no worker can cancel.

_CANCEL = (3.0, 4.0, 8.0)
"""Seconds to wait for the end of a run; after each of them the reason of the delay is determined."""


class Canceller:
    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def cancel(self, run: str, reason: str, actor: str | None) -> Reply:
        found = await self._calls.rpc.describe(run)
        if found.workflow_type != NAME:
            raise unknown_run(run)
        if found.status != WorkflowExecutionStatus.RUNNING:
            return await self._cancelled_already(run)
        await self._calls.rpc.check_worker()
        said = cancel_reason(reason, actor, run=run, keyring=keyring_of(self._calls.rpc.client))
        try:
            await self._calls.rpc.client.get_workflow_handle(run).cancel(reason=said)
            await self._ended(run)
        except (DefinitionError, WorkerUnableError):
            # No worker has the module or the key that is needed to end the run, so Temporal has to terminate it.
            await self._terminate(run, said)
            return cancelled_reply(Subject(run), reason)
        except RPCError as error:
            raise translated(error, self._calls.rpc.settings) from error
        ended = await self._calls.said(run)
        await self._calls.follow(run, ended)
        return await self._calls.reply(run, ended)

    async def _ended(self, run: str) -> None:
        """Wait for the end of a run and of its children."""
        end = asyncio.ensure_future(self._calls.rpc.client.get_workflow_handle(run).result())
        try:
            for seconds in _CANCEL:
                done, _ = await asyncio.wait([end], timeout=seconds)
                if done:
                    break
                why = await self._calls.rpc.diagnosis.why_silent(run)
                if why is not None:
                    raise why
            else:
                raise StoreError(
                    "temporal_slow",
                    f"run {run} has not ended within {sum(_CANCEL):.0f} s",
                    "The run will end: ask for its status.",
                )
            with suppress(WorkflowFailureError):
                await end
        finally:
            end.cancel()

    async def _cancelled_already(self, run: str) -> Reply:
        reply = await self._calls.look(run)
        if reply["status"] in ("completed", "failed"):
            raise RefusedError(
                "finished", f"the run is already {reply['status']}: there is nothing to cancel"
            )
        return reply

    async def request(self, run: str) -> None:
        """Let the execution of a run that was cancelled elsewhere end."""
        try:
            await self._calls.rpc.client.get_workflow_handle(run).cancel()
        except RPCError as error:
            # It has ended: an earlier attempt has requested it.
            if error.status != RPCStatusCode.NOT_FOUND:
                raise translated(error, self._calls.rpc.settings) from error

    async def _terminate(self, run: str, reason: str) -> None:
        found = await self._calls.rpc.describe(run)
        children = [one.workflow_id for one in found.raw_description.pending_children]
        await self._calls.rpc.client.get_workflow_handle(run).terminate(reason=reason)
        await asyncio.gather(*(self._terminate(child, reason) for child in children))
