"""The calls of an agent's command line for the actions of runs, on every engine.

A result is submitted even if it does not fit: the refusal is stored and counted, and its text goes back into the same
conversation. A prompt is never done here, since a person answers it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Lock
from typing import Any, Protocol
from uuid import uuid4

from wfc_runtime.agents.base import OUTAGES, Call, Outcome
from wfc_runtime.agents.brief import CONTINUE, again, brief_for, expects_text, once_more, tool_brief
from wfc_runtime.agents.calls import run_call
from wfc_runtime.agents.logs import CallLog
from wfc_runtime.agents.results import failed, result_of, tool_parameters
from wfc_runtime.agents.settings import AGENT_KINDS, Agents, AgentSettingsError, Assignment
from wfc_runtime.agents.worktrees import Isolated, NoWorktreeError, worktree_for
from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError
from wfc_runtime.execute.base import ExecutionError
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.service.interface import Leases
from wfc_runtime.service.workers import Job, RunnableAction

_TIMEOUTS = {"delegate": 300, "mcp_call": 30, "shell": 30}
"""The timeouts of steps that set none. They are meant for a conversation with a person; here the timeout of the
program applies."""


_UNFIT = 2
"""How often an agent is told that its result can't be stored, such as one that is too large. The run does not count
these, since it stores nothing of them."""


class RunRecords(Protocol):
    """The data that calls read from and write to the runs around an action."""

    def wishes(self, runnable: RunnableAction) -> dict[str, Json]:
        """See `collect_wishes`."""

    def left(self, runnable: RunnableAction) -> dict[str, float]:
        """The remaining budget of an action, by kind."""

    def find_session(self, owner: str, label: str, program: str) -> tuple[str, float] | None:
        """The latest session of a label in a run, and its cost so far."""

    def find_call(self, runnable: RunnableAction) -> tuple[Mapping[str, Any], float] | None:
        """The event of the last call for a visit, by whatever process, and the cost of its session so far."""

    def note_session(self, owner: str, data: dict[str, Json]) -> None: ...

    def log_folder(self, runnable: RunnableAction) -> Path: ...


def collect_wishes(
    found: dict[str, Json], run: str, machine: AnyMachine, now: Snapshot, visit: str, position: int | None
) -> None:
    """Add what the foreach of a visit asks for, unless something inside says something else: the model, the tools, the
    session with the run that it belongs to (`owner`), and whose worktree it is (`isolation`). `position` is the place
    of the child that the action belongs to."""
    pending = now.pending.get(visit)
    effect = machine.steps.get(pending.state) if pending is not None else None
    if isinstance(effect, Spawn):
        asked = {"model": effect.model, "tools": effect.tools, "session": effect.session}
        if effect.session is not None and "session" not in found:
            found["owner"] = run
        if effect.isolation:
            asked["isolation"] = [run, f"{visit}-{position}"]
        found.update({name: one for name, one in asked.items() if one is not None and name not in found})


def own_wishes(runnable: RunnableAction) -> dict[str, Json]:
    """The requirements of the step itself."""
    parameters = runnable.action["parameters"]
    found = {name: parameters[name] for name in ("model", "tools", "session") if name in parameters}
    if "session" in found:
        found["owner"] = runnable.run
    if parameters.get("isolation"):
        found["isolation"] = [runnable.run, runnable.visit]
    return found


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
    """Whether the session was started before this conversation."""
    isolated: Isolated | None = None
    has_budget: bool = False
    """Whether the last call had a share of a budget as its limit."""
    began: float = 0.0
    unfit: int = 0
    """How many results could not be stored."""
    owed: dict[str, float] = field(default_factory=dict)
    """What their calls have cost. It is stored with the next call."""
    outcome: Outcome | None = None
    record: dict[str, Json] | None = None


class AgentCalls:
    def __init__(
        self,
        agents: Agents,
        leases: Leases,
        records: RunRecords,
        *,
        folder: Path,
        state_folder: Path,
        command: str,
        in_progress: Callable[[], int],
    ) -> None:
        """`folder`: where agents work. `state_folder`: for worktrees and logs. `command`: who calls, for the history.
        `in_progress`: the number of calls that share what is left of a budget."""
        self._agents = agents
        self._leases = leases
        self._records = records
        self._folder = folder
        self._state_folder = state_folder
        self._command = command
        self._in_progress = in_progress
        self.observer: CallObserver | None = None
        self.outage: Outcome | None = None
        """Why no agent is available. No further call is started."""
        self.is_closed = False
        """Whether the process ends, and no result is asked for again."""
        self._conversations: dict[tuple[str, str], Conversation] = {}
        self._turns: dict[str, Lock] = {}
        self._lock = Lock()

    def refusal(self, action: dict[str, Json]) -> str:
        """Why no agent does an action; empty if one does."""
        kind, parameters = str(action["type"]), action["parameters"]
        if kind not in AGENT_KINDS:
            return f"no agent does {kind} steps"
        program = self._agents.assigned(parameters.get("agent")).program
        if kind not in program.steps:
            return f"`{program.name}` does no {kind} steps"
        if kind == "shell" and parameters.get("outputs"):
            return "an agent can't prove what files a command wrote"
        return ""

    # -- calls -----------------------------------------------------------------

    def perform(self, job: Job) -> Json:
        """Do a leased action, and return its result."""
        runnable = job.runnable
        key = (runnable.run, runnable.visit)
        wishes = self._records.wishes(runnable)
        try:
            with self._lock:
                # Kept between calls: after a refusal, the next call continues the same conversation.
                talk = self._conversations.get(key) or self._conversation(runnable, wishes)
                self._conversations[key] = talk
        except AgentSettingsError as error:
            return failed(error.code, str(error))
        why_not = self._unlimited(talk, wishes.get("tools"))
        if why_not:
            return failed("agent_tools", why_not, "Change `tools` of the step or of the operator's file.")
        try:
            if talk.isolated is None and wishes.get("isolation"):
                talk.isolated = self._worktree(wishes["isolation"], job.stop)
        except NoWorktreeError as error:
            return failed("agent_isolation", str(error))
        log = CallLog(self._records.log_folder(runnable), runnable.visit, runnable.mask)
        try:
            # The lock is per session and held during the call, so parallel branches with one session take
            # turns.
            with self._turn(talk.session):
                outcome = self._call(job, talk, log, wishes.get("tools"))
                if outcome.kind == "gone":
                    # The program has forgotten the conversation, or another process has it. The prompt has all that
                    # the step needs.
                    self._begin_again(runnable, talk, wishes)
                    outcome = self._call(job, talk, log, wishes.get("tools"))
                    # If a new id can't be used either, the session is not the cause.
                    outcome = replace(outcome, kind="crash") if outcome.kind == "gone" else outcome
        finally:
            log.close()
        if talk.session is None and outcome.session and talk.assignment.program.adapter.has_sessions:
            talk.session = outcome.session
            self._note_session(talk, wishes.get("owner"))
        # The program's own limit was reached, not that of the workflow: a failure, not a question to a
        # person.
        if outcome.kind == "budget" and not talk.has_budget:
            outcome = replace(outcome, kind="limit")
        talk.record = self._record(talk, outcome, log)
        talk.outcome = outcome
        if self.observer is not None:
            self.observer.call_ended(runnable, outcome, talk.record)
        return self._with_worktree(
            result_of(outcome, talk.assignment.program, talk.tool, runnable.action), talk, job
        )

    def _with_worktree(self, result: Json, talk: Conversation, job: Job) -> Json:
        """The result with the worktree, if that has changes. An unused worktree is removed; a repeated call continues
        in it."""
        if (
            talk.isolated is None
            or talk.outcome is None
            or talk.outcome.kind in ("misfit", "budget", "stopped")
        ):
            return result
        isolated, talk.isolated = talk.isolated, None
        try:
            kept = isolated.close(job.stop)
        except ExecutionError as error:
            return failed("agent_isolation", f"the worktree can't be read: {error.message}")
        if talk.record is not None:
            talk.record["worktree"] = dict(kept or {})
        if kept is None:
            return result
        is_done = talk.outcome.kind == "done" and isinstance(result, dict) and "error" not in result
        return {**result, "worktree": kept} if is_done and _takes_worktree(job.runnable) else result

    def _conversation(self, runnable: RunnableAction, wishes: dict[str, Json]) -> Conversation:
        action = runnable.action
        parameters = action["parameters"]
        assignment = self._agents.assigned(parameters.get("agent"), wishes.get("model"))
        adapter = assignment.program.adapter
        # Programs that name their sessions themselves report the id with the first answer.
        session = str(uuid4()) if adapter.has_sessions and not adapter.names_sessions else None
        if action["type"] == "delegate":
            talk = Conversation(assignment, brief_for(action, adapter.takes_schema), session)
            # Only conversations can be shared; a tool call has one prompt and one answer.
            if adapter.has_sessions and wishes.get("session"):
                talk.label = wishes["session"]
                self._join_session(talk, wishes["owner"])
            if adapter.has_sessions:
                self._continue(talk, runnable)
            return talk
        tool = "shell" if action["type"] == "shell" else str(parameters["tool"])
        return Conversation(
            assignment,
            tool_brief(adapter.tool_name(tool), tool_parameters(action)),
            session,
            adapter.tool_name(tool),
        )

    def _continue(self, talk: Conversation, runnable: RunnableAction) -> None:
        """Continue with what an earlier process was told to stop or to correct: starting over would cost as much again.
        Its work is in the conversation, which the program still has; otherwise a new one begins."""
        found = self._records.find_call(runnable)
        if found is None:
            return
        event, spent = found
        call = event["agent"]
        is_ours = call.get("program") == talk.assignment.program.name and bool(call.get("session"))
        if not is_ours or not (event["event"] == "refused" or call.get("outcome") == "budget"):
            return
        talk.session, talk.spent, talk.known = str(call["session"]), spent, True
        talk.prompt = again(str(event["refusal"])) if event["event"] == "refused" else CONTINUE

    # -- sessions that several visits share ------------------------------------

    def _join_session(self, talk: Conversation, owner: str) -> None:
        """Continue the session of a label, or begin it. Its id is stored before the first call: a process that dies in
        that call leaves it to the next one."""
        found = self._records.find_session(owner, talk.label or "", talk.assignment.program.name)
        if found is None:
            self._note_session(talk, owner)
            return
        talk.session, talk.spent = found
        talk.known = True

    def _note_session(self, talk: Conversation, owner: str | None) -> None:
        """Store the session of a label in the run whose step has the label."""
        if talk.label is None or talk.session is None or owner is None:
            return
        data = {"label": talk.label, "session": talk.session, "program": talk.assignment.program.name}
        self._records.note_session(owner, data)

    def _begin_again(self, runnable: RunnableAction, talk: Conversation, wishes: dict[str, Json]) -> None:
        adapter = talk.assignment.program.adapter
        talk.session = None if adapter.names_sessions else str(uuid4())
        talk.known, talk.calls, talk.spent = False, 0, 0.0
        if talk.tool is None:
            talk.prompt = brief_for(runnable.action, adapter.takes_schema)
        self._note_session(talk, wishes.get("owner"))
        if self.observer is not None:
            self.observer.call_refused(runnable, "the agent can't continue the session; a new one begins")

    def _turn(self, session: str | None) -> AbstractContextManager[Any]:
        """One call at a time in a session: two at once would share one transcript."""
        with self._lock:
            return self._turns.setdefault(session, Lock()) if session else nullcontext()

    def _unlimited(self, talk: Conversation, wanted: list[str] | None) -> str:
        """Why the agent would get more tools than the step or the operator allows; empty if it does not."""
        tools, _ = talk.assignment.program.tools_for(wanted)
        return "" if tools is None else talk.assignment.program.adapter.unenforced(tools)

    def _worktree(self, whose: list[str], stop: Event) -> Isolated:
        run, part = whose
        return worktree_for(self._folder, self._state_folder / "worktrees", run, part, stop)

    def _call(self, job: Job, talk: Conversation, log: CallLog, wanted: list[str] | None) -> Outcome:
        runnable, program = job.runnable, talk.assignment.program
        talk.calls += 1
        talk.began = time.monotonic()
        if self.observer is not None:
            self.observer.call_began(runnable, talk.assignment, log.number)
        schema = runnable.action.get("result_schema")
        tools, granted = program.tools_for(wanted)
        left = self._left(runnable)
        talk.has_budget = "usd" in left
        call = Call(
            talk.prompt,
            # A text is asked for as text: a schema for it would make the agent write JSON.
            schema=None if talk.tool or expects_text(schema) else schema,
            model=talk.assignment.model,
            agent=talk.assignment.agent,
            tools=tools,
            granted=granted,
            session=talk.session,
            # The first call starts a session, unless another visit has started it.
            resumes=talk.session is not None and (talk.calls > 1 or talk.known),
            usd=left.get("usd"),
            spent=talk.spent,
            trusts_project=program.trusts_project,
        )

        def on_progress(words: str) -> None:
            if self.observer is not None:
                self.observer.call_said(runnable, runnable.mask.text(words))

        return run_call(
            program,
            call,
            folder=self._folder if talk.isolated is None else talk.isolated.path,
            # At least a second: a call without any time would fail without having been made.
            seconds=min(
                _seconds(runnable) or program.seconds, max(left.get("seconds", program.seconds), 1.0)
            ),
            stop=job.stop,
            log=log,
            on_progress=on_progress,
            is_secret=runnable.is_secret,
        )

    def _left(self, runnable: RunnableAction) -> dict[str, float]:
        """The budget of a call: an equal share of the rest for all calls in progress."""
        found = self._records.left(runnable)
        return {**found, "usd": found["usd"] / max(1, self._in_progress())} if "usd" in found else found

    def _record(self, talk: Conversation, outcome: Outcome, log: CallLog) -> dict[str, Json]:
        """The record of a call in the history. The program reports the cost of the whole session."""
        # The difference to the previous call. A program that restarts its count must not lead to negative
        # costs.
        usd = None if outcome.usd is None else max(0.0, outcome.usd - talk.spent)
        talk.spent = max(talk.spent, outcome.usd or 0.0)
        owed, talk.owed = talk.owed, {}
        usd = owed.get("usd") if usd is None else usd + owed.get("usd", 0.0)
        tokens = outcome.tokens
        if "tokens" in owed:
            tokens = int(owed["tokens"]) + (tokens or 0)
        where = None if log.path is None else str(log.path.relative_to(self._state_folder))
        found = {
            "program": talk.assignment.program.name,
            "model": outcome.model or talk.assignment.model,
            "session": outcome.session or talk.session,
            "attempt": log.number,
            "outcome": outcome.kind,
            "seconds": round(time.monotonic() - talk.began, 1),
            "usd": None if usd is None else round(usd, 6),
            "tokens": tokens,
            "turns": outcome.turns,
            "denied": list(outcome.denied) or None,
            "log": where,
        }
        return {name: value for name, value in found.items() if value is not None}

    # -- results ---------------------------------------------------------------

    def finish(self, runnable: RunnableAction, result: Json) -> bool:
        """Store the result. Returns False if it was refused, and the agent has to be asked again."""
        key = (runnable.run, runnable.visit)
        talk = self._conversations.get(key)
        if talk is None or talk.outcome is None:
            # No call was made, since the settings or the worktree did not allow it.
            self._conversations.pop(key, None)
            try:
                self._submit(runnable, result, {}, self._command)
            except RefusedError:
                self._leases.release(runnable.run, runnable.visit)
            return True
        # If it can't be stored at the moment, the conversation stays, and this is called again.
        is_over = self._finish(runnable, result, talk, talk.outcome)
        if is_over and talk.outcome.kind == "budget" and talk.session is not None:
            # Once there is money again, the conversation continues.
            talk.prompt = CONTINUE
        elif is_over:
            self._conversations.pop(key, None)
        if is_over and talk.isolated is not None:
            talk.isolated.release()
            talk.isolated = None
        return is_over

    def _finish(self, runnable: RunnableAction, result: Json, talk: Conversation, outcome: Outcome) -> bool:
        # Nothing was done, or nothing that counts: the visit stays pending, and its result is not submitted.
        if outcome.kind in (*OUTAGES, "stopped", "budget"):
            if outcome.kind in OUTAGES:
                self.outage = outcome
            self._leases.release(runnable.run, runnable.visit, call=talk.record)
            return True
        try:
            self._submit_of(talk, runnable, result)
        except RefusedError as refused:
            if refused.code == "result_misfit":
                # The cost was stored with the refused result, and must not be counted again.
                talk.record = {}
            # A tool call can't be corrected by talking to the agent, and a process that ends starts no further call.
            if refused.code == "result_misfit" and talk.tool is None and not self.is_closed:
                self._ask_again(runnable, talk, outcome, refused)
                return False
            if refused.code == "result_unfit" and self._may_correct(talk):
                talk.unfit += 1
                record = talk.record or {}
                talk.owed = {name: record[name] for name in ("usd", "tokens") if name in record}
                self._ask_again(runnable, talk, outcome, refused)
                return False
            if refused.code in ("result_misfit", "result_unfit"):
                code = "result_misfit" if refused.code == "result_misfit" else "output_invalid"
                self._submit_of(talk, runnable, {"error": {"code": code, "message": refused.message}})
            else:
                # The run has ended, or somebody else has the step by now. The call still has a cost.
                self._leases.release(runnable.run, runnable.visit, call=talk.record)
        return True

    def _may_correct(self, talk: Conversation) -> bool:
        return talk.tool is None and not self.is_closed and talk.unfit < _UNFIT

    def _ask_again(
        self, runnable: RunnableAction, talk: Conversation, outcome: Outcome, refused: RefusedError
    ) -> None:
        reason = f"{refused.message}. {refused.hint}"
        # With a session, the agent still knows its answer. Otherwise the prompt has to repeat everything.
        if talk.session is not None:
            talk.prompt = again(reason)
        else:
            answer = outcome.value if isinstance(outcome.value, str) else json.dumps(outcome.value)
            first = brief_for(runnable.action, talk.assignment.program.adapter.takes_schema)
            talk.prompt = once_more(first, answer, reason)
        if self.observer is not None:
            self.observer.call_refused(runnable, runnable.mask.message(refused.message))

    def _submit_of(self, talk: Conversation, runnable: RunnableAction, result: Json) -> None:
        actor = f"{talk.assignment.program.name}{f' {talk.session}' if talk.session else ''}, {self._command}"
        record = talk.record or {}
        self._submit(runnable, result, record, actor)
        # A second submit for the same call, after a refusal, costs nothing more.
        talk.record = {name: value for name, value in record.items() if name not in ("usd", "tokens")}

    def _submit(self, runnable: RunnableAction, result: Json, record: dict[str, Json], actor: str) -> None:
        self._leases.submit_leased(runnable.run, runnable.visit, result, actor=actor, call=record)


def _takes_worktree(runnable: RunnableAction) -> bool:
    """Whether the worktree becomes a part of the result: not of one whose schema the author wrote without it."""
    schema = runnable.action.get("result_schema")
    # The result of a brief is that of a child of a foreach, and its schema lists only what has to be there.
    if runnable.is_brief:
        return True
    # In a child of an isolated foreach, a step has the schema of one that is not isolated.
    return isinstance(schema, dict) and ("worktree" in schema.get("properties", {}) or expects_text(schema))


def _seconds(runnable: RunnableAction) -> float | None:
    """The time limit that the workflow sets for a step; None if it sets none."""
    timeout = runnable.action["parameters"].get("timeout")
    # A brief's timeout is the sum of those of its steps, and not the author's.
    if runnable.is_brief or timeout is None or timeout == _TIMEOUTS[str(runnable.action["type"])]:
        return None
    return float(timeout)
