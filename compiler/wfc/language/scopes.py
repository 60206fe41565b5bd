"""Scopes: the position of a step among the lists of steps, and the names that its templates may use.

`state` and `inputs` are available everywhere. The steps of a task also have `item` and `index`, and `previous` if its
children run one after the other. The `with` of a foreach has the names of the child that it starts. Within one
`updates`, a bare name is an earlier key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from wfc.caching import cached_per_file
from wfc.language.ast import Scope, Task, Workflow
from wfc.language.steps.base import Step
from wfc.language.steps.protocol import CHILD, CHILD_IN_TURN, NUMBERED, Bindings, Child, Variables
from wfc.language.values import Text
from wfc.struct import struct

# Nesting: the list that a step is in, and the lists around it. Jumps may target only those.


@struct(frozen=True, eq=False)
class Block:
    """A list of steps."""

    steps: list[Step]
    label: str
    """Its name in messages: "the `then` of `check-tests`"."""
    owner: Step | None = None
    outer: Block | None = None

    def around(self) -> Iterator[Block]:
        """This list and the lists around it, innermost first."""
        block: Block | None = self
        while block is not None:
            yield block
            block = block.outer


def blocks_of(scope: Scope) -> dict[Step, Block]:
    """The list that contains each step of a scope, in source order."""
    found: dict[Step, Block] = {}
    _collect(Block(scope.block, f"the steps of {scope.known_as}"), found)
    if scope.handler:
        _collect(Block(scope.handler, f"the `on_failure` of {scope.known_as}"), found)
    return found


def _collect(block: Block, found: dict[Step, Block]) -> None:
    for step in block.steps:
        found[step] = block
        inner = [steps for steps in step.blocks() if steps]
        labels = dict(_labels(step)) if inner else {}
        for steps in inner:
            # By identity: two lists may have equal content.
            label = labels.get(id(steps), "a list")
            _collect(Block(steps, f"{label} of `{step.name}`", step, block), found)


def _labels(step: Step) -> Iterator[tuple[int, str]]:
    """The names of the lists inside a step, by identity, since `blocks` yields them without a name."""
    for name, value in step.values.items():
        if isinstance(value, list):
            yield id(value), f"the `{name}`"
        elif isinstance(value, dict):
            yield from ((id(steps), f"the branch `{branch}`") for branch, steps in value.items())


class Targets:
    """The steps of a scope as targets of jumps."""

    def __init__(self, scope: Scope) -> None:
        self.blocks = blocks_of(scope)
        self._by_name: dict[str, Step] = {}
        for step in self.blocks:
            # The first of several steps with the same name; duplicates are reported.
            self._by_name.setdefault(step.name, step)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._by_name if name)

    def __getitem__(self, name: str) -> Step:
        return self._by_name[name]

    def block_of(self, name: str) -> Block:
        return self.blocks[self._by_name[name]]

    def can_reach(self, step: Step, name: str) -> bool:
        """Whether a jump from this step may go to the target, which must be in its own list or in one around it."""
        # A jump into another list would begin in the middle of a branch.
        return name in self and self.block_of(name) in self.blocks[step].around()

    def in_reach(self, step: Step) -> Iterator[str]:
        """The targets that a jump from this step may have, innermost list first."""
        around = self.blocks[step].around()
        return (other.name for block in around for other in block.steps if other is not step and other.name)


# Names that a template may use.

EVERYWHERE = frozenset({"state", "inputs"})


@struct(frozen=True, slots=True)
class NamesInScope:
    """The names that one template may use without binding them itself."""

    roots: frozenset[str]
    siblings: Mapping[str, int] = field(default_factory=dict)
    """The keys of the `updates` that contain the template, each with its position."""
    key: str = ""
    """The key whose value it is, and the position of that key."""
    place: int = 0

    def __contains__(self, name: str) -> bool:
        # The key itself is not visible in its own value.
        return name in self.roots or self.siblings.get(name, self.place) < self.place

    def __iter__(self) -> Iterator[str]:
        yield from sorted(self.roots)
        yield from (name for name, place in self.siblings.items() if place < self.place)

    def comes_later(self, name: str) -> bool:
        """Whether a name is the key whose value the template is, or a later key."""
        return self.siblings.get(name, -1) >= self.place


@struct(frozen=True)
class Site:
    """A template, its step and scope, and the names that it may use."""

    scope: Scope
    step: Step
    text: Text
    names: NamesInScope


@cached_per_file(8)
def template_sites(workflow: Workflow) -> list[Site]:
    """Every template of the workflow and its tasks that has expressions."""
    run_by = runners(workflow)
    found: list[Site] = []
    for scope in workflow.scopes:
        base = NamesInScope(_roots(scope, run_by))
        inside = loop_variables(scope)
        for computed in scope.computed:
            found += [
                Site(scope, computed, text, NamesInScope(computed.roots(text)))
                for text in computed.texts()
                if not text.template.is_literal
            ]
        for step in scope.walk():
            around = inside.get(step, ())
            given = {name for one in around for name in one.names.values()}
            # Only the steps of the handler know the error.
            if step in scope.handling:
                given.add("error")
            own = NamesInScope(base.roots | given) if given else base
            found += [
                Site(scope, step, text, names)
                for text, names in _texts_with_names(step, own)
                if not text.template.is_literal
            ]
    return found


@cached_per_file(8)
def loop_variables(scope: Scope) -> dict[Step, tuple[Variables, ...]]:
    """The variables of the loops around each step, the innermost last. Steps outside of such loops are missing."""
    # Most scopes have no such loop.
    if not any(step.names_inside() for step in scope.walk()):
        return {}
    found: dict[Step, tuple[Variables, ...]] = {}
    for step, block in blocks_of(scope).items():
        owner = block.owner
        own = owner.names_inside() if owner is not None else None
        # The owner comes before its steps, so its own variables are known.
        outer = found.get(owner, ()) if owner is not None else ()
        if outer or own is not None:
            found[step] = (*outer, *([own] if own is not None else []))
    return found


@cached_per_file(8)
def runners(workflow: Workflow) -> dict[str, list[Child]]:
    """The steps that run each task, as the children that they start, by the task's name."""
    found: dict[str, list[Child]] = {}
    for scope in workflow.scopes:
        for step in scope.walk():
            child = step.child()
            if child is not None and child.is_task and child.name:
                found.setdefault(child.name.text, []).append(child)
    return found


def _roots(scope: Scope, run_by: dict[str, list[Child]]) -> frozenset[str]:
    if not isinstance(scope, Task):
        return EVERYWHERE
    # A task that nothing runs may use all names, since any step could run it.
    sequential = all(child.sequential for child in run_by.get(scope.task_name, ()))
    numbered = all(child.numbered for child in run_by.get(scope.task_name, ()))
    return EVERYWHERE | (CHILD_IN_TURN if sequential else CHILD) | (NUMBERED if numbered else frozenset())


def _texts_with_names(step: Step, base: NamesInScope) -> Iterator[tuple[Text, NamesInScope]]:
    bindings = step.bindings()
    special = _names_of_bindings(step, bindings, base) if bindings is not None else {}
    for text, names in step.local_names().items():
        # Names such as `result` exist in some fields of a step only.
        special[text] = NamesInScope(base.roots | names.keys())
    return ((text, special.get(text, base)) for text in step.texts())


def _names_of_bindings(step: Step, bindings: Bindings, base: NamesInScope) -> dict[Text, NamesInScope]:
    if bindings.in_order:
        places = {name: place for place, name in enumerate(bindings.values)}
        return {
            text: NamesInScope(base.roots, places, name, places[name])
            for name, tree in bindings.values.items()
            for text in tree.texts
        }
    child = step.child()
    names = NamesInScope(base.roots | child.names) if child is not None else base
    return {text: names for tree in bindings.values.values() for text in tree.texts}
