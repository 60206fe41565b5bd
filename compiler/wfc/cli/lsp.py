"""`wfc lsp`."""

from __future__ import annotations

import os
import sys

import click

from wfc.cli.shared.service import collect_in_portions


@click.command("lsp")
def command() -> int:
    """Run the language server on standard input and output. Editors start it.

    It shows findings while you type, with their fixes; explains step types, fields and inferred types; completes names
    in and outside `{{ }}`; finds definitions and references; renames state fields, steps, blocks, tasks and inputs.

    Needs the extra: pip install 'wfc-compiler[lsp]'
    """
    try:
        import pygls  # noqa: F401  to see whether it is there
    except ImportError:
        raise click.UsageError(
            "the language server needs an extra: pip install 'wfc-compiler[lsp]'"
        ) from None
    from wfc.lsp.server import build
    from wfc_runtime.interrupt import leave_on_interrupt

    # The thread that reads messages can't be stopped while it waits, and the server has no state to lose.
    leave_on_interrupt()
    server = build()
    collect_in_portions()
    # A duplicate, because the server closes its stream at the end.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:
        server.start_io(stdout=out)
    return 0 if server.was_shut_down else 1
