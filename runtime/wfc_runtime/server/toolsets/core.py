"""The core toolset: what an agent needs to execute a workflow."""

from __future__ import annotations

from wfc_runtime.contract import Json
from wfc_runtime.errors import WfcError
from wfc_runtime.server.replies import (
    check_format,
    submit_text,
    with_format,
    with_sessions,
)
from wfc_runtime.server.tools import READS, Call, Hints, Tool, read_text, with_call_before_start
from wfc_runtime.service import Reply
from wfc_runtime.service.ids import check_name


def start_workflow(
    call: Call, workflow: str, inputs: dict[str, Json] | None = None, response_format: str = "minimal"
) -> Reply:
    """Start a run of a workflow. The reply has the run's workflow_id, the first action to do, and `next`: the
    call to make when it is done. Continue until status is completed, failed or cancelled."""
    from wfc_runtime.server.workflows import with_missing

    try:
        check_format(response_format)
        service = call.context.service
        reply = service.start(workflow, inputs, actor=call.actor, key=call.key)
        return with_missing(call.context, workflow, with_format(service, reply, response_format))
    except WfcError as error:
        raise with_call_before_start(error, workflow) from error


def submit_result(
    call: Call, workflow_id: str, step_id: str, result: Json, usage: dict[str, Json] | None = None
) -> Reply:
    """Report the result of the pending action and get the next one. Sending the same result again is safe: it
    changes nothing and returns what the run waits for now. An invalid result is refused with the reason, and the step
    stays pending."""
    read = read_text(result)
    if read is not None:
        reply = submit_text(call, workflow_id, step_id, result, read, usage)
    else:
        reply = call.context.service.submit(workflow_id, step_id, result, actor=call.actor, usage=usage)
    return with_sessions(call, reply)


def get_workflow_status(call: Call, workflow_id: str, response_format: str = "minimal") -> Reply:
    """The status of a run and what it waits for, whole. Call this first for a child run (an item of a foreach, or a
    called workflow), after a lost connection, when a wait is over, and when the sub-agents of a foreach have
    finished."""
    check_format(response_format)
    service = call.context.service
    reply = with_sessions(call, service.status(workflow_id))
    return with_format(service, reply, response_format)


def get_next_step(call: Call, workflow_id: str) -> Reply:
    """Another name of get_workflow_status."""
    return get_workflow_status(call, workflow_id)


def submit_step_result(
    call: Call, workflow_id: str, step_id: str, result: Json, usage: dict[str, Json] | None = None
) -> Reply:
    """Another name of submit_result."""
    return submit_result(call, workflow_id, step_id, result, usage)


def list_workflows(call: Call, query: str = "") -> Reply:
    """The workflows that can be started, with their descriptions, and those that can't, with the reason."""
    from wfc_runtime.server.workflows import listed

    return listed(call.context.registry, query)


def get_workflow_info(call: Call, workflow: str) -> Reply:
    """One workflow: the schema of its inputs, its steps in order, and the tools and agents that it needs."""
    from wfc_runtime.server.workflows import info, with_missing

    module = call.context.registry.find(check_name(workflow))
    return with_missing(call.context, module.workflow.name, info(module))


def list_runs(call: Call, status: str = "open", before: str = "", limit: int = 20) -> Reply:
    """Runs, newest first, with their inputs (shortened), their age and whom they wait for. Without a status: the open
    runs. This is how a new session finds the runs to continue."""
    reply = call.context.service.runs(status, limit=limit, before=before or None)
    runs = reply["runs"]
    if "next" not in reply and runs and "pending" in runs[0]:
        reply["next"] = (
            f'get_workflow_status(workflow_id="{runs[0]["workflow_id"]}") shows what a run waits for'
        )
    return {**reply, "next": reply.get("next", "nothing: there are no more")}


def cancel_workflow(call: Call, workflow_id: str, reason: str = "") -> Reply:
    """End a run permanently, including its child runs. Its history is kept."""
    return call.context.service.cancel(workflow_id, reason, actor=call.actor)


def retry_workflow(call: Call, workflow_id: str, step_id: str = "") -> Reply:
    """Continue a failed run when the cause has been fixed: the failed step starts over as a new visit, with the state
    as it was. Retrying a parent also retries its failed child runs, and the other way round. step_id is the failed
    visit (error.step_id); it can be left out if only one step failed. Repeating the call for the same visit changes
    nothing."""
    return call.context.service.retry(workflow_id, step_id, actor=call.actor)


TOOLS = (
    Tool(start_workflow, Hints(first=True, moves=True, keyed=True)),
    Tool(submit_result, Hints(idempotent=True, first=True, moves=True)),
    Tool(get_workflow_status, Hints(reads=True, idempotent=True, first=True)),
    Tool(get_next_step, READS),
    Tool(submit_step_result, Hints(idempotent=True, moves=True)),
    Tool(list_workflows, READS),
    Tool(get_workflow_info, READS),
    Tool(list_runs, READS),
    Tool(retry_workflow, Hints(idempotent=True, moves=True)),
    Tool(cancel_workflow, Hints(destroys=True, idempotent=True)),
)
