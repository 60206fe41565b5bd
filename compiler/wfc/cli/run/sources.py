"""The workflows to run: compiled modules from the folder, and YAML files that are compiled in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import click

from wfc.checker import check_file, has_errors
from wfc.cli.shared.workflow import find_workflow, missing_calls, print_errors
from wfc.compiler import compile_file
from wfc.config import Config
from wfc.project import SourceFile
from wfc.workspace.files import TEMPLATE_PATHS, recorded_path, select
from wfc.workspace.loading import load_project
from wfc_runtime.errors import DefinitionError, NotFoundError, WfcError
from wfc_runtime.header import digest, read_header
from wfc_runtime.machine.chart import Workflow
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.registry import Module, Registry
from wfc_runtime.trust import Trust


class SourceRegistry(Registry):
    """A registry of compiled workflows that compiles a missing one from the sources of the project."""

    def __init__(self, config: Config, trust: Trust | None = None) -> None:
        super().__init__(config.generated_dir, trust)
        self.config = config
        self._own: dict[str, Module] = {}
        self._broken: dict[str, str] = {}

    def prefer(self, files: Iterable[SourceFile]) -> None:
        """Use these sources in place of the modules in the folder."""
        for file in files:
            module = self.compile(file)
            self._own[module.workflow.name] = module

    def leave_out(self, files: Iterable[SourceFile]) -> None:
        """Mark workflows that have errors: they can't be called even if the folder has a module."""
        self._broken |= {str(file.name): file.source.path for file in files}

    def compile(self, file: SourceFile) -> Module:
        made = compile_file(file, recorded_path(Path(file.source.path), self.config.root))
        return self.take(made.text, made.line_map)

    def find(self, name: str) -> Module:
        if name in self._own:
            return self._own[name]
        if name in self._broken:
            path = self._broken[name]
            raise DefinitionError("broken", f"`{name}` has errors", f"wfc check {path}")
        try:
            return super().find(name)
        except NotFoundError as error:
            file = self._in_sources(name)
            if file is None and self._own:
                # YAML files are run, so the folder may be empty.
                raise NotFoundError(error.code, f"there is no workflow `{name}`") from error
            if file is None:
                raise
            self._own[name] = self.compile(file)
            return self._own[name]

    def _in_sources(self, name: str) -> SourceFile | None:
        folders = tuple(str(folder) for folder in self.config.workflow_dirs if folder.is_dir())
        if not folders:
            return None
        _, files = load_project(select(folders))
        named = [file for file in files.values() if file.name == name]
        return named[0] if len(named) == 1 and not has_errors(check_file(named[0])) else None


def called_by(module: Module, registry: Registry) -> list[Workflow]:
    """A workflow and those that it calls, as far as they exist."""
    found = [module.workflow]
    for workflow in found:
        for name in sorted(_calls_of(workflow) - {one.name for one in found}):
            with suppress(WfcError):
                found.append(registry.find(name).workflow)
    return found


def _calls_of(workflow: Workflow) -> set[str]:
    machines = [workflow.machine, *workflow.tasks.values()]
    spawns = [one for machine in machines for one in machine.steps.values() if isinstance(one, Spawn)]
    return {spawn.workflow for spawn in spawns if spawn.workflow is not None}


def module_to_run(registry: SourceRegistry, workflow: str) -> Module | None:
    """The workflow that the command line names; None if it has errors, which have been printed."""
    if not os.path.isfile(workflow):
        try:
            module = Registry.find(registry, workflow)
        except NotFoundError:
            file = find_workflow(workflow)
            click.echo(f"`{workflow}` is not compiled: running {file.source.path} as it is", err=True)
        else:
            _say_if_stale(module, registry)
            return module
    else:
        file = find_workflow(workflow)
    if file.module is None and not check_file(file):
        raise click.UsageError(f"`{workflow}` contains no workflow")
    if print_errors([file]):
        return None
    called = file.project.with_called(file)[1:]
    broken = [one for one in called if has_errors(check_file(one))]
    if print_errors(broken):
        names = ", ".join(f"`{one.name}`" for one in broken)
        click.echo(f"note: a call of {names} would fail", err=True)
    for name in missing_calls([file, *called]):
        click.echo(
            f"note: there is no workflow `{name}`, so a call of it would fail. {TEMPLATE_PATHS} names more folders.",
            err=True,
        )
    registry.prefer([file, *(one for one in called if one not in broken)])
    registry.leave_out(broken)
    return registry.find(str(file.name))


def _say_if_stale(module: Module, registry: SourceRegistry) -> None:
    header = read_header(module.text)
    try:
        source = (registry.config.root / module.source).read_bytes()
    except OSError:  # The source may have been removed.
        return
    if header is not None and digest(source.decode("utf-8-sig", "replace")) != header.source:
        name = module.workflow.name
        click.echo(
            f"note: {module.source} has changed since `{name}` was compiled. This is the compiled version; "
            f"`wfc run {module.source}` runs the other.",
            err=True,
        )
