"""The cost of the agents of a run, from its history, which includes calls of earlier processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wfc.cli.shared.service import family_of
from wfc.render.style import counted

if TYPE_CHECKING:
    from wfc_runtime.agents.base import Outcome
    from wfc_runtime.machine.redaction import Mask
    from wfc_runtime.service import Service


@dataclass
class StepCost:
    """The calls for one step, over all its visits and children."""

    step: str
    who: str = ""
    calls: int = 0
    refused: int = 0
    failed: int = 0
    denied: int = 0
    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    is_priced: bool = False
    """Whether any call reported its cost: some programs never do."""
    worktrees: dict[str, str] = field(default_factory=dict)
    """Those with changes: the branch of each, by path."""


def costs_of(service: Service, run: str) -> list[StepCost]:
    """By step, in the order of their first calls."""
    events = [event for _, some in family_of(service, run) for event in some]
    found: dict[str, StepCost] = {}
    # Those of children are read after those of their parent. Timestamps of one format sort by time.
    for event in sorted(events, key=lambda event: str(event["at"])):
        call = event.get("agent")
        if isinstance(call, dict) and event.get("step_id"):
            _add(found, event, call)
    return list(found.values())


def _add(found: dict[str, StepCost], event: dict[str, Any], call: dict[str, Any]) -> None:
    step = str(event["step_id"]).partition("@")[0]
    cost = found.setdefault(step, StepCost(step))
    cost.who = " ".join(str(call[name]) for name in ("program", "model") if name in call)
    cost.calls += 1
    cost.refused += event["event"] == "refused"
    cost.failed += call.get("outcome") not in ("done", "misfit")
    cost.denied += len(call.get("denied", ()))
    cost.usd += call.get("usd", 0.0)
    cost.is_priced |= "usd" in call
    cost.tokens += call.get("tokens", 0)
    cost.seconds += call.get("seconds", 0.0)
    if kept := call.get("worktree"):
        cost.worktrees[str(kept["path"])] = str(kept["branch"])


def ended_words(outcome: Outcome, record: dict[str, Any], mask: Mask) -> str:
    """How a call ended, what it cost, and why it failed."""
    cost = f", ${record['usd']:.4f}" if "usd" in record else ""
    why = "" if outcome.kind == "done" else f": {mask.message(outcome.message)}"
    denied = f", denied: {', '.join(outcome.denied)}" if outcome.denied else ""
    return f"{outcome.kind} after {record['seconds']:g} s{cost}{denied}{why}"


def total_of(costs: list[StepCost]) -> dict[str, Any]:
    return {
        "calls": sum(one.calls for one in costs),
        "usd": round(sum(one.usd for one in costs), 6),
        "tokens": sum(one.tokens for one in costs),
    }


def render_costs(costs: list[StepCost]) -> list[str]:
    """One line per step, the sum if there are several, and the worktrees that have changes."""
    width = max((len(one.step) for one in costs), default=0)
    lines = [
        f"{one.step:<{width}}  {one.who}  {counted(one.calls, 'call')}  {one.seconds:.1f} s  "
        f"{one.tokens:,} tokens  {f'${one.usd:.4f}' if one.is_priced else 'cost unknown'}{_trouble(one)}"
        for one in costs
    ]
    total = total_of(costs)
    if len(costs) > 1:
        known = any(one.is_priced for one in costs)
        cost = f"${total['usd']:.4f}" if known else "cost unknown"
        lines.append(f"in total  {total['tokens']:,} tokens  {cost}")
    kept = {path: branch for one in costs for path, branch in one.worktrees.items()}
    return lines + [f"changes on branch {branch} in {path}" for path, branch in kept.items()]


def _trouble(cost: StepCost) -> str:
    found = [
        f"{number} {what}"
        for number, what in ((cost.refused, "refused"), (cost.failed, "failed"), (cost.denied, "denied"))
        if number
    ]
    return f"  ({', '.join(found)})" if found else ""
