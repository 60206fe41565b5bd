"""Drive a run to its end: ask a worker for each result, one action at a time, child runs included."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from wfc_runtime.contract import ENDED
from wfc_runtime.errors import RefusedError
from wfc_runtime.service import actions_of

if TYPE_CHECKING:
    from wfc_runtime.service import Reply, Service


_LOOK_AGAIN = 1.0
"""The pause in seconds while another process executes the only pending action."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One action of one run."""

    run: str
    scope: str
    """The name of the task or workflow that the step belongs to."""
    action: dict[str, Any]
    parents: tuple[str, ...] = ()
    """The position of a child run, from the outermost parent: `audit 2/5: <item>`."""

    @property
    def step_id(self) -> str:
        return str(self.action["step_id"])

    @property
    def kind(self) -> str:
        return str(self.action["type"])

    @property
    def parameters(self) -> dict[str, Any]:
        found: dict[str, Any] = self.action["parameters"]
        return found

    @property
    def schema(self) -> Any:
        return self.action.get("result_schema")

    @property
    def is_secret(self) -> bool:
        """Whether its result must not be shown."""
        return isinstance(self.schema, dict) and self.schema.get("writeOnly") is True


class Worker(Protocol):
    """The one who acts as the agent."""

    @property
    def actor(self) -> str:
        """Who gave the last answer, for the history."""

    def answer(self, asked: Asked) -> Any:
        """The result of an action."""

    def ahead(self, pending: list[Asked]) -> None:
        """Called with all pending actions, so that those that need no confirmation can be started."""

    def refused(self, asked: Asked, error: RefusedError) -> None:
        """Called if a result was refused. Returns normally if the pending actions should be read again."""

    def moved(self, run: str) -> None:
        """Called when a run has moved."""

    def wait(self, asked: Asked | None, seconds: float) -> None:
        """Called if the run waits for this many seconds."""

    def busy(self, doing: list[dict[str, Any]]) -> None:
        """Called from time to time while the service executes actions itself."""


def drive(service: Service, run: str, worker: Worker) -> Reply:
    """Drive the run and return its final reply. Children of a foreach are executed in the order of their items."""
    driver = _Driver(service, worker)
    while True:
        begun = time.monotonic()
        # Expired waits end here, since there is no server whose ticker would end them.
        service.tick(run)
        reply = service.status(run)
        worker.moved(run)
        if reply["status"] in ENDED:
            # The final reply, without the progress that `status` adds.
            return service.next_step(run)
        driver.advance(reply, time.monotonic() - begun)


class _Driver:
    def __init__(self, service: Service, worker: Worker) -> None:
        self._service = service
        self._worker = worker

    def advance(self, reply: Reply, waited: float) -> None:
        waits: list[Asked] = []
        self._worker.ahead(list(self._pending(reply)))
        if self._work(reply, (), waits):
            return
        # The service has waited inside the call already, so another pause is not needed.
        if reply.get("running") and waited >= _LOOK_AGAIN / 2:
            self._worker.busy(reply["running"])
            return
        first = min(waits, key=_seconds_left, default=None)
        self._worker.wait(first, _LOOK_AGAIN if first is None else _seconds_left(first))

    def _pending(self, reply: Reply) -> Iterator[Asked]:
        """The pending actions of a run and its children, if there are several."""
        scope = reply.get("task") or reply["workflow"]
        for action in actions_of(reply):
            asked = Asked(reply["workflow_id"], scope, action)
            if "children" not in asked.parameters:
                yield asked
            elif len(actions_of(reply)) > 1:
                # A single foreach has nothing to be started beside it.
                for child in asked.parameters["children"]:
                    yield from self._pending(self._service.status(child["workflow_id"]))

    def _work(self, reply: Reply, parents: tuple[str, ...], waits: list[Asked]) -> bool:
        """Execute the first pending action of the run or a child. Returns False if there is none."""
        scope = reply.get("task") or reply["workflow"]
        for action in actions_of(reply):
            asked = Asked(reply["workflow_id"], scope, action, parents)
            if "children" in asked.parameters:
                if self._work_children(asked, waits):
                    return True
            elif "resume_at" in asked.parameters:
                waits.append(asked)
            else:
                self._answer(asked)
                # One action at a time: its answer may change everything that is pending.
                return True
        return False

    def _work_children(self, asked: Asked, waits: list[Asked]) -> bool:
        for child in asked.parameters["children"]:
            reply = self._service.status(child["workflow_id"])
            self._worker.moved(child["workflow_id"])
            # A child that has ended moved its parent, whose reply is now out of date.
            if reply["status"] in ENDED or self._work(reply, (*asked.parents, _named(asked, child)), waits):
                return True
        return False

    def _answer(self, asked: Asked) -> None:
        result = self._worker.answer(asked)
        try:
            self._service.submit(asked.run, asked.step_id, result, actor=self._worker.actor)
        except RefusedError as refused:
            self._worker.refused(asked, refused)
        self._worker.moved(asked.run)


def _seconds_left(asked: Asked) -> float:
    return float(asked.parameters["seconds_left"])


def _named(asked: Asked, child: dict[str, Any]) -> str:
    if "item" not in child:
        return str(asked.parameters.get("workflow", asked.step_id))
    return f"{asked.step_id}[{child['index']}]: {child['item']}"
