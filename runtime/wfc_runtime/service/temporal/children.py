"""Child runs as child workflows: starts, watches and stops them, and hands them over to the next execution."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    ChildWorkflowError,
    FailureError,
    TemporalError,
)

from wfc_runtime.contract import Json
from wfc_runtime.errors import StepError, WfcError
from wfc_runtime.machine.events import Child, Outcome, Start
from wfc_runtime.machine.step import step
from wfc_runtime.registry import Module
from wfc_runtime.service.children import begin_child, start_error
from wfc_runtime.service.pure_actions import pure_action
from wfc_runtime.service.replies import STOPPED
from wfc_runtime.service.temporal import search_attributes
from wfc_runtime.service.temporal.codec import cancel_reason
from wfc_runtime.service.temporal.host import Host
from wfc_runtime.service.temporal.messages import Ended, Reopening, Seed
from wfc_runtime.service.temporal.modules import Modules

OVERDUE = "overdue_at"
"""The entry of the memo with the time at which the first pending action becomes overdue."""
NAME = "wfc"
"""The one workflow type."""
FIND = "wfc_find"
"""The local activity that looks up the current version of a workflow."""
TASK_TIMEOUT = timedelta(seconds=10)
"""How long a run waits for a worker that died while executing it."""
REOPEN = "wfc_reopen"
"""The local activity that continues a child that has ended."""
_FIND_TIMEOUT = timedelta(seconds=60)
_REOPEN_TIMEOUT = timedelta(seconds=60)
_STOP_SECONDS = 5


@dataclass(frozen=True)
class _StartingChild:
    child: Child
    module: Module
    inputs: dict[str, Json]
    secrets: list[str]
    at: float


class ChildRuns:
    """Manages the children of a run.

    `follow` queues what an event requests, without waiting; `tend` then does what takes time. A child that never waits
    for an answer has no workflow of its own: it is executed here and ends immediately.
    """

    def __init__(
        self, host: Host, modules: Modules, now: Callable[[], float], changed: Callable[[], None]
    ) -> None:
        self._host = host
        self._modules = modules
        self._now = now
        self._changed = changed
        self._todo: deque[Child] = deque()
        self._births: list[_StartingChild] = []
        self._calls: list[Child] = []
        self._stops: list[tuple[str, str]] = []
        """Children to cancel, each with the reason as Temporal stores it."""
        self._reopens: list[Reopening] = []
        self.plan: dict[str, dict[str, Any]] = {}
        """The parts that the current retry restarts, by run."""
        self._busy = 0
        self._watched: dict[str, asyncio.Task[None]] = {}
        self._handed_over: set[str] = set()
        self._heard: set[str] = set()
        self.unsettled: set[str] = set()
        """Children that can end without an answer."""

    # -- immediate work --------------------------------------------------------

    def follow(self, outcome: Outcome | None) -> None:
        """Act on the outcome of an event."""
        if outcome is None:
            return
        self._note(outcome)
        while self._todo:
            child = self._todo.popleft()
            if self._host.now.place_of(child.id) is None:
                continue
            if child.workflow is None:
                self._begin(child, self._host.module)
            else:
                self._calls.append(child)
        self._changed()

    def hear(self, child: str, result: dict[str, Json], secrets: Iterable[str] = ()) -> None:
        """Process the end of a child."""
        self._watched.pop(child, None)
        self._heard.add(child)
        self.unsettled.discard(child)
        self.follow(self._host.child_ended(child, result, secrets, self._now()))

    def _note(self, outcome: Outcome) -> None:
        self._todo += outcome.started
        host = self._host
        self._stops += [(child, self._why_stopped) for child in outcome.stopped]
        at = self._now() if host.seed.simulated else None
        token = f"{host.row.id}/{host.row.version}"
        actor = host.entries[-1].actor if host.entries else None
        self._reopens += [Reopening(child, self.plan, token, actor, at) for child in outcome.reopened]

    def _begin(self, child: Child, module: Module) -> None:
        """Take the first step of a child here, and queue a workflow for it only if it has to wait."""
        host = self._host
        try:
            beginning = begin_child(module, child, host.row.depth, host.limits)
        except (StepError, WfcError) as error:
            self._end_unborn(child, start_error(error, child, host.now.mask))
            return
        child = replace(child, scope=beginning.scope)
        at = self._now()
        secrets = [*host.now.secrets, *beginning.secrets]
        start = Start(
            at=at,
            id=f"{child.id}/1",
            inputs=beginning.inputs,
            scope=child.scope,
            secrets=tuple(secrets),
        )
        first = step(beginning.machine, None, start, host.limits)
        match first.snapshot.status:
            case "running":
                self._births.append(_StartingChild(child, module, beginning.inputs, secrets, at))
                computes = host.seed.computes and pure_action(beginning.machine, first.snapshot) is not None
                if first.started or computes:
                    self.unsettled.add(child.id)
            case _:
                self._end_unborn(child, first.snapshot.outcome, first.secrets)

    def _end_unborn(self, child: Child, result: dict[str, Json], secrets: Iterable[str] = ()) -> None:
        self._host.unborn.add(child.id)
        outcome = self._host.child_ended(child.id, result, secrets, self._now())
        if outcome is not None:
            # Not `follow`: a foreach over thousands of items would recurse.
            self._note(outcome)

    # -- work that takes time --------------------------------------------------

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is queued or in progress."""
        return not (self._births or self._calls or self._stops or self._reopens or self._busy)

    async def tend(self) -> None:
        """Process the queues until the run ends."""
        while True:
            await workflow.wait_condition(
                lambda: bool(self._births or self._calls or self._stops or self._reopens)
            )
            calls, self._calls = self._calls, []
            births, self._births = self._births, []
            stops, self._stops = self._stops, []
            reopens, self._reopens = self._reopens, []
            self._busy += 1
            try:
                await asyncio.gather(
                    *(self._call(child) for child in calls),
                    *(self._start(birth) for birth in births),
                    *(self._stop(child, reason) for child, reason in stops),
                    *(self._reopen(asked) for asked in reopens),
                )
            finally:
                self._busy -= 1

    async def _call(self, child: Child) -> None:
        # The current version differs between workers and over time, so the result has to be recorded.
        found = await workflow.execute_local_activity(
            FIND,
            child.workflow,
            result_type=dict[str, Any],
            start_to_close_timeout=_FIND_TIMEOUT,
            retry_policy=RetryPolicy(maximum_attempts=3),
        )
        # The run may have dropped the child during the activity.
        if self._host.now.place_of(child.id) is None:
            return
        if "error" in found:
            self.hear(child.id, {"error": {**found["error"], "step_id": child.visit}})
            return
        assert child.workflow is not None
        self._begin(child, self._modules.of_digest(found["digest"], child.workflow))
        self._drain()

    async def _reopen(self, asked: Reopening) -> None:
        """Continue a child that had ended. It signals its next end."""
        try:
            found = await workflow.execute_local_activity(
                REOPEN,
                asked,
                result_type=dict[str, Any],
                start_to_close_timeout=_REOPEN_TIMEOUT,
                retry_policy=RetryPolicy(maximum_attempts=3),
            )
        except ActivityError as error:
            found = {"result": {"error": {"code": "temporal", "message": str(error.cause or error)}}}
        if self._host.now.place_of(asked.child) is None:
            # The run has dropped it meanwhile.
            self._stops.append((asked.child, self._why_stopped))
        elif "result" in found:
            self.hear(asked.child, found["result"], found.get("secrets", ()))

    def _drain(self) -> None:
        """Process what an end outside `follow` has queued."""
        self.follow(Outcome(self._host.now))

    async def _start(self, birth: _StartingChild) -> None:
        child, name = birth.child.id, birth.module.workflow
        if self._host.now.place_of(child) is None:
            return
        seed = self._seed(birth)
        handle = await workflow.start_child_workflow(
            NAME,
            seed,
            id=child,
            task_timeout=TASK_TIMEOUT,
            # Children outlive an execution that continues as new; a run that ends stops its children itself.
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            cancellation_type=workflow.ChildWorkflowCancellationType.ABANDON,
            search_attributes=search_attributes.at_first(name.name, name.version, True),
            memo=memo_of(seed),
        )
        self._watched[child] = asyncio.create_task(self._watch(child, handle))
        # The run may have dropped the child while its workflow was being started.
        if self._host.now.place_of(child) is None:
            self._stops.append((child, self._why_stopped))

    def _seed(self, birth: _StartingChild) -> Seed:
        host, child = self._host, birth.child
        accounts = host.accounts_of(child.visit, birth.at)
        return Seed(
            root=(host.seed.root or host.row.id) if accounts else None,
            accounts=accounts,
            held=host.holds_back,
            workflow=birth.module.workflow.name,
            digest=birth.module.digest,
            inputs=birth.inputs,
            scope=child.scope,
            secrets=birth.secrets,
            at=birth.at,
            simulated=host.seed.simulated,
            actor=host.entries[-1].actor if host.entries else None,
            task=child.task,
            agent=child.agent,
            parent=host.row.id,
            visit=child.visit,
            position=child.index,
            depth=host.row.depth + 1,
            limits=host.seed.limits,
            keeps_overdue=host.seed.keeps_overdue,
            lists_overdue=host.seed.lists_overdue,
            computes=host.seed.computes,
            lists_details=host.seed.lists_details,
            renew_after=host.seed.renew_after,
            created=birth.at,
        )

    async def _watch(self, child: str, handle: workflow.ChildWorkflowHandle[Any, Any]) -> None:
        try:
            ended = Ended(**await handle)
        except ChildWorkflowError as error:
            ended = _failed(child, error)
        self.hear(child, ended.result, ended.secrets)

    @property
    def _why_stopped(self) -> str:
        now = self._host.now
        return cancel_reason(STOPPED[now.status], None, True, keeps=now.kept is not None)

    async def _stop(self, child: str, reason: str) -> None:
        """Cancel a child and wait until it stops, so that a caller who sees the run's progress finds it stopped."""
        if await _if_still_there(workflow.get_external_workflow_handle(child).cancel(reason=reason)):
            with suppress(asyncio.TimeoutError):
                await workflow.wait_condition(lambda: child in self._heard, timeout=_STOP_SECONDS)

    # -- over to the next execution --------------------------------------------

    @property
    def is_handed_over(self) -> bool:
        return self._watched.keys() <= self._handed_over

    async def hand_over(self) -> None:
        """Ask running children to signal their end: Temporal reports it only to the execution that started them."""
        await asyncio.gather(*(self._ask_to_tell(child) for child in list(self._watched)))

    async def _ask_to_tell(self, child: str) -> None:
        watcher = self._watched[child]
        if await _if_still_there(workflow.get_external_workflow_handle(child).signal("tell_parent")):
            self._handed_over.add(child)
        else:
            # It has ended; the watcher is about to get the result.
            await asyncio.wait([watcher])


async def _if_still_there(request: Any) -> bool:
    try:
        await request
    except TemporalError:
        return False
    return True


def _failed(child: str, error: ChildWorkflowError) -> Ended:
    """The error of a child, as in its own reply."""
    cause = error.cause
    if isinstance(cause, ApplicationError) and cause.details:
        return Ended(**cause.details[0])
    message = cause.message if isinstance(cause, FailureError) else str(cause or error)
    return Ended(child, {"error": {"code": "cancelled", "message": message}})


def memo_of(seed: Seed) -> dict[str, Any]:
    """The data that lists show for a run."""
    return {
        "workflow": seed.workflow,
        "task": seed.task,
        "digest": seed.digest,
        "created": seed.created,
        "version": seed.version,
    }
