"""The tasks of sub-agents: their inputs, their state, and what they share with the workflow."""

from __future__ import annotations

from typing import Any

from wfc.dialects.base import made
from wfc.dialects.reactive.build import mapping
from wfc.dialects.reactive.computed import Derived
from wfc.dialects.reactive.kinds import ParallelForeach
from wfc.dialects.reactive.model import InputDeclaration, ReactiveFile, Task
from wfc.dialects.reactive.names import Fields
from wfc.dialects.reactive.scopes import add_written, all_steps, declared_fields, without_default
from wfc.dialects.reactive.texts import Texts
from wfc.language.values import Literal, Text
from wfc.yaml import Entry, Mapping, Node, Scalar


class Tasks:
    """The tasks of a file, by name."""

    def __init__(self, file: ReactiveFile) -> None:
        self.all: dict[str, Task] = dict(file.sub_agent_tasks or {})
        self.workflow_fields = declared_fields(file)
        for task in self.all.values():
            if not has_own_state(task):
                add_written(self.workflow_fields, all_steps(task))
        add_written(self.workflow_fields, all_steps(file))
        self._read: dict[str, list[str]] = {}

    def fields_of(self, task: Task) -> Fields:
        """The fields that a task works on: its own, or those of the workflow."""
        if not has_own_state(task):
            return self.workflow_fields
        fields = declared_fields(task)
        fields.globals = self.workflow_fields.globals
        add_written(fields, all_steps(task))
        return fields

    def share(self, name: str, fields: list[str]) -> None:
        """Note the fields of the workflow that a task reads or writes."""
        self._read[name] = fields

    def shared(self, name: str) -> list[str]:
        return self._read.get(name, [])

    def limit(self, name: str) -> Literal | Text | None:
        task = self.all.get(name)
        return task.timeout_seconds if task else None

    def given(self, step: ParallelForeach, texts: Texts) -> Mapping | None:
        """The `with` of a step that starts sub-agents; None where the item itself supplies the inputs."""
        task = self.all.get(step.sub_agent_task.text) if step.sub_agent_task else None
        values: dict[str, Node] = {}
        for name, declared in (task.inputs or {}).items() if task else ():
            if not isinstance(declared, InputDeclaration):
                values[name] = texts.argument(declared.node)
        for name, tree in (step.inputs or {}).items():
            values[name] = texts.argument(tree.node)
        if not values and task:
            values = _from_item(task, step)
        at = step.span
        return (
            Mapping(at, [Entry(made(name, at), value) for name, value in values.items()]) if values else None
        )


def _from_item(task: Task, step: ParallelForeach) -> dict[str, Node]:
    """An item fills inputs by name if it is an object; otherwise it is the one input without a default."""
    needed = without_default(task)
    others = [name for name in task.inputs or () if name not in needed]
    # In the other cases the core's foreach binds an item correctly: to a single input, or by name to several.
    if len(needed) != 1 or not others:
        return {}
    at = step.span
    found: dict[str, Node] = {needed[0]: made(f"{{{{ Object(item).{needed[0]} ?? item }}}}", at)}
    for name in others:
        declared = (task.inputs or {})[name]
        default = declared.default if isinstance(declared, InputDeclaration) else None
        found[name] = made(
            f"{{{{ Object(item).{name} ?? {_literal(default.data if default else None)} }}}}", at
        )
    return found


def _literal(value: Any) -> str:
    import json

    return json.dumps(value)


def has_own_state(task: Task) -> bool:
    return task.default_state is not None or task.state_schema is not None


def prompt_steps(task: Task, texts: Texts) -> list[Node]:
    """The one step of a task that has a prompt instead of steps."""
    assert task.prompt_template is not None
    node: Scalar = task.prompt_template.node
    keys: dict[str, Any] = {"id": "prompt", "type": "delegate", "instructions": texts.words(node)}
    if task.context_template:
        context = [
            Entry(made(name, tree.span), texts.tree(tree.node))
            for name, tree in task.context_template.items()
        ]
        keys["context"] = Mapping(task.span, context)
    keys |= {"result_schema": Mapping(task.span), "output_to": "response", "timeout": 300}
    step = mapping(task.key_span("prompt_template"), **keys)
    return [step]


def needed_derived(reads: dict[str, None], derived: dict[str, Derived]) -> list[str]:
    """The computed fields that are read, directly or through others, in the order of the file."""
    wanted: set[str] = set()
    pending = [name for name in reads if name in derived]
    while pending:
        name = pending.pop()
        if name not in wanted:
            wanted.add(name)
            pending += [one for one in derived[name].reads if one in derived]
    return [name for name in derived if name in wanted]
