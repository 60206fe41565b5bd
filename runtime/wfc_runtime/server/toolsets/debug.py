"""The debug toolset: inspect a run, try an expression, and plan a workflow."""

from __future__ import annotations

from wfc_runtime.contract import Json
from wfc_runtime.server.tools import READS, Call, Hints, Tool, read_text
from wfc_runtime.server.toolsets.checkpoints import TOOLS as CHECKPOINTS
from wfc_runtime.service import Reply
from wfc_runtime.service.ids import check_name


def get_workflow_state(call: Call, workflow_id: str, fields: list[str] | None = None) -> Reply:
    """The named state fields of a run, those that steps write and those that are derived from others."""
    reply = call.context.service.state(workflow_id, fields)
    if not fields:
        _, machine, _ = call.context.service.definition(workflow_id)
        reply["fields"] = {
            name: size for name, size in reply["fields"].items() if name not in machine.internal
        }
        derived = [name for name in reply["fields"] if name in machine.derived]
        if derived:
            reply = {**reply, "derived": derived}
    return {**reply, "next": reply.get("next", f'get_workflow_status(workflow_id="{workflow_id}")')}


def get_workflow_history(call: Call, workflow_id: str, after: int = 0, limit: int = 50) -> Reply:
    """The events of a run, when they happened and who answered: each with the states entered and left and the fields
    written."""
    reply = call.context.service.history(workflow_id, after=after, limit=limit)
    return {**reply, "next": reply.get("next", "nothing: that is all so far")}


def update_workflow_state(call: Call, workflow_id: str, updates: Json) -> Reply:
    """Change state fields of a run in progress by hand, all of them or none, and compute what is derived from them.
    The run waits for the same step as before. Refused while the server executes a step of the run."""
    given = read_text(updates) if isinstance(updates, str) else updates
    return call.context.service.update_state(workflow_id, given, actor=call.actor, key=call.key)


def state_dependencies(call: Call, workflow_id: str, field: str) -> Reply:
    """The inputs of a state field of a run, direct and transitive, the steps that write it, and the fields that are
    computed from it."""
    from wfc_runtime.server.workflows import dependencies

    _, machine, _ = call.context.service.definition(workflow_id)
    following = f'trace_transformations(workflow_id="{workflow_id}", field="{field}")'
    return {"workflow_id": workflow_id, **dependencies(machine, field), "next": following}


def trace_transformations(
    call: Call,
    workflow_id: str,
    field: str = "",
    after: int = 0,
    limit: int = 50,
    include_timing: bool = False,
) -> Reply:
    """Every write of a state field of a run: when, by which step, what triggered it, and the value. Without a field:
    all fields. `after` and `limit` count the events of the history. With `include_timing`, also how long computed
    fields take now: a history has no times."""
    from wfc_runtime.server.workflows import timing, traces

    _, machine, snapshot = call.context.service.definition(workflow_id)
    history = call.context.service.history(workflow_id, after=after, limit=limit)
    reply = {"workflow_id": workflow_id, "traces": traces(machine, history["events"], field or None)}
    if include_timing:
        reply["timing"] = timing(machine, snapshot, field)
    if "next" in history:
        rest = f'trace_transformations(workflow_id="{workflow_id}", after={history["events"][-1]["seq"]})'
        return {**reply, "next": rest}
    return {**reply, "next": "nothing: that is all so far"}


def debug_info(call: Call, workflow_id: str) -> Reply:
    """The position and contents of a run: pending and last steps, the sizes of its fields, and the slowest derived
    fields."""
    from wfc_runtime.server.workflows import debug_info as info

    service = call.context.service
    _, machine, snapshot = service.definition(workflow_id)
    events: list[dict[str, Json]] = []
    after = 0
    while True:
        page = service.history(workflow_id, after=after, limit=500)
        # Only the latest events are kept, since a long history does not fit into a reply.
        events = [*events, *page["events"]][-500:]
        if "next" not in page or not page["events"]:
            break
        after = page["events"][-1]["seq"]
    following = f'get_workflow_history(workflow_id="{workflow_id}")'
    return {**info(workflow_id, machine, snapshot, events), "next": following}


def test_transformation(
    call: Call,
    transform: str,
    input: Json = None,  # noqa: PT028  not a test: a tool for trying expressions
    context: dict[str, Json] | None = None,  # noqa: PT028  as above
    language: str = "",  # noqa: PT028  as above
) -> Reply:
    """Evaluate an expression as a step would, with the given values. Nothing is stored or run.

    `language` is `jinja` or `javascript`; by default it is that of the project's workflows.
    """
    from datetime import UTC, datetime
    from time import perf_counter

    from wfc_runtime.errors import RequestError
    from wfc_runtime.expr import ExpressionError
    from wfc_runtime.machine.run import evaluator
    from wfc_runtime.server.replies import beginning

    if language not in ("", "jinja", "javascript"):
        raise RequestError(
            "invalid_language", f"`language` must be `jinja` or `javascript`, not `{language[:60]}`"
        )
    chosen = language or _language_of(call)
    names = {"input": input, **(context or {})}
    began = perf_counter()
    try:
        text = evaluator(chosen).as_text(transform) if chosen == "javascript" else transform
        output = evaluator(chosen).evaluate(
            text, names, now=datetime.now(UTC), uuid_seed="test_transformation"
        )
    except ExpressionError as error:
        found: Reply = {"success": False, "error": str(error)}
    else:
        found = {"success": True, "output": beginning(output)}
    milliseconds = round((perf_counter() - began) * 1000, 2)
    return {
        **found,
        "language": chosen,
        "execution_time_ms": milliseconds,
        "next": "nothing: it was only a trial",
    }


def _language_of(call: Call) -> str:
    """The language of the expressions in the project's workflows: the core's, unless all of them have another one."""
    found = {module.workflow.machine.expressions for module in call.context.registry.modules()}
    return found.pop() if len(found) == 1 else "jinja"


def explain_plan(call: Call, workflow: str, inputs: dict[str, Json] | None = None) -> Reply:
    """The possible actions of a workflow, before a run is started: its steps and branches, the least and the most
    actions, the tools, agents and commands that it needs, and the steps that wait for a person or for time. With
    `inputs`, a branch that depends on nothing else shows how it is `decided`."""
    from wfc_runtime.errors import WfcError
    from wfc_runtime.machine.chart import Workflow
    from wfc_runtime.plan import explain_plan as explain

    registry = call.context.registry
    module = registry.find(check_name(workflow))

    def lookup(name: str) -> Workflow | None:
        try:
            return registry.find(name).workflow
        except WfcError:
            return None

    plan = explain(module.workflow, lookup, inputs)
    return {**plan, "source": module.source, "next": f'start_workflow(workflow="{workflow}", inputs={{...}})'}


_READING = (
    get_workflow_state,
    get_workflow_history,
    state_dependencies,
    trace_transformations,
    debug_info,
    test_transformation,
    explain_plan,
)
TOOLS = (
    *CHECKPOINTS,
    Tool(update_workflow_state, Hints(keyed=True)),
    *(Tool(work, READS) for work in _READING),
)
