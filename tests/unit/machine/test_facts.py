"""What a workflow says of itself, and who hears it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.blocks.support import compiled
from tests.support import load
from wfc.checker import check_project
from wfc_runtime.service.sqlite import SqliteService

CALLEE = """
name: callee
version: "1"
facts: {services: 3, kind: "{{ as it stands }}"}
steps:
  - {id: r, type: return, value: RETURNED}
"""
CALLER = """
name: caller
version: "1"
steps:
  - {id: c, type: call, workflow: callee, facts: [services, kind, colour], output_to: got}
  - {id: r, type: return, needs_state: [got], value: "{{ state.got }}"}
"""


@pytest.mark.parametrize(
    ("returned", "got"),
    [
        ("{x: 1}", {"services": 3, "kind": "{{ as it stands }}", "x": 1}),
        ("{services: 9}", {"services": 9, "kind": "{{ as it stands }}"}),
        ("[1, 2]", [1, 2]),
    ],
)
def test_a_call_that_asks_gets_facts_beside_the_result_and_never_in_its_place(
    tmp_path: Path, returned: str, got: object
) -> None:
    generated = compiled(tmp_path, CALLER, CALLEE.replace("RETURNED", returned))
    service = SqliteService.open(tmp_path / "state.db", generated)
    try:
        assert service.start("caller", {})["result"] == got
        alone = service.start("callee", {})["result"]
        assert "kind" not in alone
    finally:
        service.close()


def test_a_fact_has_a_type_for_the_checks() -> None:
    caller = CALLER.replace('"{{ state.got }}"', '"{{ state.got.services ~ state.got.kind.x }}"')
    found = [one.code for one in check_project(load(caller, CALLEE.replace("RETURNED", "{x: 1}")))]
    assert "WF206" in found or "WF207" in found
