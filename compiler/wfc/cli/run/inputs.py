"""The inputs of a run and other files that a person writes for it: read, and refused with their findings."""

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
    """Print them and end as for wrong usage. Without any, nothing happens."""
    if found:
        ordered = sorted(found, key=lambda one: one.sort_key)
        click.echo(render_text(ordered, style_for(sys.stderr)), err=True, nl=False)
        raise click.exceptions.Exit(_USAGE)


def given_inputs(workflow: Workflow, pairs: tuple[str, ...], file: str | None, base: dict[str, Any]) -> Any:
    """All of them, the command line's own before the file's, and that before `base`. Nothing is checked yet."""
    properties = workflow.machine.inputs.model_json_schema(by_alias=True).get("properties", {})
    found: dict[str, Any] = {**base, **(_of_file(file) if file else {})}
    named: set[str] = set()
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise click.UsageError(f"--input takes name=value, not `{pair}`")
        if name in named:
            raise click.UsageError(f"--input {name} is given twice")
        named.add(name)
        found[name] = text if _is_text(properties.get(name, {})) else parse_value(text)
    return found


def _is_text(schema: dict[str, Any]) -> bool:
    kinds = [schema, *schema.get("anyOf", ())]
    return any(one.get("type") == "string" for one in kinds)


def parse_value(text: str) -> Any:
    """A value as YAML or JSON has it; text that is neither is just that."""
    limits = CompileLimits()
    document = parse_document(Source("", text), YamlLimits(limits.yaml_depth, limits.yaml_nodes))
    return text if document.problems or document.root is None else plain(document.root)


def read_input_file(path: str) -> bytes:
    """A file, or standard input for `-`."""
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
