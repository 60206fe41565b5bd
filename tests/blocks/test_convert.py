"""`wfc convert`: what comes out has no finding of a kind that the graph of blocks did not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.command import inside
from tests.support import ROOT, load
from wfc.checker import check_file
from wfc.cli.convert import to_steps
from wfc.findings import Severity
from wfc.project import SourceFile


def _codes(file: SourceFile) -> set[str]:
    return {found.code for found in check_file(file) if found.severity is not Severity.INFO}


@pytest.mark.parametrize(
    "pattern",
    [
        "workflows/*.yaml",
        "tests/blocks/cases/*.yaml",
        "tests/parity/cases/*.blocks.yaml",
        "tests/errors/*/*blocks*.yaml",
    ],
)
def test_steps_made_of_blocks_check_clean_when_the_blocks_do(pattern: str) -> None:
    files = {path: load(path.read_text(encoding="utf-8")).files[0] for path in sorted(ROOT.glob(pattern))}
    graphs = {
        path: file
        for path, file in files.items()
        if file.workflow is not None
        and file.is_translated
        and not any(found.severity is Severity.ERROR for found in check_file(file))
    }
    assert graphs
    new_codes = {
        str(path): _codes(load(to_steps(file)).files[0]) - _codes(file) for path, file in graphs.items()
    }
    assert {path: codes for path, codes in new_codes.items() if codes} == {}


def test_convert_writes_references_in_braces_and_keeps_comments(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        """\
name: a
description: d  # kept
inputs: {env: {type: str, default: dev}}
blocks:
  - id: my-block  # kept too
    type: Shell
    inputs:
      command: "echo '${inputs.env}' '{{inputs.env}}' '{${inputs.env}}'"
  - id: after
    type: Shell
    inputs: {command: 'echo ${blocks.my-block.exit_code}'}
    condition: ${blocks.my-block.succeeded} and ${inputs.env} == 'dev'
    depends_on: [my-block]
outputs:
  code: ${blocks.my-block.exit_code}
""",
        encoding="utf-8",
    )
    found = inside("convert", "a.yaml", "--to", "blocks", "--notation", "braces", cwd=tmp_path)
    assert (found.status, found.err) == (0, "")
    assert found.out == (
        """\
name: a
description: d  # kept
inputs: {env: {type: str, default: dev}}
blocks:
  - id: my-block  # kept too
    type: Shell
    inputs:
      command: "echo '{{inputs.env}}' '{{inputs.env}}' '{{'{' ~ (inputs.env | text)}}}'"
  - id: after
    type: Shell
    inputs: {command: 'echo {{blocks[''my-block''].exit_code}}'}
    condition: "{{blocks['my-block'].succeeded}} and {{inputs.env}} == 'dev'"
    depends_on: [my-block]
outputs:
  code: "{{blocks['my-block'].exit_code | text}}"
"""
    )


def test_convert_refuses_what_it_can_not_write_in_braces(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    head = "name: a\ndescription: d\ninputs: {x: {type: str, default: y}}\nblocks:\n"
    template = "  - {id: a, type: RenderTemplate, inputs: {template: '%s', variables: {}}}\n"
    file.write_text(head + template % "${inputs.x}", encoding="utf-8")
    arguments = ("convert", "a.yaml", "--to", "blocks", "--notation", "braces")
    refused = inside(*arguments, cwd=tmp_path)
    assert (refused.status, "pass that as one of its `variables` first" in refused.err) == (2, True)
    file.write_text(
        head + "  - {id: a, type: EchoBlock, inputs: {message: '{{inputs.x}}'}}\n", encoding="utf-8"
    )
    refused = inside(*arguments, cwd=tmp_path)
    assert (refused.status, "already" in refused.err) == (2, True)
    refused = inside("convert", "a.yaml", "--notation", "braces", cwd=tmp_path)
    assert (refused.status, "require each other" in refused.err) == (2, True)
