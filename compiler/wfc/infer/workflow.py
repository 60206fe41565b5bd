"""The types of a whole file: every scope settled, then every problem collected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property

from wfc.core.ast import Scope, Task, Workflow
from wfc.core.names_in_scope import runners
from wfc.core.types import ANY, Type
from wfc.core.values import Text
from wfc.flow import Flow
from wfc.infer.bindings import Misfit, misfits
from wfc.infer.children import child_names
from wfc.infer.inputs import least_of_input
from wfc.infer.problems import Problem
from wfc.infer.results import item_of
from wfc.infer.returns import returned_type
from wfc.infer.scope import ScopeInference, type_of_tree
from wfc.infer.settle import settle
from wfc.infer.states import StateFlow
from wfc.infer.terms import UNDEFINED, join
from wfc.infer.views import plain
from wfc.infer.ways import Ways
from wfc.lower.charts import merged
from wfc.steps.base import Step
from wfc.steps.call import Call
from wfc.steps.foreach import Foreach
from wfc.structs import struct
from wfc.yaml import Span

_TASK_AGENTS = (None, "@task")
"""Who follows the steps of a task. A named agent gets it as one brief and returns what it likes."""
_FROM_PARENT = frozenset({"item", "previous"})


@struct(frozen=True)
class Located:
    """A problem in its place."""

    step: Step
    text: Text
    node: str
    problem: Problem

    @property
    def span(self) -> Span:
        return self.text.at(self.problem.start, self.problem.end)


@struct(eq=False)
class ScopeTypes:
    """What is known of one scope."""

    scope: Scope
    inference: ScopeInference
    file: FileTypes
    returns: Type
    problems: list[Located] = field(default_factory=list)
    misfits: list[tuple[Step, Misfit]] = field(default_factory=list)

    @property
    def states(self) -> StateFlow:
        return self.inference.states

    @cached_property
    def ways(self) -> Ways:
        return Ways(self.states, lambda name: least_of_input(self.scope, name))

    def field_types(self) -> dict[str, Type]:
        """Each field with one plain type for all that is ever written to it."""
        definitions = self.inference.definitions
        found: dict[str, Type] = {}
        for field_name, ways in definitions.by_field.items():
            first, *later = [definitions.types[way.number] for way in ways]
            start = [] if first == UNDEFINED else [plain(first)]
            found[field_name] = merged([*start, *([plain(join(*later))] if later else [])])
        return found

    def item_of(self, step: Foreach) -> Type:
        """What the child of a foreach gets as its item."""
        texts = self.inference.visit(step).types
        return item_of(type_of_tree(step.items.node, texts) if step.items else ANY)

    def collect(self) -> None:
        """Look at every text once more, now that the types are known, and keep what is wrong with it."""

        for step in self.scope.walk():
            visit = self.inference.visit(step)
            for place, problem in visit.problems:
                self.problems.append(Located(step, place.text, place.node, problem))
            self.misfits += [(step, found) for found in misfits(step, visit.types, self.file)]


class FileTypes:
    """The scopes of a file. Tasks come first where something runs them: their results have types then."""

    def __init__(
        self,
        workflow: Workflow,
        flows: list[tuple[Scope, Flow]],
        called: Callable[[Call], tuple[Scope | None, Type]],
    ) -> None:
        self._workflow = workflow
        self._flows = dict(flows)
        self._called = called
        self._found: dict[Scope, ScopeTypes] = {}
        self._underway: set[Scope] = set()
        for scope in self._flows:
            self.of(scope)
        self._give_items()
        for types in self._found.values():
            types.collect()

    @property
    def scopes(self) -> list[ScopeTypes]:
        return [self._found[scope] for scope in self._flows]

    @property
    def main(self) -> ScopeTypes:
        return self._found[self._workflow]

    def of(self, scope: Scope) -> ScopeTypes:
        if scope not in self._found:
            self._underway.add(scope)
            self._found[scope] = self._infer(scope, {"index": ANY})
            self._underway.discard(scope)
        return self._found[scope]

    def _infer(self, scope: Scope, names: Mapping[str, Type]) -> ScopeTypes:
        inference = ScopeInference(scope, self._flows[scope], names, self)
        settle(inference, self)
        return ScopeTypes(scope, inference, self, returned_type(inference))

    # -- children --------------------------------------------------------------

    def child(self, step: Foreach | Call) -> Scope | None:
        if isinstance(step, Call):
            return self._called(step)[0]
        return self._workflow.declared_tasks.get(step.task.text) if step.task else None

    def returned(self, step: Foreach | Call) -> Type:
        if isinstance(step, Call):
            return self._called(step)[1]
        task = self.child(step)
        if task is None or task in self._underway or step.agent_name not in _TASK_AGENTS:
            return ANY
        return self.of(task).returns

    def _give_items(self) -> None:
        """Tasks that look at their item are inferred again, with what the steps that run them go over.

        Whoever runs a task that is now known to return more is inferred again too, but nobody a third time.
        """
        run_by = runners(self._workflow)
        scopes = {step: types for types in self.scopes for step in types.scope.walk()}
        again: dict[Scope, None] = {}
        for task in list(self._found):
            steps = run_by.get(task.task_name, []) if isinstance(task, Task) else []
            if not steps or not _reads_item(task):
                continue
            given = [self._names_given(step, scopes[step]) for step in steps]
            common = set(given[0]).intersection(*given[1:])
            names = {name: join(*(one[name] for one in given)) for name in common}
            before = self._found[task].returns
            self._found[task] = self._infer(task, names)
            if self._found[task].returns != before:
                again |= {scopes[step].scope: None for step in steps if scopes[step].scope is not task}
        for scope in again:
            self._found[scope] = self._infer(scope, self._found[scope].inference.names)

    def _names_given(self, step: Foreach, types: ScopeTypes) -> dict[str, Type]:
        return child_names(step, types.item_of(step), self)


def _reads_item(scope: Scope) -> bool:
    return any(
        read.root in _FROM_PARENT
        for step in scope.walk()
        for text in step.texts()
        for read in text.template.reads
    )
