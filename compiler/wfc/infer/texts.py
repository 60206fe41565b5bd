"""The texts of steps: where in the flow each is evaluated, and what it reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from wfc.core.fields import CONDITION
from wfc.core.values import Text, Tree
from wfc.flow import Flow
from wfc.infer.conditions import names_read
from wfc.ir import State
from wfc.steps.base import Step
from wfc.steps.foreach import Foreach
from wfc.steps.set_state import SetState
from wfc.structs import struct
from wfc.yaml import Scalar


@struct(frozen=True)
class Place:
    """One text with holes."""

    text: Text
    node: str
    names: frozenset[str]
    """The state fields and inputs that it reads, as conditions spell them."""
    asked: bool
    """Whether it is a condition: only its truth matters."""


@struct(slots=True)
class StepTexts:
    plain: list[Place] = field(default_factory=list)
    """Those that see what every text of the step sees."""
    inner: dict[str, tuple[Tree, list[Place]]] = field(default_factory=dict)
    """Those that see more, in the mapping that they are part of: `updates`, or the `with` of a foreach."""

    @property
    def all(self) -> Iterator[Place]:
        yield from self.plain
        for _, places in self.inner.values():
            yield from places


def texts_of(flow: Flow) -> dict[Step, StepTexts]:
    """The texts of every step of a flow."""
    parts: dict[Step, list[State]] = {}
    for state in flow.states.values():
        if state.step is not None:
            parts.setdefault(state.step, []).append(state)
    return {step: _texts_of_step(flow, step, states) for step, states in parts.items()}


def _texts_of_step(flow: Flow, step: Step, states: list[State]) -> StepTexts:
    trees = _inner_trees(step)
    owner: dict[Scalar, str] = {text.node: key for key, tree in trees.items() for text in tree.texts}
    conditions = [step.values.get(name) for name in _conditions(step)]
    found = StepTexts(inner={key: (tree, []) for key, tree in trees.items()})
    main = next((state.id for state in states if state.kind == step.kind), states[0].id)
    for text in step.texts():
        if text.template.is_literal:
            continue
        node = _node_of(flow, step, text, states) if len(states) > 1 else main
        place = Place(text, node or main, names_read(text.template), text in conditions)
        key = owner.get(text.node)
        (found.plain if key is None else found.inner[key][1]).append(place)
    return found


def _inner_trees(step: Step) -> dict[str, Tree]:
    if isinstance(step, SetState):
        return step.updates or {}
    return (step.with_ or {}) if isinstance(step, Foreach) else {}


def _node_of(flow: Flow, step: Step, text: Text, states: list[State]) -> str | None:
    """`when` has a node of its own, and so has what a loop asks before each turn."""
    for state in states:
        if text is step.when and state.kind == "when":
            return state.id
        if state.kind not in (step.kind, "when") and text.data in _guards(flow, state):
            return state.id
    return None


def _guards(flow: Flow, state: State) -> Iterator[object]:
    return (edge.guard.text for edge in flow.out.get(state.id, ()) if edge.guard is not None)


def _conditions(step: Step) -> list[str]:
    """The fields of a step type that hold conditions."""
    if step.kind not in _CONDITIONS:
        _CONDITIONS[step.kind] = [name for name, found in step.FIELDS.items() if found.type is CONDITION]
    return _CONDITIONS[step.kind]


_CONDITIONS: dict[str, list[str]] = {}
