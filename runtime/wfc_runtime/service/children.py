"""Which machine a run executes, how a child run starts, and whether a run can continue with another version."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError, StepError, WfcError
from wfc_runtime.folders import CALL_FOLDER, OWN_FOLDER, folder_of_call, in_call
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.events import Child
from wfc_runtime.machine.inputs import bind_item, check_inputs, only_declared
from wfc_runtime.machine.redaction import Mask, secrets_in
from wfc_runtime.machine.snapshot import Snapshot
from wfc_runtime.machine.step import blocking_steps
from wfc_runtime.machine.values import Limits
from wfc_runtime.registry import Module
from wfc_runtime.service.agent_brief import brief_machine, brief_text
from wfc_runtime.store import RunRow

# Child runs.


@dataclass(frozen=True)
class ChildStart:
    machine: AnyMachine
    inputs: dict[str, Json]
    scope: dict[str, Json]
    secrets: tuple[str, ...] = ()
    """Secrets of a task that is executed as one brief: its inputs have become text, so they are not marked any more."""


def machine_of(module: Module, task: str | None, agent: str | None) -> AnyMachine:
    """The machine of a run: that of the workflow, of a task, or of the brief for a task."""
    if task is None:
        return module.workflow.machine
    machine = module.workflow.tasks[task]
    return brief_machine(machine, agent) if is_briefed(agent) else machine


def is_briefed(agent: str | None) -> bool:
    """Whether the child is executed as one brief by a named agent, instead of step by step."""
    return agent is not None and agent != "@task"


def start_error(error: StepError | WfcError, child: Child, mask: Mask) -> dict[str, Json]:
    """The result of a child that can't start. Redacted: the message may quote its inputs."""
    message = mask.message(error.message)
    return {"error": StepError(error.code, message, error.hint).record(child.visit)}


def begin_child(module: Module, child: Child, depth: int, limits: Limits) -> ChildStart:
    """Prepare a child of a parent at this depth. Raises `StepError` if the item or the inputs do not fit the task."""
    # The parent counts as a level, so a child at the limit is refused.
    deepest = child.max_depth or limits.depth
    if depth >= deepest:
        raise StepError(
            "depth",
            f"runs would be nested {depth + 1} levels deep, including the outermost; the limit is {deepest}",
        )
    task = module.workflow.machine if child.task is None else module.workflow.tasks[child.task]
    given = child.inputs if child.inputs is not None else bind_item(task, child.scope.get("item"))
    if child.only_declared:
        given = only_declared(task, given)
    if child.served:
        # A parent with raised limits may pass on values that a server produced.
        limits = replace(limits, input_bytes=max(limits.input_bytes, limits.served_bytes))
    try:
        inputs = check_inputs(task, given, limits)
    except WfcError as error:
        # The child is at fault, not the caller of the service: its parent gets the error as a failed step.
        raise StepError(error.code, error.message, error.hint) from None
    if child.task is not None and child.agent is not None and is_briefed(child.agent):
        text = brief_text(child.task, task, inputs, child.scope)
        secrets = tuple(secrets_in(task.inputs, inputs))
        return ChildStart(brief_machine(task, child.agent), {"instructions": text}, child.scope, secrets)
    if child.task is None and task.facts.get(OWN_FOLDER):
        folder = folder_of_call(child.id)
        # Values from the caller keep the folder that they name; defaults are texts of the called workflow.
        inputs = {name: one if name in given else in_call(one, folder) for name, one in inputs.items()}
        return ChildStart(task, inputs, {**child.scope, CALL_FOLDER: folder})
    return ChildStart(task, inputs, child.scope)


# Versions: whether a run can continue with another version of its workflow.


def missing_steps(current: Module, row: RunRow, snapshot: Snapshot, was: Module | None = None) -> list[str]:
    """The steps that a run waits in and that the current version does not have, or has with a different kind."""
    # The task itself was removed, and every step with it.
    if row.task is not None and row.task not in current.workflow.tasks:
        return [visit.partition("@")[0] for visit in snapshot.pending]
    old = machine_of(was, row.task, row.agent) if was is not None else None
    return blocking_steps(machine_of(current, row.task, row.agent), snapshot, old)


def definition_changed(row: RunRow, gone: Iterable[str]) -> RefusedError:
    return RefusedError(
        "definition_changed",
        f"run {row.id} waits in {', '.join(f'`{name}`' for name in gone)}, which the current version of "
        f"`{row.workflow}` does not have, or has as a different kind of step",
        "Let the run end with its own version, or cancel it.",
    )
