"""Finds the workflow that a command is about by name or file, checks it and compiles it in memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wfc.checker import check_file, has_errors, in_order
from wfc.cli.shared.stdin import STDIN, read_stdin, refuse_name
from wfc.project import SourceFile
from wfc.suggest import did_you_mean
from wfc.workspace.files import select, template_folders
from wfc.workspace.loading import load_project

if TYPE_CHECKING:
    from wfc.ir import Vertex
    from wfc_runtime.registry import Module


def find_workflow_or_stdin(workflow: str, stdin_filename: Path | None) -> SourceFile:
    """The workflow of a file or a name, or for `-` the one on standard input."""
    if workflow == STDIN:
        selection, path, text = read_stdin(stdin_filename)
        return load_project(selection, {path: text})[1][path]
    refuse_name(stdin_filename)
    return find_workflow(workflow)


def find_workflow(workflow: str) -> SourceFile:
    """The workflow of a file, or the one of that name in the project."""
    path = Path(workflow)
    if os.path.exists(path) and not os.path.isdir(path):
        if path.stem.endswith(".test"):
            raise click.UsageError(f"`{path}` is a test file, not a workflow; run it with `wfc test {path}`")
        return load_project(select((workflow,)))[1][path]
    for folder in template_folders():
        _, source_files = load_project(select((str(folder),)))
        named = {
            path: source_file for path, source_file in source_files.items() if source_file.name == workflow
        }
        if named:
            # Loaded alone: the workflows that it calls may be overridden by another folder.
            file = next(iter(named))
            return load_project(select((str(file),)))[1][file]
    _, source_files = load_project(select(()))
    named = {path: source_file for path, source_file in source_files.items() if source_file.name == workflow}
    if len(named) == 1:
        return next(iter(named.values()))
    if named:
        files = " or ".join(f"`{path}`" for path in named)
        raise click.UsageError(f"there are several workflows `{workflow}`; name the file: {files}")
    if os.path.isdir(path):
        raise click.UsageError(f"`{workflow}` is a folder; name a workflow or a file")
    names = [source_file.name for source_file in source_files.values() if source_file.name is not None]
    hint = did_you_mean(workflow, names) or "the project has none"
    raise click.UsageError(f"there is no workflow or file `{workflow}`; {hint}")


def print_errors(files: Iterable[SourceFile], but_for: str = "") -> bool:
    """Whether one of the files has an error. The findings of files with errors are printed to standard error.

    Findings of the check `but_for` are left out.
    """
    from wfc.render.style import style_for
    from wfc.render.text import render_text

    checked = [[found for found in check_file(file) if found.code != but_for] for file in files]
    broken = in_order(found for found in checked if has_errors(found))
    if broken:
        click.echo(render_text(broken, style_for(sys.stderr)), err=True, nl=False)
    return bool(broken)


def written_condition(vertex: Vertex) -> str:
    """When a block runs, in the words of its file: the dependencies that must succeed, and its condition."""
    needed = [f"{one.step} succeeded" for one in vertex.waits if one.required]
    if not vertex.condition:
        return " and ".join(needed)
    return " and ".join([*needed, f"({vertex.condition})"] if needed else [vertex.condition])


def missing_calls(files: Sequence[SourceFile]) -> list[str]:
    """Called workflows that do not exist, for languages in which that is not an error."""
    children = [child for file in files for step in file.steps if (child := step.child()) is not None]
    called = dict.fromkeys(child.name.text for child in children if child.name and not child.is_task)
    return [name for name in called if not files[0].project.named(name)]


def compile_in_memory(files: Iterable[SourceFile]) -> dict[str, Module]:
    """Compile workflows without errors and load the modules, by name, without writing a file."""
    from wfc.compiler import compile_file
    from wfc_runtime.registry import Registry

    registry = Registry(Path(os.devnull))
    found: dict[str, Module] = {}
    for file in files:
        made = compile_file(file, file.source.path)
        module = registry.take(made.text, made.line_map)
        found[module.workflow.name] = module
    return found
