"""Burr: an application that halts before the action that takes the result, SQLitePersister beneath."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from burr.core import Application, ApplicationBuilder, GraphBuilder, State, action, expr
from burr.core.persistence import SQLitePersister

from tests.bench.peers.driving import Contender, Result, connect, main


@action(reads=["n"], writes=["n", "last"])
def take(state: State, result: Result) -> State:
    return state.update(n=state["n"] + 1, last=result)


@action(reads=["n", "last"], writes=["outcome"])
def end(state: State) -> State:
    return state.update(outcome={"n": state["n"], "last": state["last"]})


class Burr(Contender):
    about = (
        "an application built from the store for each answer, as a service does that any process may serve; "
        "app.run with the result as input; the persister writes one row with the whole state; WAL, synchronous=FULL"
    )

    def __init__(self, folder: Path, steps: int) -> None:
        super().__init__(folder, steps)
        # The persister sets nothing of SQLite's by itself: without WAL its commits cost more.
        self._persister = SQLitePersister(str(self.path), connection=connect(self.path))
        self._persister.initialize()
        self._graph = (
            GraphBuilder()
            .with_actions(take, end)
            .with_transitions(("take", "take", expr(f"n < {steps}")), ("take", "end"))
            .build()
        )

    def _application(self, run: str) -> Application[Any]:
        return (
            ApplicationBuilder()
            .with_graph(self._graph)
            .with_identifiers(app_id=run)
            .initialize_from(
                self._persister,
                resume_at_next_action=True,
                default_state={"n": 0, "last": {}},
                default_entrypoint="take",
            )
            .with_state_persister(self._persister)
            .build()
        )

    def start(self, name: str) -> str:
        self._application(name)
        return name

    def resume(self, run: str) -> None:
        assert self._application(run).get_next_action().name == "take"

    def answer(self, run: str, result: Result) -> None:
        application = self._application(run)
        application.run(halt_before=["take"], halt_after=["end"], inputs={"result": result})

    def outcome(self, run: str) -> Result:
        found = self._persister.load(None, run)
        assert found is not None
        return dict(found["state"]["outcome"])

    def close(self) -> None:
        self._persister.cleanup()


if __name__ == "__main__":
    main(Burr)
