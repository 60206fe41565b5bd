"""The interface of every engine. The MCP server and the console depend on nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from wfc_runtime.contract import ENDED, Json

if TYPE_CHECKING:
    # A server imports this module before its first answer, so it must stay cheap.
    from wfc_runtime.machine.chart import AnyMachine
    from wfc_runtime.machine.snapshot import Snapshot
    from wfc_runtime.registry import Module
    from wfc_runtime.service.journal import Book
    from wfc_runtime.service.journal_entries import Draft

LEASE_SECONDS = 60.0
"""How long an action stays reserved for a process that does not renew its lease."""
Reply = dict[str, Any]
"""{"workflow_id", "status", then "action", "actions", "result", "error" or "reason", and "next" last}."""


# One pending action is `action`, several are `actions`.
def actions_of(reply: Reply) -> list[dict[str, Json]]:
    """The pending actions in a reply."""
    found: list[dict[str, Json]] = reply.get("actions") or ([reply["action"]] if "action" in reply else [])
    return found


class Leases(Protocol):
    """The right of one service to do a pending action: as long as it has the lease, no other one gets it, and no other
    answer to the visit is accepted. If its process dies, the visit is pending again, at the latest when the lease is
    over."""

    def lease(self, run: str, step_id: str, seconds: float = LEASE_SECONDS) -> bool:
        """Reserve a pending visit. False if somebody has it, if a budget holds it back, or if it is not an action that
        a process can do: nobody leases a prompt."""

    def renew(self, run: str, step_id: str, seconds: float = LEASE_SECONDS) -> bool:
        """Keep a lease. False if it is lost: the work must stop."""

    def release(self, run: str, step_id: str, *, call: Mapping[str, Json] | None = None) -> None:
        """Give a lease back. `call` is the record of an agent's call, which has a cost even without a result; its cost
        counts even if the run has ended meanwhile."""

    def submit_leased(
        self, run: str, step_id: str, result: Json, *, actor: str, call: Mapping[str, Json]
    ) -> Reply:
        """Answer a leased visit, which ends the lease unless the answer is refused because it does not fit. `call` is
        kept with the event; its `usd` and `tokens` count towards budgets."""


class Service(Leases, Protocol):
    """Drives runs. Everything that a method reports is durable; methods raise `WfcError` and nothing else."""

    def start(
        self, workflow: str, inputs: Json = None, *, actor: str | None = None, key: str | None = None
    ) -> Reply:
        """Start a run of the current version of a workflow, up to its first action or its end. Calls with the same key
        start only one run; later ones get its current state."""

    def start_module(
        self, module: Module, inputs: Json = None, *, actor: str | None = None, key: str | None = None
    ) -> Reply:
        """Start a run of a module that need not be in the folder: it is stored with the run."""

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
        """Answer a pending visit. The same answer again changes nothing and gets the reply of now. `shown`: the digest
        of the action as it was displayed; the answer is refused if the run now asks something else. `usage`: what the
        work cost, as {usd, tokens}; it counts towards budgets."""

    def next_step(self, run: str) -> Reply:
        """The pending action of a run: for the agent that executes a child, and when a wait is over."""

    def status(self, run: str, *, masked: bool = False) -> Reply:
        """Like `next_step`, with the workflow's name and progress. `masked` is for callers that display it: secrets are
        redacted, each action has the digest that `submit` takes as `shown`, and an error its `place`. An agent that
        does the action needs the secrets."""

    def state(self, run: str, fields: Sequence[str] | None = None) -> Reply:
        """The named fields; without names, all field names and their sizes."""

    def runs(
        self,
        status: str | None = None,
        *,
        limit: int = 50,
        before: str | None = None,
        workflow: str | None = None,
        beginning: str | None = None,
    ) -> Reply:
        """Runs, newest first: those in progress, those with a status, or "all"; of one workflow, or with ids that begin
        in this way. Children are not listed."""

    def counts(self) -> Reply:
        """The number of runs by status, in all and for each workflow, and of visits that wait for a person."""

    def waiting(self, *, limit: int = 50, after: str | None = None) -> Reply:
        """The visits that wait for a person, oldest first, in all runs and their children. Each has its action as
        `status(masked=True)` shows it. `after`: the cursor of the previous page."""

    def changes(self, after: str | None = None, *, watching: Sequence[str] = ()) -> Reply:
        """The runs that have changed since a cursor, each once, and the next cursor. Without a cursor: only the cursor
        of now. `resync`: the cursor is too old, and everything may have changed. `claims`: a server has started or
        ended an action. `watching`: runs that somebody looks at, which an engine may ask for more often."""

    def ids(self, beginning: str, limit: int) -> list[str]:
        """At most `limit` ids of runs with this prefix, in order; including children."""

    def cancel(self, run: str, reason: str = "", *, actor: str | None = None) -> Reply:
        """End a run and its child runs."""

    def set_budget(self, run: str, limits: Mapping[str, float], *, actor: str | None = None) -> Reply:
        """Lower the budget of a root run, or set one. The spending of its family so far counts."""

    def retry(self, run: str, step_id: str = "", *, actor: str | None = None) -> Reply:
        """Continue a failed run: enter the failed visit again. `step_id` may be left out if only one failed. A visit
        that was retried before changes nothing and gets the reply of now."""

    def update_state(
        self, run: str, updates: Json, *, actor: str | None = None, key: str | None = None
    ) -> Reply:
        """Change state fields of a run in progress by hand: a list of {path, operation, value}, all of them or none.
        The reply has what was `written`, derived fields included. Calls with the same key are executed once."""

    def history(
        self,
        run: str,
        *,
        after: int = 0,
        limit: int = 200,
        before: int | None = None,
        kinds: Sequence[str] | None = None,
    ) -> Reply:
        """The events of a run: what happened, when, and who answered. With `before`, newest first: the events with a
        lower number, or from the end with 0; `before` in the reply continues. `kinds`: only these kinds of events;
        "failures" are those with a failure. They need `before`."""

    def log(self, draft: Draft, *, actor: str | None = None) -> Reply:
        """Enter something into the journal of a run: an event of its history that moves nothing. The same content again
        changes nothing and gets the existing entry."""

    def journal(self, run: str) -> Book:
        """The journal of a run: what was logged, and what the reports of its steps say."""

    def visits(self, run: str, *, before: int = 0, limit: int = 200) -> Reply:
        """How long each visit of a step took and who ended it, without payloads: for the last events before an event,
        or before the end with 0."""

    def path(self, run: str, *, at: int | None = None) -> Reply:
        """The path through the chart up to an event, or up to now: current states, visits and edges by their number."""

    def family(
        self, run: str, *, status: str | None = None, after: str | None = None, limit: int = 100
    ) -> Reply:
        """Who started a run, its parent and root, its place among its siblings, and its children by page, with
        counts."""

    def state_at(self, run: str, seq: int) -> Reply:
        """The state after an event, redacted, and what that event wrote. `unknown`: fields whose value at that time
        can't be determined any more."""

    def picture(self, run: str) -> Reply:
        """The chart of the version that a run is pinned to as SVG, with the names, lines and aliases of its states."""

    def preview(self, run: str, step_id: str) -> Reply:
        """The consequence of each answer to a pending yes-or-no question or choice: the steps that the run would then
        wait in, or its end."""

    def migration(self, run: str) -> Reply:
        """The changes of a migration to the current version, and the steps that prevent it."""

    def versions(self, workflow: str) -> Reply:
        """The versions of a workflow that runs in progress are pinned to, with the number of runs of each."""

    def tick(self, run: str | None = None) -> float | None:
        """Process what is due, in all runs or in one and its family. Returns the seconds until the next thing is due,
        if this process has to see to it."""

    def migrate(self, run: str, *, actor: str | None = None) -> Reply:
        """Continue with the current version of the workflow, if it still has the steps that the run waits in."""

    def definition(self, run: str) -> tuple[Module, AnyMachine, Snapshot]:
        """The version that a run is pinned to, the machine of the run, and its snapshot."""

    def close(self) -> None:
        """Close the store. No call may follow."""


class WholeRuns(Service, Protocol):
    """Deletion and export of whole runs, which every engine offers."""

    def ended_before(self, moment: float, statuses: Sequence[str] = ENDED) -> Reply:
        """Runs that ended before a moment, oldest first. Children are not listed."""

    def erase(self, run: str) -> int:
        """Delete a run that has ended, its children and their history; returns the number of runs deleted."""

    def export(self, run: str, *, secrets: bool = False) -> Json:
        """A whole run as one JSON value with a format number, including children, history and modules. Refused for a
        run that still needs its secrets, unless `secrets` allows them in the export."""


@runtime_checkable
class Archive(Protocol):
    """The operations of an engine with its own store in addition to `WholeRuns`: import and notes."""

    def ended_before(self, moment: float, statuses: Sequence[str] = ENDED) -> Reply: ...

    def erase(self, run: str) -> int: ...

    def export(self, run: str, *, secrets: bool = False) -> Json: ...

    def import_(self, data: Json, *, trust_modules: bool = False) -> Reply:
        """Import an exported run with its ids. SECURITY: its modules are code. A module that the project does not have
        is refused; `trust_modules` executes it."""

    def mark(self, run: str, reason: str, *, actor: str | None = None) -> int:
        """Add a reason to a run's history; returns the number of that event."""
