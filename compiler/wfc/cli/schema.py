"""`wfc schema`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from wfc.config import load_config
from wfc.dialects import DIALECTS, use_plugins
from wfc.testfiles.schema import schema_of_tests
from wfc.workspace.files import writing


@click.command("schema")
@click.argument(
    "dialect", type=click.Choice([*(one.name for one in DIALECTS), "any", "tests"]), default="steps"
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to a file; an up-to-date file is not touched.",
)
def command(dialect: str, output: Path | None) -> int:
    """Print the JSON Schema (draft-07) of a language, with a description for each field.

    `any` accepts a workflow in any language, `tests` is for test files. Editors use them for completion and validation;
    `wfc init` sets that up for VS Code. By hand, with its YAML extension:

    \b
      wfc schema any -o .vscode/wfc.schema.json
      wfc schema tests -o .vscode/wfc.tests.schema.json
      "yaml.schemas": {
        ".vscode/wfc.schema.json": ["workflows/**/*.yaml", "!workflows/**/*.test.yaml"],
        ".vscode/wfc.tests.schema.json": ["workflows/**/*.test.yaml"]
      }

    or as the first line of a workflow: `# yaml-language-server: $schema=<path of the file>`.
    """
    use_plugins(load_config(Path(".")).plugins)
    text = schema_text(dialect)
    if output is None:
        sys.stdout.write(text)
        return 0
    with writing(output):
        if not (output.is_file() and output.read_text(encoding="utf-8") == text):
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(text, encoding="utf-8")
    return 0


def schema_text(name: str) -> str:
    """The schema of a language, of all of them (`any`) or of test files (`tests`), as text of a file."""
    made = {"any": _any_language, "tests": schema_of_tests, **{one.name: one.schema for one in DIALECTS}}
    return json.dumps(made[name](), indent=2, ensure_ascii=False) + "\n"


def _any_language() -> dict[str, Any]:
    """The schemas of all languages, chosen by the key that names the language. A file with none is read as steps."""
    default, *others = DIALECTS
    definitions: dict[str, Any] = {}
    for dialect in DIALECTS:
        schema = _with_own_names(dialect.schema(), dialect.name)
        definitions |= schema.pop("definitions", {})
        schema.pop("$schema", None)
        definitions[dialect.name] = schema
    chosen: dict[str, Any] = {"$ref": f"#/definitions/{default.name}"}
    for dialect in others:
        chosen = {"if": dialect.mark(), "then": {"$ref": f"#/definitions/{dialect.name}"}, "else": chosen}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "wfc workflow",
        "type": "object",
        **chosen,
        "definitions": definitions,
    }


def _with_own_names(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """A schema whose definitions begin with a name, so that several fit into one."""
    text = json.dumps(schema).replace('"#/definitions/', f'"#/definitions/{name}_')
    found: dict[str, Any] = json.loads(text)
    found["definitions"] = {f"{name}_{key}": one for key, one in found.get("definitions", {}).items()}
    return found
