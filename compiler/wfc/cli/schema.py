"""`wfc schema`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from wfc.dialects import DIALECTS
from wfc.testfiles.schema import schema_of_tests
from wfc.workspace.files import writing


@click.command("schema")
@click.argument(
    "dialect", type=click.Choice([*(dialect.name for dialect in DIALECTS), "tests"]), default="steps"
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to a file; an up-to-date file is not touched.",
)
def command(dialect: str, output: Path | None) -> int:
    """Print the JSON Schema (draft-07) of a language or of test files, with a description for each field.

    Editors use it for completion and validation. With the YAML extension of VS Code:

    \b
      wfc schema -o .vscode/wfc.schema.json
      "yaml.schemas": {".vscode/wfc.schema.json": ["workflows/*.yaml", "!workflows/*.test.yaml"]}

    or as the first line of a workflow: `# yaml-language-server: $schema=<path of the file>`.
    """
    [schema] = (
        [schema_of_tests()]
        if dialect == "tests"
        else [one.schema() for one in DIALECTS if one.name == dialect]
    )
    text = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    if output is None:
        sys.stdout.write(text)
        return 0
    with writing(output):
        if not (output.is_file() and output.read_text(encoding="utf-8") == text):
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(text, encoding="utf-8")
    return 0
