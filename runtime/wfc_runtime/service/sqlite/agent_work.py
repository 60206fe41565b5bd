"""The service of `wfc run --agent`: an agent's command line does the actions of agents, under claims like commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from wfc_runtime.agents.logs import log_folder
from wfc_runtime.agents.settings import AGENT_KINDS, Agents
from wfc_runtime.contract import Json
from wfc_runtime.execute import Grant
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.values import Limits
from wfc_runtime.registry import Registry
from wfc_runtime.service.agent_calls import AgentCalls, collect_wishes, own_wishes
from wfc_runtime.service.history import last_call, session_in
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.sqlite.accounts import events_of, left_of, levels_of, spent_by
from wfc_runtime.service.sqlite.serving import ACTOR, ServingService
from wfc_runtime.service.sqlite.work import Work
from wfc_runtime.service.workers import Job, RunnableAction
from wfc_runtime.store import RunRow, Store

_CLOSING = 20.0
"""Longer than the grace of an agent that is asked to end."""


class AgentService(ServingService):
    def __init__(
        self,
        store: Store,
        registry: Registry,
        grant: Grant,
        agents: Agents,
        folder: Path,
        limits: Limits | None = None,
        clock: Callable[[], float] | None = None,
        *,
        reply_seconds: float = 1.0,
    ) -> None:
        """`folder`: where agents work."""
        super().__init__(store, registry, grant, limits, clock, every_kind=True, reply_seconds=reply_seconds)
        # The work of an agent can be repeated, and the person who interrupts the command knows that.
        self.gives_back = True
        self.workers.closing_seconds = _CLOSING
        # The claim dies with this process, so that the next one does the step. It must not fail for an error of wfc.
        self.workers.keeps_failures = True
        self.calls = AgentCalls(
            agents,
            self,
            self,
            folder=folder,
            state_folder=store.path.parent,
            command="wfc run",
            in_progress=lambda: len(self.workers.at_work()),
        )

    def close(self) -> None:
        self.calls.is_closed = True
        super().close()

    # -- which actions ---------------------------------------------------------

    def _may_do(self, effect: Ask, scope: str, visit: str) -> bool:
        is_agents = effect.kind in AGENT_KINDS and not self.leave(scope, visit)
        return super()._may_do(effect, scope, visit) or is_agents

    def _can_do(self, action: dict[str, Json]) -> bool:
        return super()._can_do(action) or (self.calls.outage is None and not self.calls.refusal(action))

    def by_agent(self, runnable: RunnableAction) -> bool:
        # The base class decides by the grant: what it can't execute is left for the agent.
        return not ServingService._can_do(self, runnable.action)

    def perform(self, job: Job) -> Json:
        return self.calls.perform(job) if self.by_agent(job.runnable) else super().perform(job)

    def finish(self, runnable: RunnableAction, result: Json) -> bool:
        if self.by_agent(runnable):
            return self.calls.finish(runnable, result)
        return super().finish(runnable, result)

    # -- what calls read and note ----------------------------------------------

    def wishes(self, runnable: RunnableAction) -> dict[str, Json]:
        found = own_wishes(runnable)

        def job(work: Work) -> Reply:
            position = None
            for run, visit in levels_of(work, work.unit.find(runnable.run), runnable.visit):
                collect_wishes(found, run.row.id, run.machine, run.now, visit, position)
                position = run.row.position
            return {}

        self._work(job, None)
        return found

    def left(self, runnable: RunnableAction) -> dict[str, float]:
        found: dict[str, float] = {}

        def job(work: Work) -> Reply:
            loaded = work.unit.find(runnable.run)
            if runnable.visit in loaded.now.pending:
                found.update(left_of(work, loaded, runnable.visit))
            return {}

        self._work(job, None)
        return found

    def find_session(self, owner: str, label: str, program: str) -> tuple[str, float] | None:
        row = self.store.queries.require(owner)
        found = session_in(events_of(self.store.queries, row), label, program)
        return None if found is None else (found, self._cost_of(row, found))

    def find_call(self, runnable: RunnableAction) -> tuple[Mapping[str, Any], float] | None:
        row = self.store.queries.require(runnable.run)
        found = last_call(events_of(self.store.queries, row), runnable.visit)
        return None if found is None else (found, self._cost_of(row, str(found["agent"].get("session"))))

    def _cost_of(self, row: RunRow, session: str) -> float:
        root = self.store.queries.run_of_key(row.root)
        assert root is not None
        return spent_by(self.store.queries, root, session).get("usd", 0.0)

    def note_session(self, owner: str, data: dict[str, Json]) -> None:
        def job(work: Work) -> Reply:
            work.unit.note(work.unit.find(owner), "session", data)
            return {}

        self._work(job, ACTOR)

    def log_folder(self, runnable: RunnableAction) -> Path:
        queries = self.store.queries
        root = queries.run_of_key(queries.require(runnable.run).root)
        assert root is not None
        folder = log_folder(self.store.path, root.id)
        return folder if root.id == runnable.run else folder / runnable.run
