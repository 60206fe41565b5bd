"""`wfc ui`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wfc.cli.shared.options import address_of, address_options, engine_option, state_option
from wfc.config import load_config
from wfc.workspace.runtime import engine_of, modules_at_start
from wfc_runtime.engines import require_temporal
from wfc_runtime.errors import RequestError, WfcError

if TYPE_CHECKING:
    import socket

    from wfc_runtime.page.serving import Address
    from wfc_runtime.server.context import Options

_DEFAULT_PORT = 8723


@click.command("ui")
@state_option
@engine_option
@click.option(
    "--read-only", is_flag=True, help="Only show runs: nothing can be answered, started or cancelled."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"Port of the page; defaults to {_DEFAULT_PORT}, or another one if that is taken.",
)
@address_options
@click.option("--no-open", is_flag=True, help="Print the address, and open no browser.")
def command(
    state: Path | None,
    engine: str | None,
    read_only: bool,
    port: int | None,
    host: str | None,
    allow_host: tuple[str, ...],
    no_open: bool,
) -> int:
    """Open a page that shows runs and asks you what they wait for.

    The page is on 127.0.0.1 and needs the link that is printed, which works once: the browser keeps a key that is
    valid until the command ends. It shows what waits for a person, all runs, where each one is in its chart and how
    it got there. With --read-only, looking is all that it can do, and time does not move runs.

    To open it from other machines, use --host and --allow-host, and set WFC_TOKEN.

    `wfc serve --http` serves the same page beside its tools.
    """
    from wfc_runtime.server.context import Options

    config = load_config(Path("."))
    chosen = engine_of(config, engine, state)
    options = Options(
        state=chosen.state,
        generated=chosen.generated,
        engine=chosen.name,
        temporal=chosen.temporal,
        limits=config.run_limits,
        trust=modules_at_start(config, [chosen.generated], "command"),
    )
    try:
        if chosen.name == "temporal":
            require_temporal()
        wanted = _DEFAULT_PORT if port is None else port
        address = address_of(wanted, host, allow_host)
        _serve(options, config.root, address, port is None, read_only, no_open)
    except WfcError as error:
        raise click.ClickException(str(error)) from error
    return 0


def _serve(
    options: Options, root: Path, address: Address, any_port: bool, read_only: bool, no_open: bool
) -> None:
    import webbrowser

    from wfc.cli.shared.service import collect_in_portions
    from wfc_runtime.interrupt import leave_on_interrupt
    from wfc_runtime.page.app import page_app
    from wfc_runtime.page.keys import Keys
    from wfc_runtime.page.serving import HttpServer, required_token
    from wfc_runtime.page.shield import Shield, bounds_of
    from wfc_runtime.server.context import ServerContext

    leave_on_interrupt()
    token = required_token(address)
    with _listener(address, any_port) as listener:
        context, keys = ServerContext(options), Keys(token, (token,) if token else ())
        if not read_only:
            context.start_working()
        page, feed = page_app(context, keys, root, read_only=read_only)
        actual = listener.getsockname()[1]
        # Browsers keep the fragment to themselves: the key is in no request line, log or Referer header.
        link = f"http://{address.shown(actual)}/#key={keys.new_link()}"
        server = HttpServer(
            Shield(page, bounds_of(actual, address.names, read_only)),
            f"{address.warning}wfc: page on {link} (the link works once). Ctrl-C ends it.",
            feed.close,
            context.close,
        )
        if not no_open:
            # The listener is there, so the browser's first request waits for the server instead of failing.
            webbrowser.open(link)
        collect_in_portions()
        try:
            server.run(sockets=[listener])
        finally:
            context.close()


def _listener(address: Address, any_port: bool) -> socket.socket:
    """Listen on the address, or on another port if that one is taken and was not asked for."""
    from wfc_runtime.page.serving import bound

    try:
        return bound(address)
    except RequestError:
        if not any_port or not address.is_local:
            raise
        return bound(replace(address, port=0))
