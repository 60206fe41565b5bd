"""What a project gives the runtime: the engine that stores its runs, and the modules that may be executed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wfc.config import Config, real
from wfc.workspace.files import (
    MISSIONS,
    NAMING_KEY,
    Selection,
    companion_files,
    in_folder,
    mission_sources,
    read_bytes,
    store_path,
    template_folders,
    texts_named_in,
)
from wfc_runtime.errors import WfcError
from wfc_runtime.trust import Trust, stamp_of

if TYPE_CHECKING:
    from wfc_runtime.engines import Engine


def engine_of(
    config: Config,
    engine: str | None,
    state: Path | None = None,
    generated: Path | None = None,
    modules: Sequence[Path] = (),
) -> Engine:
    from wfc_runtime.engines import Engine
    from wfc_runtime.service.temporal.encryption import read_keyring
    from wfc_runtime.service.temporal.settings import TemporalSettings

    try:
        made = Engine(
            state=store_path(state, config),
            generated=generated or config.generated_dir,
            name=engine or config.engine,
            limits=config.run_limits,
            temporal=TemporalSettings.of(config.temporal, os.environ, config.root),
            more_modules=modules,
        )
        if made.name == "temporal":
            # Report invalid keys before anything is started.
            read_keyring(made.temporal)
        return made
    except WfcError as error:
        raise click.ClickException(str(error)) from error


def modules_at_start(config: Config, folders: Iterable[Path], process: str = "server") -> Trust:
    """Trust the modules that exist now. Commands call this before they execute any part of a workflow."""
    return Trust(folders, Sources(config), process)


class Sources:
    """The workflow sources of a project, with the settings and the folders that it had when this was made."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._folders = {folder: real(folder) for folder in config.workflow_dirs}

    def state(self) -> object:
        folders = (*self._folders, *template_folders())
        found = [path for folder in folders for path in in_folder(folder, self._config)]
        found += mission_sources(self._config)
        stamps = {path: (_stamp(path), *self._named_texts(path)) for path in found}
        return stamps | {path: _stamp(path) for path in companion_files(Selection(self._config, found, []))}

    def _named_texts(self, path: Path) -> Iterator[object]:
        """The stamps of the text files that a workflow names; its own stamp covers the names."""
        try:
            data = read_bytes(path, self._config)
        except click.ClickException:
            return
        named = texts_named_in(data) if NAMING_KEY in data else []
        yield from (_stamp(path.parent / name) for name in named or ())
        if named is None:
            # The names are unknown, so the state must never equal an earlier one.
            yield os.urandom(16)

    def refusal(self, source: str, text: str) -> str | None:
        paths = self._named(source)
        if not paths:
            return self.not_a_source(source)
        sound = False
        try:
            for made in self._compiled(paths):
                sound = True
                if made == text:
                    return None
        except click.ClickException as error:
            return error.message
        return (
            f"it differs from the module that `{source}` compiles to" if sound else f"`{source}` has errors"
        )

    def not_a_source(self, source: str) -> str | None:
        """Why a module with this header has no source in the project; None if it has one."""
        if self._named(source):
            return None
        folder = self._config.workflows
        return f"its header names `{source}`, which is not a workflow source of this project (`{folder}`)"

    def _named(self, source: str) -> list[Path]:
        """The files by the path that headers contain."""
        return [path for path in self._files() if self._recorded(path) == source]

    def _files(self) -> list[Path]:
        """The sources, except links that lead out of their folder."""
        found = [
            path
            for folder, place in self._folders.items()
            for path in in_folder(folder, self._config)
            if real(path).is_relative_to(place)
        ]
        missions = real(self._config.root / MISSIONS)
        return found + [path for path in mission_sources(self._config) if real(path).is_relative_to(missions)]

    def _recorded(self, path: Path) -> str:
        """The path of a source in a header. A path from a header is only compared with it and never opened, so an
        absolute path or one with `..` has no effect."""
        from wfc.emit.module import shown_path
        from wfc.workspace.files import recorded_path

        return shown_path(recorded_path(path, self._config.root))

    def _compiled(self, paths: list[Path]) -> Iterator[str]:
        """The modules and line maps that `wfc compile` may have generated from some files: from each file alone, and
        from all together. The shell that ran the command may lack the variable with the template folders."""
        from wfc.caching import clear_caches
        from wfc.checker import check_file, has_errors
        from wfc.compiler import compile_file
        from wfc.workspace.loading import load_project

        everything = Selection(self._config, self._files(), list(self._folders))
        # One file alone is the quickest to compile, and usually enough.
        tries = [(Selection(self._config, [path], []), True) for path in paths]
        tries += [(everything, True), (everything, False)] if template_folders() else [(everything, True)]
        for selection, with_templates in tries:
            _, files = load_project(selection, with_templates=with_templates)
            try:
                for path in paths:
                    file = files.get(path)
                    if file is not None and file.module is not None and not has_errors(check_file(file)):
                        made = compile_file(file, self._recorded(path))
                        yield from (made.text, made.line_map)
            finally:
                # A server runs for long, and the caches would keep every version of every file.
                clear_caches()


def _stamp(path: Path) -> object:
    try:
        return stamp_of(path)
    except OSError:
        return None
