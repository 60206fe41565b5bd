"""WF703 names what `wfc runs migrate` would refuse, and nothing else."""

from __future__ import annotations

import pytest

from tests.support import load
from wfc.checker import check_project
from wfc_runtime.store.queries import Waiting

TEXT = """\
name: w
version: "1.0.0"
steps:
  - {id: ask, type: shell, command: make}
  - {id: note, type: set_state, updates: {x: 1}}
  - {id: each, type: foreach, items: [a], task: t, agent: "@helper"}
  - {id: done, type: return, needs_state: [x], value: "{{ state.x }}"}
tasks:
  t:
    steps:
      - {id: look, type: shell, command: "ls {{ item | shquote }}"}
"""


@pytest.mark.parametrize(
    ("waiting", "messages"),
    [
        (Waiting("r", "w", None, ("ask", "each")), []),
        (Waiting("r", "w", None, ("gone",)), ["run `r` waits in step `gone`, which no longer exists"]),
        (
            Waiting("r", "w", None, ("note",)),
            ["run `r` waits in step `note`, which no longer waits"],
        ),
        (Waiting("r", "w", "t", ("do-task",), is_brief=True), []),
        (
            Waiting("r", "w", "u", ("do-task",), is_brief=True),
            ["run `r` waits in step `do-task`, which no longer exists"],
        ),
    ],
    ids=["still there", "gone", "waits no longer", "a brief of a task", "a brief of a task that is gone"],
)
def test_a_step_that_a_run_waits_in_is_missed_where_it_went(waiting: Waiting, messages: list[str]) -> None:
    project = load(TEXT)
    project.runs = lambda: [waiting]
    assert [one.message for one in check_project(project) if one.code == "WF703"] == messages
