"""Finds the store and the run of a `wfc runs` command, and prints replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from wfc.cli.shared.names import completing
from wfc.cli.shared.options import ENGINE
from wfc.cli.shared.output import to_json
from wfc.cli.shared.service import opened
from wfc.config import load_config
from wfc.render.style import printable
from wfc.workspace.files import store_path
from wfc.workspace.runtime import engine_of, modules_at_start

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from wfc.config import Config
    from wfc_runtime.engines import Engine
    from wfc_runtime.service import Service
    from wfc_runtime.service.interface import WholeRuns
    from wfc_runtime.service.sqlite import SqliteService

ACTOR = "wfc runs"
_SHORTEST = 4
"""The minimum length of a prefix that can identify a run."""
_NAMED = 5
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def any_service_of(state: Path | None) -> AbstractContextManager[Service]:
    """Open the runs of the project with the engine that is set."""
    engine = chosen_engine(state)
    if engine.name == "sqlite":
        return service_of(state)
    return opened(engine.open)


def chosen_engine(state: Path | None) -> Engine:
    return engine_of(load_config(Path(".")), click.get_current_context().meta.get(ENGINE), state)


def nothing_started(state: Path | None) -> bool:
    """Whether the project has no store yet and none was named: then it has no runs."""
    if state is not None or chosen_engine(state).name != "sqlite":
        return False
    return not store_path(state, load_config(Path("."))).exists()


def store_file(state: Path | None, config: Config, *, create: bool = False) -> Path:
    """The file with the runs of the project, for commands that work only with a file."""
    if chosen_engine(state).name != "sqlite":
        raise click.ClickException(
            "this command works only with runs in a file, and the engine here is temporal; "
            "use --engine sqlite for the file"
        )
    path = store_path(state, config)
    if not create and not path.exists():
        raise click.ClickException(f"there are no runs: `{path}` does not exist")
    return path


def service_of(state: Path | None, *, create: bool = False) -> AbstractContextManager[SqliteService]:
    """Open the runs in the file of the project."""
    config = load_config(Path("."))
    path = store_file(state, config, create=create)
    if create:
        return opened_file(path)

    def make() -> SqliteService:
        from wfc_runtime.machine.values import Limits
        from wfc_runtime.service.sqlite import SqliteService

        return SqliteService.open(path, config.generated_dir, Limits.of(config.run_limits))

    return opened(make)


def opened_file(path: Path) -> AbstractContextManager[SqliteService]:
    """A store that need not exist yet, for runs whose modules the project has to know."""
    config = load_config(Path("."))
    trust = modules_at_start(config, [config.generated_dir], "command")

    def make() -> SqliteService:
        from wfc_runtime.machine.values import Limits
        from wfc_runtime.service.sqlite import SqliteService

        return SqliteService.open(path, config.generated_dir, Limits.of(config.run_limits), trust)

    return opened(make)


def archive_of(state: Path | None) -> AbstractContextManager[WholeRuns]:
    """The project's runs, for commands that export or delete whole runs."""
    return cast("AbstractContextManager[WholeRuns]", any_service_of(state))


def whole_id(service: Service, given: str) -> str:
    """The id of a run, given in full or as a unique prefix."""
    if len(given) < _SHORTEST:
        return given
    found = service.ids(given, _NAMED + 1)
    if len(found) < 2 or given in found:
        return found[0] if found else given
    more = ", ..." if len(found) > _NAMED else ""
    raise click.ClickException(
        f"`{given}` matches several runs: {', '.join(found[:_NAMED])}{more}. Give more characters"
    )


def print_reply(reply: Any, as_json: bool, text: Callable[[Any], str]) -> None:
    click.echo(to_json(reply) if as_json else printable(text(reply)))


def _runs() -> Iterator[str]:
    """The ids of the runs in the file, the newest first."""
    config = load_config(Path("."))
    path = store_path(None, config)
    if path.is_file():
        from wfc_runtime.service.sqlite import SqliteService

        service = SqliteService.open(path, config.generated_dir)
        try:
            yield from (run["workflow_id"] for run in service.runs("all", limit=500)["runs"])
        finally:
            service.close()


RUNS = completing(_runs, with_files=False)
