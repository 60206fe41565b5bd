"""The types of one scope: a workflow's main steps, or a task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from wfc.core.ast import Scope
from wfc.core.types import LIST, Type
from wfc.flow import Flow
from wfc.infer.children import Children, child_names
from wfc.infer.definitions import Definitions
from wfc.infer.environment import Environment, Surroundings
from wfc.infer.expressions import Inference
from wfc.infer.inputs import input_types, nonempty_answers, nonempty_inputs, nonzero_numbers
from wfc.infer.problems import Problem
from wfc.infer.results import item_of
from wfc.infer.states import StateFlow
from wfc.infer.terms import UNDEFINED, exact, without
from wfc.infer.texts import Place, StepTexts, texts_of
from wfc.infer.trees import tree_type
from wfc.infer.views import stored
from wfc.steps.base import Step
from wfc.steps.foreach import Foreach
from wfc.structs import struct
from wfc.yaml import Node, Scalar

TextTypes = dict[Scalar, Type]
_NO_TEXTS = StepTexts()


@struct(slots=True)
class Visit:
    """What looking at a step's texts brought."""

    types: TextTypes = field(default_factory=dict)
    problems: list[tuple[Place, Problem]] = field(default_factory=list)
    moment: int = 0
    """When that was, in the count of changes to definitions."""
    final: bool = True
    """Whether it looked at nothing that may still change without the definitions that reach it doing so."""


class ScopeInference:
    """Infers the texts of a scope's steps, each where it is evaluated, and again where need be."""

    def __init__(self, scope: Scope, flow: Flow, names: Mapping[str, Type], children: Children) -> None:
        self.scope = scope
        self.names = names
        """`item` and its kin, in a task."""
        self._children = children
        self._texts = texts_of(flow)
        self.definitions = Definitions(scope)
        self.states = StateFlow(flow, self.definitions, self._texts)
        self.settled = False
        self._visits: dict[Step, Visit] = {}
        self._visit = Visit()
        nonempty = nonempty_inputs(scope) | nonempty_answers(self.definitions)
        nonzero = nonzero_numbers(scope, self.definitions)
        self._around = Surroundings(self._overall, input_types(scope), nonzero, nonempty)

    def texts(self, step: Step) -> StepTexts:
        return self._texts.get(step, _NO_TEXTS)

    def _overall(self, name: str) -> Type:
        self._visit.final &= self.settled
        return self.states.overall(name)

    def visit(self, step: Step) -> Visit:
        """The types of a step's texts, and what is wrong with them, as far as is known by now."""
        known = self._visits.get(step)
        if known is not None and (known.final or not self.settled) and not self._is_stale(step, known):
            return known
        self._visit = self._visits[step] = Visit(moment=self.definitions.moment)
        texts = self.texts(step)
        for place in texts.plain:
            self._infer(place, self.names)
        names = dict(self.names)
        if isinstance(step, Foreach) and texts.inner:
            # The `with` of a foreach has what the child that it starts will have.
            items = type_of_tree(step.items.node, self._visit.types) if step.items else LIST
            names |= child_names(step, item_of(items), self._children)
        for key, (tree, places) in texts.inner.items():
            for place in places:
                self._infer(place, names)
            if not isinstance(step, Foreach):
                # Inside one `updates` a bare name is an earlier key.
                names = {**names, key: stored(type_of_tree(tree.node, self._visit.types))}
        return self._visit

    def _is_stale(self, step: Step, visit: Visit) -> bool:
        """Whether a definition that comes to the step is known better now."""
        if self.definitions.moment == visit.moment:
            return False
        changed = self.definitions.changed_since(visit.moment)
        return any(
            self.states.mask_at(place.node, name) & changed
            for place in self.texts(step).all
            for name in place.names
        )

    def _infer(self, place: Place, names: Mapping[str, Type]) -> None:
        template = place.text.template
        walk = Inference(template, self._environment(place, names))
        expression = template.expression if place.asked else None
        kind = walk.asked(expression) if expression is not None else walk.infer()
        self._visit.types[place.text.node] = kind
        self._visit.problems += [(place, problem) for problem in walk.problems]

    def _environment(self, place: Place, names: Mapping[str, Type]) -> Environment:
        states, node = self.states, place.node
        if node not in states.reach:
            # Nobody comes here. What is wrong in itself is still wrong, but nothing is said of the way.
            return Environment(self._around, lambda name: without(states.overall(name), UNDEFINED), names)
        given = states.clauses_at(node, place.names)
        return Environment(self._around, lambda name: states.type_at(node, name), names, given)


def type_of_tree(node: Node, texts: TextTypes) -> Type:
    return tree_type(node, lambda scalar: texts[scalar] if scalar in texts else exact(scalar.text))
