"""What a scope gives back: the values of its returns, or its state where it just ends."""

from __future__ import annotations

from wfc.core.types import NULL, Property, Record, Type
from wfc.flow import FlowEdge
from wfc.infer.scope import ScopeInference, type_of_tree
from wfc.infer.terms import EMPTY_OBJECT, UNDEFINED, join, options, without
from wfc.infer.views import stored
from wfc.steps.return_ import Return


def returned_type(inference: ScopeInference) -> Type:
    flow, reach = inference.states.flow, inference.states.reach
    found: list[Type] = []
    ends: list[FlowEdge] = []
    for edge in flow.into.get(flow.end, ()):
        step = flow.step(edge.source)
        if edge.source not in reach:
            continue
        if not isinstance(step, Return) or not flow.returns(edge):
            ends.append(edge)
        elif step.value is not None:
            found.append(stored(type_of_tree(step.value.node, inference.visit(step).types)))
        else:
            found.append(NULL)
    return join(*found, *([_final_state(inference, ends)] if ends else []))


def _final_state(inference: ScopeInference, ends: list[FlowEdge]) -> Type:
    states, definitions = inference.states, inference.definitions
    mask = 0
    for edge in ends:
        move = states.moves.of(edge)
        mask |= states.reach[edge.source] & ~move.kill | move.gen
    properties = []
    for field, own in definitions.masks.items():
        kind = definitions.type_of(mask & own)
        if kind != UNDEFINED:
            there = UNDEFINED not in options(kind)
            properties.append(Property(field, stored(without(kind, UNDEFINED)), there))
    return Record("", tuple(properties), open=False) if properties else EMPTY_OBJECT
