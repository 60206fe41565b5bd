"""One workflow file on its way through the compiler, and the project it stands in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from wfc.config import CompileLimits, Config
from wfc.dialects import dialect_of
from wfc.generated import Drift
from wfc.ir import Module
from wfc.language.ast import Scope, Workflow
from wfc.language.shape import Shape
from wfc.language.steps.base import Step
from wfc.lower import lower_workflow
from wfc.structs import struct
from wfc.suppress import Suppressions
from wfc.yaml import Document, Mapping, Problem, Source, YamlLimits, parse_document, read_source

if TYPE_CHECKING:
    from wfc_runtime.store.waiting import Waiting

_WORTH_A_LOOK = 1500
"""A file over its limit of steps gets all its findings in one run nevertheless, up to so many."""


@struct(eq=False)
class Unit:
    """What rules look at: everything known of one file."""

    source: Source
    document: Document
    config: Config
    workflow: Workflow | None
    project: Project
    drift: list[Drift] = field(default_factory=list)
    """Modules made from this file that are not what they should be, where someone has looked."""

    @property
    def limits(self) -> CompileLimits:
        return self.config.limits

    @property
    def problems(self) -> list[Problem]:
        return self.document.problems

    @property
    def name(self) -> str | None:
        return self.workflow.name.text if self.workflow and self.workflow.name else None

    @cached_property
    def shapes(self) -> list[Shape]:
        """The mappings of the file, as it is written."""
        surface = self.workflow.surface if self.workflow else None
        return surface.shapes() if surface else self.core_shapes

    @cached_property
    def core_shapes(self) -> list[Shape]:
        """The mappings of the workflow, as the core has it."""
        return self.workflow.shapes() if self.workflow else []

    @cached_property
    def steps(self) -> list[Step]:
        """Every step of the file, in source order."""
        return [step for scope in self.scopes for step in scope.walk()]

    @property
    def is_hopeless(self) -> bool:
        """Whether it has so many steps that looking for anything else would take too long."""
        return len(self.steps) > max(self.limits.steps, _WORTH_A_LOOK)

    @property
    def scopes(self) -> list[Scope]:
        return self.workflow.scopes if self.workflow else []

    @cached_property
    def suppressions(self) -> Suppressions:
        return Suppressions(self.source, self.document.root)

    @cached_property
    def module(self) -> Module | None:
        """The IR. It is there even for a workflow with mistakes, as far as they let it."""
        return lower_workflow(self.workflow) if self.workflow else None


@struct(eq=False)
class Project:
    """The files that are compiled together: calls and name clashes go from one to another."""

    config: Config
    others: Callable[[], Iterable[tuple[str, bytes]]] = tuple
    """Files of the project beside those being compiled, read only when a call asks for a name."""
    units: list[Unit] = field(default_factory=list)
    runs: Callable[[], Iterable[Waiting]] = tuple
    """Runs under way in the project's store, read only where a rule asks for them."""
    offered: Callable[[str], bool] = lambda name: False
    """Whether a workflow can be called though no file here has it: a server has compiled ones."""
    overrides: Callable[[str], bool] = lambda path: False
    """Whether a file is of a folder for every project: there a name may stand again, and the first found has it."""
    processes: int = 1
    """How many may work on it side by side."""
    progress: Callable[[int, int], None] = lambda done, of: None
    """Hears how many files are done, of how many."""

    def waiting(self, workflow: str) -> list[Waiting]:
        """The runs of a workflow that are under way."""
        return self._runs.get(workflow, [])

    @cached_property
    def _runs(self) -> dict[str, list[Waiting]]:
        found: dict[str, list[Waiting]] = {}
        for run in self.runs():
            found.setdefault(run.workflow, []).append(run)
        return found

    def named(self, name: str) -> list[Unit]:
        """The workflows of that name, among all of the project."""
        return self._by_name.get(name, [])

    def names(self) -> Iterator[str]:
        return iter(self._by_name)

    @cached_property
    def _by_name(self) -> dict[str, list[Unit]]:
        found: dict[str, list[Unit]] = {}
        beside = Project(self.config, overrides=self.overrides)
        for path, data in self.others():
            load_unit(path, data, self.config, beside)
        for unit in [*self.units, *beside.units]:
            if unit.name is not None:
                found.setdefault(unit.name, []).append(unit)
        return found


def load_unit(path: str, data: bytes, config: Config, project: Project) -> Unit:
    """Read one file. Nothing is refused here; rules say what is wrong with it."""
    limits = config.limits
    source, problems = read_source(data, path, limits.source_bytes)
    if problems:
        unit = Unit(source, Document(None, problems), config, None, project)
    else:
        document = parse_document(source, YamlLimits(limits.yaml_depth, limits.yaml_nodes))
        root = document.root
        workflow = dialect_of(root).to_core(root) if isinstance(root, Mapping) else None
        unit = Unit(source, document, config, workflow, project)
    project.units.append(unit)
    return unit
