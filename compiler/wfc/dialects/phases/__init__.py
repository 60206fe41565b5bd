"""Missions: `phases` of agents, one after the other, with checkpoints, outputs and reports.

A file is YAML with a top-level `phases`, or a `workflow.md` whose fences hold the phases (`markdown.py`). It is
translated to steps of the core, phase by phase:

- each agent is a `delegate` step that takes a report, in a `parallel` step if its phase is parallel;
- `check_files`, `git_snapshot` and `git_changes` steps find out which files exist and what changed;
- a `set_state` step judges the reports; if the phase falls short, a person is asked (`<phase>-stop`);
- a checkpoint is a `choice` (`<phase>-checkpoint`), and what the person wants changed goes into the next brief.

The brief of an agent is one template (`brief.py`). Agents that worked well are not asked again: the steps of a phase
share a state field that lists the agents of the next round.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from wfc.config import Config
from wfc.dialects.base import Dialect, Surroundings
from wfc.yaml import Mapping, Node

if TYPE_CHECKING:
    from wfc.dialects.editing import OpenFile, StepUse, Suggestion
    from wfc.language.dialect import Parsed


class PhasesDialect(Dialect):
    """Its modules are imported on first use: most projects have no such file."""

    name = "phases"
    has_companions = True

    def matches(self, root: Mapping) -> bool:
        return (
            root.entry("phases") is not None and root.entry("steps") is None and root.entry("blocks") is None
        )

    def parse(self, root: Mapping) -> Parsed:
        from pathlib import Path

        return self.parse_among(root, Surroundings("", Config(Path(".")), {}))

    def parse_among(self, root: Mapping, around: Surroundings) -> Parsed:
        from wfc.dialects.phases.translate import parse_phases

        return parse_phases(root, around)

    def mission(self, parsed: Parsed, *, only_start: bool) -> dict[str, str]:
        from wfc.dialects.phases.file import PhasesFile
        from wfc.dialects.phases.mission import mission_files

        assert isinstance(parsed.surface, PhasesFile)
        return mission_files(parsed.surface, only_start=only_start)

    def schema(self) -> dict[str, Any]:
        from wfc.dialects.phases.file import NESTED, PhasesFile
        from wfc.language.schema import shape_schema

        return {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": "wfc workflow (phases)",
            **shape_schema(PhasesFile),
            "definitions": {kind.__name__: shape_schema(kind) for kind in NESTED},
        }

    def complete(self, file: OpenFile, text: str, offset: int) -> Iterable[Suggestion]:
        from wfc.dialects.phases import editing

        return editing.complete(file, text, offset)

    def step_uses(self, parsed: Parsed, root: Node | None) -> Iterable[StepUse]:
        from wfc.dialects.phases import editing
        from wfc.dialects.phases.file import PhasesFile

        return editing.step_uses(parsed.surface, root) if isinstance(parsed.surface, PhasesFile) else ()
