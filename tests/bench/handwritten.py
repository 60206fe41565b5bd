"""What somebody would write by hand to get one step after the other from an agent: Temporal's SDK and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ApplicationError


@dataclass
class Result:
    step_id: str
    result: dict[str, Any] = field(default_factory=dict)


@workflow.defn
class Chain:
    """A fixed list of commands; each answer is kept in the same field."""

    def __init__(self) -> None:
        self._place = 0
        self._steps = 0
        self._state: dict[str, Any] = {}
        self._answers: dict[str, dict[str, Any]] = {}

    @workflow.run
    async def run(self, steps: int) -> dict[str, Any]:
        self._steps = steps
        await workflow.wait_condition(lambda: self._place == steps and workflow.all_handlers_finished())
        return self._state

    @workflow.update
    async def submit(self, result: Result) -> dict[str, Any]:
        self._answers[result.step_id] = result.result
        self._state["last"] = result.result
        self._place += 1
        if self._place == self._steps:
            return {"status": "completed", "result": self._state}
        return {
            "workflow_id": workflow.info().workflow_id,
            "status": "pending_action",
            "action": {
                "step_id": f"step-{self._place}",
                "type": "shell",
                "parameters": {"command": f"make step-{self._place}", "timeout": 30},
                "instruction": "Run this command and submit its stdout, stderr and exit_code.",
            },
        }

    @submit.validator
    def check(self, result: Result) -> None:
        if result.step_id != f"step-{self._place}":
            raise ApplicationError(f"{result.step_id} is not pending")
        if not {"stdout", "stderr", "exit_code"} <= result.result.keys():
            raise ApplicationError("the result does not fit")

    @workflow.query
    def place(self) -> str:
        return f"step-{self._place}"
