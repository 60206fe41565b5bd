"""The known facts about a scope (the workflow or a task): its fields, the ids of its steps, its loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from wfc.caching import pattern
from wfc.dialects.base import made
from wfc.dialects.reactive.kinds import IncludeWorkflow, ReactiveStep, Update, While
from wfc.dialects.reactive.model import (
    INPUT_TYPES,
    DefaultState,
    InputDeclaration,
    ReactiveFile,
    StateSchema,
    Task,
    TaskErrors,
    WorkflowErrors,
)
from wfc.dialects.reactive.names import Fields, Loop, Meaning, Place
from wfc.dialects.reactive.reading import walk
from wfc.dialects.reactive.updates import declare, written
from wfc.language.shape import Shape
from wfc.struct import struct
from wfc.yaml import Entry, Mapping, Node, Scalar, Span

if TYPE_CHECKING:
    from wfc.dialects.reactive.tasks import Tasks

Written = ReactiveFile | Task
LOOP_ITERATION, LOOP_ITEM, LOOP_INDEX = "loop_iteration", "loop_item", "loop_index"
"""Fields that computed fields read as `loop.iteration`, `loop.item` and `loop.index`."""
_NOT_NAME = pattern(r"[^A-Za-z0-9_]")


def all_steps(shape: Written) -> Iterator[ReactiveStep]:
    """Every step of a scope, with those of its error handling, in source order."""
    yield from walk(shape.steps or [])
    errors = shape.error_handling
    if isinstance(errors, WorkflowErrors):
        yield from walk(errors.on_failure or [])
    elif isinstance(errors, TaskErrors):
        yield from walk(errors.cleanup_on_error or [])


# Fields.


def declared_fields(shape: Written) -> Fields:
    """The fields that a scope declares, with their types."""
    schema: StateSchema | None = shape.state_schema
    initial: DefaultState | None = shape.default_state
    fields = Fields()
    for name in (schema.computed or {}) if schema else ():
        fields.computed[name] = name
    for tier in (schema.raw, schema.state) if schema else ():
        for name, tree in (tier or {}).items():
            fields.add_raw(name)
            fields.is_declared = True
            word = _type_word(tree.node)
            if INPUT_TYPES.get(word):
                fields.types[name] = INPUT_TYPES[word]
    for values in (initial.raw, initial.state) if initial else ():
        for name, tree in (values or {}).items():
            fields.add_raw(name)
            fields.is_declared = True
            declare(fields, name, tree.node)
    for name in (initial.global_ or {}) if initial else ():
        fields.add_global(name)
        fields.is_global_declared = True
    return fields


def _type_word(node: Node) -> str:
    """The type in `field: string` or `field: {type: string}`."""
    inner = node.get("type") if isinstance(node, Mapping) else node
    return inner.text if isinstance(inner, Scalar) else ""


def paths_set(steps: Iterable[ReactiveStep]) -> Iterator[tuple[Scalar, bool]]:
    """Those paths whose value is replaced by one that may differ each time, not extended or counted."""
    return _paths(steps, only_set=True)


def paths_written(steps: Iterable[ReactiveStep]) -> Iterator[tuple[Scalar, bool]]:
    """The paths that steps write, each with whether its tier may be left out."""
    return _paths(steps, only_set=False)


def _may_differ(update: Shape) -> bool:
    """Whether an update replaces a value with one that is not a plain constant such as `true`."""
    operation, value = update.values.get("operation"), update.values.get("value")
    node = value.node if value is not None else None
    is_constant = isinstance(node, Scalar) and (
        not isinstance(node.value, str) or node.text in ("true", "false", "null") or node.text.isdigit()
    )
    return (operation is None or operation.text == "set") and not is_constant


def _paths(steps: Iterable[ReactiveStep], only_set: bool) -> Iterator[tuple[Scalar, bool]]:
    def is_wanted(update: Shape) -> bool:
        return not only_set or _may_differ(update)

    for step in steps:
        for name in ("path", "store_result", "store_response"):
            word = step.values.get(name)
            if word is not None and is_wanted(step):
                yield word.node, name != "path"
        listed = [step.values.get("state_update"), step.values.get("error_state_update")]
        listed += [*(step.values.get("state_updates") or ()), *(step.values.get("updates") or ())]
        for update in listed:
            if isinstance(update, Update) and update.path and is_wanted(update):
                yield update.path.node, False
        errors = step.values.get("on_sub_agent_error")
        if errors is not None and errors.error_state_path and not only_set:
            yield errors.error_state_path.node, False


def add_written(fields: Fields, steps: Iterable[ReactiveStep]) -> None:
    """Add the fields that steps write to those that the scope declares."""
    for node, loose in paths_written(steps):
        target = written(node.text, loose)
        if target is None:
            continue
        tier, name = target
        if tier == "global":
            fields.add_global(name)
        elif not (tier == "this" and name in fields.computed and name not in fields.raw):
            fields.add_raw(name)


# Names of inputs.


def input_names(shape: Written) -> frozenset[str]:
    return frozenset((*(shape.inputs or ()), *undeclared_inputs(shape)))


def undeclared_inputs(shape: Written) -> dict[str, str]:
    """Inputs that only `state_schema` or `default_state` has, each with its type, or an empty text."""
    schema, initial = shape.state_schema, shape.default_state
    typed = {name: _type_word(tree.node) for name, tree in (schema.inputs or {}).items()} if schema else {}
    found = {**dict.fromkeys((initial.inputs or ()) if initial else (), ""), **typed}
    return {
        name: INPUT_TYPES.get(word, "") for name, word in found.items() if name not in (shape.inputs or ())
    }


def without_default(task: Task) -> list[str]:
    """The inputs that a child needs a value for."""
    return [
        name
        for name, declared in (task.inputs or {}).items()
        if isinstance(declared, InputDeclaration)
        and declared.default is None
        and not (declared.required and declared.required.value is False)
    ]


# One scope during its translation.


@struct(eq=False)
class ScopeNames:
    """A scope during its translation."""

    shape: Written
    fields: Fields
    tasks: Tasks
    is_task: bool = False
    ids: dict[int, str] = field(default_factory=dict)
    """The id of each step, by the identity of its mapping."""
    taken: set[str] = field(default_factory=set)
    reads: dict[str, None] = field(default_factory=dict)
    """The state fields that the steps of the scope read."""
    loops: dict[str, Mapping] = field(default_factory=dict)
    """The translated `while` steps, by the field that counts their turns."""
    passed: Loop | None = None
    included: dict[str, str] = field(default_factory=dict)
    loop_names: frozenset[str] = frozenset()
    """The names of `loop` that computed fields read."""

    @property
    def span(self) -> Span:
        return self.shape.span

    def place(self) -> Place:
        return Place(self.fields, input_names(self.shape), self.is_task)

    def name_steps(self) -> None:
        """Give each step an id: its own, or its type and a number."""
        steps = list(all_steps(self.shape))
        self.taken = {_core_name(step.id.text) for step in steps if step.id}
        counts: Counter[str] = Counter()
        for step in steps:
            kind = step.type.text if step.type else "step"
            counts[kind] += 1
            self.ids[id(step.node)] = step.id.text if step.id else self.free(f"{kind}_{counts[kind]}")

    def id_of(self, step: ReactiveStep) -> str:
        return self.ids.get(id(step.node), "")

    def free(self, name: str) -> str:
        while _core_name(name) in self.taken:
            name = f"{name}_"
        self.taken.add(_core_name(name))
        return name

    # -- loops

    def counted(self, step: While, place: Place) -> tuple[Loop, str]:
        """The loop of a `while`, and the field that counts its turns. It is kept only if something reads it."""
        is_inner = any(loop.iteration and loop.iteration.fields for loop in place.loops)
        if "iteration" in self.loop_names and not is_inner:
            name = LOOP_ITERATION
        else:
            name = f"{_core_name(self.id_of(step))}_turn"
        return Loop({}, Meaning(f"state.{name}", fields=(name,))), name

    def loop_fields_of_items(self) -> dict[str, str]:
        """The fields that get the item and the index of each turn, if computed fields read them."""
        keys = {"item": ("item_to", LOOP_ITEM), "index": ("index_to", LOOP_INDEX)}
        return dict(keys[name] for name in ("item", "index") if name in self.loop_names)

    def keep_counters(self) -> list[str]:
        """Add the counting fields that something reads to their loops. Returns the fields."""
        kept: list[str] = []
        for name, node in self.loops.items():
            if name in self.reads:
                node.entries.append(Entry(made("count_to", node.span), made(name, node.span)))
                kept.append(name)
        return kept

    # -- included workflows

    def include(self, step: IncludeWorkflow) -> str:
        """The field that keeps the result of an included workflow: the id of the step."""
        name = _core_name(self.id_of(step))
        known = {*self.fields.raw.values(), *self.fields.computed.values()}
        return f"{name}_result" if name in known else name


def _core_name(name: str) -> str:
    made_of = _NOT_NAME.sub("_", name)
    return made_of if made_of[:1].isalpha() else f"step_{made_of}"
