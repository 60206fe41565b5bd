"""What `wfc serve` was told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from wfc_runtime.service.temporal.settings import TemporalSettings

if TYPE_CHECKING:
    from wfc_runtime.registry import Registry
    from wfc_runtime.trust import Trust

TOOLSETS = ("core", "author", "debug")


@dataclass(frozen=True)
class Allowed:
    """What the server may do by itself: see `wfc_runtime.execute.grant`."""

    root: Path
    commands: tuple[str, ...] | None
    """None: any command."""
    more_roots: tuple[Path, ...] = ()
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    sources: tuple[Path, ...] = ()
    """Folders of workflow sources, which file steps never write to."""
    env: tuple[str, ...] = ()
    parallel: int = 8
    reply_seconds: float = 50


@dataclass(frozen=True)
class Options:
    state: Path
    """The store's file. Keys and tokens stand beside it."""
    generated: Path
    """The folder of the compiled workflows."""
    engine: str = "sqlite"
    temporal: TemporalSettings = field(default_factory=TemporalSettings)
    with_worker: bool = False
    """Work runs of the task queue in this process too."""
    toolsets: tuple[str, ...] = ("core",)
    typed_tools: bool = False
    """Each workflow as a tool of its own, with its inputs as arguments."""
    elicit: bool = False
    """Ask the person directly where a prompt step waits and the client can show a form."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """`wfc_runtime.machine.limits.Limits` that differ from the defaults."""
    trust: Trust | None = None
    """Which modules may be executed; None: all whose digest holds."""
    make_registry: Callable[[Path], Registry] | None = None
    """Makes the workflows of a folder, where there are more than that folder has."""
    allowed: Allowed | None = None
    """None: the server does nothing by itself, and the agent is asked."""
