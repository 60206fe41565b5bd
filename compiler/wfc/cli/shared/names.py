"""Shell completion of arguments. An error here must never disturb the user's typing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def completing(names: Callable[[], Iterable[str]], *, with_files: bool = True) -> Complete:
    def complete(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        with suppress(Exception):
            found = [CompletionItem(name) for name in names() if name.startswith(typed)]
            # Files first: click's bash script drops completions that precede a file entry.
            return _files(typed) + found if with_files else found
        return _files(typed) if with_files else []

    return complete


def _files(typed: str) -> list[CompletionItem]:
    """The entry that tells the shell to offer files as well."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(typed, type="file")]


def _workflows() -> Iterator[str]:
    from wfc.workspace.files import select
    from wfc.workspace.loading import load_project

    project, _ = load_project(select(()))
    return project.names()


def topics() -> Iterator[str]:
    """Everything that `wfc explain` explains."""
    from wfc.cli.shared.words import word_names
    from wfc.language.steps import STEP_TYPES
    from wfc.rules import RULES

    for rule in RULES:
        yield from (rule.code, rule.name)
    # `goto` is a step type and a field of `on_error`.
    yield from dict.fromkeys((*STEP_TYPES, *word_names()))


def _revisions() -> list[str]:
    """The branches and tags of the repository."""
    from wfc.cli.shared.git import git

    listed = git("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags", folder=Path("."))
    return (listed or b"").decode().split()


FILES = completing(tuple)
REVISIONS = completing(_revisions)
WORKFLOWS = completing(_workflows)
TOPICS = completing(topics, with_files=False)
