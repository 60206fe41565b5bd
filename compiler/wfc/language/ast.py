"""The core AST: workflows, tasks and their steps, each part with its position in the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wfc.caching import cached_property
from wfc.language.changes import PathType
from wfc.language.derived import Computed, Derivation, StartValue
from wfc.language.fields import (
    ANYTHING,
    BLOCK,
    BOOLEAN,
    CONSTANTS,
    COUNT,
    ID,
    NAME,
    SECONDS,
    STEPS,
    WORD,
    WORDS,
    ListOf,
    MapOf,
    Nested,
    OneOf,
)
from wfc.language.shape import BUDGET, Field, InputDecl, Shape
from wfc.language.steps.base import Step
from wfc.yaml import Mapping as MappingNode
from wfc_runtime.digraph import reachable

INPUTS = MapOf(
    Nested(lambda: InputDecl, "an input declaration (`type: ...`)"),
    "a mapping of input names to declarations",
    key=NAME,
)


class Scope(Shape):
    """A list of steps with its own inputs and state."""

    def __init__(self, node: MappingNode, values: dict[str, Any]) -> None:
        super().__init__(node, values)
        # The name of a derived field is a key of this mapping, so its own mapping does not contain it.
        for name, derivation in (self.derived or {}).items():
            derivation.named(name, node.get("derived"))

    inputs = Field(INPUTS, "The inputs of a run, by name.")
    initial_state = Field(
        MapOf(ANYTHING, "a mapping of fields to values", key=NAME),
        "State fields and their initial values.",
    )
    start_values = Field(
        MapOf(ANYTHING, "a mapping of fields to values", key=NAME),
        "State fields that are computed once, when a run starts: expressions over the inputs.",
        example={"report": "{{ inputs.service }}-report.md"},
    )
    derived = Field(
        MapOf(
            Nested(lambda: Derivation, "a derived field (a mapping with `value`)"),
            "a mapping of fields to derivations",
            key=NAME,
        ),
        "State fields that are computed from others whenever these change.",
        example={"total": {"value": "{{ state.results | length }}"}},
    )
    on_failure = Field(
        BLOCK,
        "Steps to execute when the run has failed, before it ends; `error` has the `code`, `message` and `step_id`.",
    )
    completes_on_failure = Field(
        BOOLEAN, "Whether a run that fails ends as completed, after the steps of `on_failure`.", default=False
    )
    collect_errors = Field(
        PathType(), "A list in the state that gets the error when the run fails.", example="errors"
    )
    restarts = Field(COUNT, "How often the run starts over, with its initial state, instead of failing.")
    deadline = Field(SECONDS, "The time limit of the whole run, in seconds; then it fails.", example=86400)
    internal = Field(
        WORDS,
        "State fields that are omitted from the result and from the displayed state.",
        example=["last"],
    )
    steps = Field(STEPS, "The steps, in the order in which they run.", required=True)

    @property
    def known_as(self) -> str:
        """Its name in messages."""
        return "the workflow"

    @property
    def declared_inputs(self) -> dict[str, InputDecl]:
        return self.inputs or {}

    @cached_property
    def initial(self) -> dict[str, Any]:
        return {name: tree.data for name, tree in (self.initial_state or {}).items()}

    @property
    def derivations(self) -> list[Derivation]:
        return list((self.derived or {}).values())

    @cached_property
    def sources(self) -> dict[str, set[str]]:
        """For each derived field, all fields that it is computed from, directly or through other derived fields."""
        graph = {one.field: one.reads for one in self.derivations}
        return {name: reachable(reads, graph) for name, reads in graph.items()}

    @cached_property
    def computed(self) -> list[Computed]:
        """The derived fields of the scope, as steps without a place in the flow."""
        starts = [StartValue(self.node, name, tree) for name, tree in (self.start_values or {}).items()]
        return [*starts, *self.derivations]

    @property
    def block(self) -> list[Step]:
        return self.steps or []

    def walk(self) -> Iterator[Step]:
        """Every step of this scope, including nested ones, in source order."""
        return iter(self._all_steps)

    @cached_property
    def _all_steps(self) -> list[Step]:
        # Cached: nearly every check walks all steps.
        return list(walk([*self.block, *self.handler]))

    @property
    def handler(self) -> list[Step]:
        """The steps that are executed when the run has failed."""
        return self.on_failure or []

    @cached_property
    def handling(self) -> frozenset[Step]:
        """The steps of the handler, including nested ones."""
        return frozenset(walk(self.handler))


def walk(steps: list[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        for block in step.blocks():
            yield from walk(block)


class Task(Scope):
    """Steps that a foreach runs once per item, each time as a separate run."""

    label = "a task"

    description = Field(WORD, "The purpose of the task.")

    def __init__(self, node: MappingNode, values: dict[str, Any]) -> None:
        super().__init__(node, values)
        # Set by the front end: the name is the key in the mapping around it.
        self.task_name = ""

    @property
    def known_as(self) -> str:
        return f"the task `{self.task_name}`"


class Workflow(Scope):
    """A whole file: name, version, inputs, state, steps and tasks."""

    label = "a workflow"

    name = Field(ID, "The workflow's name, unique in the project.", required=True, example="deploy-service")
    version = Field(WORD, "Its version, as text.", required=True, example="1.0.0")
    description = Field(WORD, "Its purpose, in one or two sentences.")
    author = Field(WORD, "Who wrote it.", example="Platform team")
    tags = Field(ListOf(WORD, "a list of words"), "Keywords for finding it.", example=["deploy", "ci"])
    facts = Field(
        CONSTANTS,
        "Values about the workflow, which a `call` gets if it lists their names in its `facts`. "
        "With `own_folder: true`, `$SCRATCH` is a folder of its own in each call.",
        example={"services": 3},
    )
    expressions = Field(
        OneOf(("jinja", "javascript")),
        "The language of the expressions in `{{ }}`. JavaScript needs the extra `reactive`.",
        example="javascript",
    )
    budget = Field(BUDGET, "The budget of a run.", example={"usd": 5, "steps": 40})
    tasks = Field(
        MapOf(Nested(lambda: Task, "a task (a mapping with `steps`)"), "a mapping of names to tasks", key=ID),
        "Tasks that `foreach` steps run, by name.",
    )

    @property
    def declared_tasks(self) -> dict[str, Task]:
        return self.tasks or {}

    @property
    def scopes(self) -> list[Scope]:
        return [self, *self.declared_tasks.values()]
