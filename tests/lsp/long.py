"""Long files, in either language, with a name in a reference near their end."""

from __future__ import annotations

from typing import NamedTuple

from tests.bench.workloads import workflow

STEPS = 120
_BLOCK = """\
  - id: build-{n}
    type: Shell
    inputs:
      command: make all
      env: {{GIVEN: "${{blocks.build-{before}.outputs.stdout}} ${{inputs.target}}"}}
    condition: ${{inputs.target}} == 'staging'
    depends_on: [build-{before}]
"""


def _blocks(number: int) -> str:
    inputs = "inputs: {target: {type: str, description: Where to., default: staging}}"
    head = f"name: long-{number}\n{inputs}\nblocks:\n"
    first = "  - {id: build-0, type: Shell, inputs: {command: make}}\n"
    return head + first + "".join(_BLOCK.format(n=n, before=n - 1) for n in range(1, number))


class Long(NamedTuple):
    """A file of so many steps or blocks, and what stands before a name near its end."""

    name: str
    text: str
    reference: str


def long(language: str, number: int = STEPS) -> Long:
    if language == "blocks":
        return Long("blocks.yaml", _blocks(number), "${blocks.")
    return Long("steps.yaml", workflow(f"long-{number}", number), "{{ state.")


LANGUAGES = ("steps", "blocks")
