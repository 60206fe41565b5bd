"""What a shell may complete in place of an argument. A mistake here must never be in the way of typing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def _completing(names: Callable[[], Iterable[str]], *, with_files: bool = True) -> Complete:
    def complete(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        with suppress(Exception):
            found = [CompletionItem(name) for name in names() if name.startswith(typed)]
            # Files first: where they are told of, bash forgets what came before.
            return _files(typed) + found if with_files else found
        return _files(typed) if with_files else []

    return complete


def _files(typed: str) -> list[CompletionItem]:
    """Tells the shell to offer files as well."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(typed, type="file")]


def _workflows() -> Iterator[str]:
    from wfc.cli.files import load_project, select

    project, _ = load_project(select(()))
    return project.names()


def _topics() -> Iterator[str]:
    from wfc.reference import topics

    return topics()


def _runs() -> Iterator[str]:
    """Those of the project's file, the newest first."""
    import os
    from pathlib import Path

    from wfc.cli.service import store_path
    from wfc.config import load_config

    config = load_config(Path("."))
    path = store_path(Path(os.environ["WFC_STATE"]) if os.environ.get("WFC_STATE") else None, config)
    if path.is_file():
        from wfc_runtime.service.sqlite import SqliteService

        service = SqliteService.open(path, config.generated_dir)
        try:
            yield from (run["workflow_id"] for run in service.runs("all", limit=500)["runs"])
        finally:
            service.close()


FILES = _completing(tuple)
WORKFLOWS = _completing(_workflows)
TOPICS = _completing(_topics, with_files=False)
RUNS = _completing(_runs, with_files=False)
