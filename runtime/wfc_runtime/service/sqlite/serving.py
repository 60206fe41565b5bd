"""The service of a server that executes actions itself, as far as its operator allows.

A call replies when the agent or a person is needed, when the run has ended, or when the time for a reply is up; the
work continues in the background, and `get_workflow_status` shows the progress. Actions that the grant does not cover
are left to the agent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError
from wfc_runtime.execute import EXECUTORS, Grant, can_execute, execute, refusal_of
from wfc_runtime.execute.paths import clear_scratch
from wfc_runtime.git_proof import COMMAND
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.interpreter import structure_of
from wfc_runtime.machine.values import Limits
from wfc_runtime.registry import Module, Registry
from wfc_runtime.service.ids import new_id
from wfc_runtime.service.interface import Reply, actions_of
from wfc_runtime.service.journal_entries import Draft
from wfc_runtime.service.sqlite.engine import SqliteService
from wfc_runtime.service.sqlite.runnable import look_at, scope_of
from wfc_runtime.service.sqlite.unit_of_work import LoadedRun
from wfc_runtime.service.sqlite.work import Work, submit
from wfc_runtime.service.workers import Job, Lead, RunnableAction, View, Workers, shown
from wfc_runtime.store import Store

ACTOR = "server"
REPLY_SECONDS = 50.0
"""Shorter than the usual client timeout of a minute."""


class ServingService(SqliteService):
    """`every_kind`: also execute actions that the workflow leaves to the agent, if there is an executor for them."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        grant: Grant,
        limits: Limits | None = None,
        clock: Callable[[], float] | None = None,
        make_id: Callable[[], str] = new_id,
        *,
        every_kind: bool = False,
        reply_seconds: float = REPLY_SECONDS,
    ) -> None:
        super().__init__(store, registry, limits, clock, make_id)
        self._grant = _within(grant, self.limits)
        self._every_kind = every_kind
        self._reply_seconds = reply_seconds
        self.workers = Workers(self, self._grant.parallel)
        self.leave: Callable[[str, str], bool] = lambda scope, visit: False
        """Whether a step of a task or workflow is left to the agent after all."""
        self.gives_back = False
        """Whether actions in progress when the service is closed become pending again, for a person who interrupted
        them and knows that. Otherwise they are reported as interrupted."""

    def close(self) -> None:
        self.workers.close()
        super().close()

    # -- calls -----------------------------------------------------------------

    def start_module(
        self, module: Module, inputs: Json = None, *, actor: str | None = None, key: str | None = None
    ) -> Reply:
        reply = super().start_module(module, inputs, actor=actor, key=key)
        return self._led_on(reply, super().next_step)

    def submit(
        self,
        run: str,
        step_id: str,
        result: Json,
        *,
        actor: str | None = None,
        shown: str | None = None,
        usage: Json = None,
    ) -> Reply:
        reply = super().submit(run, step_id, result, actor=actor, shown=shown, usage=usage)
        return self._led_on(reply, super().next_step)

    def next_step(self, run: str) -> Reply:
        return self._led_on(super().next_step(run), super().next_step)

    def status(self, run: str, *, masked: bool = False) -> Reply:
        def look(run: str) -> Reply:
            return super(ServingService, self).status(run, masked=masked)

        # A page that looks must not wait for the work.
        return look(run) if masked else self._led_on(look(run), look)

    def cancel(self, run: str, reason: str = "", *, actor: str | None = None) -> Reply:
        reply = super().cancel(run, reason, actor=actor)
        self.workers.wake()
        return reply

    def retry(self, run: str, step_id: str = "", *, actor: str | None = None) -> Reply:
        return self._led_on(super().retry(run, step_id, actor=actor), super().next_step)

    def log(self, draft: Draft, *, actor: str | None = None) -> Reply:
        if not self._grant.refusal(COMMAND):
            draft = draft.proved(lambda: self.journal(draft.run), partial(self._look_at_files, draft.run))
        return super().log(draft, actor=actor)

    def _look_at_files(self, run: str, kind: str, parameters: dict[str, Json]) -> dict[str, Json]:
        """The result of a git step that is not part of the workflow."""
        found = execute({"type": kind, "parameters": {**parameters, "otherwise": "skip"}}, self._grant, run)
        return {"skipped": found["error"]["message"]} if "error" in found else found

    def _led_on(self, reply: Reply, look: Callable[[str], Reply]) -> Reply:
        """The reply after the server has done everything that it can, or after its time is up."""
        run = reply["workflow_id"]
        row = self.store.queries.run(run)
        assert row is not None
        view = self.look(row.root)
        # Nothing to do here: only due retries and runnable actions make a family worth leading.
        if not view.runnables and (view.due is None or view.needs_agent):
            # An action that was in progress a moment ago may have ended.
            return self._explained(look(run) if "running" in reply else reply)
        lead = self.workers.lead(row.root, self._reply_seconds)
        return self._explained(_shown(look(run), lead))

    def _explained(self, reply: Reply) -> Reply:
        """The reply with the reason for each action that is meant for the server but that the grant refuses."""
        actions = [one for one in actions_of(reply) if one["type"] in EXECUTORS]
        if actions:
            structure = structure_of(self.definition(reply["workflow_id"])[1])
            asked = {structure.nodes[state].name: one for state, one in structure.steps.items()}
            for action in actions:
                # `step_id` is a visit; the structure is indexed by the step's name.
                effect = asked.get(action["step_id"].partition("@")[0])
                is_meant = isinstance(effect, Ask) and effect.runner == "server"
                if is_meant and (why := refusal_of(action, self._grant)):
                    action["instruction"] += f" The server does not execute this itself: {why}."
        return reply

    def _served(self, loaded: LoadedRun) -> list[str]:
        pending = loaded.now.pending.items()
        effects = {
            visit: loaded.machine.steps[one.state]
            for visit, one in pending
            # An interrupted action is left to the agent, who has to find out what was done.
            if one.resume_at is None and one.interrupted_at is None
        }
        asked = {visit: one for visit, one in effects.items() if isinstance(one, Ask)}
        return [
            visit
            for visit, one in asked.items()
            if self._may_do(one, scope_of(loaded), visit)
            and self._can_do(shown(one, loaded.now.pending[visit]))
        ]

    # -- what the workers execute ----------------------------------------------

    def tick(self, run: str | None = None) -> float | None:
        """Also executes the actions of this server that become pending by it."""
        # Asked before the tick, which processes what is due and so empties the list.
        moved = self._families_to_move() if run is None else []
        due = super().tick(run)
        for root in moved:
            if self.look(root).runnables:
                # Zero seconds: started, but not waited for.
                self.workers.lead(root, 0)
        return due

    def look(self, root: int) -> View:
        found = View()

        def job(work: Work) -> Reply:
            nonlocal found
            found = self._runnables(work, root)
            return {}

        self._work(job, None)
        return found

    def _runnables(self, work: Work, root: int) -> View:
        return look_at(work, root, self._may_do, self._can_do)

    def _can_do(self, action: dict[str, Json]) -> bool:
        return can_execute(action, self._grant)

    def _may_do(self, effect: Ask, scope: str, visit: str) -> bool:
        meant = effect.runner == "server" or (self._every_kind and effect.kind in EXECUTORS)
        return meant and not self.leave(scope, visit)

    def led(self, root: int) -> None:
        row = self.store.queries.run_of_key(root)
        if row is not None and row.status == "completed":
            clear_scratch(row.id)

    def now(self) -> float:
        return self._clock() + self.ahead

    def claim(self, runnable: RunnableAction) -> bool:
        return self.lease(runnable.run, runnable.visit, returned=self.by_agent(runnable))

    def by_agent(self, runnable: RunnableAction) -> bool:
        """Whether an agent does the action. It becomes pending again if this process dies; a command is interrupted."""
        return False

    def perform(self, job: Job) -> Json:
        row = self.store.queries.run_of_key(job.root)
        name = row.id if row is not None else str(job.root)
        return execute(job.runnable.action, self._grant, name, job.stop)

    def finish(self, runnable: RunnableAction, result: Json) -> bool:
        if self.gives_back and self.workers.closed:
            self.release(runnable.run, runnable.visit)
            return True
        # The action was stopped because the server closes, so the result is not one of the step.
        if self.workers.closed and (result.get("error") or {}).get("code") == "interrupted":
            self._interrupt(runnable)
            return True
        try:
            self._answer(runnable, result)
        except RefusedError as refused:
            if refused.code == "result_misfit":
                # The output does not fit the schema: the step fails with that reason, since no one could
                # correct it.
                self._answer(runnable, {"error": {"code": refused.code, "message": refused.message}})
            elif refused.code == "result_unfit":
                self._answer(runnable, {"error": {"code": "output_invalid", "message": refused.message}})
            else:
                self.release(runnable.run, runnable.visit)
        return True

    def _answer(self, runnable: RunnableAction, result: Json) -> None:
        owner = self.owners.me()
        self._work(
            partial(submit, run=runnable.run, step_id=runnable.visit, result=result, owner=owner), ACTOR
        )

    def _interrupt(self, runnable: RunnableAction) -> None:
        """This server ends and has stopped its actions. How far they had come is unknown."""

        def job(work: Work) -> Reply:
            loaded = work.unit.find(runnable.run)
            claim = work.unit.claim_of(loaded, runnable.visit)
            # Another server may have taken over the claim in the meantime.
            if claim is not None and claim.owner == self.owners.me():
                if runnable.visit in loaded.now.pending:
                    work.interrupt(loaded, claim)
                work.unit.release(claim)
            return {}

        self._work(job, ACTOR)


def _within(grant: Grant, limits: Limits) -> Grant:
    """Limit the output to the size of a result. Files may be larger than what commands print."""
    # Some room is left for the other fields of a result and for escaped characters.
    most = limits.result_bytes * 95 // 100
    return replace(
        grant,
        result_bytes=limits.served_bytes * 95 // 100,
        stdout_bytes=min(grant.stdout_bytes, most // 2),
        stderr_bytes=min(grant.stderr_bytes, most // 5),
    )


def _shown(reply: Reply, lead: Lead) -> Reply:
    """Hide children that the server executes: the agent has nothing to do for them."""
    actions = actions_of(reply)
    if lead.over or lead.needs_agent or not all("children" in action["parameters"] for action in actions):
        return reply
    kept = {key: value for key, value in reply.items() if key not in ("action", "actions", "next")}
    under = [{"step_id": action["step_id"], "type": action["type"]} for action in actions]
    following = f'get_workflow_status(workflow_id="{reply["workflow_id"]}")'
    return {**kept, "status": "running", "running": [*reply.get("running", []), *under], "next": following}
