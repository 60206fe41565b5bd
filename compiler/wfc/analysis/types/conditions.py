"""Conditions on edges in a normal form, and the texts of steps.

`a and not b` with outcome true says that `a` is true and `b` false; `x != 1` is the negation of `x == 1`; and
`x | length > 0` means the same as `x`. In normal form a condition is recognized where it, or its negation, is tested
again later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from jinja2 import nodes

from wfc.analysis.control_flow import Flow, FlowEdge
from wfc.analysis.types.environment import Held
from wfc.caching import cached
from wfc.ir import State
from wfc.language.fields import CONDITION
from wfc.language.steps.base import Step
from wfc.language.values import Text, Tree
from wfc.struct import struct
from wfc.template import Template, parse_template
from wfc.yaml import Scalar

_OPPOSITES = {"ne": "eq", "gt": "lteq", "gteq": "lt", "notin": "in"}
_LENGTHS = frozenset({"length", "count"})


@struct(frozen=True)
class Clause:
    """A condition and its outcome."""

    key: str
    """The normal form of the condition: equivalent conditions have the same key."""
    positive: bool
    """The outcome of the normal form."""
    template: Template
    node: nodes.Expr
    """The condition as written."""
    outcome: bool
    narrows: bool
    """Whether the outcome narrows a type, and does not only show that the value could be read."""
    names: frozenset[str]
    """The names it reads: `x` for a state field, `inputs.x` for an input. A write to one of them ends the clause."""


def clauses_of_edge(edge: FlowEdge, others: list[FlowEdge]) -> tuple[Clause, ...]:
    """The clauses that hold once an edge is taken; `others` are all edges from the same node."""
    if edge.guard is None:
        return ()
    if edge.guard.name == "when":
        return _clauses(edge.guard.text, True)
    if edge.guard.name == "otherwise":
        # The edge is taken if no other one is, so all of their conditions are false.
        tests = (other.guard.text for other in others if other.guard and other.guard.name == "when")
        return tuple(clause for text in tests for clause in _clauses(text, False))
    return ()


def _clauses(text: object, outcome: bool) -> tuple[Clause, ...]:
    return _clauses_of_text(text, outcome) if isinstance(text, str) else ()


@cached(2048)
def _clauses_of_text(text: str, outcome: bool) -> tuple[Clause, ...]:
    template = parse_template(text)
    expression = template.expression if template.ast is not None else None
    return tuple(_split(template, expression, outcome)) if expression is not None else ()


def _split(template: Template, node: nodes.Expr, outcome: bool) -> Iterator[Clause]:
    if isinstance(node, nodes.Not):
        yield from _split(template, node.node, not outcome)
    elif isinstance(node, nodes.And if outcome else nodes.Or):
        # Both parts of a true `and` are true, and both of a false `or` are false. The opposite outcomes decide neither.
        yield from _split(template, node.left, outcome)
        yield from _split(template, node.right, outcome)
    else:
        names, key, same = _said(node)
        if names is not None:
            yield Clause(key, outcome == same, template, node, outcome, _narrows(node), names)


@cached(2048)
# Cached by node: the same condition is met on many edges.
def _said(node: nodes.Expr) -> tuple[frozenset[str] | None, str, bool]:
    """The names that a condition reads, and its normal form. Neither depends on the outcome, so they are cached."""
    return names_in(node), *_form(node)


def _narrows(node: nodes.Expr) -> bool:
    """Whether an outcome narrows a type. A comparison with a number does not: reading the number shows as much."""
    if not isinstance(node, nodes.Compare):
        return not isinstance(node, nodes.Filter | nodes.Call)
    other = node.ops[0].expr
    # Only comparisons with null or text narrow a type.
    return isinstance(other, nodes.Const) and (other.value is None or isinstance(other.value, str))


def form_of(held: Held) -> tuple[str, bool]:
    """The key and the outcome under which a condition is recognized later."""
    _, key, same = _said(held.node)
    return key, held.outcome == same


def _form(node: nodes.Expr) -> tuple[str, bool]:
    """The normal form of a condition, and whether it has the same outcome as the condition (or the opposite one)."""
    if not isinstance(node, nodes.Compare) or len(node.ops) != 1:
        return repr(node), True
    sign, right = node.ops[0].op, node.ops[0].expr
    # `length > 0`, `length != 0` and `length == 0` are about the truth of the list itself.
    zero = isinstance(right, nodes.Const) and right.value == 0
    if (
        zero
        and isinstance(node.expr, nodes.Filter)
        and node.expr.name in _LENGTHS
        and sign in ("gt", "ne", "eq")
    ):
        return repr(node.expr.node), sign != "eq"
    opposite = _OPPOSITES.get(sign)
    return f"{node.expr!r} {opposite or sign} {right!r}", opposite is None


def names_in(node: nodes.Node) -> frozenset[str] | None:
    """The state fields and inputs that an expression reads; None if its value depends on anything else."""
    found: set[str] = set()
    todo: list[nodes.Node] = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, nodes.Call) and isinstance(one.node, nodes.Name):
            # A function such as `now()` may give another value the next time.
            return None
        if isinstance(one, nodes.Name) and one.name == "state":
            # The whole state: every write changes it.
            return None
        if isinstance(one, nodes.Getattr) and isinstance(one.node, nodes.Name):
            root = one.node.name
            if root in ("state", "inputs"):
                found.add(one.attr if root == "state" else f"inputs.{one.attr}")
                continue
        todo += one.iter_child_nodes()
    return frozenset(found)


def names_read(template: Template) -> frozenset[str]:
    """The state fields and inputs that a template reads, spelled as in `Clause.names`."""
    found: list[str] = []
    for read in template.reads:
        name = read.path[0].name if read.path else None
        if isinstance(name, str) and read.root in ("state", "inputs"):
            found.append(name if read.root == "state" else f"inputs.{name}")
    return frozenset(found)


# The texts of steps: where in the flow each is evaluated, and what it reads.


@struct(frozen=True)
class Place:
    """A template, and the node of the control flow at which it is evaluated."""

    text: Text
    node: str
    names: frozenset[str]
    """The state fields and inputs that it reads, spelled as in `Clause.names`."""
    asked: bool
    """Whether it is a condition, of which only the truth is used."""


@struct(slots=True)
class StepTexts:
    plain: list[Place] = field(default_factory=list)
    """Templates that have the names of the scope only."""
    inner: dict[str, tuple[Tree, list[Place]]] = field(default_factory=dict)
    """Templates that have more names, by their key in the mapping that `Step.bindings` gives."""

    @property
    def all(self) -> Iterator[Place]:
        yield from self.plain
        for _, places in self.inner.values():
            yield from places


def texts_of(flow: Flow) -> dict[Step, StepTexts]:
    """The templates of every step of a flow."""
    parts: dict[Step, list[State]] = {}
    for state in flow.states.values():
        if state.step is not None:
            parts.setdefault(state.step, []).append(state)
    return {step: _texts_of_step(flow, step, states) for step, states in parts.items()}


def _texts_of_step(flow: Flow, step: Step, states: list[State]) -> StepTexts:
    bindings = step.bindings()
    trees = bindings.values if bindings is not None else {}
    owner: dict[Scalar, str] = {text.node: key for key, tree in trees.items() for text in tree.texts}
    conditions = [step.values.get(name) for name in _conditions(step)]
    found = StepTexts(inner={key: (tree, []) for key, tree in trees.items()})
    main = next((state.id for state in states if state.kind == step.kind), states[0].id)
    for text in step.texts():
        if text.template.is_literal:
            continue
        # A step with one state evaluates everything there.
        node = _node_of(flow, step, text, states) if len(states) > 1 else main
        place = Place(text, node or main, names_read(text.template), text in conditions)
        key = owner.get(text.node)
        (found.plain if key is None else found.inner[key][1]).append(place)
    return found


def _node_of(flow: Flow, step: Step, text: Text, states: list[State]) -> str | None:
    """The node that evaluates a template, if it is a part of the step: `when`, or the condition of a loop."""
    for state in states:
        if text is step.when and state.kind == "when":
            return state.id
        # The condition of a loop is on the edges of its turn.
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
