"""Runs that fail and are retried. Whatever is killed on the way, each failure is retried exactly once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.torture.agent import Agent
from tests.torture.servers import Refused, Reply, Server
from wfc_runtime.errors import RefusedError

_MOST = 6
"""Retries of one run. A step that computes fails again each time."""
_AWAY = {"error": "the tool was away"}


@dataclass(frozen=True)
class Retried:
    """One run of a workflow with made-up answers, some of which say that the step failed."""

    workflow: str
    number: int

    @property
    def label(self) -> str:
        """A name that a folder can have."""
        return f"{self.workflow.replace(':', '-')}-retried-{self.number}"

    @property
    def ends_as(self) -> tuple[str, ...]:
        return "completed", "failed"

    def agent(self, folder: Path, connect: Callable[[], Any], **more: Any) -> Agent:
        """An agent for one run of it."""
        return RetryingAgent(folder, self.workflow, connect, seed=f"{self.number}:", **more)


@dataclass
class RetryingAgent(Agent):
    """Reports a failure for some steps when they are asked for the first time, and retries the run that failed."""

    retried: set[str] = field(default_factory=set)
    unsure: str = ""
    """The visit of a retry that got no answer."""

    def _result(self, place: str, scope: str, action: Reply) -> Any:
        if "@" not in action["step_id"] and Random(f"{self.workflow}:{self.seed}{place}").random() < 0.3:
            return _AWAY
        return super()._result(place, scope, action)

    def _continued(self, server: Server, reply: Reply) -> Reply:
        if self.unsure and self.coin.random() < 0.5:
            # Done or not, the same visit again is no mistake.
            reply = self._retry(server, self.unsure)
        while reply["status"] == "failed":
            visit = reply["error"]["step_id"]
            if visit not in self.retried and len(self.retried) == _MOST:
                break
            try:
                reply = self._retry(server, visit)
            except (Refused, RefusedError):
                # It failed before any step was answered, or several steps of it failed.
                break
        return reply

    def _retry(self, server: Server, visit: str) -> Reply:
        self.retried.add(visit)
        self.unsure = visit
        reply = self._call(server, "retry_workflow", workflow_id=self.run, step_id=visit)
        self.unsure = ""
        return reply
