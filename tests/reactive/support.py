"""Reactive files translated in memory, and looked at as the steps that they become."""

from __future__ import annotations

from typing import Any

from tests.support import check, file_of
from wfc.findings import Diagnostic
from wfc.language.values import plain

HEAD = 'name: "case:one"\ndescription: A case.\nversion: "1.0.0"\n'
STATE = """\
inputs:
  who: {type: string, default: Ada}
  size: {type: number, default: 3}
default_state:
  raw: {count: 0, names: [], by_name: {}, text: "", ready: false, listing: ""}
  global: {log: []}
state_schema:
  computed:
    lines: {from: raw.listing, transform: "input.split(',')"}
"""


def translated(text: str) -> dict[str, Any]:
    """The file as the steps language has it."""
    workflow = file_of(text).workflow
    assert workflow is not None
    found: dict[str, Any] = plain(workflow.node)
    return found


def step(yaml: str, state: str = STATE) -> dict[str, Any]:
    """The one step that a step becomes; `yaml` is a mapping in braces."""
    steps = translated(f"{HEAD}{state}steps:\n  - {yaml}\n")["steps"]
    found: dict[str, Any] = steps[0]
    return found


def reports(text: str, *codes: str) -> list[Diagnostic]:
    return [one for one in check(text) if one.code in codes]
