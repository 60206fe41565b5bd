"""What every engine offers. The MCP server and the console know nothing else of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from wfc_runtime.contract import ENDED, Json

if TYPE_CHECKING:
    # A server imports this on the way to its first answer: it must stay cheap.
    from wfc_runtime.machine.chart import AnyMachine
    from wfc_runtime.machine.snapshot import Snapshot
    from wfc_runtime.registry import Module

Reply = dict[str, Any]
"""{"workflow_id", "status", then "action", "actions", "result", "error" or "reason", and "next" last}."""


def actions_of(reply: Reply) -> list[dict[str, Json]]:
    """What a run waits for, one or several."""
    found: list[dict[str, Json]] = reply.get("actions") or ([reply["action"]] if "action" in reply else [])
    return found


class Service(Protocol):
    """Runs, driven from outside. What a method answers is durable; it raises `WfcError` and nothing else."""

    def start(
        self, workflow: str, inputs: Json = None, *, actor: str | None = None, key: str | None = None
    ) -> Reply:
        """Start a run of the current version of a workflow, up to its first action or its end. Of calls with the same
        key, the first starts a run, and the others are told where that run is."""

    def start_module(
        self, module: Module, inputs: Json = None, *, actor: str | None = None, key: str | None = None
    ) -> Reply:
        """Start a run of a module that need not be in the folder: what the run needs is kept with it."""

    def submit(self, run: str, step_id: str, result: Json, *, actor: str | None = None) -> Reply:
        """Answer a pending visit. The same answer again changes nothing and gets the reply of now."""

    def next_step(self, run: str) -> Reply:
        """What a run asks for now: for whoever works a child, and whenever a wait is over."""

    def status(self, run: str, *, masked: bool = False) -> Reply:
        """Like `next_step`, with the workflow's name and how far it is. Whoever only looks gets it with secrets
        masked; whoever does the action needs them."""

    def state(self, run: str, fields: Sequence[str] | None = None) -> Reply:
        """The named fields; without names, which fields there are and how large."""

    def runs(self, status: str | None = None, *, limit: int = 50, before: str | None = None) -> Reply:
        """Runs, the newest first: those under way, those of a status, or "all". Children are not listed."""

    def ids(self, beginning: str, limit: int) -> list[str]:
        """Ids of runs that begin so, in order, at most so many; children are among them."""

    def cancel(self, run: str, reason: str = "", *, actor: str | None = None) -> Reply:
        """End a run and everything that works for it."""

    def history(self, run: str, *, after: int = 0, limit: int = 200) -> Reply:
        """What happened, when, and who answered."""

    def tick(self, run: str | None = None) -> float | None:
        """Process what is due, in all runs or in one and its family. Returns the seconds until the next thing is due,
        if this process has to see to it."""

    def migrate(self, run: str, *, actor: str | None = None) -> Reply:
        """Go on with the current version of the workflow, if the run's steps are still in it."""

    def definition(self, run: str) -> tuple[Module, AnyMachine, Snapshot]:
        """The version that a run goes by, the machine in it that the run is, and where it stands."""

    def close(self) -> None:
        """Let go of the store. No call may follow."""


@runtime_checkable
class Archive(Protocol):
    """What an engine with a store of its own offers beside: runs taken out, brought in and forgotten as a whole."""

    def ended_before(self, moment: float, statuses: Sequence[str] = ENDED) -> Reply:
        """Runs that ended before a moment, the oldest first. Children are not listed."""

    def erase(self, run: str) -> int:
        """Forget a run that has ended, its children and all their history; how many runs went."""

    def export(self, run: str, *, secrets: bool = False) -> Json:
        """All of a run as one JSON value, with a format number: children, history and modules too. One that still
        needs its secrets is refused unless they may be in it."""

    def import_(self, data: Json, *, trust_modules: bool = False) -> Reply:
        """Take an exported run in, under the ids that it has. SECURITY: its modules are code. One that the project
        does not have is refused, and executed only with `trust_modules`."""

    def mark(self, run: str, reason: str, *, actor: str | None = None) -> int:
        """Note a reason in a run's history; the number of that event."""
