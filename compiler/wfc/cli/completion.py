"""`wfc completion`."""

from __future__ import annotations

import sys

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
def command(shell: str) -> int:
    """Print a shell completion script for commands, options, workflow names, checks and step types.

    \b
      bash:  wfc completion bash > ~/.local/share/bash-completion/completions/wfc
      zsh:   wfc completion zsh > "${fpath[1]}/_wfc"
      fish:  wfc completion fish > ~/.config/fish/completions/wfc.fish

    It takes effect in new shells.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    from wfc.cli.main import COMPLETE, cli

    sys.stdout.write(kind(cli, {}, "wfc", COMPLETE).source() + "\n")
    return 0
