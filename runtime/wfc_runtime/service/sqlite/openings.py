"""What a family of runs waits for, seen by a server that may do some of it itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from wfc_runtime.contract import Json
from wfc_runtime.errors import DefinitionError
from wfc_runtime.machine.ask import Ask
from wfc_runtime.machine.effects import Delay
from wfc_runtime.machine.masking import NO_MASK, Mask
from wfc_runtime.machine.snapshot import Pending
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.service.sqlite.ledger import Active
from wfc_runtime.service.sqlite.work import Work


@dataclass(frozen=True)
class Opening:
    """A pending visit that the server may do."""

    run: str
    visit: str
    action: dict[str, Json]
    owner: str | None = None
    """The server that is doing it."""
    scope: str = ""
    """The name of the task or workflow that the step belongs to."""
    mask: Mask = NO_MASK
    """Hides the secrets of its run from whoever only looks."""
    is_secret: bool = False
    """Whether its result is one."""


@dataclass
class View:
    """A family of runs at one moment."""

    openings: list[Opening] = field(default_factory=list)
    needs_agent: bool = False
    due: float | None = None
    """When the first of the server's own steps that failed is to be tried again."""
    deadline: float | None = None
    """When the first call that has not ended runs out of time."""


MayDo = Callable[[Ask, str, str], bool]
"""Whether a step is the server's at all: the effect, its task or workflow, and the visit."""
CanDo = Callable[[dict[str, Json]], bool]


def look_at(work: Work, root: int, may_do: MayDo, can_do: CanDo) -> View:
    """What there is to do now. Waits that are over and claims of servers that died are worked through first."""
    view = View()
    top = work.queries.run_of_key(root)
    if top is None or top.ended:
        return view
    work.catch_up(work.ledger.load(top))
    for row in work.queries.open_family(root):
        try:
            active = work.ledger.load(row)
        except DefinitionError:
            # Whoever asks for that run is told why it can't go on.
            continue
        for visit, pending in active.now.pending.items():
            effect = active.machine.steps[pending.state]
            if isinstance(effect, Spawn) and pending.deadline is not None:
                view.deadline = _sooner(view.deadline, pending.deadline)
            elif isinstance(effect, Delay):
                _add_retry(view, active, effect, visit, may_do)
            elif isinstance(effect, Ask) and pending.resume_at is None:
                claim = work.ledger.claim_of(active, visit)
                _add(view, active, visit, claim.owner if claim else None, may_do, can_do)
    return view


def shown(effect: Ask, pending: Pending) -> dict[str, Json]:
    """An action as executors take it."""
    action = effect.action(pending)
    return {"type": action.type, "parameters": action.parameters}


def _add_retry(view: View, active: Active, delay: Delay, visit: str, may_do: MayDo) -> None:
    effect, at = active.machine.steps[delay.step], active.now.pending[visit].resume_at
    if isinstance(effect, Ask) and may_do(effect, scope_of(active), visit) and at is not None:
        view.due = _sooner(view.due, at)


def _sooner(one: float | None, other: float) -> float:
    return other if one is None else min(one, other)


def _add(view: View, active: Active, visit: str, owner: str | None, may_do: MayDo, can_do: CanDo) -> None:
    pending, scope = active.now.pending[visit], scope_of(active)
    effect = active.machine.steps[pending.state]
    assert isinstance(effect, Ask)
    action = shown(effect, pending)
    if owner is None and not (may_do(effect, scope, visit) and can_do(action)):
        view.needs_agent = True
        return
    is_secret = effect.writes in active.machine.secrets
    view.openings.append(Opening(active.row.id, visit, action, owner, scope, active.now.mask, is_secret))


def scope_of(active: Active) -> str:
    return active.row.task or active.row.workflow
