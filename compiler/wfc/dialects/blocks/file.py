"""A file of blocks as written: the keys of each mapping, and the values they accept."""

from __future__ import annotations

import re
from typing import Any

from wfc.language.fields import (
    ANYTHING,
    BINDINGS,
    BOOLEAN,
    COUNT,
    ID,
    NAME,
    WORD,
    FieldType,
    ListOf,
    MapOf,
    Mismatch,
    Nested,
    OneOf,
    Reader,
    ScalarType,
    kind_of,
)
from wfc.language.shape import BUDGET, Field, Shape
from wfc.language.steps.base import Retry
from wfc.language.values import Tree, Word
from wfc.struct import struct
from wfc.yaml import Mapping, Node, Scalar

INPUT_TYPES = {
    "str": "string",
    "string": "string",
    "int": "integer",
    "integer": "integer",
    "float": "number",
    "number": "number",
    "num": "number",
    "bool": "boolean",
    "boolean": "boolean",
    "list": "array",
    "array": "array",
    "dict": "object",
    "object": "object",
}
"""Every accepted name of an input type, with the name that the core has for it."""

VALUE_TYPES = {
    "str": "str",
    "string": "str",
    "int": "int",
    "integer": "int",
    "float": "float",
    "number": "float",
    "num": "num",
    "bool": "bool",
    "boolean": "bool",
    "list": "list",
    "array": "list",
    "dict": "dict",
    "object": "dict",
    "json": "json",
}
"""Every accepted name of an output type, with the type that the value is converted to."""


class InputDeclaration(Shape):
    """One input of the workflow."""

    label = "an input"

    type = Field(OneOf(tuple(INPUT_TYPES)), "The type of the value.", required=True, example="str")
    description = Field(WORD, "Its purpose.")
    default = Field(ANYTHING, "The value if none is given.")
    required = Field(BOOLEAN, "Whether a run can't start without it; by default, if it has no default.")

    @property
    def has_default(self) -> bool:
        return self.default is not None and self.default.data is not None

    @property
    def is_needed(self) -> bool:
        """Whether a run can't start without it."""
        return not self.has_default and (self.required is None or bool(self.required.value))

    @property
    def may_be_missing(self) -> bool:
        """Whether a run can start without a value for it."""
        return not self.has_default and not self.is_needed


class OutputDeclaration(Shape):
    """A file that a block writes, read after the block has ended."""

    label = "an output of a block"

    type = Field(OneOf(tuple(VALUE_TYPES)), "The type of the file's content.", required=True, example="json")
    path = Field(
        WORD, "The file; `$SCRATCH` is a folder for this run.", required=True, example="$SCRATCH/a.json"
    )
    description = Field(WORD, "What it is.")
    required = Field(BOOLEAN, "Whether the block fails without it.", default=True)
    validation = Field(ANYTHING, "A constraint on the value: a condition over `value`, or a JSON Schema.")
    unsafe = Field(BOOLEAN, "Whether the file may be outside the working directory.", default=False)


class Dependency(Shape):
    """A block that another one waits for."""

    label = "a dependency"

    block = Field(ID, "The block to wait for.", required=True, example="build")
    required = Field(BOOLEAN, "Whether this block is skipped unless that one succeeded.", default=True)

    @property
    def is_required(self) -> bool:
        return bool(self.setting("required"))


class DependencyType(FieldType["Word | Dependency"]):
    words = "a block's id, or `{block: <id>, required: false}`"

    def read(self, node: Node, reader: Reader) -> Word | Dependency | None:
        if isinstance(node, Mapping):
            found: Dependency = reader.shape(Dependency, node)
            return found
        return WORD.read(node, reader)

    def mismatches(self, node: Node) -> list[Mismatch]:
        if isinstance(node, Mapping) or (isinstance(node, Scalar) and isinstance(node.value, str)):
            return []
        return [Mismatch(node.span, f"expected {self.words}, found {kind_of(node)}")]

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, {"$ref": "#/definitions/Dependency"}]}


class WorkflowOutput(Shape):
    """A result of the workflow, with its type."""

    label = "an output of the workflow"

    value = Field(ANYTHING, "The value: text with references, or a condition.", required=True)
    type = Field(OneOf(tuple(VALUE_TYPES)), "The type that it is converted to.", example="bool")
    description = Field(WORD, "What it is.")


class WorkflowOutputType(FieldType["Tree | WorkflowOutput"]):
    words = "text with references, or `{value, type, description}`"

    def read(self, node: Node, reader: Reader) -> Tree | WorkflowOutput | None:
        if isinstance(node, Mapping):
            found: WorkflowOutput = reader.shape(WorkflowOutput, node)
            return found
        return Tree(node)

    def mismatches(self, node: Node) -> list[Mismatch]:
        return [] if isinstance(node, Mapping) else ANYTHING.mismatches(node)

    def schema(self) -> dict[str, Any]:
        return {
            "anyOf": [{"type": ["string", "number", "boolean"]}, {"$ref": "#/definitions/WorkflowOutput"}]
        }


_REFERENCE = re.compile(r"\$\{|\{\{")


@struct(eq=False)
class OrReference(FieldType[Tree]):
    """A plain value, or text with a reference that yields one."""

    inner: FieldType[Any]
    may_be_nothing: bool = False
    """Whether null means that no value is given."""

    @property
    def words(self) -> str:  # type: ignore[override]  # made on demand
        return f"{self.inner.words}, or a reference"

    def read(self, node: Node, reader: Reader) -> Tree | None:
        return None if self.mismatches(node) else Tree(node)

    def mismatches(self, node: Node) -> list[Mismatch]:
        is_text = (
            isinstance(node, Scalar) and isinstance(node.value, str) and bool(_REFERENCE.search(node.value))
        )
        is_nothing = self.may_be_nothing and isinstance(node, Scalar) and node.value is None
        return [] if is_text or is_nothing else self.inner.mismatches(node)

    def schema(self) -> dict[str, Any]:
        nothing = [{"type": "null"}] if self.may_be_nothing else []
        return {"anyOf": [self.inner.schema(), {"type": "string", "pattern": _REFERENCE.pattern}, *nothing]}


CONDITION: FieldType[Word] = ScalarType(
    "a condition", lambda node: isinstance(node.value, str | bool), Word, {"type": ["string", "boolean"]}
)


class Block(Shape):
    """One block: what it does, what it waits for, and when it is skipped."""

    label = "a block"

    id = Field(ID, "The block's name, unique in the workflow.", required=True, example="run_tests")
    type = Field(WORD, "The kind of block.", required=True, example="Shell")
    description = Field(WORD, "The purpose of the block.")
    inputs = Field(BINDINGS, "The inputs of the block, by name.")
    depends_on = Field(ListOf(DependencyType(), "a list of blocks"), "The blocks to wait for.")
    condition = Field(CONDITION, "Skip the block unless this is true.", example="${blocks.build.succeeded}")
    outputs = Field(
        MapOf(
            Nested(lambda: OutputDeclaration, "an output (`type`, `path`)"), "a mapping of names to outputs"
        ),
        "Files that the block writes, by name.",
    )
    for_each = Field(
        ANYTHING,
        "A list or an object: the block runs once per item, with `each.key`, `each.value`, `each.index` and "
        "`each.count`.",
        example="{{inputs.files}}",
    )
    for_each_mode = Field(
        OneOf(("parallel", "sequential")), "Whether the items run at the same time.", default="parallel"
    )
    max_parallel = Field(COUNT, "The maximum number of items at the same time.", example=4)
    continue_on_error = Field(
        BOOLEAN,
        "Whether the run continues if the block crashes. With `for_each` in the mode `sequential`: whether the "
        "items after one that failed still run.",
        default=False,
    )
    retry = Field(
        Nested(lambda: Retry, "a mapping with `max_attempts`"),
        "Retry when the block crashes, times out or is interrupted. A command that fails is data.",
    )

    def inside(self, key: str) -> str:
        given = self.values.get("inputs")
        return "inputs" if isinstance(given, Shape) and key in given.FIELDS else super().inside(key)


class BlocksFile(Shape):
    """A whole file of blocks."""

    label = "a workflow"

    name = Field(ID, "The workflow's name, unique in the project.", required=True, example="build-project")
    description = Field(WORD, "Its purpose.")
    version = Field(WORD, "Its version, as text.", default="1.0")
    author = Field(WORD, "Who wrote it.")
    tags = Field(ListOf(WORD, "a list of words"), "Keywords for finding it.")
    budget = Field(BUDGET, "The budget of a run.", example={"usd": 5, "steps": 40})
    inputs = Field(
        MapOf(
            Nested(lambda: InputDeclaration, "an input (`type: ...`)"),
            "a mapping of names to inputs",
            key=NAME,
        ),
        "The inputs of a run, by name.",
    )
    blocks = Field(
        ListOf(
            Nested(lambda: Block, "a block (a mapping with `id` and `type`)"), "a list of blocks", least=1
        ),
        "The blocks, in any order.",
        required=True,
    )
    outputs = Field(
        MapOf(WorkflowOutputType(), "a mapping of names to outputs"), "The results of the workflow, by name."
    )
