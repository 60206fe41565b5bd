"""What is printed can be played: the same answers, given to a real service, end in the same failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support import load
from tests.unit.explore.support import HEAD, explored
from tests.unit.explore.test_problems import COUNT, HIDDEN, TASKS
from wfc.author.answers import Answers, read_answers
from wfc.author.driver import Asked, drive
from wfc.cli.shared.workflow import compile_in_memory
from wfc_runtime.errors import RefusedError
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store

WAITING = """\
steps:
  - id: both
    type: parallel
    branches:
      one:
        - {id: pause, type: wait, duration_seconds: 60}
        - {id: first, type: shell, command: a, output_to: a}
      two:
        - {id: second, type: shell, command: b, output_to: b, retry: {max_attempts: 2, delay_seconds: 5}}
  - {id: sum, type: return, needs_state: [a, b], value: "{{ 1 / (state.a.exit_code + state.b.exit_code - 3) }}"}
"""


class Player:
    """Answers from a file, and a clock that jumps."""

    actor = "test"

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.now = 1_767_225_600.0

    def ahead(self, pending: list[Asked]) -> None:
        pass

    def answer(self, asked: Asked) -> Any:
        return self._answers.take(asked.scope, asked.step_id, asked.kind, asked.schema).value

    def refused(self, asked: Asked, error: RefusedError) -> None:
        raise error

    def moved(self, run: str) -> None:
        pass

    def wait(self, asked: Asked | None, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "steps:\n" + COUNT + HIDDEN,
        HEAD + TASKS,
        HEAD + TASKS.replace("task: group,", "task: group, agent: '@task',"),
        HEAD + WAITING,
    ],
    ids=["hidden", "nested tasks", "a sub-agent's tasks", "side by side, with waits and retries"],
)
def test_the_answers_of_a_problem_lead_a_real_run_to_it(text: str, tmp_path: Path) -> None:
    [problem] = explored(text).problems
    assert problem.case is not None
    file = read_answers("answers.yaml", problem.case.text().encode())
    assert file.problems == ()
    player = Player(Answers(file.scripts))
    module = compile_in_memory(load(text).files)["w"]
    service = SqliteService(Store(tmp_path / "state.db"), Registry(tmp_path), clock=lambda: player.now)
    try:
        run = service.start_module(module, file.inputs)["workflow_id"]
        reply = drive(service, run, player)
    finally:
        service.close()
    assert reply["status"] == "failed"
    assert problem.message in reply["error"]["message"]
    assert player._answers.unused() == []
