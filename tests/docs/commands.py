"""Whether a command line that a page shows is one that wfc understands."""

from __future__ import annotations

import shlex

import click

from wfc.cli.main import cli


def why_not(line: str) -> str:
    """What is wrong with a line that begins with `wfc`; empty where nothing is."""
    words = shlex.split(line, comments=True)
    assert words[0] == "wfc", line
    command: click.Command = cli
    context = click.Context(cli, info_name="wfc")
    rest = words[1:]
    while isinstance(command, click.Group) and rest:
        try:
            _, inner, rest = _resolve(command, context, rest)
        except click.UsageError as error:
            return error.format_message()
        command, context = inner, click.Context(inner, info_name=inner.name, parent=context)
    try:
        options, _, _ = command.make_parser(context).parse_args(args=rest)
        for parameter in command.params:
            given = options.get(parameter.name or "")
            if isinstance(parameter.type, click.Choice) and isinstance(given, str):
                parameter.type_cast_value(context, given)
    except click.UsageError as error:
        return error.format_message()
    return ""


def _resolve(
    group: click.Group, context: click.Context, words: list[str]
) -> tuple[str | None, click.Command, list[str]]:
    """The command that comes after the group's own options."""
    parser = group.make_parser(context)
    parser.allow_interspersed_args = False
    _, rest, _ = parser.parse_args(args=list(words))
    if not rest:
        return None, click.Command(None), []
    name, command, left = group.resolve_command(context, rest)
    assert command is not None
    return name, command, left
