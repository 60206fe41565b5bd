"""How the conditions of a scope tell the answers to a choice apart."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.language.steps.base import Step
from wfc.language.steps.break_ import Break
from wfc.language.steps.condition import Condition
from wfc.language.steps.continue_ import Continue
from wfc.language.steps.goto import Goto
from wfc.language.steps.prompt import Prompt
from wfc.language.steps.return_ import Return
from wfc.language.steps.while_ import While
from wfc.language.values import Text
from wfc.rules.shared.scope_use import ScopeUse, StateRead
from wfc.struct import struct
from wfc.yaml import Span
from wfc_runtime.expr import nodes

_ANSWER = "selected"
_LEAVING = (Break, Continue, Goto, Return)


@struct(frozen=True)
class Comparison:
    """`state.answer.selected == 'ship'`, or `in` a list of texts, in a condition."""

    step: Step
    text: Text
    node: nodes.Compare
    words: list[nodes.Const]
    leaves: bool
    """Whether the flow goes elsewhere where it is true, so that what follows is for the other answers."""

    @property
    def span(self) -> Span:
        return self.text.at(*self.text.template.span(self.node))


class Comparisons:
    """What is done with the answer in one field."""

    def __init__(self, field: str, use: ScopeUse) -> None:
        self._field = field
        self.all: list[Comparison] = []
        self.decide_alone = field not in use.meant | use.bare
        """Whether nothing but these comparisons looks at the answer, and none of them covers the rest."""
        texts: dict[Text, list[StateRead]] = {}
        for read in use.reads.get(field, []):
            texts.setdefault(read.text, []).append(read)
        for text, reads in texts.items():
            self._look(reads[0].step, text, len(reads))
        tested = {one.step for one in self.all}
        self.decide_alone &= not any(_has_rest(one.step, tested) for one in self.all)

    def _look(self, step: Step, text: Text, reads: int) -> None:
        if text is not step.when and text is not step.values.get("if"):
            # Showing the answer is not acting on it.
            self.decide_alone &= isinstance(step, Prompt) and text is step.message
            return
        expression = text.template.expression if text.template.ast is not None else None
        found = list(self._compared(expression)) if expression is not None else []
        leaves = isinstance(step, _LEAVING if text is step.when else While) or (
            isinstance(step, Condition) and text is step.if_ and never_goes_on(step.then or [])
        )
        for node, words, positive in found:
            self.decide_alone &= positive
            self.all.append(Comparison(step, text, node, words, leaves))
        self.decide_alone &= len(found) == reads

    def _compared(self, condition: nodes.Expr) -> Iterator[tuple[nodes.Compare, list[nodes.Const], bool]]:
        """The comparisons in a condition, each with whether it picks out its words or leaves them out."""
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
    """Whether the flow leaves a list of steps before its end, on every way through it."""
    last = block[-1] if block else None
    if isinstance(last, Condition) and last.when is None:
        return never_goes_on(last.then or []) and never_goes_on(last.else_ or [])
    return isinstance(last, _LEAVING) and last.when is None


def _has_rest(step: Step, tested: set[Step]) -> bool:
    """Whether a condition has an `else` that does more than go on comparing."""
    other = step.else_ if isinstance(step, Condition) else None
    return bool(other) and any(inner not in tested for inner in other or ())
