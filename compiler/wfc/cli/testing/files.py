"""Test files on disk: which there are, and which workflow each is about."""

from __future__ import annotations

import os
from pathlib import Path

import click

from wfc.config import load_config, real
from wfc.workspace.files import ENDINGS, as_typed, refuse_unread

TEST_ENDINGS = tuple(f".test{ending}" for ending in ENDINGS)


def find_test_files(paths: tuple[str, ...]) -> list[Path]:
    """The test files of some files and folders; without any, those of the project."""
    if not paths:
        folder = as_typed(load_config(Path(".")).workflows_dir)
        if not folder.is_dir():
            raise click.UsageError(f"there is no folder `{folder}`; name test files or folders")
        return _in_folder(folder)
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        for file in _named(path):
            found.setdefault(real(file), file)
    return list(found.values())


def _named(path: Path) -> list[Path]:
    if path.is_dir():
        return _in_folder(path)
    if not path.exists():
        raise click.UsageError(f"there is no file or folder `{path}`")
    if path.name.endswith(TEST_ENDINGS):
        return [path]
    there = tests_of(path)
    if not there:
        raise click.UsageError(
            f"`{path}` has no tests: there is no `{path.with_name(path.stem + TEST_ENDINGS[0])}`"
        )
    return there


def tests_of(workflow: Path) -> list[Path]:
    """The test files beside a workflow."""
    beside = [workflow.with_name(workflow.stem + ending) for ending in TEST_ENDINGS]
    return [one for one in beside if one.is_file()]


def _in_folder(folder: Path) -> list[Path]:
    found: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=refuse_unread):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place, name) for name in names if name.endswith(TEST_ENDINGS) and name[0] != "."]
    return sorted(found)


def tested_file(path: Path, named: str | None) -> Path:
    """The workflow file that a test file is about."""
    if named is not None:
        return path.parent / named
    stem = next(path.name.removesuffix(ending) for ending in TEST_ENDINGS if path.name.endswith(ending))
    beside = [path.with_name(stem + ending) for ending in ENDINGS]
    return next((one for one in beside if one.is_file()), beside[0])
