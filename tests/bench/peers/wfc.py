"""Ours: the calls that the MCP server makes of its service, without MCP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.bench.peers.driving import Contender, Result, main
from wfc_runtime.service.sqlite import SqliteService

# Whoever is stopped while the others have their turns must not run into a step's deadline.
WORKFLOW = """\
name: turns
version: "1.0.0"
inputs:
  steps: {type: number, required: true}
initial_state: {n: 0}
steps:
  - id: turns
    type: while
    needs_state: [n]
    if: "{{ state.n < inputs.steps }}"
    max_iterations: 100000
    steps:
      - {id: ask, type: shell, command: make step, timeout: 86400, output_to: last}
      - {id: count, type: set_state, needs_state: [n], updates: {n: "{{ state.n + 1 }}"}}
  - {id: end, type: return, needs_state: [n, last], value: {n: "{{ state.n }}", last: "{{ state.last }}"}}
"""


class Wfc(Contender):
    about = (
        "SqliteService.submit: one transaction with the event, the changed fields and the snapshot; WAL, "
        "synchronous=FULL; answers that arrive together share a commit"
    )
    clients = 100

    def __init__(self, folder: Path, steps: int) -> None:
        super().__init__(folder, steps)
        self._service = SqliteService.open(self.path, folder / "generated")
        self._pending: dict[str, str] = {}

    def start(self, name: str) -> str:
        reply = self._service.start("turns", {"steps": self.steps})
        self._keep(reply)
        return str(reply["workflow_id"])

    def resume(self, run: str) -> None:
        self._keep(self._service.next_step(run))

    def answer(self, run: str, result: Result) -> None:
        self._keep(self._service.submit(run, self._pending[run], result))

    def _keep(self, reply: dict[str, Any]) -> None:
        if reply["status"] == "pending_action":
            self._pending[reply["workflow_id"]] = reply["action"]["step_id"]

    def outcome(self, run: str) -> Result:
        reply = self._service.status(run)
        assert reply["status"] == "completed", reply
        return dict(reply["result"])

    def close(self) -> None:
        self._service.close()


if __name__ == "__main__":
    main(Wfc)
