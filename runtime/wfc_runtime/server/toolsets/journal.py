"""The journal toolset: what agents decide, reach and run into, kept in the history of the run."""

from __future__ import annotations

from collections.abc import Sequence

from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError, RequestError
from wfc_runtime.server.tools import READS, Call, Hints, Tool
from wfc_runtime.service import Reply
from wfc_runtime.service.ids import check_run_id


def log_decision(
    call: Call,
    task_id: str,
    question: str,
    chosen: str,
    reasoning: str,
    category: str = "",
    options_considered: list[str] | None = None,
    trade_offs: str = "",
) -> Reply:
    """Record a decision in the run's journal: what was asked, what was chosen, and why."""
    from wfc_runtime.service.journal_entries import MOST_MESSAGE, text_of, texts_of

    content: dict[str, Json] = {
        "question": text_of("question", question, required=True),
        "chosen": text_of("chosen", chosen, required=True),
        "reasoning": text_of("reasoning", reasoning),
        "category": text_of("category", category, MOST_MESSAGE),
        "options_considered": texts_of("options_considered", options_considered or []),
        "trade_offs": text_of("trade_offs", trade_offs),
    }
    return _log(call, task_id, "decision", content)


def log_milestone(call: Call, task_id: str, message: str, progress: int | None = None) -> Reply:
    """Record in the run's journal that something has been reached."""
    from wfc_runtime.service.journal_entries import MOST_MESSAGE, percentage_of, text_of

    said = text_of("message", message, MOST_MESSAGE, required=True)
    return _log(call, task_id, "milestone", {"message": said, "progress": percentage_of(progress)})


def log_issue(
    call: Call,
    task_id: str,
    description: str = "",
    type: str = "",
    resolution: str = "",
    requires_human_review: bool = False,
    issue_id: str = "",
) -> Reply:
    """Record a problem in the run's journal. An issue with requires_human_review and without a resolution is a blocker:
    a person has to decide, and the replies of the run mention it until the resolution is logged. With an issue_id: log
    the resolution of that issue."""
    from wfc_runtime.service.journal_entries import MOST_MESSAGE, Resolved, task_of, text_of

    if issue_id:
        run, _ = task_of(task_id)
        answer = text_of("resolution", resolution, required=True)
        draft = Resolved(run, issue_id, answer, call.context.options.journal_requires_agent)
        return call.context.service.log(draft, actor=call.actor)
    content: dict[str, Json] = {
        "description": text_of("description", description, required=True),
        "type": text_of("type", type, MOST_MESSAGE),
        "resolution": text_of("resolution", resolution),
        "requires_human": requires_human_review or None,
    }
    return _log(call, task_id, "issue", content)


def _log(call: Call, task_id: str, kind: str, content: dict[str, Json]) -> Reply:
    from wfc_runtime.service.journal_entries import Logged, task_of

    run, task = task_of(task_id)
    draft = Logged(run, task, kind, content, call.context.options.journal_requires_agent)
    return call.context.service.log(draft, actor=call.actor)


def start_task(
    call: Call,
    workflow_id: str,
    name: str,
    goal: str = "",
    caller_type: str = "",
    agent_name: str = "",
    areas: list[str] | None = None,
    phase_id: str = "",
    parent_task_id: str = "",
) -> Reply:
    """Begin a task that is not a step of the workflow, to log for it. A pending step is a task already: for the step
    that you were given, the reply has its task_id, and submit_result ends it."""
    from wfc_runtime.service.journal_entries import MOST_MESSAGE, StartedTask, caller_of, text_of, texts_of

    run = check_run_id(workflow_id)
    draft = StartedTask(
        run,
        text_of("name", name, MOST_MESSAGE, required=True),
        text_of("goal", goal),
        caller_of(caller_type),
        text_of("agent_name", agent_name, MOST_MESSAGE).removeprefix("@"),
        texts_of("areas", areas or []),
        _inside(run, "phase_id", phase_id),
        _inside(run, "parent_task_id", parent_task_id),
        call.context.options.journal_requires_agent,
    )
    return call.context.service.log(draft, actor=call.actor)


def complete_task(
    call: Call, task_id: str, status: str, outcome: str = "", metadata: dict[str, Json] | None = None
) -> Reply:
    """End a task that start_task began. Refused while subtasks are open. metadata may have `files_changed` (a list),
    `tokens_input` and `tokens_output`."""
    from wfc_runtime.service.journal_entries import (
        TASK_STATUSES,
        CompletedTask,
        metadata_of,
        task_of,
        text_of,
    )

    run, task = task_of(task_id)
    if not task:
        raise RequestError(
            "invalid_id",
            "`task_id` is a whole run",
            next_call=f'complete_workflow(workflow_id="{run}", status=...)',
        )
    draft = CompletedTask(
        run,
        task,
        _one_of(
            "status", {"completed": "success", **dict(zip(TASK_STATUSES, TASK_STATUSES, strict=True))}, status
        ),
        text_of("outcome", outcome),
        metadata_of(metadata or {}),
    )
    return call.context.service.log(draft, actor=call.actor)


def start_phase(
    call: Call, workflow_id: str, number: int, name: str, description: str = "", is_parallel: bool = False
) -> Reply:
    """Begin a phase in the journal of a run whose workflow has no phases of its own. A phase with this number that is
    there already is returned."""
    from wfc_runtime.service.journal_entries import MOST_MESSAGE, StartedPhase, text_of

    if not 1 <= number <= 1_000_000:
        raise RequestError("invalid_entry", f"`number` must be 1 or more, not {number}")
    draft = StartedPhase(
        check_run_id(workflow_id),
        number,
        text_of("name", name, MOST_MESSAGE, required=True),
        text_of("description", description),
        is_parallel,
    )
    return call.context.service.log(draft, actor=call.actor)


def complete_phase(call: Call, phase_id: str, status: str = "completed", summary: str = "") -> Reply:
    """End a phase that start_phase began. Refused while its tasks are open, and for the phases of the workflow itself,
    which end with their steps."""
    from wfc_runtime.service.journal_entries import PHASE_STATUSES, CompletedPhase, task_of, text_of

    run, name = task_of(phase_id, "phase_id")
    statuses = {"success": "completed", **dict(zip(PHASE_STATUSES, PHASE_STATUSES, strict=True))}
    draft = CompletedPhase(run, name, _one_of("status", statuses, status), text_of("summary", summary))
    return call.context.service.log(draft, actor=call.actor)


def get_context(
    call: Call,
    workflow_id: str,
    include: list[str] | None = None,
    filter: dict[str, Json] | None = None,
    after: int = 0,
    limit: int = 50,
) -> Reply:
    """The journal of a run, oldest first: decisions, milestones, issues, open blockers, tasks and phases, from what was
    logged and from reports. This is how a new session learns what happened before."""
    from wfc_runtime.service.journal_pages import Filter, page_of

    book = call.context.service.journal(check_run_id(workflow_id))
    return page_of(book, include, Filter.of(filter or {}), max(after, 0), min(max(limit, 1), 200))


_ENDINGS = {"completed": "completed", "success": "completed", "partial": "partial", "failed": "failed"}


def complete_workflow(
    call: Call,
    workflow_id: str,
    status: str,
    summary: str = "",
    achievements: list[str] | None = None,
    limitations: list[str] | None = None,
) -> Reply:
    """Add a summary to a run that has ended, and get its totals. An open run can't be declared completed: the reply
    names the pending actions. With status failed, an open run is cancelled."""
    from wfc_runtime.service.journal_entries import Summary, text_of, texts_of

    run, ending, service = (
        check_run_id(workflow_id),
        _one_of("status", _ENDINGS, status),
        call.context.service,
    )
    draft = Summary(
        run,
        ending,
        text_of("summary", summary),
        texts_of("achievements", achievements or []),
        texts_of("limitations", limitations or []),
    )
    now = service.next_step(run)
    is_open = now["status"] in ("pending_action", "running")
    if is_open and ending != "failed":
        raise RefusedError(
            "open_run",
            f"run {run} is not finished, and a summary does not finish it",
            "Its workflow ends it; to give it up, use the status `failed`.",
            now["next"],
        )
    kept = service.log(draft, actor=call.actor)
    if is_open:
        service.cancel(
            run, summary or "complete_workflow was called with the status failed", actor=call.actor
        )
    book = service.journal(run)
    return {
        "workflow_id": run,
        "status": book.subject.now.status,
        **kept,
        "metrics": book.metrics(),
        "next": f"nothing: the run is {book.subject.now.status}",
    }


def _inside(run: str, what: str, id: str) -> str:
    """The name of a task or a phase inside a run. Raises `RequestError` if it belongs to another run."""
    from wfc_runtime.service.journal_entries import task_of

    if not id:
        return ""
    owner, name = task_of(id, what)
    # A run as the parent is the same as no parent.
    if owner != run:
        raise RequestError("invalid_id", f"`{what}` belongs to run {owner}, not to {run}")
    return name


def _one_of(what: str, choices: dict[str, str], given: str) -> str:
    found = choices.get(given.strip().lower())
    if found is None:
        known: Sequence[str] = list(dict.fromkeys(choices.values()))
        raise RequestError(
            "invalid_status", f"unknown `{what}` {given[:40]!r}", f"Use one of {', '.join(known)}."
        )
    return found


_WRITES = Hints(idempotent=True)
_STATUS_OF_TASK = {"status": "success, partial, failed or cancelled."}
TOOLS = (
    Tool(log_decision, _WRITES),
    Tool(log_milestone, _WRITES),
    Tool(log_issue, _WRITES),
    Tool(start_task, _WRITES),
    Tool(complete_task, _WRITES, _STATUS_OF_TASK),
    Tool(start_phase, _WRITES, {"name": "The name of the phase."}),
    Tool(
        complete_phase,
        _WRITES,
        {"status": "completed (default), failed or skipped.", "summary": "The outcome of the phase."},
    ),
    Tool(get_context, READS),
    Tool(
        complete_workflow,
        Hints(destroys=True, idempotent=True),
        {"status": "completed, partial or failed."},
    ),
)
