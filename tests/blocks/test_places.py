"""Everything that a translation makes knows the place in the file that it was made from."""

from __future__ import annotations

import pytest

from tests.support import check, file_of
from wfc.language.scopes import template_sites

TEXT = """
name: places
description: d
inputs:
  env: {type: str, default: a}
blocks:
  - id: build
    type: Shell
    inputs:
      command: |
        one ${inputs.env}
        two ${inputs.env} {{ three }}
  - id: use
    type: CreateFile
    inputs: {path: "x/${blocks.build.outputs.stdout}/y", content: "${blocks.build.inputs.command}"}
    condition: >
      ${inputs.env} == 'a' and
      ${blocks.build.exit_code} == 0
    depends_on: [{block: build, required: false}]
outputs:
  text: '${inputs.env}'
"""


def reads() -> list[tuple[str, str]]:
    """Each thing that a template reads, as the core names it and as the file has it."""
    workflow = file_of(TEXT).workflow
    assert workflow is not None
    return [
        (".".join(map(str, (read.root, *read.names))), site.text.at(read.start, read.end).text)
        for site in template_sites(workflow)
        for read in site.text.template.reads
    ]


@pytest.mark.parametrize(
    ("core", "file", "count"),
    [
        ("inputs.env", "inputs.env", 4),
        ("inputs.env", "command", 2),
        ("state.build.stdout", "blocks.build.outputs.stdout", 1),
        ("state.build.exit_code", "blocks.build.exit_code", 1),
    ],
)
def test_a_read_is_shown_where_it_stands(core: str, file: str, count: int) -> None:
    assert reads().count((core, file)) == count


def test_a_part_of_a_reference_has_its_own_place() -> None:
    workflow = file_of(TEXT).workflow
    assert workflow is not None
    [site] = [one for one in template_sites(workflow) if "stdout" in one.text.node.text]
    [read] = site.text.template.reads
    places = [site.text.at(part.start, part.end) for part in read.path]
    assert [place.text for place in places] == ["build", "stdout"]
    assert {place.line for place in places} == {15}


CALLING = """
name: top
description: d
blocks:
  - {id: kid, type: Workflow, inputs: {workflow: kid, inputs: {size: 1.5}}}
  - {id: lot, type: EchoBlock, depends_on: [kid], condition: "${blocks.kid.total}", inputs: {message: a}}
  - {id: any, type: EchoBlock, depends_on: [kid], condition: "${blocks.kid.flag}", inputs: {message: a}}
outputs: {x: "${blocks.lot.succeeded} ${blocks.any.succeeded}"}
"""
CALLED = """
name: kid
description: d
inputs: {size: {type: int, description: d}}
blocks: [{id: a, type: Shell, inputs: {command: "true"}}]
outputs: {total: {value: "${inputs.size}", type: int}, flag: {value: "${blocks.a.succeeded}", type: bool}}
"""


def test_what_a_called_workflow_takes_and_gives_back_is_held_against_its_caller() -> None:
    found = [(one.code, one.span.line, one.message) for one in check(CALLING, CALLED)]
    assert found == [
        ("WF207", 5, "`1.5` is not allowed: `size` takes a whole number"),
        ("WF207", 6, "`blocks.kid.total` is a number: `condition` takes booleans, or texts such as `true`"),
    ]
