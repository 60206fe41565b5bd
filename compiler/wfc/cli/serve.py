"""`wfc serve`."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wfc.cli.shared.options import (
    address_of,
    address_options,
    block_option,
    check_block_types,
    check_hosts,
    check_patterns,
    engine_option,
    file_options,
    http_option,
    names_of_variables,
    refuse_on_temporal,
    source_folders,
    state_option,
)
from wfc.cli.shared.service import collect_in_portions
from wfc.config import ANY, Config, load_config, real
from wfc.workspace.files import named_templates, users_folder
from wfc.workspace.runtime import engine_of, modules_at_start
from wfc_runtime.engines import require_temporal
from wfc_runtime.errors import WfcError
from wfc_runtime.server.context import TOOLSETS, Allowed, Options

if TYPE_CHECKING:
    from wfc_runtime.page.serving import Address
    from wfc_runtime.registry import Registry
    from wfc_runtime.trust import Trust

_DEFAULT_PORT = 8722
_TO_A_PERSON = (
    "wfc: serving MCP on stdin and stdout. Agents start this command; `wfc init` writes the .mcp.json for them. "
    "To run a workflow in the terminal, use `wfc run`. Stop with Ctrl-C."
)


@click.command("serve")
@state_option
@click.option(
    "--generated",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the compiled workflows; defaults to the project's generated folder.",
)
@engine_option
@click.option(
    "--with-worker", is_flag=True, help="With --engine temporal: also run a worker in this process."
)
@click.option(
    "--toolsets",
    default="core",
    show_default=True,
    help=f"Toolsets to offer, separated by commas: {', '.join(TOOLSETS)}.",
)
@click.option(
    "--typed-tools", is_flag=True, help="Offer a separate tool for each workflow, start_<workflow>."
)
@click.option(
    "--elicit/--no-elicit",
    default=None,
    help="Let prompt steps ask the user directly if the client can show a form.",
)
@click.option(
    "--http",
    is_flag=True,
    help="Serve over HTTP on 127.0.0.1, with a bearer token and the live page, instead of stdio.",
)
@click.option("--port", type=click.IntRange(0, 65535), help=f"Port for --http; defaults to {_DEFAULT_PORT}.")
@address_options
@click.option(
    "--allow-exec",
    is_flag=False,
    flag_value=ANY,
    multiple=True,
    metavar="[PATTERN]",
    help="Let the server execute the steps that workflows assign to it. Without a pattern: any command, and any file "
    "step inside the project. With one, such as 'pytest *': only matching commands, no files. May be repeated.",
)
@file_options
@http_option
@block_option
@click.option(
    "--exec-root",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder outside the project that commands and file steps may use. May be repeated.",
)
@click.option(
    "--exec-env",
    multiple=True,
    metavar="NAME",
    callback=names_of_variables,
    help="Environment variable to pass to commands, and that `secrets` may name. May be repeated.",
)
@click.option(
    "--library",
    is_flag=True,
    help="Also offer the workflows of `wfc library`. Those of the project hide them.",
)
@click.option("--behind-front", is_flag=True, hidden=True)
def command(
    state: Path | None,
    generated: Path | None,
    engine: str | None,
    with_worker: bool,
    toolsets: str,
    typed_tools: bool,
    elicit: bool | None,
    http: bool,
    port: int | None,
    host: str | None,
    allow_host: tuple[str, ...],
    allow_exec: tuple[str, ...],
    allow_read: tuple[str, ...],
    allow_write: tuple[str, ...],
    allow_http: tuple[str, ...],
    allow_block: tuple[str, ...],
    exec_root: tuple[Path, ...],
    exec_env: tuple[str, ...],
    library: bool,
    behind_front: bool,
) -> int:
    """Serve the compiled workflows to agents over MCP, on stdin and stdout.

    Runs are stored in one file, which any number of servers can share; each server can be killed at any time.
    Modules that appear or change after the start are loaded only if the project's sources compile to them.
    With --http, the bearer token is created once and stored beside that file, or comes from WFC_TOKEN.

    WORKFLOWS_TEMPLATE_PATHS is a comma-separated list of additional workflow folders, whose YAML is compiled in memory.
    Later folders override earlier ones and the project. Workflows in ~/.aromcp/workflows are offered too, unless the
    project has one of the same name.

    With --allow-exec, the server executes commands with your rights. Commands get PATH, HOME and similar variables, and
    those named with --exec-env. --allow-read and --allow-write grant file steps. No grant lets a file step write
    compiled modules, workflow sources, pyproject.toml, .mcp.json, or anything in .wfc, .git, .claude or .github.

    A command pattern is one program and its arguments. As the last word, * matches any number of arguments; elsewhere,
    any characters within one word. Matching commands are executed without a shell: a command with a pipe, a
    redirection, a variable or other shell syntax matches no pattern, and the agent is asked to run it. Without a
    pattern, /bin/sh runs the command. Processes that a command starts end with its step.
    """
    # Otherwise a user would believe that the server listens on a port.
    given = [name for name, value in (("port", port), ("host", host), ("allow-host", allow_host)) if value]
    if given and not http:
        raise click.UsageError(f"--{given[0]} requires --http")
    config = load_config(Path("."))
    chosen = engine_of(config, engine, state, generated)
    if with_worker and chosen.name != "temporal":
        raise click.UsageError("--with-worker requires --engine temporal")
    allowed = _allowed(
        config, allow_exec, allow_read, allow_write, allow_http, allow_block, exec_root, exec_env
    )
    # On Temporal the agent executes every step, so a grant would have no effect.
    if allowed is not None and chosen.name == "temporal":
        raise refuse_on_temporal()
    # The current files are trusted; every later change must be verified.
    trust = modules_at_start(config, [chosen.generated])
    options = Options(
        state=chosen.state,
        generated=chosen.generated,
        engine=chosen.name,
        temporal=chosen.temporal,
        with_worker=with_worker,
        toolsets=_chosen(toolsets),
        typed_tools=typed_tools,
        elicit=config.elicit if elicit is None else elicit,
        limits=config.run_limits,
        trust=trust,
        make_registry=_templates(config, trust, library),
        allowed=allowed,
        root=config.root,
        known_tools=config.tools,
        journal_requires_agent=config.journal_requires_agent,
        # Only a front needs the list; collecting it takes time at the start.
        sources=_sources(config, chosen.generated) if behind_front else None,
    )
    try:
        if chosen.name == "temporal":
            require_temporal()
        wanted = _DEFAULT_PORT if port is None else port
        _serve(options, address_of(wanted, host, allow_host) if http else None, config.root)
    except WfcError as error:
        raise click.ClickException(str(error)) from error
    return 0


def _serve(options: Options, address: Address | None, root: Path) -> None:
    """Serve over HTTP at an address, or on stdin and stdout."""
    # Objects made by importing the SDK live as long as the server. Collecting garbage among them takes a sixth of the
    # start.
    gc.disable()
    if address is not None:
        from wfc_runtime.server.http import serve_http

        collect_in_portions()
        serve_http(options, address, root)
        return
    from wfc_runtime.server.stdio import serve_stdio

    collect_in_portions()
    # An agent's pipe is not a terminal, so this is a person who expected something else.
    if sys.stdin.isatty():
        click.echo(_TO_A_PERSON, err=True)
    serve_stdio(options)


def _templates(config: Config, trust: Trust, library: bool) -> Callable[[Path], Registry] | None:
    """The workflows, if there are folders in addition to the project's."""
    folders, users = named_templates(), _users(config)
    if not folders and users is None and not library:
        return None

    def make(generated: Path) -> Registry:
        from wfc.workspace.templates import TemplateRegistry

        shipped = None
        if library:
            from wfc.workspace.shipped import shipped_folder

            shipped = shipped_folder()
        return TemplateRegistry(config, generated, folders, trust, users, shipped)

    return make


def _sources(config: Config, generated: Path) -> tuple[Path, ...]:
    """The inputs of the list of workflows."""
    users = _users(config)
    # Everything that can change the lists that the front has cached.
    return (generated, config.root / "pyproject.toml", *named_templates(), *([users] if users else []))


def _users(config: Config) -> Path | None:
    """The user's own folder, unless it is the project's."""
    folder = users_folder()
    # The project's own folder is searched already, with another precedence.
    return folder if folder and real(folder) not in map(real, config.workflow_dirs) else None


def _allowed(
    config: Config,
    patterns: tuple[str, ...],
    read: tuple[str, ...],
    write: tuple[str, ...],
    http: tuple[str, ...],
    blocks: tuple[str, ...],
    roots: tuple[Path, ...],
    env: tuple[str, ...],
) -> Allowed | None:
    """The grants of the command line and of the settings together."""
    settings = config.exec
    commands = (*settings.allow, *patterns)
    more_roots = (*(config.root / root for root in settings.roots), *(root.resolve() for root in roots))
    hosts = (*settings.http, *http)
    block_types = (*settings.blocks, *blocks)
    # An option without effect is more likely a mistake than an intention.
    if env and not (commands or hosts or block_types):
        raise click.UsageError("--exec-env requires --allow-exec, --allow-http or --allow-block")
    if not (commands or settings.read or settings.write or read or write or hosts or block_types):
        if roots:
            raise click.UsageError("--exec-root requires --allow-exec, --allow-read or --allow-write")
        return None
    # With any command allowed, further patterns mean nothing.
    if ANY not in commands:
        _check_patterns("[tool.wfc.exec] allow", settings.allow)
        _check_patterns("--allow-exec", patterns)
    for option, given in (
        ("[tool.wfc.exec] read", settings.read),
        ("[tool.wfc.exec] write", settings.write),
        ("--allow-read", read),
        ("--allow-write", write),
    ):
        # Checked when the server starts: a pattern that matches nothing would only be noticed in a run.
        check_patterns(option, given, config.root, more_roots)
    check_hosts("[tool.wfc.exec] http", settings.http)
    check_block_types("[tool.wfc.exec] blocks", settings.blocks)
    return Allowed(
        root=config.root,
        commands=None if ANY in commands else commands,
        more_roots=more_roots,
        read=(*settings.read, *read),
        write=(*settings.write, *write),
        http=hosts,
        blocks=block_types,
        sources=source_folders(config),
        env=(*settings.env, *env),
        parallel=settings.parallel,
        reply_seconds=settings.reply_seconds,
    )


def _check_patterns(where: str, patterns: tuple[str, ...]) -> None:
    # Imported here: only a server that may run commands needs it.
    from wfc_runtime.execute.permissions import NotWordsError, check_pattern

    for pattern in patterns:
        try:
            check_pattern(pattern)
        except NotWordsError as error:
            raise click.UsageError(
                f"{where}: `{pattern[:80]}` is not a command pattern: {error}. A pattern is one program and its "
                "arguments, executed without a shell. Put what needs a shell into a script and allow the script."
            ) from None


def _chosen(toolsets: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in toolsets.split(",") if name.strip()))
    for name in names:
        if name not in TOOLSETS:
            raise click.UsageError(f"there is no toolset `{name}`; available: {', '.join(TOOLSETS)}")
    if not names:
        raise click.UsageError("--toolsets needs at least one of " + ", ".join(TOOLSETS))
    return names
