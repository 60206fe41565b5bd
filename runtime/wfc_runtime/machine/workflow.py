"""A generated module's registration: what a server needs to know to run it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wfc_runtime.machine.chart import AnyMachine


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """The machines of one workflow and where in the YAML each of their states comes from."""

    name: str
    version: str
    machine: AnyMachine
    tasks: Mapping[str, AnyMachine]
    lines: Mapping[str, Mapping[str, int]]
    tags: tuple[str, ...] = ()
    """Words to find it by."""
    author: str = ""
    on_failure: str = ""
    """What its author can do about a step that fails, where its language has other means than ours."""
