"""What a scope knows of the tasks and workflows that it runs."""

from __future__ import annotations

from typing import Protocol

from wfc.core.ast import Scope
from wfc.core.types import INT, LIST, ListType, Type
from wfc.infer.lookup import FAILED_CHILD
from wfc.infer.terms import join
from wfc.steps.base import Recovery
from wfc.steps.call import Call
from wfc.steps.foreach import Foreach


class Children(Protocol):
    def child(self, step: Foreach | Call) -> Scope | None: ...
    def returned(self, step: Foreach | Call) -> Type: ...


def with_failures(child: Type) -> Type:
    """What a child leaves behind that may have failed."""
    return join(child, FAILED_CHILD)


def goes_on(step: Foreach | Call) -> bool:
    """Whether a child that fails is no reason to stop."""
    handler = step.on_error
    return isinstance(handler, Recovery) or (handler is not None and handler.text == "continue")


def child_names(step: Foreach, item: Type, children: Children) -> dict[str, Type]:
    """The names that a foreach gives each child."""
    names: dict[str, Type] = {"item": item, "index": INT}
    if step.setting("sequential"):
        child = children.returned(step)
        names["previous"] = ListType(with_failures(child)) if goes_on(step) else LIST
    return names
