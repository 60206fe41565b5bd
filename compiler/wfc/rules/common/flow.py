"""Control flow for rules: conditions, parallel branches, loops, and comparisons of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jinja2 import nodes

from wfc.analysis.control_flow import FlowEdge
from wfc.caching import cached_per_file, cached_property
from wfc.language.ast import Scope, walk
from wfc.language.fields import CONDITION
from wfc.language.scopes import blocks_of
from wfc.language.steps.base import Step
from wfc.language.steps.prompt import Prompt
from wfc.language.values import Text
from wfc.project import SourceFile
from wfc.rules.common.state import ScopeUse, StateRead
from wfc.struct import struct
from wfc.yaml import Entry, Span
from wfc_runtime.digraph import components, has_circle


@struct(frozen=True)
class ConditionField:
    step: Step
    name: str
    text: Text

    @property
    def entry(self) -> Entry | None:
        return self.step.node.entry(self.name)


@cached_per_file(8)
def condition_fields(file: SourceFile) -> list[ConditionField]:
    """Every condition of a file, in source order."""
    return [
        ConditionField(step, name, value)
        for step in file.steps
        for name, value in step.values.items()
        if isinstance(value, Text) and step.FIELDS[name].type is CONDITION
    ]


class Beside:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def writes(self, step: Step, field: str) -> bool:
        """Whether a branch that is parallel to the branch of a step writes a field."""
        # More writes around it than in its own branch: another branch writes the field.
        return any(total[field] > own[field] for total, own in self._counts.get(step, ()))

    @cached_property
    def _counts(self) -> dict[Step, list[tuple[Counter[str], Counter[str]]]]:
        """For each step, the number of writes of each field in all branches around it, and in its own."""
        # Most workflows have no parallel branches, and counting would cost them time.
        if not any(step.concurrent() for step in self._scope.walk()):
            return {}
        blocks = blocks_of(self._scope)
        own: dict[int, Counter[str]] = {}
        total: dict[Step, Counter[str]] = {}
        for step in blocks:
            if branches := step.concurrent():
                total[step] = Counter()
                for branch in branches.values():
                    own[id(branch)] = Counter(name for one in walk(branch) for name in one.writes())
                    total[step].update(own[id(branch)])
        return {
            step: [
                (total[around.owner], own[id(around.steps)])
                for around in block.around()
                if around.owner is not None and around.owner in total
            ]
            for step, block in blocks.items()
        }


@struct(frozen=True)
class Loop:
    step: Step
    """The `while`, or the goto that jumps back."""
    decisions: list[Text]
    """The conditions that alone decide whether the loop continues."""
    written: frozenset[str]
    has_rest: bool
    """Whether the step handles the end of the iterations."""


class Loops:
    def __init__(self, use: ScopeUse) -> None:
        self._scope = use.scope
        self._flow = use.flow
        self._meant = use.meant
        self._beside = Beside(use.scope)

    def found(self) -> Iterator[Loop]:
        """The loops that only conditions can end."""
        steps = list(self._scope.walk())
        if any(step.repeats for step in steps):
            yield from self._whiles(steps)
        if any(step.jump() is not None for step in steps):
            yield from self._gotos()

    def writes(self, loop: Loop, field: str) -> bool:
        """Whether a field may be written while the loop runs, by the loop or by a parallel branch."""
        return any(
            # `meant` has names of mistakes, which may stand for this field.
            name in loop.written or name in self._meant or self._beside.writes(loop.step, name)
            for name in (field, *self._scope.sources.get(field, ()))
        )

    # -- while -----------------------------------------------------------------

    def _whiles(self, steps: list[Step]) -> Iterator[Loop]:
        nodes = self._nodes
        for step in steps:
            condition = step.condition if step.repeats else None
            if condition is not None and condition.is_text:
                body = list(walk([inner for block in step.blocks() for inner in block]))
                inside = {node for one in (step, *body) for node in nodes.get(one, ())}
                mine = set(nodes.get(step, ()))
                # A body that can leave the loop, as with `break`, does not depend on the condition.
                if not any(self._leaves(node, inside) for node in inside - mine):
                    yield Loop(step, [condition], _written([step, *body]), _handles_end(step))

    def _leaves(self, node: str, inside: set[str]) -> bool:
        return any(edge.target not in inside for edge in self._flow.out.get(node, ()) if edge.join is None)

    # -- goto ------------------------------------------------------------------

    def _gotos(self) -> Iterator[Loop]:
        """One loop for each cycle of jumps, at the last goto in it."""
        # A retry repeats a step, and not the loop. The turns of a `while` are handled above.
        edges = [edge for edge in self._flow.edges if edge.event != "retry" and not self._is_turn(edge)]
        graph: dict[str, list[str]] = {}
        for edge in edges:
            graph.setdefault(edge.source, []).append(edge.target)
        for circle in components(list(graph), graph):
            if has_circle(circle, graph):
                yield from self._circle(frozenset(circle))

    def _is_turn(self, edge: FlowEdge) -> bool:
        """Whether it leads from the body of a `while` back to its condition."""
        state = self._flow.states.get(edge.target)
        return state is not None and state.kind == "turn" and self._flow.step(edge.source) is not state.step

    def _circle(self, nodes: frozenset[str]) -> Iterator[Loop]:
        inside = sorted(nodes & self._flow.states.keys(), key=self._rank.__getitem__)
        states = [self._flow.states[node] for node in inside]
        steps = list(dict.fromkeys(state.step for state in states if state.step))
        gotos = [step for step in steps if step.jump() is not None]
        # The iterations of a `while` inside it, and their writes, are not tracked.
        if not gotos or any(state.kind == "turn" for state in states):
            return
        exits = [edge for node in nodes for edge in self._flow.out.get(node, ()) if edge.target not in nodes]
        # The exit after the last allowed jump is not a decision of the author.
        exits = [edge for edge in exits if not self._is_used_up(edge)]
        # An exit without a condition always ends the loop at some point.
        if not exits or any(edge.guard is None or edge.guard.name == "ok" for edge in exits):
            return
        deciding = {edge.source for edge in exits}
        if len(deciding) > 1 or not self._always_passes(nodes, next(iter(deciding))):
            # With several exits, the one that is taken may depend on any choice and any failure in the cycle.
            if any(self._may_fail_over(node) for node in nodes):
                return
            deciding = {node for node in nodes if any(_is_choice(edge) for edge in self._flow.out[node])}
        texts = [self._condition(state.id) for state in states if state.id in deciding]
        found = [text for text in texts if text is not None]
        # A decision without a text, such as a failure, makes the loop unpredictable.
        if found and len(found) == len(texts):
            has_rest = any(field == "else" for step in gotos for field, _ in step.jumps())
            yield Loop(self._leading_back(gotos), found, _written(steps), has_rest)

    def _leading_back(self, gotos: list[Step]) -> Step:
        """The last goto whose target comes before it."""
        order = self._order
        targets = [(step, step.jump()) for step in gotos]
        back = [
            step for step, word in targets if word is not None and order.get(word.text, 0) <= order[step.name]
        ]
        return (back or gotos)[-1]

    @cached_property
    # Reversed, so that the first of several steps with the same name counts.
    def _order(self) -> dict[str, int]:
        return {step.name: number for number, step in reversed(list(enumerate(self._scope.walk())))}

    @cached_property
    def _rank(self) -> dict[str, int]:
        return {node: number for number, node in enumerate(self._flow.states)}

    def _may_fail_over(self, node: str) -> bool:
        return any(edge.event == "recover" and not self._is_used_up(edge) for edge in self._flow.out[node])

    def _is_used_up(self, edge: FlowEdge) -> bool:
        step = self._flow.step(edge.source)
        return edge.event == "recover" and step is not None and step.jump() is not None

    def _always_passes(self, nodes: frozenset[str], gate: str) -> bool:
        """Whether every iteration passes a node: without the node there is no cycle."""
        others = nodes - {gate}
        graph = {
            node: [edge.target for edge in self._flow.out.get(node, ()) if edge.target in others]
            for node in others
        }
        return not any(has_circle(found, graph) for found in components(sorted(graph), graph))

    def _condition(self, node: str) -> Text | None:
        """The condition that selects the next node."""
        state = self._flow.states[node]
        step = state.step
        if step is None:
            return None
        text = step.when if state.kind == "when" else step.condition
        return text if text is not None and text.is_text else None

    # -- what both need --------------------------------------------------------

    @cached_property
    def _nodes(self) -> dict[Step, list[str]]:
        found: dict[Step, list[str]] = {}
        for state in self._flow.states.values():
            if state.step is not None:
                found.setdefault(state.step, []).append(state.id)
        for parallel, ends in self._flow.branch_ends.items():
            step = self._flow.step(parallel)
            if step is not None:
                found[step] += ends
        return found


def _is_choice(edge: FlowEdge) -> bool:
    return edge.guard is not None and edge.guard.name == "when"


def _written(steps: list[Step]) -> frozenset[str]:
    return frozenset(name for step in steps for name in step.writes())


def _handles_end(step: Step) -> bool:
    """Whether the author handles the end of the iterations."""
    return "on_error" in step.values or "at_limit" in step.values


_ANSWER = "selected"


@struct(frozen=True)
class Comparison:
    """`state.answer.selected == 'ship'`, or `in` a list of texts, in a condition."""

    step: Step
    text: Text
    node: nodes.Compare
    words: list[nodes.Const]
    leaves: bool
    """Whether the flow leaves if it is true, so that the steps after it handle the other answers."""

    @property
    def span(self) -> Span:
        return self.text.at(*self.text.template.span(self.node))


class Comparisons:
    """The comparisons of the answer in one field."""

    def __init__(self, field: str, use: ScopeUse) -> None:
        self._field = field
        self.all: list[Comparison] = []
        self.decide_alone = field not in use.meant | use.bare
        """Whether only these comparisons read the answer, and none of them handles the rest."""
        texts: dict[Text, list[StateRead]] = {}
        for read in use.reads.get(field, []):
            texts.setdefault(read.text, []).append(read)
        for text, reads in texts.items():
            self._look(reads[0].step, text, len(reads))
        tested = {one.step for one in self.all}
        self.decide_alone &= not any(_has_rest(one.step, tested) for one in self.all)

    def _look(self, step: Step, text: Text, reads: int) -> None:
        if text is not step.when and text is not step.condition:
            # A message that only shows the answer does not handle it.
            self.decide_alone &= isinstance(step, Prompt) and text is step.message
            return
        expression = text.template.expression if text.template.ast is not None else None
        found = list(self._compared(expression)) if expression is not None else []
        leaves = step.ends_block if text is step.when else _leaves_where_true(step)
        for node, words, positive in found:
            self.decide_alone &= positive
            self.all.append(Comparison(step, text, node, words, leaves))
        # A read that is not a comparison may handle the other answers.
        self.decide_alone &= len(found) == reads

    def _compared(self, condition: nodes.Expr) -> Iterator[tuple[nodes.Compare, list[nodes.Const], bool]]:
        """The comparisons in a condition, each with whether it selects its words or excludes them."""
        todo = [(condition, True)]
        while todo:
            node, positive = todo.pop()
            match node:
                case nodes.Not():
                    todo.append((node.node, not positive))
                case nodes.And() | nodes.Or():
                    todo += ((node.right, positive), (node.left, positive))
                case nodes.Compare() if len(node.ops) == 1:
                    sign, left, right = node.ops[0].op, node.expr, node.ops[0].expr
                    # The constant may be on either side.
                    if sign in ("eq", "ne") and self._is_answer(right):
                        left, right = right, left
                    words = _words(right, sign) if self._is_answer(left) else None
                    if words is not None:
                        yield node, words, positive == (sign in ("eq", "in"))

    def _is_answer(self, node: nodes.Expr) -> bool:
        """Whether it is `state.<field>.selected`, written with dots."""
        return (
            isinstance(node, nodes.Getattr)
            and node.attr == _ANSWER
            and isinstance(node.node, nodes.Getattr)
            and node.node.attr == self._field
            and isinstance(node.node.node, nodes.Name)
            and node.node.node.name == "state"
        )


def _words(node: nodes.Expr, sign: str) -> list[nodes.Const] | None:
    items = (
        [node] if sign in ("eq", "ne") else node.items if isinstance(node, nodes.List | nodes.Tuple) else []
    )
    words = [item for item in items if isinstance(item, nodes.Const) and isinstance(item.value, str)]
    return words if words and len(words) == len(items) else None


def never_goes_on(block: list[Step]) -> bool:
    """Whether the flow leaves a list of steps before its end on every path."""
    last = block[-1] if block else None
    if last is None or last.when is not None:
        return False
    decision = last.decision() if not last.repeats else None
    if decision is not None:
        return never_goes_on(decision.then) and never_goes_on(decision.otherwise)
    return last.ends_block


def _leaves_where_true(step: Step) -> bool:
    """Whether the step after this one is reached only if its condition is false."""
    decision = step.decision()
    return step.repeats or (decision is not None and never_goes_on(decision.then))


def _has_rest(step: Step, tested: set[Step]) -> bool:
    """Whether a condition has an `else` that does more than compare further."""
    decision = step.decision()
    return decision is not None and any(inner not in tested for inner in decision.otherwise)
