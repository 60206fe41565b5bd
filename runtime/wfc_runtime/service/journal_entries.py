"""The entries of a journal: validated when they are created, and checked against the existing entries when they are
written.

`decide` is pure: an engine reads the book, decides, and commits the result only if the book has not changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from wfc_runtime.contract import Json
from wfc_runtime.errors import NotFoundError, RefusedError, RequestError
from wfc_runtime.git_proof import CHANGES, SNAPSHOT
from wfc_runtime.machine.values import NotPlainError, check_plain
from wfc_runtime.scopes import covers, path_patterns
from wfc_runtime.service.ids import check_run_id, check_step_id
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.journal import (
    ORCHESTRATOR,
    PERSON,
    SUBAGENT,
    Book,
    Phase,
    Task,
    seconds_between,
)
from wfc_runtime.service.journal_reports import (
    MOST_BLOCKERS,
    is_same,
    phases_of,
    shown_blocker,
)

# Limits per entry, per task and per run: entries are events of the history, which every reader of the run
# loads.
MOST_TEXT, MOST_MESSAGE = 4_000, 500
MOST_OF_TASK, MOST_OF_RUN = 200, 5_000
_MOST_ITEMS = 100
_MOST_METADATA = 16 * 1024
_ON = "nothing: continue your work"

# Arguments.


def text_of(name: str, value: str, most: int = MOST_TEXT, required: bool = False) -> str:
    """A text as it is stored. Raises `RequestError` if it is too long, or missing."""
    kept = value.strip()
    if required and not kept:
        raise RequestError("invalid_entry", f"`{name}` must not be empty")
    if len(kept) > most:
        raise RequestError(
            "entry_too_long",
            f"`{name}` has {len(kept):,} characters; the limit is {most:,}",
            "Shorten it: write the details into a file, and name that file.",
        )
    _check_characters(name, kept)
    return kept


def texts_of(name: str, values: Sequence[str]) -> list[str]:
    if len(values) > _MOST_ITEMS:
        raise RequestError("entry_too_long", f"`{name}` has {len(values)} items; the limit is {_MOST_ITEMS}")
    return [text_of(name, one, MOST_MESSAGE) for one in values]


def percentage_of(value: int | None) -> int | None:
    if value is not None and not 0 <= value <= 100:
        raise RequestError("invalid_entry", f"`progress` must be between 0 and 100, not {value}")
    return value


def metadata_of(value: Mapping[str, Json]) -> dict[str, Json]:
    try:
        check_plain(dict(value), _MOST_METADATA, 20)
    except NotPlainError as error:
        raise RequestError("invalid_entry", f"`metadata` {error}") from None
    return dict(value)


def _check_characters(name: str, text: str) -> None:
    try:
        # JSON may contain half a surrogate pair, which SQLite and clients can't encode.
        text.encode()
    except UnicodeEncodeError:
        raise RequestError(
            "invalid_entry", f"`{name}` contains half of a surrogate pair, which is not a character"
        ) from None


def task_of(task_id: str, what: str = "task_id") -> tuple[str, str]:
    """The run, and the name of the task inside it; an empty name for the run itself."""
    run, slash, name = task_id.partition("/")
    try:
        # Checked before it is looked up: ids appear in messages, paths and queries.
        return check_run_id(run), check_step_id(name) if slash else ""
    except RequestError:
        raise RequestError(
            "invalid_id",
            f"`{what}` is not the id of a task: {task_id[:60]!r}",
            "It is a workflow_id, or a workflow_id, a slash and a step_id; start_task returns one, too.",
        ) from None


def _without_empty(content: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in content.items() if value not in (None, "", [], {})}


# Entries.


@dataclass(frozen=True, slots=True)
class Decided:
    """What to write. Without data: nothing, since it is there already."""

    reply: Reply
    """`{seq}` in its texts stands for the number of the event."""
    data: Mapping[str, Json] | None = None
    visit: str | None = None
    opens: str | None = None
    """A blocker that the replies of the run show from now on."""
    closes: str | None = None

    def reply_for(self, seq: int) -> Reply:
        return {
            # The number of the event is known only inside the transaction, after the reply has been decided.
            key: value.replace("{seq}", str(seq)) if isinstance(value, str) else value
            for key, value in self.reply.items()
        }


Look = Callable[[str, dict[str, Json]], dict[str, Json]]
"""A query of the repository by the server: the kind of a git step, and its parameters."""


@dataclass(frozen=True)
class Draft:
    """Something that a caller wants to enter."""

    run: str
    takes_ended: ClassVar[bool] = False
    """Whether a run that has ended accepts it."""
    refers: ClassVar[int | None] = None
    """The number of an event that the book must have, besides those of kind `journal`."""

    def decide(self, book: Book) -> Decided:
        raise NotImplementedError(type(self).__name__)

    def proved(self, book: Callable[[], Book], look: Look) -> Draft:
        """The draft with what a server that may run git sees. Git takes time, so this precedes the transaction."""
        return self

    def check(self, book: Book) -> None:
        now = book.subject.now
        # An entry after the end would contradict the result that its readers have already seen.
        if now.status != "running" and not self.takes_ended:
            raise RefusedError(
                "finished",
                f"the run is {now.status}, so its journal is closed",
                next_call=f'complete_workflow(workflow_id="{self.run}", ...) adds a summary',
            )
        if book.count >= MOST_OF_RUN:
            raise RefusedError(
                "journal_full",
                f"the journal of run {self.run} has {book.count:,} entries, which is the limit",
            )


@dataclass(frozen=True)
class Logged(Draft):
    """A decision, a milestone or an issue of a task."""

    task: str
    kind: str
    content: Mapping[str, Json]
    requires_agent: bool = False

    def decide(self, book: Book) -> Decided:
        self.check(book)
        if self.task:
            book.task(self.task)
        by, agent, phase = book.whose(self.task)
        _require_agent(self.requires_agent, agent)
        # A call whose reply was lost is repeated: the same content returns the existing entry instead of a
        # second one.
        mine = [one for one in book.entries if one.task == self.task]
        # Redacted before the comparison, because stored entries are redacted as well.
        content = book.subject.now.mask.value(_without_empty(self.content))
        for one in mine:
            if one.kind == self.kind and is_same(self.kind, one.content, content):
                return Decided(self._reply(one.id, one.is_blocker))
        if len(mine) >= MOST_OF_TASK:
            raise RefusedError(
                "journal_full",
                f"`{book.id_of(self.task)}` has {len(mine)} entries, which is the limit",
                "Log what the people who read the journal have to know, and nothing else.",
            )
        blocks = (
            self.kind == "issue" and bool(content.get("requires_human")) and not content.get("resolution")
        )
        if blocks and len(book.subject.now.blockers) >= MOST_BLOCKERS:
            raise RefusedError(
                "blockers_open",
                f"run {self.run} has {MOST_BLOCKERS} open blockers, which is the limit",
                "Ask the person about them first.",
            )
        about = _without_empty({"task": self.task, "phase": phase, "agent": agent, "by": by})
        # The mission itself asks the person about issues in reports; a blocker in the replies would ask
        # twice.
        stopped_by_machine = bool(phases_of(book.subject.machine)) and book.takes_report(self.task)
        return Decided(
            self._reply(f"{self.run}:{{seq}}", blocks),
            {"entry": self.kind, **about, **content},
            self.task if self.task not in book.tasks else None,
            opens=shown_blocker(str(content["description"])) if blocks and not stopped_by_machine else None,
        )

    def _reply(self, id: str, blocks: bool) -> Reply:
        if self.kind != "issue":
            return {"entry": id, "next": _ON}
        following = (
            "continue with work that does not depend on it; a person has to decide. "
            f'log_issue(task_id="{self.run}", issue_id="{id}", resolution=<their answer>) records the answer'
        )
        return {"entry": id, "blocks": blocks, "next": following if blocks else _ON}


@dataclass(frozen=True)
class Resolved(Draft):
    """The resolution of an issue."""

    issue: str
    resolution: str
    requires_agent: bool = False

    @property
    def refers(self) -> int | None:  # type: ignore[override]
        # The issue may be part of a report, which is an event of another kind.
        number = self.issue.rpartition(":")[2].partition(".")[0]
        return int(number) if number.isdecimal() and len(number) < 13 else None

    def decide(self, book: Book) -> Decided:
        self.check(book)
        entry = book.find(self.issue)
        resolution = book.subject.now.mask.value(self.resolution)
        if entry is None and self.issue in book.subject.now.blockers:
            # Its event is in an execution or an engine that can no longer be read.
            data = {
                "entry": "resolution",
                "issue": self.issue,
                "resolution": resolution,
                "by": book.whose("")[0],
            }
            return Decided({"entry": self.issue, "blocks": False, "next": _ON}, data, closes=self.issue)
        if entry is None or entry.kind != "issue":
            known = ", ".join(f"`{one.id}`" for one in book.blockers()[:5])
            raise NotFoundError(
                "unknown_issue",
                f"run {self.run} has no issue `{self.issue[:100]}`",
                f"Open blockers: {known}." if known else "",
            )
        reply: Reply = {"entry": entry.id, "blocks": False, "next": _ON}
        if entry.content.get("resolution") == resolution:
            return Decided(reply)
        by, agent, _ = book.whose("")
        _require_agent(self.requires_agent, agent or entry.agent)
        data = {"entry": "resolution", "issue": entry.id, "resolution": resolution, "by": by}
        return Decided(reply, {**data, "task": entry.task} if entry.task else data, closes=entry.id)


def _require_agent(required: bool, agent: str) -> None:
    if required and not agent:
        raise RefusedError(
            "agent_required",
            "this project only takes journal entries of named agents ([tool.wfc.journal] require_agent)",
            "Call start_task with `agent_name`, and use the task_id of its reply.",
        )


# Tasks.

_CALLERS = {
    "": ORCHESTRATOR,
    "orchestrator": ORCHESTRATOR,
    "main": ORCHESTRATOR,
    "subagent": SUBAGENT,
    "sub-agent": SUBAGENT,
    "agent": SUBAGENT,
    "person": PERSON,
    "human": PERSON,
    "user": PERSON,
}


def caller_of(caller_type: str) -> str:
    found = _CALLERS.get(caller_type.strip().lower().replace("_", "-"))
    if found is None:
        raise RequestError(
            "invalid_entry",
            f"unknown `caller_type` {caller_type[:40]!r}",
            "Use orchestrator, subagent or person.",
        )
    return found


@dataclass(frozen=True)
class StartedTask(Draft):
    """The beginning of a task. For a pending step, that step is the task."""

    title: str
    goal: str = ""
    by: str = ORCHESTRATOR
    agent: str = ""
    areas: Sequence[str] = ()
    phase: str = ""
    parent: str = ""
    requires_agent: bool = False
    before: Mapping[str, Json] | None = None
    """The state of the repository, if the server may run git; with `skipped` if it can't be read."""

    def proved(self, book: Callable[[], Book], look: Look) -> Draft:
        # A repeated call must not take a new snapshot: the files that were changed in between would be lost.
        is_there = self.decide(book()).data is None
        return self if is_there else replace(self, before=look(SNAPSHOT, {}))

    def decide(self, book: Book) -> Decided:
        self.check(book)
        # Agents often start a task for the step that they were given; two tasks for one piece of work would
        # count it twice.
        given = self._given_step(book)
        if given is not None:
            return Decided(_started(book, given, is_step=True))
        _require_agent(self.requires_agent, self.agent)
        if self.parent and book.task(self.parent).status != "open":
            raise RefusedError(
                "task_completed", f"`{book.id_of(self.parent)}` is completed: it takes no subtasks"
            )
        if self.phase and _phase(book, self.phase).ended:
            raise RefusedError(
                "phase_completed", f"phase `{self.phase}` is completed: it takes no more tasks"
            )
        about = _without_empty(
            {
                "title": self.title,
                "goal": self.goal,
                "by": self.by,
                "agent": self.agent,
                "areas": list(self.areas),
                "phase": self.phase,
                "parent": self.parent,
            }
        )
        about = book.subject.now.mask.value(about)
        for one in book.tasks.values():
            if one.status == "open" and _facts(one) == about:
                return Decided(_started(book, one.name, one.proof))
        before, name = self.before or {"skipped": ""}, _free_name(book)
        # Only the parts that the comparison needs: the snapshot is stored with the run.
        kept = {key: before[key] for key in ("head", "files", "modules", "proved") if key in before}
        proof: dict[str, Json] = {} if "skipped" in before else {"proof": "server", "before": kept}
        reply = _started(book, name, "server" if proof else "agent")
        if before.get("skipped"):
            reply = {**reply, "skipped": before["skipped"]}
        return Decided(reply, {"entry": "task_started", "task": name, **about, **proof})

    def _given_step(self, book: Book) -> str | None:
        """The pending step that the caller was given: by its name, or because it is the only one of that agent."""
        pending = list(book.subject.now.pending)
        named = [one for one in pending if self.title in (one, one.partition("@")[0])]
        # A task with a pending step as its parent is a part of that step, and not the step itself.
        if not named and self.agent and self.parent not in pending:
            named = [one for one in pending if book.whose(one)[1] == self.agent]
        # With several candidates a guess could attach work to the wrong step.
        return named[0] if len(named) == 1 else None


def _facts(task: Task) -> dict[str, Json]:
    names = ("title", "goal", "by", "agent", "areas", "phase", "parent")
    return _without_empty({name: getattr(task, name) for name in names})


def _free_name(book: Book) -> str:
    """`t1`, `t2` and so on, except for the names of steps."""
    number = sum(not one.is_step for one in book.tasks.values()) + 1
    while f"t{number}" in book.tasks or book.has_step(f"t{number}"):
        number += 1
    return f"t{number}"


def _started(book: Book, name: str, proof: str = "agent", is_step: bool = False) -> Reply:
    following = f'complete_task(task_id="{book.id_of(name)}", status=..., outcome=...) when it is done'
    if is_step:
        following = (
            f'submit_result(workflow_id="{book.subject.id}", step_id="{name}", result=...) when it is done'
        )
    return {"task_id": book.id_of(name), "proof": proof, "next": following}


TASK_STATUSES = ("success", "partial", "failed", "cancelled")


@dataclass(frozen=True)
class CompletedTask(Draft):
    """The end of a task that `start_task` began."""

    task: str
    status: str
    outcome: str = ""
    metadata: Mapping[str, Json] = field(default_factory=dict)
    changes: Mapping[str, Json] | None = None
    """The changes since the task started, as found by the server."""

    def proved(self, book: Callable[[], Book], look: Look) -> Draft:
        found = book()
        task = found.tasks.get(self.task)
        if task is None or task.before is None or self.decide(found).data is None:
            return self
        scopes: dict[str, Json] = {"task": task.areas} if task.areas else {}
        return replace(self, changes=look(CHANGES, {"since": task.before, "scopes": scopes}))

    def decide(self, book: Book) -> Decided:
        task = book.task(self.task)
        if task.is_step:
            self._check_step(book)
        outcome = book.subject.now.mask.value(self.outcome)
        if task.status != "open":
            # The same completion again is a repeated call; another one would rewrite the history.
            if (task.status, task.outcome) != (self.status, outcome):
                raise RefusedError(
                    "task_completed", f"`{book.id_of(self.task)}` was completed with `{task.status}`"
                )
            return Decided(_completed(task, task.ended))
        self.check(book)
        subtasks = [
            one.name for one in book.tasks.values() if one.parent == self.task and one.status == "open"
        ]
        if subtasks:
            ids = ", ".join(f"`{book.id_of(one)}`" for one in subtasks)
            raise RefusedError(
                "subtasks_open",
                f"`{book.id_of(self.task)}` has open subtasks: {ids}",
                next_call=f'complete_task(task_id="{book.id_of(subtasks[0])}", status=..., outcome=...)',
            )
        files, outside = self._files(task)
        # A server that saw the beginning and not the end proves nothing.
        is_proved = self.changes is not None and "skipped" not in self.changes
        tokens = {
            name: count
            for name in ("input", "output")
            if isinstance(count := self.metadata.get(f"tokens_{name}"), int) and not isinstance(count, bool)
        }
        data = _without_empty({"outcome": outcome, "files": files, "outside": outside, "tokens": tokens})
        proof = "server" if is_proved else "agent"
        done = Task(task.name, task.title, began=task.began, files=files, outside=outside, proof=proof)
        return Decided(
            _completed(done, book.subject.at),
            {
                "entry": "task_completed",
                "task": self.task,
                "status": self.status,
                "proof": proof,
                **book.subject.now.mask.value(data),
            },
        )

    def _check_step(self, book: Book) -> None:
        if self.task in book.subject.now.pending:
            raise RefusedError(
                "step_pending",
                f"`{self.task}` is a step of the workflow: submitting its result completes it",
                next_call=f'submit_result(workflow_id="{self.run}", step_id="{self.task}", result=...)',
            )
        raise RefusedError(
            "task_completed", f"`{self.task}` is a step of the workflow, which is already answered"
        )

    def _files(self, task: Task) -> tuple[list[str], list[str]]:
        """The files that were changed, and those of them outside the task's areas."""
        if self.changes is not None and "skipped" not in self.changes:
            return list(self.changes.get("changed", ())), list(self.changes.get("outside_scope", ()))
        # Agents use both names.
        said = self.metadata.get("files_changed", self.metadata.get("files"))
        files = [str(one)[:MOST_MESSAGE] for one in said][:_MOST_FILES] if isinstance(said, list) else []
        patterns = path_patterns(task.areas)
        return files, [] if patterns is None else [one for one in files if not covers(patterns, one)]


_MOST_FILES = 2_000


def _completed(task: Task, ended: str) -> Reply:
    return {
        "duration_seconds": seconds_between(task.began, ended),
        "files_changed": task.files,
        "outside_scope": task.outside,
        "proof": task.proof,
        "next": _ON,
    }


# Phases.


@dataclass(frozen=True)
class StartedPhase(Draft):
    """The beginning of a phase."""

    number: int
    title: str
    description: str = ""
    parallel: bool = False

    def decide(self, book: Book) -> Decided:
        self.check(book)
        for one in book.phases.values():
            # The number identifies a phase, so that orchestrators that lost their context do not open it
            # twice.
            if one.number == self.number:
                return Decided(self._reply(book, one.name, exists=True))
        name = f"p{self.number}"
        content = {"number": self.number, "title": self.title, "description": self.description}
        data = {**book.subject.now.mask.value(content), "parallel": self.parallel}
        return Decided(
            self._reply(book, name, exists=False),
            {"entry": "phase_started", "name": name, **_without_empty(data)},
        )

    def _reply(self, book: Book, name: str, exists: bool) -> Reply:
        following = f'start_task(workflow_id="{self.run}", name=..., phase_id="{book.id_of(name)}")'
        if exists and book.phases[name].is_own:
            following = f'get_workflow_status(workflow_id="{self.run}"): the workflow itself begins and ends this phase'
        return {"phase_id": book.id_of(name), "already_exists": exists, "next": following}


PHASE_STATUSES = ("completed", "failed", "skipped")


@dataclass(frozen=True)
class CompletedPhase(Draft):
    """The end of a phase that `start_phase` began."""

    phase: str
    status: str
    summary: str = ""

    def decide(self, book: Book) -> Decided:
        phase = _phase(book, self.phase)
        if phase.is_own:
            raise RefusedError(
                "phase_of_workflow",
                f"`{phase.title}` is a phase of the workflow: it ends when its steps are done",
                next_call=f'get_workflow_status(workflow_id="{self.run}"), which shows what is pending',
            )
        summary = book.subject.now.mask.value(self.summary)
        reply: Reply = {"phase_id": book.id_of(phase.name), "status": self.status, "next": _ON}
        if phase.ended:
            if (phase.status, phase.summary) != (self.status, summary):
                raise RefusedError(
                    "phase_completed", f"phase `{phase.title}` was completed as `{phase.status}`"
                )
            return Decided(reply)
        self.check(book)
        tasks = [one.name for one in book.tasks.values() if one.phase == phase.name and one.status == "open"]
        if tasks:
            ids = ", ".join(f"`{book.id_of(one)}`" for one in tasks)
            raise RefusedError(
                "tasks_open",
                f"phase `{phase.title}` has open tasks: {ids}",
                next_call=f'complete_task(task_id="{book.id_of(tasks[0])}", status=..., outcome=...)',
            )
        data = {"entry": "phase_completed", "name": phase.name, "status": self.status, "summary": summary}
        return Decided(reply, data)


def _phase(book: Book, name: str) -> Phase:
    if name not in book.phases:
        known = ", ".join(f"`{book.id_of(one)}`" for one in book.phases)
        raise NotFoundError(
            "unknown_phase",
            f"run {book.subject.id} has no phase `{name[:100]}`",
            f"Its phases: {known}." if known else "start_phase begins one.",
        )
    return book.phases[name]


# The end of a run.


@dataclass(frozen=True)
class Summary(Draft):
    """The outcome of a run. It ends nothing."""

    status: str
    summary: str
    achievements: Sequence[str] = ()
    limitations: Sequence[str] = ()
    takes_ended: ClassVar[bool] = True

    def decide(self, book: Book) -> Decided:
        content = {
            "status": self.status,
            "summary": self.summary,
            "achievements": list(self.achievements),
            "limitations": list(self.limitations),
        }
        content = book.subject.now.mask.value(_without_empty(content))
        for one in book.entries:
            if one.kind == "summary" and one.content == content:
                return Decided({"entry": one.id})
        self.check(book)
        by, agent, _ = book.whose("")
        about = _without_empty({"by": by, "agent": agent})
        return Decided({"entry": f"{self.run}:{{seq}}"}, {"entry": "summary", **about, **content})
