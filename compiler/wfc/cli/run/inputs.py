"""Read the inputs of a run and other files that a user writes for it, and report their mistakes as findings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wfc.config import CompileLimits
from wfc.language.values import plain
from wfc.render.style import style_for
from wfc.render.text import render_text
from wfc.testfiles.reader import Reader
from wfc.yaml import Source, YamlLimits, parse_document

if TYPE_CHECKING:
    from wfc.findings import Diagnostic
    from wfc_runtime.machine.chart import Workflow

_USAGE = 2


def refuse_findings(found: Sequence[Diagnostic]) -> None:
    """Print findings, if there are any, and exit as for wrong usage."""
    if found:
        ordered = sorted(found, key=lambda one: one.sort_key)
        click.echo(render_text(ordered, style_for(sys.stderr)), err=True, nl=False)
        raise click.exceptions.Exit(_USAGE)


def given_inputs(workflow: Workflow, pairs: tuple[str, ...], file: str | None, base: dict[str, Any]) -> Any:
    """Merge the inputs: the command line overrides the file, and the file overrides `base`. Nothing is validated
    yet."""
    properties = workflow.machine.inputs.model_json_schema(by_alias=True).get("properties", {})
    found: dict[str, Any] = {**base, **(_of_file(file) if file else {})}
    named: set[str] = set()
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise click.UsageError(f"--input takes name=value, not `{pair}`")
        if name in named:
            raise click.UsageError(f"--input {name} was given twice")
        named.add(name)
        found[name] = text if _is_text(properties.get(name, {})) else parse_value(text)
    return found


def _is_text(schema: dict[str, Any]) -> bool:
    kinds = [schema, *schema.get("anyOf", ())]
    return any(one.get("type") == "string" for one in kinds)


def parse_value(text: str) -> Any:
    """Parse a value as YAML or JSON; other text is a string."""
    limits = CompileLimits()
    document = parse_document(Source("", text), YamlLimits(limits.yaml_depth, limits.yaml_nodes))
    return text if document.problems or document.root is None else plain(document.root)


def read_input_file(path: str) -> bytes:
    """Read a file, or standard input for `-`."""
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise click.UsageError(f"can't read `{path}`: {error.strerror}") from error


def _of_file(path: str) -> dict[str, Any]:
    reader = Reader.of(path, read_input_file(path), CompileLimits())
    found = reader.entries(reader.root, "the inputs") if not reader.found else {}
    values = {name: reader.data(value) for name, (_, value) in found.items()}
    refuse_findings(reader.found)
    return values
