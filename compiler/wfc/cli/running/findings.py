"""Mistakes in files that are not workflows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from wfc.render.style import style_for
from wfc.render.text import render_text

if TYPE_CHECKING:
    from wfc.findings import Diagnostic

_USAGE = 2


def refuse_findings(found: Sequence[Diagnostic]) -> None:
    """Print them and end as for wrong usage. Without any, nothing happens."""
    if found:
        ordered = sorted(found, key=lambda one: one.sort_key)
        click.echo(render_text(ordered, style_for(sys.stderr)), err=True, nl=False)
        raise click.exceptions.Exit(_USAGE)
