"""LangGraph: `interrupt` in a node, `Command(resume=...)` from outside, SqliteSaver beneath."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from tests.bench.peers.driving import Contender, Result, connect, main


class State(TypedDict):
    n: int
    last: Result
    steps: int


def ask(state: State) -> dict[str, Any]:
    result = interrupt({"command": "make step"})
    return {"n": state["n"] + 1, "last": result}


def way_on(state: State) -> str:
    return "ask" if state["n"] < state["steps"] else END


class LangGraph(Contender):
    about = (
        "graph.invoke(Command(resume=...)): reads the thread's checkpoint, runs the node, writes the next checkpoint "
        'and the interrupt; WAL, synchronous=FULL; durability="exit", its quickest: every call ends at an interrupt, '
        "so the answer is on disk when the call returns"
    )

    def __init__(self, folder: Path, steps: int) -> None:
        super().__init__(folder, steps)
        self._connection = connect(self.path)
        graph = StateGraph(State)
        graph.add_node("ask", ask)
        graph.add_edge(START, "ask")
        graph.add_conditional_edges("ask", way_on, ["ask", END])
        self._graph = graph.compile(checkpointer=SqliteSaver(self._connection))

    def start(self, name: str) -> str:
        found = self._graph.invoke(
            {"n": 0, "last": {}, "steps": self.steps}, _thread(name), durability="exit"
        )
        assert "__interrupt__" in found, found
        return name

    def resume(self, run: str) -> None:
        assert self._graph.get_state(_thread(run)).next == ("ask",)

    def answer(self, run: str, result: Result) -> None:
        self._graph.invoke(Command(resume=result), _thread(run), durability="exit")

    def outcome(self, run: str) -> Result:
        found = self._graph.get_state(_thread(run))
        assert found.next == (), found.next
        return {"n": found.values["n"], "last": found.values["last"]}

    def close(self) -> None:
        self._connection.close()


def _thread(run: str) -> Any:
    return {"configurable": {"thread_id": run}, "recursion_limit": 100_000}


if __name__ == "__main__":
    main(LangGraph)
