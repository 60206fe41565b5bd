"""How much a run may ask for. The compiler checks what it can see; the machine checks the rest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    state_bytes: int = 1024 * 1024
    result_bytes: int = 256 * 1024
    action_bytes: int = 256 * 1024
    pending_actions: int = 50
    parallel_children: int = 100
    grace_seconds: float = 30
    """How long after its timeout an action counts as lost."""
    misfits: int = 3
    """How many results that do not fit a step may get before it fails."""
