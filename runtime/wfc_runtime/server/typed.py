"""Each workflow as a tool of its own: `start_<workflow>`, with its inputs as arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from wfc_runtime.contract import Json
from wfc_runtime.registry import Module, Registry
from wfc_runtime.server.about import description_of, input_schema
from wfc_runtime.server.tool import Call, Hints
from wfc_runtime.service import Reply

_LONGEST = 100
"""Clients put a prefix before the name and drop what gets too long."""
_TAKEN = "start_workflow"
_HINTS = Hints(moves=True)


@dataclass(frozen=True)
class TypedTool:
    """Starts one workflow. Its inputs are checked by the workflow's own model."""

    module: Module
    hints: Hints = _HINTS

    @property
    def name(self) -> str:
        return f"start_{re.sub(r'[^A-Za-z0-9_]', '_', self.module.workflow.name)}"

    @property
    def description(self) -> str:
        name = self.module.workflow.name
        return f"Start a run of the workflow `{name}`. {description_of(self.module)}".strip()

    @property
    def input_schema(self) -> dict[str, Json]:
        return input_schema(self.module)

    def run(self, call: Call, given: Mapping[str, Json]) -> Reply:
        return call.desk.service.start(self.module.workflow.name, dict(given), actor=call.actor)


def typed_tools(registry: Registry) -> dict[str, TypedTool]:
    """As the folder is now: a workflow that was compiled since is there, one that went away is not."""
    tools = [TypedTool(module) for module in registry.modules()]
    return {tool.name: tool for tool in tools if tool.name != _TAKEN and len(tool.name) <= _LONGEST}
