"""Which names a template may use. That depends on the step and on the field it stands in.

`state` and `inputs` are everywhere. The steps of a task also have `item` and `index`, and `previous` where
its children run one after the other. The `with` of a foreach has what the child that it starts will have.
Inside one `updates` a bare name is an earlier key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from wfc.core.ast import Scope, Task, Workflow
from wfc.core.values import Text, Tree
from wfc.lazy import remembered_of_files
from wfc.steps.base import Step
from wfc.steps.foreach import Foreach
from wfc.structs import struct

EVERYWHERE = frozenset({"state", "inputs"})
PREVIOUS = "previous"
CHILD = frozenset({"item", "index"})
CHILD_IN_TURN = CHILD | {PREVIOUS}
"""What a foreach gives each child, side by side and one after the other."""


@struct(frozen=True, slots=True)
class NamesInScope:
    """The names that one template may use without binding them itself."""

    roots: frozenset[str]
    siblings: Mapping[str, int] = field(default_factory=dict)
    """The keys of the `updates` that the template is part of, each with its place."""
    key: str = ""
    """The key that it is the value of, and that one's place."""
    place: int = 0

    def __contains__(self, name: str) -> bool:
        return name in self.roots or self.siblings.get(name, self.place) < self.place

    def __iter__(self) -> Iterator[str]:
        yield from sorted(self.roots)
        yield from (name for name, place in self.siblings.items() if place < self.place)

    def comes_later(self, name: str) -> bool:
        """Whether it is the key that the template is the value of, or one after it."""
        return self.siblings.get(name, -1) >= self.place


@struct(frozen=True)
class Site:
    """A template in its place."""

    scope: Scope
    step: Step
    text: Text
    names: NamesInScope


@remembered_of_files(8)
def template_sites(workflow: Workflow) -> list[Site]:
    """Every template with holes, of the workflow and its tasks, with the names that it may use."""
    run_by = runners(workflow)
    found: list[Site] = []
    for scope in workflow.scopes:
        base = NamesInScope(_roots(scope, run_by))
        for step in scope.walk():
            found += [
                Site(scope, step, text, names)
                for text, names in _texts_with_names(step, base)
                if not text.template.is_literal
            ]
    return found


@remembered_of_files(8)
def runners(workflow: Workflow) -> dict[str, list[Foreach]]:
    """The foreach steps that run each task, by the task's name."""
    found: dict[str, list[Foreach]] = {}
    for scope in workflow.scopes:
        for step in scope.walk():
            if isinstance(step, Foreach) and step.task:
                found.setdefault(step.task.text, []).append(step)
    return found


def is_in_turn(step: Foreach) -> bool:
    return bool(step.setting("sequential"))


def _roots(scope: Scope, run_by: dict[str, list[Foreach]]) -> frozenset[str]:
    if not isinstance(scope, Task):
        return EVERYWHERE
    # Of a task that nothing runs nobody can say how it would be run: it gets the benefit of the doubt.
    in_turn = all(is_in_turn(step) for step in run_by.get(scope.task_name, ()))
    return EVERYWHERE | (CHILD_IN_TURN if in_turn else CHILD)


def _texts_with_names(step: Step, base: NamesInScope) -> Iterator[tuple[Text, NamesInScope]]:
    name, extend = _SPECIAL.get(step.kind, ("", None))
    value = step.values.get(name)
    special = extend(step, value, base) if extend and isinstance(value, dict) else {}
    return ((text, special.get(text, base)) for text in step.texts())


def _foreach_with(step: Step, bindings: dict[str, Tree], base: NamesInScope) -> dict[Text, NamesInScope]:
    given = CHILD_IN_TURN if step.setting("sequential") else CHILD
    names = NamesInScope(base.roots | given)
    return {text: names for tree in bindings.values() for text in tree.texts}


def _updates(step: Step, updates: dict[str, Tree], base: NamesInScope) -> dict[Text, NamesInScope]:
    places = {name: place for place, name in enumerate(updates)}
    return {
        text: NamesInScope(base.roots, places, name, places[name])
        for name, tree in updates.items()
        for text in tree.texts
    }


_Extend = Callable[[Step, dict[str, Tree], NamesInScope], dict[Text, NamesInScope]]
_SPECIAL: dict[str, tuple[str, _Extend]] = {
    "foreach": ("with", _foreach_with),
    "set_state": ("updates", _updates),
}
"""The field whose templates see more than the rest of their step, by step type."""
