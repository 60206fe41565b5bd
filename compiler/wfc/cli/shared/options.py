"""Options that several commands take."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wfc.cli.shared.names import FILES
from wfc.config import Config, no_variable
from wfc.workspace.files import named_templates

if TYPE_CHECKING:
    from wfc_runtime.page.serving import Address

state_option = click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="WFC_STATE",
    help="Store of the runs; defaults to .wfc/state.db in the project. Also WFC_STATE.",
)
ENGINE = "wfc.engine"
"""The key under which a group stores its option for its commands."""
engine_option = click.option(
    "--engine",
    type=click.Choice(["sqlite", "temporal"]),
    envvar="WFC_ENGINE",
    help="Store runs in a file or on a Temporal server; defaults to [tool.wfc], else sqlite. Also WFC_ENGINE.",
)


def file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --allow-read and --allow-write to a command."""
    for access, doing in (("write", "Write"), ("read", "Read")):
        command = click.option(
            f"--allow-{access}",
            multiple=True,
            metavar="PATTERN",
            help=f"{doing} matching files for file steps without asking. PATTERN is a glob relative to the project, or "
            "absolute inside an --exec-root; `*` matches within one folder, `**` across folders. May be repeated.",
        )(command)
    return command


def address_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --host and --allow-host to a command that serves HTTP."""
    host = click.option(
        "--host",
        metavar="ADDRESS",
        help="Address to listen on instead of 127.0.0.1, such as 0.0.0.0. Requires --allow-host, and a token of yours "
        "in WFC_TOKEN: everyone who has it can answer prompts and start workflows. The connection is not encrypted.",
    )
    names = click.option(
        "--allow-host",
        multiple=True,
        metavar="NAME[:PORT]",
        callback=_host_names,
        help="Name by which browsers and agents reach this server, also through a proxy. Requests for other names are "
        "refused. May be repeated.",
    )
    return host(names(command))


_HOST_NAME = re.compile(r"(?:[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


def _host_names(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    for name in given:
        # SECURITY. The name is compared with the Host header: a pattern or a URL would never match, and the
        # user would only see refused requests.
        if not _HOST_NAME.fullmatch(name) or len(name) > 260:
            raise click.BadParameter(f"`{name[:80]}` is not the name of a host, with or without a port")
    # Browsers send the name in lower case, and without the port that the scheme implies.
    return tuple(dict.fromkeys(name.lower() for name in given))


def address_of(port: int, host: str | None, names: tuple[str, ...]) -> Address:
    # Imported late: every command imports this module, and only servers need Starlette.
    from wfc_runtime.page.serving import HOST, Address

    # SECURITY. Without a list of names, any page could reach the server through DNS rebinding.
    if host is not None and host != HOST and not names:
        raise click.UsageError("--host requires --allow-host: the name by which clients reach this server")
    return Address(port, host or HOST, names)


def http_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --allow-http to a command."""
    return click.option(
        "--allow-http",
        multiple=True,
        metavar="HOST",
        callback=hosts,
        help="Make requests of http_call steps to this host without asking: a name, `*.` and a name, an address or a "
        "network, with `:port` unless it is 80 or 443. Private addresses must be named. May be repeated.",
    )(command)


def block_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --allow-block to a command."""
    return click.option(
        "--allow-block",
        multiple=True,
        metavar="NAME",
        callback=_block_types,
        help="Run blocks of this type, of an installed distribution, without asking. May be repeated.",
    )(command)


def _block_types(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    check_block_types("--allow-block", given)
    return given


def check_block_types(where: str, given: tuple[str, ...]) -> None:
    if not given:
        return
    from wfc_runtime.execute.own_blocks import NoBlockError, check_installed

    try:
        check_installed(given)
    except NoBlockError as error:
        raise click.UsageError(f"{where}: {error}") from None


def hosts(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Reject a text that could never match a host."""
    check_hosts("--allow-http", given)
    return given


def check_hosts(where: str, given: Sequence[str]) -> None:
    # Most commands grant nothing: they do not need the executor, which takes long to import.
    if not given:
        return
    from wfc_runtime.execute.hosts import NoHostError, check_host

    for one in given:
        try:
            check_host(one)
        except NoHostError as error:
            raise click.UsageError(f"{where} `{one[:80]}`: {error}") from None


def refuse_on_temporal() -> click.UsageError:
    """The error for a grant where no process executes steps."""
    return click.UsageError(
        "on Temporal the agent executes every step: --allow-exec and the other grants need --engine sqlite"
    )


def check_patterns(option: str, patterns: Iterable[str], root: Path, more_roots: Iterable[Path]) -> None:
    """Raises a usage error for a pattern that could never match what its author means."""
    from wfc_runtime.execute.permissions import pattern_problem

    roots = tuple(more_roots)
    for pattern in patterns:
        if problem := pattern_problem(pattern, root, roots):
            raise click.UsageError(f"{option} `{pattern[:80]}`: {problem}")


def source_folders(config: Config) -> tuple[Path, ...]:
    """The folders of workflow sources, which no file step may write to."""
    return (*config.workflow_dirs, *named_templates())


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of `wfc run` and `wfc runs resume`: who answers, and what is executed."""

    answers: str | None = None
    allow_exec: bool = False
    skip_waits: bool = False
    as_json: bool = False
    exec_env: tuple[str, ...] = ()
    exec_root: tuple[Path, ...] = ()
    allow_read: tuple[str, ...] = ()
    allow_write: tuple[str, ...] = ()
    allow_http: tuple[str, ...] = ()
    allow_block: tuple[str, ...] = ()
    agent: str | None = None
    """The agent that does the actions; "" is the project's default."""
    answer: tuple[str, ...] = ()
    parallel: int | None = None
    events: str | None = None
    budget: str | None = None

    def __post_init__(self) -> None:
        # Refused rather than ignored: without an agent, nothing would ever read them.
        if self.agent is None:
            for option, given in (
                ("--answer", self.answer),
                ("--parallel", self.parallel),
                ("--events", self.events),
                ("--budget", self.budget),
            ):
                if given:
                    raise click.UsageError(f"{option} goes with --agent")
        if self.events == "-" and self.as_json:
            raise click.UsageError("only one of --json and --events - can use standard output")
        if self.exec_env and not (self.allow_exec or self.allow_http or self.allow_block):
            raise click.UsageError("--exec-env requires --allow-exec, --allow-http or --allow-block")
        if self.exec_root and not (self.allow_exec or self.allow_read or self.allow_write):
            raise click.UsageError("--exec-root requires --allow-exec, --allow-read or --allow-write")

    @property
    def executes(self) -> bool:
        """Whether some steps are executed without confirmation."""
        return self.allow_exec or bool(
            self.allow_read or self.allow_write or self.allow_http or self.allow_block
        )


def names_of_variables(
    context: click.Context, option: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Reject the name of a variable that is not set: the user would expect commands to get it."""
    wrong = no_variable(names)
    if wrong:
        raise click.BadParameter(wrong, context, option)
    return names


_RUN_OPTIONS = (
    click.option("--json", "as_json", is_flag=True, help="Print only the final reply, as JSON."),
    click.option(
        "--skip-waits", is_flag=True, help="Skip waits: advance the run's clock to the end of each."
    ),
    click.option(
        "--exec-root",
        multiple=True,
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Additional folder that commands and file steps may use. May be repeated.",
    ),
    click.option(
        "--exec-env",
        multiple=True,
        metavar="NAME",
        callback=names_of_variables,
        help="Environment variable to pass to commands, and that `secrets` may name. May be repeated.",
    ),
    block_option,
    http_option,
    file_options,
    click.option(
        "--allow-exec",
        is_flag=True,
        help="Execute commands without asking, and read and write files in the project.",
    ),
    click.option(
        "--events",
        metavar="FILE",
        shell_complete=FILES,
        help="With --agent: write what happens to this file as JSON lines; `-` is standard output.",
    ),
    click.option(
        "--budget",
        metavar="KIND=NUMBER",
        help="With --agent: lower or set what the run may spend, such as usd=5,steps=40; also tokens, seconds.",
    ),
    click.option(
        "--parallel",
        type=click.IntRange(1, 64),
        metavar="N",
        help="With --agent: do at most this many actions at the same time. Defaults to the project's, or 4.",
    ),
    click.option(
        "--answer",
        multiple=True,
        metavar="STEP=VALUE",
        help="With --agent: answer the prompts of a step with this value. May be repeated.",
    ),
    click.option(
        "--agent",
        is_flag=False,
        flag_value="",
        metavar="[NAME]",
        help="Let an agent's command line do the actions, such as `claude`; people are asked only at prompts. "
        "Without NAME: the default of [tool.wfc.agents].",
    ),
    click.option(
        "--answers",
        metavar="FILE",
        shell_complete=FILES,
        help="Take results from this file instead of asking; `-` is standard input.",
    ),
)
"""In the reverse order of `--help`: a decorator puts its option before those that are there."""


def run_options(work: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options to a command, which receives them as one argument, `options`."""

    @wraps(work)
    def with_options(*arguments: Any, **given: Any) -> Any:
        options = RunOptions(**{one.name: given.pop(one.name) for one in fields(RunOptions)})
        return work(*arguments, options=options, **given)

    command: Callable[..., Any] = with_options
    for option in _RUN_OPTIONS:
        command = option(command)
    return command
