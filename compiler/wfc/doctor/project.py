"""Workflows and their modules."""

from __future__ import annotations

from collections.abc import Iterator

import click

from wfc.check import check_project, has_errors
from wfc.config import Config
from wfc.doctor.report import Result, bad, good, note
from wfc.findings import Severity
from wfc.render.style import counted
from wfc.workspace.files import Selection, in_folder
from wfc.workspace.loading import load_project
from wfc.workspace.modules import build
from wfc.workspace.runtime import Sources
from wfc_runtime.header import read_header
from wfc_runtime.module_files import module_paths, read_module


def check_project_files(config: Config) -> Iterator[Result]:
    folder = config.workflows_dir
    if not folder.is_dir():
        help = "`wfc init` writes a first workflow; or set `workflows` in [tool.wfc]"
        yield bad("workflows", f"there is no folder `{config.workflows}`", help)
        return
    try:
        selection = Selection(config, list(in_folder(folder, config, whole=True)), [folder])
        if selection.files:
            yield from _workflows(selection)
        else:
            yield note(
                "workflows", f"there is no workflow in `{config.workflows}`", "`wfc init` writes a first one"
            )
    except click.ClickException as error:
        yield bad("workflows", error.message, "see that every file there can be read")


def _workflows(selection: Selection) -> Iterator[Result]:
    project, units = load_project(selection, with_runs=True)
    found = [one for one in check_project(project) if one.severity is not Severity.INFO]
    many = counted(len(units), "workflow")
    if found:
        yield bad("workflows", f"{many} with {counted(len(found), 'finding')}", "`wfc check` shows them")
    else:
        yield good("workflows", f"{many}, all clean")
    folder = selection.config.generated_dir
    if not has_errors(build(selection, folder, check_only=True).findings):
        yield good("modules", f"`{selection.config.generated}` is what the workflows compile to")
    else:
        yield bad(
            "modules", f"`{selection.config.generated}` is not what the workflows compile to", "`wfc compile`"
        )
    yield from _strangers(selection.config)


def _strangers(config: Config) -> Iterator[Result]:
    """Modules that no source of the project can vouch for."""
    sources = Sources(config)
    for path in module_paths(config.generated_dir):
        try:
            header = read_header(read_module(path).decode("utf-8"))
        except (OSError, UnicodeDecodeError):
            continue
        why = sources.not_a_source(header.path) if header else None
        if why:
            help = "remove it, or review it: a running server does not load such a file, a server that starts does"
            yield note("modules", f"`{config.generated}/{path.name}` is untrusted: {why}", help)
