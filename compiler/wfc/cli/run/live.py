"""What `wfc run --agent` shows while agents work, what it writes to `--events`, and the summary at the end."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import RLock
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

import click

from wfc.cli.run.costs import StepCost, costs_of, ended_words, render_costs, total_of
from wfc.cli.run.serving import Shown
from wfc.cli.shared.output import data, say, to_json
from wfc.render.style import counted, cut, printable

if TYPE_CHECKING:
    from wfc.author.driver import Asked
    from wfc.cli.run.console import Console
    from wfc_runtime.agents.base import Outcome
    from wfc_runtime.agents.settings import Assignment
    from wfc_runtime.service import Reply
    from wfc_runtime.service.sqlite.agent_work import AgentService
    from wfc_runtime.service.workers import RunnableAction

_REDRAW = 0.2
_WORDS = 200


@dataclass
class _Line:
    """A call in progress."""

    path: str
    who: str
    words: str = "starting"
    since: float = field(default_factory=time.monotonic)


class Live:
    """Called by several threads. In a terminal, each call in progress has a line that changes in place."""

    def __init__(self, service: AgentService, run: str, console: Console, events: str | None) -> None:
        self.console = console
        self.commands = _Commands(self)
        self.service = service
        self._run = run
        self._events: IO[str] | None = None
        self._where = events
        self._lines: dict[tuple[str, str], _Line] = {}
        self._paths: dict[str, str] = {}
        self._lock = RLock()
        self._drawn = 0
        self._last = 0.0
        self._pauses = 0
        self._usd = 0.0
        self._began = time.monotonic()
        self._path: list[str] = []

    def __enter__(self) -> Self:
        try:
            if self._where is not None:
                is_out = self._where == "-"
                self._events = sys.stdout if is_out else open(self._where, "a", encoding="utf-8")
        except OSError as error:
            raise click.UsageError(f"can't write `{self._where}`: {error.strerror}") from error
        row = self.service.store.queries.require(self._run)
        self.event("run", run=self._run, workflow=row.workflow)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._erase()
        self.service.calls.observer = None
        self.service.workers.watch = None
        if self._events is not None and self._events is not sys.stdout:
            self._events.close()

    # -- events ------------------------------------------------------------------

    def event(self, name: str, **values: Any) -> None:
        """One line for programs. Secrets are redacted by those who call."""
        with self._lock:
            if self._events is None:
                return
            at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            try:
                self._events.write(json.dumps({"event": name, "at": at, **values}, ensure_ascii=True) + "\n")
                self._events.flush()
            except OSError:
                # Nobody reads them any more. The run goes on.
                self._events = None

    def path_of(self, run: str, visit: str) -> str:
        """Where a step is: `look[1]/look-closer` is a step of the second child of `look`."""
        if run not in self._paths:
            queries = self.service.store.queries
            row = queries.run(run)
            parts: list[str] = []
            while row is not None and row.parent is not None:
                index = "" if row.task is None else f"[{row.position}]"
                parts.insert(0, f"{row.visit}{index}/")
                row = queries.run_of_key(row.parent)
            self._paths[run] = "".join(parts)
        return self._paths[run] + visit

    # -- calls of agents -----------------------------------------------------------

    def call_began(self, runnable: RunnableAction, assignment: Assignment, attempt: int) -> None:
        path = self.path_of(runnable.run, runnable.visit)
        who = " ".join(one for one in (assignment.program.name, assignment.agent, assignment.model) if one)
        self.event("begin", run=runnable.run, step=path, program=assignment.program.name, attempt=attempt)
        with self._lock:
            self._lines[(runnable.run, runnable.visit)] = _Line(path, who)
            if self.console.is_live:
                self._draw()
            else:
                self.say(f"{path}: {who}, attempt {attempt}")

    def call_said(self, runnable: RunnableAction, words: str) -> None:
        path = self.path_of(runnable.run, runnable.visit)
        self.event("tool", run=runnable.run, step=path, words=words[:_WORDS])
        with self._lock:
            line = self._lines.get((runnable.run, runnable.visit))
            if line is not None:
                line.words = words
            self.refresh()

    def call_ended(self, runnable: RunnableAction, outcome: Outcome, record: dict[str, Any]) -> None:
        path = self.path_of(runnable.run, runnable.visit)
        self.event("end", run=runnable.run, step=path, **record)
        with self._lock:
            self._lines.pop((runnable.run, runnable.visit), None)
            self._usd += record.get("usd", 0.0)
            is_fine = outcome.kind == "done" and not outcome.denied
            text = f"{path}: {ended_words(outcome, record, runnable.mask)}"
            self.say(text, "green" if is_fine else "yellow")

    def call_refused(self, runnable: RunnableAction, reason: str) -> None:
        path = self.path_of(runnable.run, runnable.visit)
        self.event("refused", run=runnable.run, step=path, reason=reason)
        self.say(f"{path}: {reason}; asking again", "yellow")

    def command_began(self, runnable: RunnableAction) -> None:
        """A command that wfc executes has a line too, since it may take long."""
        path = self.path_of(runnable.run, runnable.visit)
        with self._lock:
            self._lines[(runnable.run, runnable.visit)] = _Line(path, "wfc", str(runnable.action["type"]))
            self._draw()

    def command_ended(self, runnable: RunnableAction) -> None:
        with self._lock:
            self._erase()
            self._lines.pop((runnable.run, runnable.visit), None)

    # -- gates -----------------------------------------------------------------------

    def gate(self, asked: Asked, reason: str) -> None:
        path = self.path_of(asked.run, asked.step_id)
        name = "budget" if asked.step_id.startswith("budget@") else "gate"
        self.event(name, run=asked.run, step=path, kind=asked.kind, reason=reason)
        self.say(f"{path} ({asked.kind}) waits: {reason}", "yellow")

    def question(self, asked: Asked) -> None:
        masked = self.service.status(asked.run, masked=True)
        self.say(f"{self.path_of(asked.run, asked.step_id)} ({asked.kind})", "bold")
        self.console.show(_message(masked, asked))

    def answered(self, asked: Asked, value: Any, actor: str) -> None:
        path = self.path_of(asked.run, asked.step_id)
        self.event("gate", run=asked.run, step=path, kind=asked.kind, answered_by=actor)
        shown = "(secret)" if asked.is_secret else _answer_words(value)
        self.say(f"{path}: {shown} ({actor})", "green")

    # -- the screen ------------------------------------------------------------------

    def say(self, text: str, *styles: str) -> None:
        with self._lock:
            self._erase()
            self.console.say(text, *styles, indent=2)
            self._draw()

    def moved(self, names: list[str]) -> None:
        self._path += names

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While a person types, nothing is redrawn."""
        with self._lock:
            self._erase()
            # Counted: a command that begins or ends meanwhile pauses as well.
            self._pauses += 1
        try:
            yield
        finally:
            with self._lock:
                self._pauses -= 1

    def refresh(self) -> None:
        with self._lock:
            if time.monotonic() - self._last >= _REDRAW:
                self._erase()
                self._draw()

    def _erase(self) -> None:
        if self._drawn:
            sys.stderr.write(f"\x1b[{self._drawn}A\x1b[J")
            sys.stderr.flush()
            self._drawn = 0

    def _draw(self) -> None:
        self._last = time.monotonic()
        if not self.console.is_live or self._pauses or self._drawn:
            return
        columns, rows = shutil.get_terminal_size()
        lines = list(self._lines.values())
        # A line that is wrapped, or that has left the screen, could not be erased.
        most = max(rows - 3, 1)
        path = max((len(line.path) for line in lines[:most]), default=0)
        for line in lines[:most]:
            spent = f"{self._last - line.since:6.1f}s ${self._usd:.2f}"
            text = printable(f"{spent}  {line.path:<{path}}  {line.who}  {line.words}".replace("\n", " "))
            self._put(cut(text, columns - 1))
        if len(lines) > most:
            self._put(f"  and {len(lines) - most} more")
        sys.stderr.flush()

    def _put(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")
        self._drawn += 1

    # -- ends ------------------------------------------------------------------------

    def ended(self, reply: Reply, as_json: bool) -> None:
        costs = costs_of(self.service, self._run)
        status = str(reply["status"])
        about = {name: reply[name] for name in ("result", "error", "reason") if name in reply}
        self.event("ended", run=self._run, status=status, **about, **total_of(costs))
        seconds = time.monotonic() - self._began
        calls = counted(sum(one.calls for one in costs), "call")
        head = f"{status} after {seconds:.1f} s and {calls}: {' → '.join(self._path)}"
        self.say(head, "green" if status == "completed" else "red")
        self._show_costs(costs)
        if as_json:
            say(to_json(reply))
        elif status != "completed":
            error = reply.get("error") or {"message": reply.get("reason", "")}
            step = f"step `{error['step_id']}`: " if error.get("step_id") else ""
            self.say(f"{step}{error['message']}", "red")
        elif self._where != "-":
            result = reply["result"]
            say(data(result) if isinstance(result, str) else to_json(result))

    def person_needed(self, waiting: list[tuple[Asked, str]], resuming: str) -> None:
        self.event("ended", run=self._run, status="waiting", steps=[one.step_id for one, _ in waiting])
        self._show_costs(costs_of(self.service, self._run))
        for asked, reason in waiting:
            masked = self.service.status(asked.run, masked=True)
            self.say(f"{self.path_of(asked.run, asked.step_id)} ({asked.kind}) waits: {reason}", "bold")
            self.console.show(_message(masked, asked))
        self.say(f"the run waits; continue with `{resuming}{_how(waiting[0][0])}`", "yellow")

    def no_agent(self, outage: Outcome, resuming: str) -> None:
        at = "" if outage.resets_at is None else datetime.fromtimestamp(outage.resets_at, UTC).isoformat()
        self.event("ended", run=self._run, status="no_agent", reason=outage.kind, resets_at=at or None)
        self._show_costs(costs_of(self.service, self._run))
        self.say(f"no agent is available ({outage.kind}): {outage.message}", "red")
        again = f"; available again at {at}" if at else ""
        self.say(f"the run waits{again}; continue with `{resuming}`", "yellow")

    def left(self, text: str) -> None:
        self.event("ended", run=self._run, status="interrupted")
        self.say(text, "yellow")

    def _show_costs(self, costs: list[StepCost]) -> None:
        for line in render_costs(costs):
            self.say(line)


def _how(asked: Asked) -> str:
    """The option of the next `wfc runs resume` that gets the run past an action."""
    # An answer would also do for a command, but then it is not executed.
    if asked.kind == "shell" and "interrupted_since" not in asked.action:
        return " --allow-exec"
    return f" --answer {asked.step_id.partition('@')[0]}=VALUE"


def _answer_words(value: Any) -> str:
    """An answer as a person gave it: yes, a choice or a text; otherwise JSON."""
    inner = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value
    if isinstance(inner, bool):
        return "yes" if inner else "no"
    return (inner if isinstance(inner, str) else json.dumps(value, ensure_ascii=False))[:_WORDS]


def _message(masked: Reply, asked: Asked) -> str:
    """The text of an action for a person, with secrets redacted."""
    from wfc_runtime.service import actions_of

    shown = [one["parameters"] for one in actions_of(masked) if one["step_id"] == asked.step_id]
    parameters = shown[0] if shown else {}
    return str(parameters.get("message") or parameters.get("command") or parameters.get("tool") or "")


class _Commands(Shown):
    """Shows commands that wfc itself executes. Calls of agents are shown by `Live`."""

    def __init__(self, live: Live) -> None:
        super().__init__(live.console)
        self._live = live

    def began(self, runnable: RunnableAction) -> None:
        if not self._live.service.by_agent(runnable):
            with self._live.paused():
                super().began(runnable)
            self._live.command_began(runnable)

    def ended(self, runnable: RunnableAction, result: Any) -> None:
        if not self._live.service.by_agent(runnable):
            self._live.command_ended(runnable)
            with self._live.paused():
                super().ended(runnable, result)

    def _number(self) -> str:
        # Calls of agents have no number.
        return ""

    def _name(self, runnable: RunnableAction) -> str:
        return self._live.path_of(runnable.run, runnable.visit)
