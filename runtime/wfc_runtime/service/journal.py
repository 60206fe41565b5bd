"""The journal of a run: decisions, milestones, issues, tasks and phases, as the run's own history has them.

An entry is an event of kind `journal`, or a part of a report that was submitted for a step. The content of a report is
not copied: it is read from its `submitted` event. Entries logged for a visit become part of that visit's report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from wfc_runtime.contract import HUMAN_KINDS, Json
from wfc_runtime.errors import NotFoundError
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.interpreter import structure_of
from wfc_runtime.service.journal_reports import (
    KIND,
    LOGGED,
    Subject,
    asked_states,
    is_same,
    items_of,
    parts_of,
    phases_of,
    step_of,
    takes_report,
)
from wfc_runtime.service.views import Event, visits_of

ORCHESTRATOR, SUBAGENT, PERSON, SERVER = "orchestrator", "subagent", "person", "server"


@dataclass(slots=True)
class Entry:
    """A decision, a milestone, an issue, or the summary of a run."""

    id: str
    seq: int
    at: str
    kind: str
    content: dict[str, Json]
    task: str = ""
    """The name of its task inside the run; empty for the run itself."""
    phase: str = ""
    agent: str = ""
    by: str = ""
    actor: str | None = None

    @property
    def is_blocker(self) -> bool:
        """Whether it is an issue that waits for a person."""
        return self.kind == "issue" and bool(self.content.get("requires_human")) and not self.is_resolved

    @property
    def is_resolved(self) -> bool:
        return bool(self.content.get("resolution"))


@dataclass(slots=True)
class Task:
    """Work of one agent: started with `start_task`, or a visit of a step."""

    name: str
    title: str
    seq: int = 0
    """The event that began it."""
    began: str = ""
    ended: str = ""
    status: str = "open"
    agent: str = ""
    by: str = ORCHESTRATOR
    phase: str = ""
    parent: str = ""
    goal: str = ""
    outcome: str = ""
    areas: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    tokens: Counter[str] = field(default_factory=Counter)
    proof: str = "agent"
    before: Json = None
    """The state of the repository when the task started, as seen by the server."""
    is_step: bool = False

    @property
    def seconds(self) -> float | None:
        return seconds_between(self.began, self.ended) if self.began and self.ended else None


@dataclass(slots=True)
class Phase:
    """A part of a run: one of the workflow's own phases, or one that `start_phase` began."""

    name: str
    number: int
    title: str
    status: str = "open"
    began: str = ""
    ended: str = ""
    summary: str = ""
    description: str = ""
    parallel: bool = False
    is_own: bool = False
    """Whether the workflow defines it: then the machine begins and ends it."""
    changes: Mapping[str, Json] | None = None
    """The git comparison of its last round, if there was one."""


class Book:
    """A journal, read from the events of a run in the form that the history shows, or from some of them."""

    def __init__(self, subject: Subject, events: Iterable[Event]) -> None:
        self.subject = subject
        self.began = self.ended = ""
        self.count = 0
        """The number of journal events."""
        self.entries: list[Entry] = []
        self.tasks: dict[str, Task] = {}
        self.phases = dict(self._own_phases())
        self._by_id: dict[str, Entry] = {}
        self._states = asked_states(subject.machine)
        for event in events:
            self.read(event)

    def id_of(self, name: str) -> str:
        """The id of a task or a phase by its name inside the run."""
        return f"{self.subject.id}/{name}" if name else self.subject.id

    # -- reading ---------------------------------------------------------------

    def read(self, event: Event) -> None:
        """Read on: an event that follows those that were read."""
        if event["event"] == KIND:
            self.count += 1
            self._read_logged(event, dict(event[KIND]))
        elif event["event"] == "submitted":
            self._read_answer(event)

    def _read_logged(self, event: Event, data: dict[str, Json]) -> None:
        kind, at, name = str(data.pop("entry")), event["at"], str(data.pop("task", ""))
        if kind in (*LOGGED, "summary"):
            about = {key: str(data.pop(key, "")) for key in ("phase", "agent", "by")}
            self._add(
                Entry(
                    self._entry_id(event),
                    event["seq"],
                    at,
                    kind,
                    data,
                    name,
                    actor=event.get("actor"),
                    **about,
                )
            )
        elif kind == "resolution":
            self._resolve(self._by_id.get(str(data["issue"])), str(data["resolution"]))
        elif kind == "task_started":
            self.tasks[name] = Task(name, seq=event["seq"], began=at, **data)
        elif kind == "task_completed" and name in self.tasks:
            task, counts = self.tasks[name], data.pop("tokens", {})
            task.ended = at
            task.tokens.update(counts)
            for key, value in data.items():
                setattr(task, key, value)
        elif kind == "phase_started":
            self.phases[str(data["name"])] = Phase(began=at, **data)
        elif kind == "phase_completed" and str(data["name"]) in self.phases:
            phase = self.phases[str(data["name"])]
            phase.ended, phase.status, phase.summary = at, str(data["status"]), str(data["summary"])

    def _read_answer(self, event: Event) -> None:
        visit, result = str(event["step_id"]), event.get("result")
        if not isinstance(result, dict):
            return
        step = step_of(visit)
        for name, own in phases_of(self.subject.machine).items():
            if step == own.get("stop") and "selected" in result:
                for entry in [one for one in self.blockers() if one.phase == name]:
                    self._resolve(entry, f"The person chose: {result['selected']}")
        if not self.takes_report(visit):
            return
        by, agent, phase = self.whose(visit)
        logged = [one for one in self.entries if one.task == visit]
        for number, (kind, content) in enumerate(parts_of(result), 1):
            # A report repeats entries that its agent has logged before; they stay one entry.
            known = [one for one in logged if one.kind == kind and is_same(kind, one.content, content)]
            if known and kind == "issue" and content.get("resolution") and not known[0].is_resolved:
                self._resolve(known[0], str(content["resolution"]))
            elif not known:
                id = f"{self._entry_id(event)}.{number}"
                actor = event.get("actor")
                self._add(Entry(id, event["seq"], event["at"], kind, content, visit, phase, agent, by, actor))

    def _entry_id(self, event: Event) -> str:
        return f"{self.subject.id}:{event['seq']}"

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._by_id[entry.id] = entry

    def _resolve(self, entry: Entry | None, resolution: str) -> None:
        if entry is not None:
            entry.content = {**entry.content, "resolution": resolution}

    def _own_phases(self) -> Iterator[tuple[str, Phase]]:
        for name, one in phases_of(self.subject.machine).items():
            title, number = str(one.get("name", name)), int(one.get("number", 0))
            yield name, Phase(name, number, title, "pending", is_own=True)

    # -- questions -------------------------------------------------------------

    def blockers(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.is_blocker]

    def find(self, id: str) -> Entry | None:
        return self._by_id.get(id)

    def takes_report(self, visit: str) -> bool:
        return takes_report(self.subject.machine, self._states.get(step_of(visit), ""))

    def whose(self, name: str) -> tuple[str, str, str]:
        """Who works on a task: the kind of caller, the agent and the phase, as far as they are known."""
        task = self.tasks.get(name)
        if task is not None and not task.is_step:
            return task.by, task.agent, task.phase
        runs_it = _agent_name(self.subject.agent)
        within = SUBAGENT if self.subject.agent is not None else ORCHESTRATOR
        effect = self.subject.machine.steps.get(self._states.get(step_of(name), ""))
        if not isinstance(effect, Ask):
            return within, runs_it, ""
        if effect.kind in HUMAN_KINDS:
            return PERSON, "", self._phase_of(name)[0]
        # A server step has no agent even if its phase has some.
        if effect.runner == "server":
            return SERVER, "", self._phase_of(name)[0]
        phase, role = self._phase_of(name)
        pending = self.subject.now.pending.get(name)
        # A role that is a template is known only while the step is pending.
        given = (pending.parameters if pending else effect.parameters).get("agent")
        agent = role or _agent_name(given)
        return (SUBAGENT if agent else within), agent or runs_it, phase

    def _phase_of(self, visit: str) -> tuple[str, str]:
        """The phase and the role of a visit of a phases run."""
        step = step_of(visit)
        for name, one in phases_of(self.subject.machine).items():
            if step in one.get("agents", {}):
                return name, str(one["agents"][step])
            if step in (one.get("stop"), one.get("checkpoint")):
                return name, ""
        return "", ""

    def is_visit(self, name: str) -> bool:
        """Whether it is a visit that the run has started."""
        if name in self.subject.now.pending:
            return True
        step, _, number = name.partition("@")
        # A visit that was answered is known only by the count of its state.
        state = self._states.get(step)
        turn = int(number) if number.isdecimal() else 1 if not number else 0
        return state is not None and 1 <= turn <= self.subject.now.visits.get(state, 0)

    def has_step(self, name: str) -> bool:
        return any(node.name == name for node in structure_of(self.subject.machine).nodes.values())

    def task(self, name: str) -> Task:
        """A task by its name. Raises `NotFoundError`."""
        if name in self.tasks:
            return self.tasks[name]
        if not self.is_visit(name):
            known = [
                *self.subject.now.pending,
                *(one.name for one in self.tasks.values() if one.status == "open"),
            ]
            ids = ", ".join(f"`{self.id_of(one)}`" for one in known[:5])
            raise NotFoundError(
                "unknown_task",
                f"run {self.subject.id} has no task `{name[:100]}`",
                f"Open tasks: {ids or 'none'}; `{self.subject.id}` alone is the run itself.",
            )
        by, agent, phase = self.whose(name)
        return Task(name, name, agent=agent, by=by, phase=phase, is_step=True)

    # -- what the whole history adds -------------------------------------------

    def add_visits(self, bars: Iterable[Mapping[str, Json]], history: Sequence[Event]) -> None:
        """Add the visits of steps that agents work on as tasks, and what the workflow's own phases did."""
        self.began = history[0]["at"] if history else ""
        self.ended = next((one["at"] for one in reversed(history) if "status" in one), "")
        reports = {
            str(one["step_id"]): one["result"]
            for one in history
            if one["event"] == "submitted" and isinstance(one.get("result"), dict)
        }
        noted = {entry.task for entry in self.entries}
        visited: list[str] = []
        for bar in bars:
            visited.append(self._own_phase(step_of(str(bar["step_id"]))))
            visit = str(bar["step_id"])
            # For readers of a journal, shell and file steps are not tasks, unless entries were logged for them.
            if bar["type"] != "delegate" and visit not in noted:
                continue
            task = self.task(visit)
            task.seq, task.began, task.ended = int(bar["from"]), str(bar["began"]), str(bar.get("ended", ""))
            task.status = {"done": "completed"}.get(
                str(bar.get("outcome")), str(bar.get("outcome") or "open")
            )
            if self.takes_report(visit) and visit in reports:
                _add_report(task, reports[visit])
            self.tasks[visit] = task
        for name, phase in self.phases.items():
            if phase.is_own:
                about = phases_of(self.subject.machine)[name]
                self._follow(phase, visited)
                looked = [one for visit, one in reports.items() if step_of(visit) == about.get("changes")]
                if looked and "skipped" not in looked[-1]:
                    self._add_changes(phase, looked[-1])

    def _own_phase(self, step: str) -> str:
        """The workflow's own phase that a step belongs to; an empty text if it belongs to none."""
        own = phases_of(self.subject.machine)
        for name, about in own.items():
            if step in (*about.get("agents", {}), about.get("stop"), about.get("checkpoint")):
                return name
        # Steps that the front end added. The longest name: `build-docs` is not a step of the phase `build`.
        return max((name for name in own if step.startswith(f"{name}-")), key=len, default="")

    def _follow(self, phase: Phase, visited: Sequence[str]) -> None:
        """The beginning, the end and the status of one of the workflow's own phases; `visited` are the phases of all
        visits so far, oldest first."""
        now = self.subject.now
        tasks = [one for one in self.tasks.values() if one.is_step and one.phase == phase.name]
        phase.began = min((one.began for one in tasks), default="")
        if any(self._own_phase(step_of(visit)) == phase.name for visit in now.pending):
            phase.status = "open"
        elif phase.name in visited:
            # A run that fails or is cancelled ends within the phase that it visited last.
            is_last = phase.name == visited[-1] and now.status in ("failed", "cancelled")
            phase.status = now.status if is_last else "completed"
            phase.ended = max((one.ended for one in tasks), default="")
        result = now.result
        # The result of a mission has the final word: a phase can count as failed although each visit succeeded.
        for one in result.get("phases", ()) if isinstance(result, dict) else ():
            if isinstance(one, dict) and one.get("id") == phase.name:
                phase.status = str(one.get("status", phase.status))

    def _add_changes(self, phase: Phase, changes: Mapping[str, Json]) -> None:
        """The git comparison after the last round of a phase. Files that a server saw replace those that agents
        named."""
        phase.changes = changes
        tasks = {one.agent: one for one in self.tasks.values() if one.is_step and one.phase == phase.name}
        for agent, files in (changes.get("by_agent") or {}).items() if changes.get("proved") else ():
            if agent in tasks:
                tasks[agent].files, tasks[agent].proof = [str(path) for path in files], "server"

    def metrics(self) -> dict[str, Json]:
        """The totals of a run, as far as tasks and reports contain them."""
        tokens: Counter[str] = Counter()
        for task in self.tasks.values():
            tokens.update(task.tokens)
        return {
            "tasks": len(self.tasks),
            "completed_tasks": sum(one.status in ("completed", "success") for one in self.tasks.values()),
            "seconds": seconds_between(self.began, self.ended or self.subject.at),
            "tokens": {"input": tokens["input"], "output": tokens["output"]},
            "files": len({path for task in self.tasks.values() for path in task.files}),
        }


def _add_report(task: Task, report: Mapping[str, Json]) -> None:
    task.status, task.outcome = str(report.get("status", task.status)), str(report.get("summary", ""))
    task.files = [str(path) for path in items_of(report.get("files"))]
    for key in ("input", "output"):
        count = report.get(f"tokens_{key}")
        if isinstance(count, int) and not isinstance(count, bool):
            task.tokens[key] += count


def whole_book(subject: Subject, events: Sequence[Event]) -> Book:
    """A journal with all that the history of the run says."""
    book = Book(subject, events)
    now = subject.now
    book.add_visits(visits_of(structure_of(subject.machine), events, now.visits, now.pending), events)
    return book


def seconds_between(began: str, ended: str) -> float:
    return round((datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds(), 3)


def _agent_name(agent: object) -> str:
    """The name of an agent as a workflow refers to it. `@task` is a sub-agent of no particular kind."""
    return agent.removeprefix("@") if isinstance(agent, str) and agent != "@task" else ""
