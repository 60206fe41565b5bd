"""The types of a whole file and of the files it calls: a fixpoint of every scope, then all problems.

The type of a field depends on the templates that compute it, and these depend on the types of fields. `solve` starts
with `NOTHING` for each computed definition and infers all computing steps in rounds; each round joins the new type to
the old one, so types only grow. It ends when a round changes nothing. A type that still grows after `_ROUNDS` (a list
that is nested once more in each turn, say) is widened to any, which ends every such chain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from wfc.analysis.control_flow import Flow, FlowEdge, flows_of
from wfc.analysis.types.builtins import item_of
from wfc.analysis.types.environment import Kind, Problem
from wfc.analysis.types.lattice import EMPTY_OBJECT, UNDEFINED, join, options, plain, stored, without
from wfc.analysis.types.paths import Paths
from wfc.analysis.types.reaching import (
    Children,
    Definition,
    Definitions,
    StateFlow,
    child_names,
    with_failures,
)
from wfc.analysis.types.scope import Misfit, ScopeInference, TextTypes, bounds_of_input, misfits, type_of_tree
from wfc.caching import cached_per_file, cached_property
from wfc.ir import Chart, Module
from wfc.language.ast import Scope, Task, Workflow
from wfc.language.derived import Computed
from wfc.language.scopes import runners
from wfc.language.steps.base import Answered, Step
from wfc.language.steps.protocol import Child
from wfc.language.types import ANY, NULL, Choice, ListType, Property, Record, Type, of_value
from wfc.language.values import Text, Tree
from wfc.lower.charts import merged
from wfc.project import SourceFile
from wfc.struct import replace, struct
from wfc.yaml import Span

# The fixpoint: types are propagated around the loops of a scope until they no longer change.

# The limit matters only for types that grow in every round, such as a list that is wrapped again in each turn.
_ROUNDS = 4
"""The number of rounds after which a type that still changes is widened to any."""


def solve(inference: ScopeInference, children: Children) -> None:
    """Compute the types of all definitions of a scope."""
    definitions = inference.definitions
    for step, written in definitions.by_step.items():
        for definition in written:
            kind = _fixed_type(step, definition, definitions.types[definition.number], children)
            if kind is not None:
                definitions.types[definition.number] = kind
    computing = [step for step in definitions.by_step if step.assigns() is not None]
    # Twice as many rounds: the second half widens, and each widening may need a round to propagate.
    for number in range(2 * _ROUNDS):
        before = definitions.moment
        for one, definition in definitions.computed.items():
            _learn(definitions, definition, _derived(inference, one), give_up=number >= _ROUNDS)
        for step in computing:
            _compute(inference, step, give_up=number >= _ROUNDS)
        if definitions.moment == before:
            break
    inference.settled = True


def _fixed_type(step: Step, definition: Definition, kind: Type, children: Children) -> Type | None:
    """The type of a result that does not depend on the state: an answer, or the result of a child."""
    child = step.child()
    output = step.values.get("output_to")
    if child is not None and (output is None or definition.field != output.text):
        # A field that its children share.
        return None
    if child is not None and child.is_task:
        result = children.returned(child)
        return ListType(stored(with_failures(result) if definition.after_failure else result))
    if child is not None and not definition.after_failure:
        return stored(children.returned(child))
    return _narrowed(step, kind) if isinstance(step, Answered) and isinstance(kind, Record) else None


def _narrowed(step: Answered, kind: Record) -> Type | None:
    """The result of an action, in which the options that it offers are exact values."""
    demands = step.narrowing()
    if not demands:
        return None
    choices = {name: _choice(rules.get("enum")) for name, rules in demands.items()}
    properties = (
        Property(prop.name, choices.get(prop.name) or prop.type, prop.required) for prop in kind.properties
    )
    return Record(kind.name, tuple(properties), kind.open, kind.loose, kind.declared)


def _choice(enum: object) -> Type | None:
    values = enum.data if isinstance(enum, Tree) else enum
    if not isinstance(values, list) or not values:
        return None
    texts = [value.data if isinstance(value, Text) else value for value in values]
    # An option that is computed may be any text, so the answer is no exact value then.
    literal = not any(isinstance(value, Text) and not value.template.is_literal for value in values)
    return Choice(tuple(texts)) if literal and all(isinstance(text, str) for text in texts) else None


def _compute(inference: ScopeInference, step: Step, give_up: bool) -> None:
    """Infer the fields that a step computes, and join their types to those known before."""
    definitions = inference.definitions
    written = _Written(step, inference.visit(step).types)
    for definition in definitions.by_step[step]:
        _learn(definitions, definition, written.into(definition.field), give_up)


def _learn(definitions: Definitions, definition: Definition, kind: Type, give_up: bool) -> None:
    before = definitions.types[definition.number]
    after = join(before, kind)
    # Joined and never replaced: types only grow, which is why the fixpoint ends.
    if after != before:
        definitions.learn(definition, ANY if give_up else after)


def _derived(inference: ScopeInference, one: Computed) -> Type:
    """The type of a field that the scope computes. That it is null after a failure is not part of it (WF317)."""
    texts = inference.visit_computed(one).types
    kinds = [stored(type_of_tree(tree.node, texts)) for tree in one.assigns().values()]
    fallback = one.values.get("fallback")
    return join(*kinds, *([of_value(fallback.data)] if fallback is not None else []))


class _Written:
    """The types of the fields that a step computes."""

    def __init__(self, step: Step, texts: TextTypes) -> None:
        computed = step.assigns() or {}
        self._types = {name: stored(type_of_tree(tree.node, texts)) for name, tree in computed.items()}
        output = step.values.get("output_to")
        if output is not None and output.text not in computed:
            kinds = tuple(Property(name, kind) for name, kind in self._types.items())
            self._types[output.text] = Record("", kinds, open=False)

    def into(self, field: str) -> Type:
        return self._types.get(field, ANY)


# The type of a scope's result: the values that its steps return, or its state if it ends without a return.


def returned_type(inference: ScopeInference) -> Type:
    flow, reach = inference.states.flow, inference.states.reach
    found: list[Type] = []
    ends: list[FlowEdge] = []
    for edge in flow.into.get(flow.end, ()):
        step = flow.step(edge.source)
        if edge.source not in reach:
            continue
        if step is None or not flow.returns(edge):
            ends.append(edge)
        elif (value := step.returns()) is not None:
            found.append(stored(type_of_tree(value.node, inference.visit(step).types)))
        else:
            found.append(NULL)
    return join(*found, *([_final_state(inference, ends)] if ends else []))


def _final_state(inference: ScopeInference, ends: list[FlowEdge]) -> Type:
    states, definitions = inference.states, inference.definitions
    mask = 0
    for edge in ends:
        move = states.moves.of(edge)
        # Each bit is a definition: those that reach the edge and that it does not overwrite, and those that
        # it adds.
        mask |= states.reach[edge.source] & ~move.kill | move.gen
    properties = []
    for name, own in definitions.masks.items():
        kind = definitions.type_of(mask & own)
        if kind != UNDEFINED:
            # A field that some paths never write is an optional property of the result.
            there = UNDEFINED not in options(kind)
            properties.append(Property(name, stored(without(kind, UNDEFINED)), there))
    return Record("", tuple(properties), open=False) if properties else EMPTY_OBJECT


_MAY_FAIL = (
    *(Kind.UNSET, Kind.NULLABLE, Kind.OPTIONAL, Kind.EMPTY),
    *(Kind.ZERO_DIVISION, Kind.UNCHECKED_PARSE),
)

_FROM_PARENT = frozenset({"item", "previous"})


@struct(frozen=True)
class Located:
    """A problem with the step and the template that it is in."""

    step: Step
    text: Text
    node: str
    problem: Problem

    @property
    def span(self) -> Span:
        return self.text.at(self.problem.start, self.problem.end)


@struct(eq=False)
class ScopeTypes:
    """The types and problems of one scope."""

    scope: Scope
    inference: ScopeInference
    file: FileTypes
    returns: Type
    problems: list[Located] = field(default_factory=list)
    risks: dict[Computed, list[Located]] = field(default_factory=dict)
    """Why the computation of a field may fail at times: a derived field then has its fallback."""
    misfits: list[tuple[Step, Misfit]] = field(default_factory=list)

    @property
    def states(self) -> StateFlow:
        return self.inference.states

    @cached_property
    def ways(self) -> Paths:
        return Paths(self.states, lambda name, length: bounds_of_input(self.scope, name, length))

    def field_types(self) -> dict[str, Type]:
        """One type per field, for all values that are written to it."""
        definitions = self.inference.definitions
        found: dict[str, Type] = {}
        for field_name, ways in definitions.by_field.items():
            first, *later = [definitions.types[way.number] for way in ways]
            start = [] if first == UNDEFINED else [plain(first)]
            found[field_name] = merged([*start, *([plain(join(*later))] if later else [])])
        return found

    def item_of(self, child: Child) -> Type:
        """The type of one item of the list that a step runs a task for."""
        texts = self.inference.visit(child.step).types
        return item_of(type_of_tree(child.items.node, texts) if child.items else ANY)

    def collect(self) -> None:
        """Infer every template with the final types, and collect the problems."""

        for one in self.scope.computed:
            for place, problem in self.inference.visit(one).problems:
                found = self.risks.setdefault(one, []) if problem.kind in _MAY_FAIL else self.problems
                found.append(Located(one, place.text, place.node, problem))
        for step in self.scope.walk():
            visit = self.inference.visit(step)
            for place, problem in visit.problems:
                self.problems.append(Located(step, place.text, place.node, problem))
            self.misfits += [(step, found) for found in misfits(step, visit.types, self.file)]


class FileTypes:
    """The scopes of a file. A task is inferred before the steps that run it, which need the type of its result."""

    def __init__(
        self,
        workflow: Workflow,
        flows: list[tuple[Scope, Flow]],
        called: Callable[[Child], tuple[Scope | None, Type]],
    ) -> None:
        self._workflow = workflow
        self._flows = dict(flows)
        self._called = called
        self._found: dict[Scope, ScopeTypes] = {}
        self._underway: set[Scope] = set()
        for scope in self._flows:
            self.of(scope)
        # Problems are collected last: types of items would change those of tasks.
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
            # Items of tasks are not known before the scopes that run them are; `_give_items` repeats the
            # inference.
            self._found[scope] = self._infer(scope, {"index": ANY})
            self._underway.discard(scope)
        return self._found[scope]

    def _infer(self, scope: Scope, names: Mapping[str, Type]) -> ScopeTypes:
        inference = ScopeInference(scope, self._flows[scope], names, self)
        solve(inference, self)
        return ScopeTypes(scope, inference, self, returned_type(inference))

    # -- children --------------------------------------------------------------

    def scope_of(self, child: Child) -> Scope | None:
        if not child.is_task:
            return self._called(child)[0]
        return self._workflow.declared_tasks.get(child.name.text) if child.name else None

    def returned(self, child: Child) -> Type:
        if not child.is_task:
            return self._called(child)[1]
        task = self.scope_of(child)
        # A task that runs itself has no result type yet, and an agent with a brief may return anything.
        if task is None or task in self._underway or child.is_brief:
            return ANY
        return self.of(task).returns

    def _give_items(self) -> None:
        """Infer tasks that read their item again, with the types of the lists that they are run for.

        The type of an item depends on the scope that runs the task, which needs the result of the task first. A scope
        that runs a task whose result has changed is inferred once more; there is no third time.
        """
        run_by = runners(self._workflow)
        scopes = {step: types for types in self.scopes for step in types.scope.walk()}
        again: dict[Scope, None] = {}
        for task in list(self._found):
            children = run_by.get(task.task_name, []) if isinstance(task, Task) else []
            if not children or not _reads_item(task):
                continue
            given = [self._names_given(child, scopes[child.step]) for child in children]
            common = set(given[0]).intersection(*given[1:])
            names = {name: join(*(one[name] for one in given)) for name in common}
            before = self._found[task].returns
            self._found[task] = self._infer(task, names)
            if self._found[task].returns != before:
                outer = [scopes[child.step].scope for child in children]
                again |= {scope: None for scope in outer if scope is not task}
        for scope in again:
            self._found[scope] = self._infer(scope, self._found[scope].inference.names)

    def _names_given(self, child: Child, types: ScopeTypes) -> dict[str, Type]:
        return child_names(child, types.item_of(child), self)


def _reads_item(scope: Scope) -> bool:
    return any(
        read.root in _FROM_PARENT
        for step in scope.walk()
        for text in step.texts()
        for read in text.template.reads
    )


# The types of a file within its project: a call returns what the called workflow returns.

_DEEPEST_CALL = 5
_underway: list[SourceFile] = []
"""The files that are being inferred, each called by the one before: they detect recursion."""


@cached_per_file(128)
def types_of(file: SourceFile) -> FileTypes | None:
    """The types of a file, for its checks; None for a file without a workflow or over the limits."""
    if file.workflow is None or file.is_hopeless:
        return None
    _underway.append(file)
    try:
        return FileTypes(file.workflow, flows_of(file), lambda child: _called(file, child))
    finally:
        _underway.remove(file)


def _called(file: SourceFile, child: Child) -> tuple[Scope | None, Type]:
    found = file.project.named(child.name.text) if child.name else []
    # An unknown or ambiguous name is reported elsewhere; its result may be anything.
    if len(found) != 1 or found[0].workflow is None:
        return None, ANY
    callee, workflow = found[0], found[0].workflow
    if callee in _underway or len(_underway) > _DEEPEST_CALL:
        return workflow, ANY
    types = types_of(callee)
    return workflow, _with_facts(types.main.returns, child, workflow) if types else ANY


def _with_facts(returns: Type, child: Child, callee: Workflow) -> Type:
    """The result of a call: what the workflow returns, and the facts that the call asks for."""
    if not isinstance(returns, Record) or not child.facts:
        return returns
    said = callee.facts or {}
    asked = [word.text for word in child.facts if returns.get(word.text) is None]
    more = [
        Property(name, of_value(said[name].data) if name in said else ANY, name in said) for name in asked
    ]
    return replace(returns, properties=(*returns.properties, *more))


def typed_module(file: SourceFile) -> Module | None:
    """The IR with inferred types of its fields.

    Only the file itself is used, and the result of a call is any: a generated module changes only if its own source
    does.
    """
    module = file.scheduled_module
    if module is None or file.workflow is None:
        return None
    calls = any((child := step.child()) and not child.is_task for step in file.steps)
    types = FileTypes(file.workflow, flows_of(file), _not_known) if calls else types_of(file)
    if types is None:
        return module
    charts = [_typed(chart, found) for chart, found in zip(module.charts, types.scopes, strict=True)]
    tasks = dict(zip(module.tasks, charts[1:], strict=True))
    return replace(module, main=charts[0], tasks=tasks)


def _typed(chart: Chart, found: ScopeTypes) -> Chart:
    kinds = found.field_types()
    fields = [replace(info, type=kinds.get(info.name, info.type)) for info in chart.fields]
    return replace(chart, fields=fields)


def _not_known(child: Child) -> tuple[Scope | None, Type]:
    return None, ANY
