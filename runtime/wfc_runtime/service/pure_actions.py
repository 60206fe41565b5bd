"""Actions that only compute their result, such as a template without a file: every engine executes them itself."""

from __future__ import annotations

from wfc_runtime.contract import Json
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.snapshot import Snapshot

MOST_COMPUTED = 1_000
"""The most actions that one call executes. After that the agent gets the next one."""


def pure_action(machine: AnyMachine, now: Snapshot) -> tuple[str, dict[str, Json]] | None:
    """The first pending visit whose action needs no grant, and that action."""
    effects = {visit: machine.steps[one.state] for visit, one in now.pending.items()}
    served = [visit for visit, one in effects.items() if isinstance(one, Ask) and one.runner == "server"]
    if not served:
        return None
    # Imported here: most workflows have no such step.
    from wfc_runtime.execute import is_pure

    for visit in served:
        action = effects[visit].action(now.pending[visit])
        plain: dict[str, Json] = {"type": action.type, "parameters": action.parameters}
        if is_pure(plain):
            return visit, plain
    return None


def compute(action: dict[str, Json], run: str, at: float) -> dict[str, Json]:
    """The result of a pure action. It depends on the arguments alone, so that a replay gives the same one."""
    from wfc_runtime.execute import execute_pure

    return execute_pure(action, run, at)
