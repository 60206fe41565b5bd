"""A reactive file as written: the keys of its mappings outside of steps, and the values that they accept."""

from __future__ import annotations

from typing import Any

from wfc.language.fields import (
    ANYTHING,
    BINDINGS,
    BLOCK,
    BOOLEAN,
    COUNT,
    ID,
    NAME,
    NUMBER,
    SECONDS,
    SECONDS_COMPUTED,
    SIZE,
    WORD,
    WORDS,
    Constants,
    FieldType,
    MapOf,
    Mismatch,
    Nested,
    OneOf,
    Reader,
    ScalarType,
)
from wfc.language.shape import BUDGET, Field, Shape
from wfc.language.values import Text, Tree, Word
from wfc.yaml import Entry, Mapping, Node

INPUT_TYPES = {
    "string": "string",
    "str": "string",
    "number": "number",
    "integer": "integer",
    "int": "integer",
    "float": "number",
    "boolean": "boolean",
    "bool": "boolean",
    "array": "array",
    "list": "array",
    "object": "object",
    "dict": "object",
    "any": "",
}
"""Every accepted name of a type, with the name that the core has for it; empty for any value."""

EXPRESSION: FieldType[Text] = ScalarType(
    "an expression",
    lambda node: isinstance(node.value, str | bool | int | float),
    Text,
    {"type": ["string", "boolean", "number"]},
)
TEXT_OR_NUMBER: FieldType[Word] = ScalarType(
    "text", lambda node: isinstance(node.value, str | int | float), Word, {"type": ["string", "number"]}
)


class Rules(Shape):
    """Constraints on the value of an input or an answer."""

    label = "a validation"

    pattern = Field(WORD, "A regular expression that must match somewhere in the text.", example="^[a-z]+$")
    error_message = Field(WORD, "The message for the user when the answer is invalid.")
    min = Field(NUMBER, "The smallest number.")
    max = Field(NUMBER, "The largest number.")
    min_length = Field(SIZE, "The minimum number of characters.")
    max_length = Field(SIZE, "The maximum number of characters.")
    min_items = Field(SIZE, "The minimum number of elements of an array.")
    max_items = Field(SIZE, "The maximum number of elements of an array.")
    enum = Field(Constants(), "The allowed values.")


class InputDeclaration(Shape):
    """One input of the workflow or of a task."""

    label = "an input"

    type = Field(OneOf(tuple(INPUT_TYPES)), "The type of the value.", default="any", example="string")
    description = Field(WORD, "Its purpose.")
    required = Field(BOOLEAN, "Whether a run can't start without it; by default, if it has no default.")
    default = Field(Constants(), "The value if none is given.")
    validation = Field(Nested(lambda: Rules, "a mapping of validation rules"), "Constraints on the value.")
    enum = Field(Constants(), "The allowed values.")

    @property
    def core_type(self) -> str:
        return INPUT_TYPES[self.type.text] if self.type else ""


class InputType(FieldType["InputDeclaration | Tree"]):
    """A declaration, or in a task a value or an expression that gives one."""

    words = "a declaration (`type: ...`), or a value"

    def read(self, node: Node, reader: Reader) -> InputDeclaration | Tree | None:
        if isinstance(node, Mapping):
            found: InputDeclaration = reader.shape(InputDeclaration, node)
            return found
        return Tree(node)

    def mismatches(self, node: Node) -> list[Mismatch]:
        return [] if isinstance(node, Mapping) else ANYTHING.mismatches(node)

    def schema(self) -> dict[str, Any]:
        return {
            "anyOf": [{"$ref": "#/definitions/InputDeclaration"}, {"type": ["string", "number", "boolean"]}]
        }


INPUTS = MapOf(InputType(), "a mapping of names to inputs", key=NAME)


class ComputedField(Shape):
    """A field derived from others."""

    label = "a computed field"

    from_ = Field(
        ANYTHING,
        "The field that it is computed from, or a list of fields. The transform gets the value, or the list of "
        "values, as `input`.",
        required=True,
        example="raw.git_output",
    )
    transform = Field(
        WORD,
        "JavaScript: an expression over `input`, or statements: what they `return`, else the value of the last one. "
        "It may read other fields.",
        required=True,
        example="input.split('\\n')",
    )
    on_error = Field(
        OneOf(("use_fallback", "propagate", "ignore")),
        "What happens when the transform fails: the `fallback`, else null; the step that wrote fails; or the last "
        "value stays.",
        default="use_fallback",
    )
    fallback = Field(Constants(), "The value if the transform fails.")
    validate = Field(WORD, "An expression over `output` that must be true.", example="output >= 0")
    type = Field(WORD, "The type of the value; only for readers.")
    description = Field(WORD, "What it is.")


COMPUTED = MapOf(
    Nested(lambda: ComputedField, "a computed field (`from`, `transform`)"),
    "a mapping of fields to transforms",
    key=NAME,
)
TYPES = MapOf(Constants(), "a mapping of fields to types", key=NAME)


class StateSchema(Shape):
    """The fields of the state: their types, and the transforms of computed ones."""

    label = "`state_schema`"

    raw = Field(TYPES, "Fields that steps write, each with its type.", example={"git_output": "string"})
    state = Field(TYPES, "The same as `raw`.")
    inputs = Field(TYPES, "The inputs, each with its type.")
    computed = Field(COMPUTED, "Fields that follow from others.")


class DefaultState(Shape):
    """The state at the start of a run. Texts may have expressions over `inputs`, `now()` and `uuid()`."""

    label = "`default_state`"

    raw = Field(BINDINGS, "Fields and their values.", example={"attempts": 0})
    state = Field(BINDINGS, "The same as `raw`.")
    inputs = Field(BINDINGS, "Values of inputs that are not given and have no default of their own.")
    global_ = Field(BINDINGS, "Fields of the whole run, which its sub-agents share.")
    computed = Field(BINDINGS, "Ignored: computed fields follow from their transforms.")


class SubAgentErrors(Shape):
    """The reaction to a failed sub-agent."""

    label = "`on_sub_agent_error`"

    strategy = Field(
        OneOf(("retry_failed", "continue", "fail_all")),
        "Run the failed ones again, continue without their results, or cancel the others. By default the others end, "
        "then the step fails.",
    )
    max_retries = Field(COUNT, "How often a failed one is run again.", default=1)
    collect_errors = Field(
        BOOLEAN, "Whether errors are appended to the list at `error_state_path`.", default=False
    )
    error_state_path = Field(WORD, "Where errors are collected.", example="raw.sub_agent_errors")


class TaskErrors(Shape):
    """The reaction of a task to a failed step."""

    label = "`error_handling`"

    return_on_error = Field(BOOLEAN, "Whether the task fails; otherwise it ends as completed.", default=True)
    cleanup_on_error = Field(BLOCK, "Steps that run before the task ends. They can read `error`.")


class ErrorCollection(Shape):
    """Where the errors of a run are collected."""

    label = "`error_collection`"

    enabled = Field(BOOLEAN, "Whether errors are collected.", default=True)
    state_path = Field(WORD, "The list that gets each error.", example="raw.workflow_errors")
    include_stack_traces = Field(BOOLEAN, "There are none, so only `false` has an effect.", default=False)


class WorkflowErrors(Shape):
    """The reaction to a failed step that does not handle the failure itself."""

    label = "`error_handling`"

    on_error = Field(
        OneOf(("checkpoint_and_fail", "continue", "retry_workflow")),
        "Fail the run, skip the failed step, or begin again at the first step.",
        default="checkpoint_and_fail",
    )
    error_collection = Field(
        Nested(lambda: ErrorCollection, "a mapping with `state_path`"), "Where errors are collected."
    )
    on_failure = Field(BLOCK, "Steps that run before the run fails. They can read `error`.")


class RunConfig(Shape):
    """Settings of a run."""

    label = "`config`"

    timeout_seconds = Field(SECONDS, "The run fails after this many seconds.", example=3600)
    max_retries = Field(COUNT, "How often `retry_workflow` begins again.", default=1)

    @property
    def unknown(self) -> list[Entry]:
        """Other keys are kept for those who ask."""
        return []


class Task(Shape):
    """The work of a sub-agent for one item of a `parallel_foreach`: steps, or a prompt."""

    label = "a task"
    ONE_OF = ("steps", "prompt_template")

    description = Field(WORD, "The purpose of the task.")
    inputs = Field(INPUTS, "Inputs, or expressions over `item`, `index` and the fields of the workflow.")
    default_state = Field(
        Nested(lambda: DefaultState, "a mapping of fields"),
        "A state of its own. A task without one and without `state_schema` works on the state of the workflow.",
    )
    state_schema = Field(Nested(lambda: StateSchema, "a mapping of fields"), "The fields of its own state.")
    steps = Field(BLOCK, "The steps of the sub-agent.")
    prompt_template = Field(WORD, "The work as one text, for a task without steps.")
    context_template = Field(BINDINGS, "Values that the prompt is sent with.")
    error_handling = Field(Nested(lambda: TaskErrors, "a mapping"), "The reaction to a failed step.")
    timeout_seconds = Field(SECONDS_COMPUTED, "The time limit of one run of the task, in seconds.")


class HighUsage(Shape):
    """The behaviour of an agent whose context is nearly full."""

    label = "`on_high_context_usage`"

    steps = Field(BLOCK, "Steps that are read and checked. The run needs none of them.")


class ReactiveFile(Shape):
    """A whole reactive file."""

    label = "a workflow"

    name = Field(ID, "The workflow's name, unique in the project.", required=True, example="standards:fix")
    description = Field(WORD, "Its purpose.")
    version = Field(TEXT_OR_NUMBER, "Its version, as text.", example="1.0.0")
    author = Field(WORD, "Who wrote it.")
    tags = Field(WORDS, "Keywords for finding it.")
    budget = Field(BUDGET, "The budget of a run.", example={"usd": 5, "steps": 40})
    imports = Field(
        WORDS,
        "Files whose tasks and workflows this one names, relative to it or to a folder of workflows.",
        example=["shared/tasks.yaml"],
    )
    config = Field(Nested(lambda: RunConfig, "a mapping of settings"), "Settings of a run.")
    inputs = Field(INPUTS, "The inputs of a run, by name.")
    default_state = Field(
        Nested(lambda: DefaultState, "a mapping of fields"), "The state at the start of a run."
    )
    state_schema = Field(Nested(lambda: StateSchema, "a mapping of fields"), "The fields of the state.")
    steps = Field(BLOCK, "The steps, in the order in which they run.", required=True)
    sub_agent_tasks = Field(
        MapOf(Nested(lambda: Task, "a task (a mapping with `steps`)"), "a mapping of names to tasks", key=ID),
        "Tasks that `parallel_foreach` steps run, by name.",
    )
    error_handling = Field(Nested(lambda: WorkflowErrors, "a mapping"), "The reaction to a failed step.")
    on_resume = Field(
        ANYTHING, "How a run continues. A durable run continues where it was, with everything that it had."
    )
    on_high_context_usage = Field(
        Nested(lambda: HighUsage, "a mapping with `steps`"),
        "The behaviour of an agent whose context is nearly full. Not needed, since a durable run can stop anywhere.",
    )
    orchestrator_behavior = Field(ANYTHING, "Advice for the agent that works the run.")
