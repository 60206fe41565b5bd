"""Types taken round the loops of a scope until they come to rest."""

from __future__ import annotations

from wfc.core.types import ANY, Choice, ListType, Property, Record, Type
from wfc.core.values import Text, Tree
from wfc.infer.children import Children, with_failures
from wfc.infer.definitions import Definition
from wfc.infer.scope import ScopeInference, TextTypes, type_of_tree
from wfc.infer.terms import join
from wfc.infer.views import stored
from wfc.steps.action import Answered
from wfc.steps.base import Step
from wfc.steps.call import Call
from wfc.steps.condition import Condition
from wfc.steps.foreach import Foreach
from wfc.steps.set_state import SetState

_ROUNDS = 4
"""How often types are taken round. What has not come to rest by then is any."""


def settle(inference: ScopeInference, children: Children) -> None:
    """Give every definition its type."""
    definitions = inference.definitions
    for step, written in definitions.by_step.items():
        for definition in written:
            kind = _fixed_type(step, definition, definitions.types[definition.number], children)
            if kind is not None:
                definitions.types[definition.number] = kind
    computing = [step for step in definitions.by_step if isinstance(step, SetState | Condition)]
    for number in range(2 * _ROUNDS):
        before = definitions.moment
        for step in computing:
            _compute(inference, step, give_up=number >= _ROUNDS)
        if definitions.moment == before:
            break
    inference.settled = True


def _fixed_type(step: Step, definition: Definition, kind: Type, children: Children) -> Type | None:
    """The type of what does not depend on the state: answers, and what children return."""
    if isinstance(step, Foreach):
        child = children.returned(step)
        return ListType(stored(with_failures(child) if definition.after_failure else child))
    if isinstance(step, Call) and not definition.after_failure:
        return stored(children.returned(step))
    return _narrowed(step, kind) if isinstance(step, Answered) and isinstance(kind, Record) else None


def _narrowed(step: Answered, kind: Record) -> Type | None:
    """The result of an action, with the choices that it offers."""
    demands = step.narrowing()
    if not demands:
        return None
    choices = {name: _choice(rules.get("enum")) for name, rules in demands.items()}
    properties = (
        Property(prop.name, choices.get(prop.name) or prop.type, prop.required) for prop in kind.properties
    )
    return Record(kind.name, tuple(properties), kind.open, kind.loose)


def _choice(enum: object) -> Type | None:
    values = enum.data if isinstance(enum, Tree) else enum
    if not isinstance(values, list) or not values:
        return None
    texts = [value.data if isinstance(value, Text) else value for value in values]
    literal = not any(isinstance(value, Text) and not value.template.is_literal for value in values)
    return Choice(tuple(texts)) if literal and all(isinstance(text, str) for text in texts) else None


def _compute(inference: ScopeInference, step: Step, give_up: bool) -> None:
    """Infer what a step writes, and remember it where that is more than was known before."""
    definitions = inference.definitions
    written = _Written(step, inference.visit(step).types)
    for definition in definitions.by_step[step]:
        before = definitions.types[definition.number]
        after = join(before, written.into(definition.field))
        if after != before:
            definitions.learn(definition, ANY if give_up else after)


class _Written:
    """What a step writes into its fields, worked out once for all of them."""

    def __init__(self, step: Step, texts: TextTypes) -> None:
        self._step = step
        self._updates: dict[str, Type] = {}
        self._other: Type = ANY
        if isinstance(step, SetState):
            for name, tree in (step.updates or {}).items():
                self._updates[name] = stored(type_of_tree(tree.node, texts))
            kinds = tuple(Property(name, kind) for name, kind in self._updates.items())
            self._other = Record("", kinds, open=False)
        elif isinstance(step, Condition) and step.if_ is not None:
            self._other = stored(type_of_tree(step.if_.node, texts))

    def into(self, field: str) -> Type:
        if isinstance(self._step, SetState) and self._step.output_to and self._step.output_to.text == field:
            return self._other
        return self._updates.get(field, self._other)
