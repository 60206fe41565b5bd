"""A project and its source files, each with its stages through the compiler, and the state of generated modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from wfc.config import CompileLimits, Config
from wfc.dialects import Dialect, dialect_of
from wfc.ir import Module
from wfc.language.ast import Scope, Workflow
from wfc.language.dialect import CORE, Language, Parsed, Report
from wfc.language.shape import Shape
from wfc.language.steps.base import Step
from wfc.lower import lower_workflow
from wfc.struct import struct
from wfc.suppress import Suppressions
from wfc.yaml import Document, Mapping, Problem, Source, YamlLimits, parse_document, read_source
from wfc_runtime.header import FORMAT, digest, has_conflict, read_header

if TYPE_CHECKING:
    from wfc_runtime.store.queries import Waiting


# Drift: a module on disk that is missing, stale, edited, in an old format, or without a source.


class DriftKind(StrEnum):
    """What is to be said of a module that is not as it should be."""

    MISSING = "missing"
    STALE = "stale"
    EDITED = "edited"
    OLD_FORMAT = "old format"
    CONFLICTED = "conflicted"
    """A merge has left it with both sides."""
    FOREIGN = "foreign"
    """A file of that name that wfc did not make."""
    ORPHANED = "orphaned"
    """Its source has gone."""


@struct(frozen=True)
class Drift:
    """One module that is not what it should be."""

    condition: DriftKind
    path: str
    before: str | None
    """What is on disk."""
    after: str | None
    """What should be; None where the module should go."""

    @property
    def file(self) -> Source:
        return Source(self.path, self.before or "")


def drift_of(path: str, before: str | None, after: str, source_text: str) -> Drift | None:
    """How a module on disk differs from what was compiled just now, if it does."""
    if before == after:
        return None
    return Drift(_condition(before, source_text), path, before, after)


def _condition(before: str | None, source_text: str) -> DriftKind:
    if before is None:
        return DriftKind.MISSING
    header = read_header(before)
    if header is None:
        return DriftKind.CONFLICTED if has_conflict(before) else DriftKind.FOREIGN
    if header.edited:
        return DriftKind.EDITED
    return (
        DriftKind.OLD_FORMAT
        if header.format != FORMAT and header.source == digest(source_text)
        else DriftKind.STALE
    )


# Source files and projects.

_WORTH_A_LOOK = 1500
"""A file over its limit of steps is still checked in full up to this number of steps."""


@struct(eq=False)
class SourceFile:
    """One source file with all results of the compiler so far. Rules are given this."""

    source: Source
    document: Document
    config: Config
    parsed: Parsed | None
    """None where the text is not a mapping."""
    project: Project
    drift: list[Drift] = field(default_factory=list)
    """Generated modules of this file that differ from what it compiles to, if they were compared."""

    @property
    def limits(self) -> CompileLimits:
        return self.config.limits

    @property
    def problems(self) -> list[Problem]:
        return self.document.problems

    @property
    def workflow(self) -> Workflow | None:
        return self.parsed.workflow if self.parsed else None

    @property
    def language(self) -> Language:
        """The words for findings in this file."""
        return self.parsed.language if self.parsed else CORE

    @cached_property
    def dialect(self) -> Dialect:
        return dialect_of(self.document.root)

    @property
    def is_translated(self) -> bool:
        """Whether the core AST is a translation: then it has texts that the file has in another form, or not at all."""
        return self.parsed is not None and self.parsed.surface is not None

    @property
    def reports(self) -> tuple[Report, ...]:
        """The findings of the dialect."""
        return self.parsed.reports if self.parsed else ()

    @property
    def name(self) -> str | None:
        return self.workflow.name.text if self.workflow and self.workflow.name else None

    @cached_property
    def shapes(self) -> list[Shape]:
        """The mappings of the file as written, in the terms of its dialect."""
        surface = self.parsed.surface if self.parsed else None
        return surface.shapes() if surface else self.core_shapes

    @cached_property
    def core_shapes(self) -> list[Shape]:
        """The mappings of the core AST."""
        return self.workflow.shapes() if self.workflow else []

    @cached_property
    def steps(self) -> list[Step]:
        """Every step of the file, in source order."""
        return [step for scope in self.scopes for step in scope.walk()]

    @property
    def is_hopeless(self) -> bool:
        """Whether the file has so many steps that other checks would take too long."""
        return len(self.steps) > max(self.limits.steps, _WORTH_A_LOOK)

    @property
    def scopes(self) -> list[Scope]:
        return self.workflow.scopes if self.workflow else []

    @cached_property
    def suppressions(self) -> Suppressions:
        return Suppressions(self.source, self.document.root)

    @cached_property
    def module(self) -> Module | None:
        """The IR. It exists for workflows with mistakes too, as far as it can be built."""
        return lower_workflow(self.workflow, self.language.on_failure) if self.workflow else None


@struct(eq=False)
class Project:
    """The files that are compiled together. They may call each other, and their names must not clash."""

    config: Config
    others: Callable[[], Iterable[tuple[str, bytes]]] = tuple
    """Other files of the project, read only when a call needs a name."""
    files: list[SourceFile] = field(default_factory=list)
    runs: Callable[[], Iterable[Waiting]] = tuple
    """Runs in progress in the store of the project, read only when a rule needs them."""
    offered: Callable[[str], bool] = lambda name: False
    """Whether a workflow without a file can be called: a server has compiled workflows."""
    overrides: Callable[[str], bool] = lambda path: False
    """Whether a file is in a folder shared by all projects. There a name may occur again; the first file wins."""
    processes: int = 1
    """The number of processes that may check the files in parallel."""
    progress: Callable[[int, int], None] = lambda done, of: None
    """Called with the number of files done and their total."""

    def waiting(self, workflow: str) -> list[Waiting]:
        """The runs of a workflow that are in progress."""
        return self._runs.get(workflow, [])

    @cached_property
    def _runs(self) -> dict[str, list[Waiting]]:
        found: dict[str, list[Waiting]] = {}
        for run in self.runs():
            found.setdefault(run.workflow, []).append(run)
        return found

    def named(self, name: str) -> list[SourceFile]:
        """The workflows of that name in the whole project."""
        return self._by_name.get(name, [])

    def names(self) -> Iterator[str]:
        return iter(self._by_name)

    @cached_property
    def _by_name(self) -> dict[str, list[SourceFile]]:
        found: dict[str, list[SourceFile]] = {}
        beside = Project(self.config, overrides=self.overrides)
        for path, data in self.others():
            load_file(path, data, self.config, beside)
        for file in [*self.files, *beside.files]:
            if file.name is not None:
                found.setdefault(file.name, []).append(file)
        return found


def load_file(path: str, data: bytes, config: Config, project: Project) -> SourceFile:
    """Read one file. Mistakes are not errors here; rules report them."""
    limits = config.limits
    source, problems = read_source(data, path, limits.source_bytes)
    if problems:
        file = SourceFile(source, Document(None, problems), config, None, project)
    else:
        document = parse_document(source, YamlLimits(limits.yaml_depth, limits.yaml_nodes))
        root = document.root
        parsed = dialect_of(root).parse(root) if isinstance(root, Mapping) else None
        file = SourceFile(source, document, config, parsed, project)
    project.files.append(file)
    return file
