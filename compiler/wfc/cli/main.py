"""The command line. The module of a command is imported only when the command is used."""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Literal, TextIO

import click

from wfc.config import ConfigError
from wfc_runtime.interrupt import INTERRUPTED
from wfc_runtime.version import __version__

COMPLETE = "_WFC_COMPLETE"
"""The environment variable with which a shell requests completions."""

EXIT_CLEAN, EXIT_FINDINGS, EXIT_USAGE, EXIT_FAILURE = 0, 1, 2, 3

_COMMANDS = {
    "check": "Check workflows for errors and risks.",
    "compile": "Compile workflows into typed Python statecharts.",
    "graph": "Draw a workflow.",
    "diff": "Show what changed between two versions, and whether runs in progress can continue.",
    "explore": "Drive every branch with generated results and report what can fail.",
    "plan": "Show what a run of a workflow can ask for and what it needs.",
    "test": "Test workflows without an agent.",
    "run": "Run a workflow in the terminal; you act as the agent.",
    "serve": "Serve the compiled workflows to agents over MCP.",
    "ui": "Open a page that shows runs and asks what they wait for.",
    "worker": "Execute runs on a Temporal server.",
    "runs": "List, show, resume, cancel, migrate, prune and move runs.",
    "watch": "Check, compile and test as you save.",
    "init": "Set up a project: agent, starter workflow with its test, hooks, editor.",
    "library": "Find workflows that are ready to use, and copy them into this project.",
    "doctor": "Check the setup of a project.",
    "hook": "Answer a hook of Claude Code.",
    "lsp": "Serve editors: findings, fixes, completion, hover, rename.",
    "schema": "Print the language as JSON Schema, for editors.",
    "convert": "Convert a workflow of another language to the steps language.",
    "mission": "Write the files of a mission for people and agents.",
    "explain": "Explain a check or a step type.",
    "completion": "Print a shell completion script.",
}


class _UnreadError(Exception):
    """The reader of standard output has closed the pipe."""


@contextmanager
def _telling_what_is_unread() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise _UnreadError from error


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        # Importing all commands would take longer than most of them run.
        command: click.Command = import_module(f"wfc.cli.{name}").command
        command.short_help = _COMMANDS[name]
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from wfc.suggest import did_you_mean

        # Click's own message has no suggestion.
        if args and not args[0].startswith("-") and args[0] not in _COMMANDS:
            ctx.fail(f"no command `{args[0]}`; {did_you_mean(args[0], _COMMANDS)}")
        return super().resolve_command(ctx, args)

    # Click would exit with 1 if the pipe is closed, which here means that there are findings.

    def make_context(self, *given: Any, **more: Any) -> click.Context:
        with _telling_what_is_unread():
            return super().make_context(*given, **more)

    def invoke(self, ctx: click.Context) -> object:
        with _telling_what_is_unread():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="wfc")
def cli() -> None:
    """wfc compiles agent workflows written in YAML into typed Python statecharts.

    Exit codes: 0 clean, 1 findings or drift, 2 wrong usage, 3 a failure of wfc itself, 130 Ctrl-C.
    """
    try:
        os.getcwd()
    except FileNotFoundError:
        raise click.ClickException("this folder has been removed") from None


def main() -> None:
    """Run a command, and turn every error into an exit code."""
    sys.stdin = sys.stdin or _nowhere("r")
    # A service manager may start a process with closed streams.
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        # A path that is not valid text must not end the command.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # both are text
    status: object = None
    try:
        status = cli.main(prog_name="wfc", complete_var=COMPLETE, standalone_mode=False)
        sys.stdout.flush()  # Flush here: an error while Python exits would be lost.
    except click.exceptions.Exit as stop:
        status = stop.exit_code
    except click.Abort:
        status = INTERRUPTED
    except click.UsageError as error:
        error.show()
        status = EXIT_USAGE
    except (click.ClickException, ConfigError) as error:
        click.echo(f"wfc: {error}", err=True)
        status = EXIT_USAGE
    except (BrokenPipeError, _UnreadError):
        _give_up_output()
        # The reader has what it wanted; the command's own status counts.
        status = status if isinstance(status, int) else EXIT_CLEAN
    except KeyboardInterrupt:
        status = INTERRUPTED
    except RecursionError:
        click.echo("wfc: internal error: too deeply nested; please report the workflow", err=True)
        status = EXIT_FAILURE
    except Exception as error:
        # A full disk is not a bug, and needs no report.
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            _give_up_output()
            click.echo(f"wfc: can't write: {error.strerror}", err=True)
            status = EXIT_USAGE
        else:
            from wfc.findings import what_and_where

            click.echo(f"wfc: internal error: {what_and_where(error)}; please report it", err=True)
            status = EXIT_FAILURE
    gc.freeze()  # Python collects garbage once more at exit; frozen objects are left out.
    sys.exit(status if isinstance(status, int) else EXIT_CLEAN)


def _nowhere(mode: Literal["r", "w"] = "w") -> TextIO:
    """A replacement for a stream that was closed before the start."""
    return open(os.devnull, mode)


def _give_up_output() -> None:
    """Redirect standard output to nowhere: Python would write the rest of the buffer again at exit, and fail again."""
    with _nowhere() as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
