"""Actions that `--allow-exec` and the other grants allow run in parallel, without a question."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from wfc.cli.run.console import Console
from wfc.cli.run.sources import SourceRegistry
from wfc.cli.shared.options import RunOptions, check_patterns, source_folders
from wfc.config import Config
from wfc_runtime.execute import Grant, protected_paths
from wfc_runtime.machine.values import Limits
from wfc_runtime.service.sqlite.serving import ServingService
from wfc_runtime.service.workers import RunnableAction
from wfc_runtime.store import Store

if TYPE_CHECKING:
    from wfc.author.answers import Answers

_REPLY_SECONDS = 1.0


def serving_service(
    path: Path,
    registry: SourceRegistry,
    limits: Limits,
    console: Console,
    options: RunOptions,
) -> ServingService:
    """Commands run with the rights of the user, and with the environment variables that `options` and `[tool.wfc.exec]`
    name."""
    root, settings = registry.config.root, registry.config.exec
    roots = (*(root / more for more in settings.roots), *options.exec_root)
    grant = terminal_grant(registry.config, path)
    grant = file_grant(grant, options, root, roots, (*settings.env, *options.exec_env))
    service = ServingService(
        Store(path), registry, grant, limits, every_kind=True, reply_seconds=_REPLY_SECONDS
    )
    service.gives_back = True
    service.workers.watch = Shown(console)
    return service


def file_grant(
    grant: Grant, options: RunOptions, root: Path, more_roots: Iterable[Path], env: Iterable[str]
) -> Grant:
    """A grant within what the options allow: any command, or only some files."""
    roots = (root, *more_roots)
    check_patterns("--allow-read", options.allow_read, root, roots)
    check_patterns("--allow-write", options.allow_write, root, roots)
    grant = replace(
        grant.extended((one.resolve() for one in roots), env),
        http=options.allow_http,
        blocks=options.allow_block,
    )
    if options.allow_exec:
        return grant
    return replace(grant, commands=(), read=options.allow_read, write=options.allow_write, pattern_root=root)


def terminal_grant(config: Config, state: Path) -> Grant:
    """Allows any command, and any file in this folder or a temporary one except protected files."""
    grant = Grant.all_commands(Path.cwd())
    protected = protected_paths(
        config.root,
        grant.roots,
        sources=source_folders(config),
        modules=(config.generated_dir,),
        stores=(state,),
    )
    return replace(grant, protected=protected)


def leave_to(service: object, answers: Answers | None) -> None:
    """Leaves out actions for which the answers file has a result."""
    if isinstance(service, ServingService) and answers is not None:
        service.leave = answers.knows


class Shown:
    """Prints when an action starts and how it ended. Several may be in progress, so each line names its step."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = Lock()

    def began(self, runnable: RunnableAction) -> None:
        parameters = runnable.mask.value(runnable.action["parameters"])
        with self._lock:
            head = f"{self._number()}{self._name(runnable)} ({runnable.action['type']})"
            self._console.say(head, "bold", indent=2)
            if "command" in parameters:
                self._console.show(f"$ {parameters['command']}")
            elif "path" in parameters or "url" in parameters:
                self._console.show(str(parameters.get("path") or parameters["url"]))

    def _number(self) -> str:
        self._console.actions += 1
        return f"{self._console.actions}. "

    def _name(self, runnable: RunnableAction) -> str:
        return runnable.visit

    def ended(self, runnable: RunnableAction, result: dict[str, Any]) -> None:
        shown = runnable.mask.value(result)
        error = shown.get("error")
        code = shown.get("exit_code")
        color = "red" if error or code else "green"
        said = error["message"] if error else "done" if code is None else f"exit code {code}"
        with self._lock:
            self._console.say(f"{self._name(runnable)}: {said}", color, indent=2)
            for name in ("stdout", "stderr"):
                if shown.get(name) and not runnable.is_secret:
                    self._console.show(
                        shown[name] if isinstance(shown[name], str) else json.dumps(shown[name])
                    )
