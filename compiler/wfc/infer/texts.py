"""Where a step's texts are evaluated: at which node of the flow."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.core.values import Text
from wfc.flow import Flow
from wfc.ir import State
from wfc.source import Scalar
from wfc.steps.base import Step

Places = dict[tuple[Step, Scalar], str]


def places_of_texts(flow: Flow) -> Places:
    """The node of every text: `when` has one of its own, and so has what a loop asks before each turn."""
    parts: dict[Step, list[State]] = {}
    for state in flow.states.values():
        if state.step is not None:
            parts.setdefault(state.step, []).append(state)
    return {
        (step, text.node): _place(flow, step, text, states)
        for step, states in parts.items()
        for text in step.texts()
    }


def _place(flow: Flow, step: Step, text: Text, states: list[State]) -> str:
    for state in states:
        if text is step.when and state.kind == "when":
            return state.id
        if state.kind not in (step.kind, "when") and text.data in _guards(flow, state):
            return state.id
    return main_node(step, states)


def _guards(flow: Flow, state: State) -> Iterator[object]:
    return (edge.guard.text for edge in flow.out.get(state.id, ()) if edge.guard is not None)


def main_node(step: Step, states: list[State]) -> str:
    return next((state.id for state in states if state.kind == step.kind), states[0].id)
