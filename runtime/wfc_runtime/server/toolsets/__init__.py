"""The tools, by toolset. A toolset's module is imported only if it is offered."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from wfc_runtime.server.tools import Tool


def load_tools(toolsets: Iterable[str]) -> dict[str, Tool]:
    """The tools of some toolsets, by name."""
    sets: list[tuple[Tool, ...]] = [import_module(f"{__name__}.{name}").TOOLS for name in toolsets]
    return {tool.name: tool for tools in sets for tool in tools}
