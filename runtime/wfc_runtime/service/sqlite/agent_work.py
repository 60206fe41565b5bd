"""The service of `wfc run --agent`: actions of agents are done by an agent's command line, under a claim like commands.

A result is submitted even if it does not fit: the refusal is stored and counted, and its text goes back into the same
conversation. A prompt is never done here, since a person answers it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Protocol
from uuid import uuid4

from wfc_runtime.agents.base import OUTAGES, Call, Outcome
from wfc_runtime.agents.brief import CONTINUE, again, brief_for, expects_text, once_more, tool_brief
from wfc_runtime.agents.calls import run_call
from wfc_runtime.agents.logs import CallLog, log_folder
from wfc_runtime.agents.results import failed, result_of, tool_parameters
from wfc_runtime.agents.settings import Agents, AgentSettingsError, Assignment
from wfc_runtime.agents.worktrees import Isolated, NoWorktreeError, worktree_for
from wfc_runtime.contract import HUMAN_KINDS, Json
from wfc_runtime.errors import RefusedError
from wfc_runtime.execute import Grant
from wfc_runtime.execute.base import ExecutionError
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.machine.values import Limits
from wfc_runtime.registry import Registry
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.sqlite.accounts import left_of, levels_of, session_of, spent_by
from wfc_runtime.service.sqlite.serving import ACTOR, ServingService
from wfc_runtime.service.sqlite.work import Work
from wfc_runtime.service.sqlite.workers import Job, RunnableAction
from wfc_runtime.store import Store

_CLOSING = 20.0
"""Longer than the grace of an agent that is asked to end."""
_TIMEOUTS = {"delegate": 300, "mcp_call": 30, "shell": 30}
"""The timeouts of steps that set none. They are meant for a conversation with a person; here the timeout of the
program applies."""


class CallObserver(Protocol):
    """Sees the calls of agents, such as the display of `wfc run --agent`."""

    def call_began(self, runnable: RunnableAction, assignment: Assignment, attempt: int) -> None: ...

    def call_said(self, runnable: RunnableAction, words: str) -> None: ...

    def call_ended(self, runnable: RunnableAction, outcome: Outcome, record: dict[str, Json]) -> None: ...

    def call_refused(self, runnable: RunnableAction, reason: str) -> None: ...


@dataclass
class Conversation:
    """The calls for one visit. If the process dies, the visit is pending again and begins with a new one."""

    assignment: Assignment
    prompt: str
    session: str | None
    tool: str | None = None
    """The one tool that the step is a call of."""
    calls: int = 0
    spent: float = 0.0
    """The cost of the session so far."""
    label: str | None = None
    """The name of the session, if the workflow gives it one. Other visits continue it."""
    known: bool = False
    """Whether the session was begun before this conversation."""
    isolated: Isolated | None = None
    has_budget: bool = False
    """Whether the last call had a share of a budget as its limit."""
    began: float = 0.0
    outcome: Outcome | None = None
    record: dict[str, Json] | None = None


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
        self.gives_back = True
        self.workers.closing_seconds = _CLOSING
        self.calls: CallObserver | None = None
        self.outage: Outcome | None = None
        """Why no agent is available. No further call is started."""
        self._agents = agents
        self._folder = folder
        self._conversations: dict[tuple[str, str], Conversation] = {}
        self._turns: dict[str, Lock] = {}
        self._lock = Lock()

    # -- which actions ---------------------------------------------------------

    def _may_do(self, effect: Ask, scope: str, visit: str) -> bool:
        is_agents = effect.kind not in HUMAN_KINDS and effect.kind in _TIMEOUTS
        return super()._may_do(effect, scope, visit) or (is_agents and not self.leave(scope, visit))

    def _can_do(self, action: dict[str, Json]) -> bool:
        return super()._can_do(action) or (self.outage is None and not self.agent_refusal(action))

    def agent_refusal(self, action: dict[str, Json]) -> str:
        """Why no agent does an action; empty if one does."""
        kind, parameters = str(action["type"]), action["parameters"]
        program = self._agents.assigned(parameters.get("agent")).program
        if kind not in program.steps:
            return f"`{program.name}` does no {kind} steps"
        if kind == "shell" and parameters.get("outputs"):
            return "an agent can't prove what files a command wrote"
        return ""

    def by_agent(self, runnable: RunnableAction) -> bool:
        return not ServingService._can_do(self, runnable.action)

    # -- calls -----------------------------------------------------------------

    def perform(self, job: Job) -> Json:
        runnable = job.runnable
        if not self.by_agent(runnable):
            return super().perform(job)
        key = (runnable.run, runnable.visit)
        wishes = self._wishes(runnable)
        try:
            with self._lock:
                talk = self._conversations.get(key) or self._conversation(runnable, wishes)
                self._conversations[key] = talk
        except AgentSettingsError as error:
            return failed(error.code, str(error))
        why_not = self._unlimited(talk, wishes.get("tools"))
        if why_not:
            return failed("agent_tools", why_not, "Change `tools` of the step or of the operator's file.")
        try:
            if talk.isolated is None and runnable.action["parameters"].get("isolation"):
                talk.isolated = self._worktree(job)
        except NoWorktreeError as error:
            return failed("agent_isolation", str(error))
        row = self.store.queries.run_of_key(job.root)
        assert row is not None
        folder = log_folder(self.store.path, row.id)
        log = CallLog(
            folder if row.id == runnable.run else folder / runnable.run, runnable.visit, runnable.mask
        )
        try:
            with self._turn(talk.session):
                outcome = self._call(job, talk, log, wishes.get("tools"))
                if outcome.kind == "gone":
                    # The program has forgotten the conversation. The prompt has all that the step needs.
                    self._begin_again(runnable, talk, wishes)
                    outcome = self._call(job, talk, log, wishes.get("tools"))
        finally:
            log.close()
        if talk.session is None and outcome.session and talk.assignment.program.adapter.has_sessions:
            talk.session = outcome.session
            self._note_session(talk, wishes.get("owner"))
        if outcome.kind == "budget" and not talk.has_budget:
            outcome = replace(outcome, kind="limit")
        talk.record = self._record(talk, outcome, log)
        talk.outcome = outcome
        if self.calls is not None:
            self.calls.call_ended(runnable, outcome, talk.record)
        return self._with_worktree(
            result_of(outcome, talk.assignment.program, talk.tool, runnable.action), talk, job
        )

    def _with_worktree(self, result: Json, talk: Conversation, job: Job) -> Json:
        """The result with the worktree, if that has changes. What comes to nothing is removed; what is done again
        continues in it."""
        if talk.isolated is None or talk.outcome is None or talk.outcome.kind != "done":
            return result
        try:
            kept = talk.isolated.close(job.stop)
        except ExecutionError as error:
            return failed("agent_isolation", f"the worktree can't be read: {error.message}")
        if kept is None:
            talk.isolated = None
            return result
        if talk.record is not None:
            talk.record["worktree"] = dict(kept)
        schema = job.runnable.action.get("result_schema")
        takes_it = isinstance(schema, dict) and "worktree" in schema.get("properties", {})
        return {**result, "worktree": kept} if takes_it and isinstance(result, dict) else result

    def _conversation(self, runnable: RunnableAction, wishes: dict[str, Json]) -> Conversation:
        action = runnable.action
        parameters = action["parameters"]
        assignment = self._agents.assigned(parameters.get("agent"), wishes.get("model"))
        adapter = assignment.program.adapter
        session = str(uuid4()) if adapter.has_sessions and not adapter.names_sessions else None
        if action["type"] == "delegate":
            talk = Conversation(assignment, brief_for(action, adapter.takes_schema), session)
            if adapter.has_sessions and wishes.get("session"):
                talk.label = wishes["session"]
                self._join_session(talk, wishes["owner"])
            return talk
        tool = "shell" if action["type"] == "shell" else str(parameters["tool"])
        return Conversation(
            assignment,
            tool_brief(adapter.tool_name(tool), tool_parameters(action)),
            session,
            adapter.tool_name(tool),
        )

    # -- sessions that several visits share ------------------------------------

    def _join_session(self, talk: Conversation, owner: str) -> None:
        """Continue the session of a label, or begin it. Its id is stored before the first call: a process that dies in
        that call leaves it to the next one."""
        row = self.store.queries.run(owner)
        assert row is not None
        program = talk.assignment.program.name
        found = session_of(self.store.queries, row, talk.label or "", program)
        if found is None:
            self._note_session(talk, owner)
            return
        root = self.store.queries.run_of_key(row.root)
        assert root is not None
        talk.session, talk.known = found, True
        talk.spent = spent_by(self.store.queries, root, found).get("usd", 0.0)

    def _note_session(self, talk: Conversation, owner: str | None) -> None:
        """Store the session of a label in the run whose step has the label."""
        if talk.label is None or talk.session is None or owner is None:
            return
        data = {"label": talk.label, "session": talk.session, "program": talk.assignment.program.name}

        def job(work: Work) -> Reply:
            work.unit.note(work.unit.find(owner), "session", data)
            return {}

        self._work(job, ACTOR)

    def _begin_again(self, runnable: RunnableAction, talk: Conversation, wishes: dict[str, Json]) -> None:
        adapter = talk.assignment.program.adapter
        talk.session = None if adapter.names_sessions else str(uuid4())
        talk.known, talk.calls, talk.spent = False, 0, 0.0
        talk.prompt = brief_for(runnable.action, adapter.takes_schema)
        self._note_session(talk, wishes.get("owner"))
        if self.calls is not None:
            self.calls.call_refused(runnable, "the agent has forgotten the session; a new one begins")

    def _turn(self, session: str | None) -> AbstractContextManager[Any]:
        """One call at a time in a session: two at once would share one transcript."""
        with self._lock:
            return self._turns.setdefault(session, Lock()) if session else nullcontext()

    def _unlimited(self, talk: Conversation, wanted: list[str] | None) -> str:
        """Why the agent would get more tools than the step or the operator allows; empty if it does not."""
        tools, _ = talk.assignment.program.tools_for(wanted)
        return "" if tools is None else talk.assignment.program.adapter.unenforced(tools)

    def _worktree(self, job: Job) -> Isolated:
        folder = self.store.path.parent / "worktrees"
        return worktree_for(self._folder, folder, job.runnable.run, job.runnable.visit, job.stop)

    def _call(self, job: Job, talk: Conversation, log: CallLog, wanted: list[str] | None) -> Outcome:
        runnable, program = job.runnable, talk.assignment.program
        talk.calls += 1
        talk.began = time.monotonic()
        if self.calls is not None:
            self.calls.call_began(runnable, talk.assignment, log.number)
        schema = runnable.action.get("result_schema")
        tools, granted = program.tools_for(wanted)
        left = self._left(runnable)
        talk.has_budget = "usd" in left
        call = Call(
            talk.prompt,
            schema=None if talk.tool or expects_text(schema) else schema,
            model=talk.assignment.model,
            agent=talk.assignment.agent,
            tools=tools,
            granted=granted,
            session=talk.session,
            resumes=talk.session is not None and (talk.calls > 1 or talk.known),
            usd=left.get("usd"),
            spent=talk.spent,
            trusts_project=program.trusts_project,
        )

        def on_progress(words: str) -> None:
            if self.calls is not None:
                self.calls.call_said(runnable, runnable.mask.text(words))

        return run_call(
            program,
            call,
            folder=self._folder if talk.isolated is None else talk.isolated.path,
            seconds=min(
                _seconds(runnable) or program.seconds, max(left.get("seconds", program.seconds), 1.0)
            ),
            stop=job.stop,
            log=log,
            on_progress=on_progress,
            is_secret=runnable.is_secret,
        )

    def _wishes(self, runnable: RunnableAction) -> dict[str, Json]:
        """The model, the tools and the session that the step asks for, or else the nearest foreach around it. `owner`
        is the run that the session belongs to."""
        parameters = runnable.action["parameters"]
        found = {name: parameters[name] for name in ("model", "tools", "session") if name in parameters}
        if "session" in found:
            found["owner"] = runnable.run

        def job(work: Work) -> Reply:
            for run, visit in levels_of(work, work.unit.find(runnable.run), runnable.visit):
                pending = run.now.pending.get(visit)
                effect = run.machine.steps.get(pending.state) if pending is not None else None
                if isinstance(effect, Spawn):
                    asked = {"model": effect.model, "tools": effect.tools, "session": effect.session}
                    if effect.session is not None and "session" not in found:
                        found["owner"] = run.row.id
                    found.update(
                        {name: one for name, one in asked.items() if one is not None and name not in found}
                    )
            return {}

        self._work(job, None)
        return found

    def _left(self, runnable: RunnableAction) -> dict[str, float]:
        """The budget of a call: an equal share of the rest for all calls in progress."""
        found: dict[str, float] = {}

        def job(work: Work) -> Reply:
            loaded = work.unit.find(runnable.run)
            if runnable.visit in loaded.now.pending:
                found.update(left_of(work, loaded, runnable.visit))
            return {}

        self._work(job, None)
        if "usd" in found:
            found["usd"] /= max(1, len(self.workers.at_work()))
        return found

    def _record(self, talk: Conversation, outcome: Outcome, log: CallLog) -> dict[str, Json]:
        """The record of a call in the history. The program reports the cost of the whole session."""
        usd = None if outcome.usd is None else max(0.0, outcome.usd - talk.spent)
        talk.spent = max(talk.spent, outcome.usd or 0.0)
        where = None if log.path is None else str(log.path.relative_to(self.store.path.parent))
        found = {
            "program": talk.assignment.program.name,
            "model": outcome.model or talk.assignment.model,
            "session": outcome.session or talk.session,
            "attempt": log.number,
            "outcome": outcome.kind,
            "seconds": round(time.monotonic() - talk.began, 1),
            "usd": None if usd is None else round(usd, 6),
            "tokens": outcome.tokens,
            "turns": outcome.turns,
            "denied": list(outcome.denied) or None,
            "log": where,
        }
        return {name: value for name, value in found.items() if value is not None}

    # -- results ---------------------------------------------------------------

    def finish(self, runnable: RunnableAction, result: Json) -> bool:
        key = (runnable.run, runnable.visit)
        talk = self._conversations.get(key)
        if talk is None or talk.outcome is None:
            return super().finish(runnable, result)
        is_over = True
        try:
            is_over = self._finish(runnable, result, talk, talk.outcome)
        finally:
            if is_over and talk.outcome.kind == "budget" and talk.session is not None:
                # Once there is money again, the conversation continues.
                talk.prompt = CONTINUE
            elif is_over:
                self._conversations.pop(key, None)
        return is_over

    def _finish(self, runnable: RunnableAction, result: Json, talk: Conversation, outcome: Outcome) -> bool:
        if outcome.kind in (*OUTAGES, "stopped", "budget"):
            if outcome.kind in OUTAGES:
                self.outage = outcome
            self._let_go(runnable, talk.record or {})
            return True
        try:
            self._submit(runnable, result, talk)
        except RefusedError as refused:
            if refused.code == "result_misfit":
                talk.record = {}
            if refused.code == "result_misfit" and talk.tool is None and not self.workers.closed:
                self._ask_again(runnable, talk, outcome, refused)
                return False
            if refused.code in ("result_misfit", "result_unfit"):
                code = "result_misfit" if refused.code == "result_misfit" else "output_invalid"
                self._submit(runnable, {"error": {"code": code, "message": refused.message}}, talk)
            else:
                self._let_go(runnable)
        return True

    def _ask_again(
        self, runnable: RunnableAction, talk: Conversation, outcome: Outcome, refused: RefusedError
    ) -> None:
        reason = f"{refused.message}. {refused.hint}"
        if talk.session is not None:
            talk.prompt = again(reason)
        else:
            answer = outcome.value if isinstance(outcome.value, str) else json.dumps(outcome.value)
            first = brief_for(runnable.action, talk.assignment.program.adapter.takes_schema)
            talk.prompt = once_more(first, answer, reason)
        if self.calls is not None:
            self.calls.call_refused(runnable, runnable.mask.message(refused.message))

    def _submit(self, runnable: RunnableAction, result: Json, talk: Conversation) -> None:
        actor = f"{talk.assignment.program.name}{f' {talk.session}' if talk.session else ''}, wfc run"
        record = talk.record or {}
        usage = {kind: value for kind, value in record.items() if kind in ("usd", "tokens")}
        self._answer(runnable, result, actor=actor, more={"agent": record}, by_agent=True, usage=usage)
        # A second submit for the same call, after a refusal, costs nothing more.
        talk.record = {name: value for name, value in record.items() if name not in usage}


def _seconds(runnable: RunnableAction) -> float | None:
    """The time limit that the workflow sets for a step; None if it sets none."""
    timeout = runnable.action["parameters"].get("timeout")
    if runnable.is_brief or timeout is None or timeout == _TIMEOUTS[str(runnable.action["type"])]:
        return None
    return float(timeout)
