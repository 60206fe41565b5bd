"""The selection of actions of a family of runs that this server may execute."""

from __future__ import annotations

from collections.abc import Callable

from wfc_runtime.contract import Json
from wfc_runtime.errors import DefinitionError
from wfc_runtime.machine.budget import GATE_VISIT
from wfc_runtime.machine.effects import Ask, Delay
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.service.children import is_briefed
from wfc_runtime.service.sqlite.unit_of_work import LoadedRun
from wfc_runtime.service.sqlite.work import Work
from wfc_runtime.service.workers import View, runnable_action, shown

MayDo = Callable[[Ask, str, str], bool]
"""Whether a step is meant for the server: the effect, its task or workflow, and the visit."""
CanDo = Callable[[dict[str, Json]], bool]


def look_at(work: Work, root: int, may_do: MayDo, can_do: CanDo) -> View:
    """The actions that can be executed now."""
    view = View()
    top = work.queries.run_of_key(root)
    # Ended while the threads were waiting.
    if top is None or top.ended:
        return view
    is_gated = any(visit.startswith(GATE_VISIT) for visit in top.pending.split())
    for row in work.queries.open_family(root):
        try:
            loaded = work.unit.load(row)
        except DefinitionError:
            # Calls on that run report why it can't continue.
            continue
        for visit, pending in loaded.now.pending.items():
            effect = loaded.machine.steps[pending.state]
            if isinstance(effect, Spawn) and pending.deadline is not None:
                view.deadline = _sooner(view.deadline, pending.deadline)
            elif isinstance(effect, Delay):
                # A pause before a retry of an action of this server: it waits for it, instead of returning to
                # the agent.
                _add_retry(view, loaded, effect, visit, may_do)
            elif isinstance(effect, Ask) and pending.resume_at is None:
                claim = work.unit.claim_of(loaded, visit)
                if claim is None and is_gated:
                    # Nothing is started until a person has extended the budget.
                    view.needs_agent = True
                    continue
                _add(view, loaded, visit, claim.owner if claim else None, may_do, can_do)
    return view


def _add_retry(view: View, loaded: LoadedRun, delay: Delay, visit: str, may_do: MayDo) -> None:
    effect, at = loaded.machine.steps[delay.step], loaded.now.pending[visit].resume_at
    if isinstance(effect, Ask) and may_do(effect, scope_of(loaded), visit) and at is not None:
        view.due = _sooner(view.due, at)


def _sooner(one: float | None, other: float) -> float:
    return other if one is None else min(one, other)


def _add(view: View, loaded: LoadedRun, visit: str, owner: str | None, may_do: MayDo, can_do: CanDo) -> None:
    pending, scope = loaded.now.pending[visit], scope_of(loaded)
    effect = loaded.machine.steps[pending.state]
    assert isinstance(effect, Ask)
    action = shown(effect, pending)
    # An interrupted action may have taken effect, and only the agent can find out.
    is_ours = pending.interrupted_at is None and may_do(effect, scope, visit) and can_do(action)
    if owner is None and not is_ours:
        view.needs_agent = True
        return
    view.runnables.append(
        runnable_action(
            loaded.row.id,
            visit,
            loaded.machine,
            loaded.now,
            scope=scope,
            is_brief=is_briefed(loaded.row.agent),
            owner=owner,
        )
    )


def scope_of(loaded: LoadedRun) -> str:
    return loaded.row.task or loaded.row.workflow
