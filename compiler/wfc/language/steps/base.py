"""The base class of steps, and the groups of steps that share a behaviour."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from wfc.caching import cached_property
from wfc.ir import Make
from wfc.language import types
from wfc.language.changes import CHANGES, Update, lowered
from wfc.language.fields import (
    BOOLEAN,
    CONDITION,
    COUNT,
    DELAY,
    FACTOR,
    ID,
    NAME,
    SECONDS_COMPUTED,
    TEXT,
    WORD,
    WORDS,
    Constants,
    FieldType,
    Mismatch,
    Nested,
    OneOf,
    Reader,
    kind_of,
    not_json,
)
from wfc.language.shape import Field, Shape
from wfc.language.steps.protocol import Bindings, ChartBuilder, Child, Decision, Variables
from wfc.language.types import Type
from wfc.language.values import Constant, Literal, Text, Tree, Word
from wfc.struct import struct
from wfc.yaml import Mapping, Node, Scalar, Sequence, Span

# The `result_schema` field: a JSON Schema, checked when the workflow is compiled.

# Checked here without a library for JSON Schema, whose import every check would wait for.
SCHEMA_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")


@struct(eq=False)
class SchemaType(FieldType[Tree]):
    words: str = "a JSON Schema"

    def read(self, node: Node, reader: Reader) -> Tree | None:
        # Never rendered: `{{` in a schema is text, such as in a pattern.
        return Constant(node) if isinstance(node, Mapping) else None

    def mismatches(self, node: Node) -> list[Mismatch]:
        if not isinstance(node, Mapping):
            return [Mismatch(node.span, f"expected a JSON Schema (a mapping), found {kind_of(node)}")]
        # Numbers that JSON does not have first, since the checks below assume JSON.
        return not_json(node) or _problems(node)

    def schema(self) -> dict[str, Any]:
        return {"$ref": "http://json-schema.org/draft-07/schema#"}


def _problems(schema: Mapping) -> list[Mismatch]:
    found: list[Mismatch] = []
    for entry in schema.entries:
        match entry.key.text, entry.value:
            case "type", Scalar() as node:
                found += _type_problems(node)
            case "type", Sequence() as nodes:
                found += [bad for item in nodes.items for bad in _type_problems(item)]
            case "properties", Mapping() as properties:
                found += [bad for inner in properties.entries for bad in _nested(inner.value)]
            case "properties", other:
                found.append(Mismatch(other.span, f"`properties` takes a mapping, found {kind_of(other)}"))
            case "items", inner:
                found += _nested(inner)
            case "required" | "enum", node if not isinstance(node, Sequence):
                found.append(Mismatch(node.span, f"`{entry.key.text}` takes a list, found {kind_of(node)}"))
            case (
                "minLength" | "maxLength" | "minItems" | "maxItems" | "minimum" | "maximum"
            ) as key, node if not _number(node):
                found.append(Mismatch(node.span, f"`{key}` takes a number, found {kind_of(node)}"))
    return found


def _nested(node: Node) -> list[Mismatch]:
    if isinstance(node, Mapping):
        return _problems(node)
    # `true` and `false` are schemas, too.
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return []
    return [Mismatch(node.span, f"expected a JSON Schema (a mapping), found {kind_of(node)}")]


def _type_problems(node: Node) -> list[Mismatch]:
    if (
        isinstance(node, Scalar)
        and node.text in SCHEMA_TYPES
        # Unquoted `null` is the null of YAML, and here the name of a type.
        and (node.value is None or isinstance(node.value, str))
    ):
        return []
    hint = "one of " + ", ".join(f"`{name}`" for name in SCHEMA_TYPES)
    return [Mismatch(node.span, f"{kind_of(node)} is not a JSON Schema type", hint)]


def _number(node: Node) -> bool:
    return (
        isinstance(node, Scalar) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
    )


RESULT_SCHEMA = SchemaType()


class Retry(Shape):
    """How often to try a step that fails, and how long to wait between attempts."""

    label = "`retry`"

    max_attempts = Field(COUNT, "The maximum number of attempts.", required=True, example=3)
    delay_seconds = Field(DELAY, "The delay before the second attempt.", default=0)
    backoff = Field(FACTOR, "The factor by which each further delay grows.", default=1)


class Recovery(Shape):
    """Where to continue after a failure."""

    label = "`on_error`"

    goto = Field(WORD, "The step to continue with.", required=True)


HANDLERS = ("fail", "continue", "defer")


class OnErrorType(FieldType["Word | Recovery"]):
    words = "`fail`, `continue`, `defer` or `{goto: <step>}`"

    def read(self, node: Node, reader: Reader) -> Word | Recovery | None:
        if isinstance(node, Mapping):
            found: Recovery = reader.shape(Recovery, node)
            return found
        return OneOf(HANDLERS).read(node, reader)

    def mismatches(self, node: Node) -> list[Mismatch]:
        if isinstance(node, Mapping) or (isinstance(node, Scalar) and node.value in HANDLERS):
            return []
        return [Mismatch(node.span, f"expected {self.words}, found {kind_of(node)}")]

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(HANDLERS)}, {"$ref": "#/definitions/Recovery"}]}


class Step(Shape):
    """One step. The docstring of its class is its documentation, and its fields are its schema."""

    kind: ClassVar[str] = ""
    color: ClassVar[str] = "control"
    """Its color in pictures: control, state, agent, server, person, message, time, child or end."""
    repeats: ClassVar[bool] = False
    """Whether it runs its blocks again and again."""
    ends_block: ClassVar[bool] = False
    """Whether the step after it in the same list is never the next one: it jumps elsewhere or ends the run."""
    origin: ClassVar[tuple[str, str]] = ("the result of a step", "the result of {} comes from outside")
    """Its result as security findings describe it: the value, and a sentence in which {} is the step."""
    acts: ClassVar[bool] = False
    """Whether it may change something outside of the run: files, services, what an agent works on."""
    is_step: ClassVar[bool] = True
    """Whether it is a step of the flow; a derived field is not."""
    belongs_to: str | None = None
    """For a step that a dialect has added: the step of the author's that it is part of, or "" if there is none."""
    written_type: str = ""
    """The type as the author writes it, if a dialect has its own names of types."""
    added_fields: frozenset[str] = frozenset()
    """Fields that a dialect has added to a step of the author's."""
    shape_rules: ClassVar[dict[str, Any]] = {}
    """Further keywords of its JSON Schema."""
    included: str = ""
    """The text of the file that it names."""
    include_problem: str = ""
    """Why that file can't be used."""

    id = Field(ID, "The step's name, unique in the workflow.", required=True, example="run-tests")
    type = Field(WORD, "The kind of step.", required=True)
    description = Field(WORD, "The purpose of the step; also written to the generated module.")
    needs_state = Field(
        WORDS, "The state fields that this step's expressions may read.", example=["build_output"]
    )
    when = Field(
        CONDITION, "Skip the step unless this is true.", example="{{ state.build_output.exit_code == 0 }}"
    )

    @cached_property
    def name(self) -> str:
        return self.id.text if self.id else ""

    @cached_property
    def span(self) -> Span:
        # The id identifies a step for a reader better than its first key does.
        return self.id.node.span if self.id else super().span

    @property
    def performer_color(self) -> str:
        """Its color in pictures, by who performs this one."""
        return self.color

    @property
    def declared(self) -> list[Word]:
        return self.needs_state or []

    def texts(self) -> Iterator[Text]:
        """Every template of the step, without those of nested steps, in source order."""
        return iter(self._all_texts)

    @cached_property
    def _all_texts(self) -> list[Text]:
        found: list[Text] = []
        # In the order of the file, not of the declared fields.
        for name in dict.fromkeys([entry.key.text for entry in self.node.entries]):
            value = self.values.get(name)
            # Words and literals are never rendered, so they have no templates.
            if value is not None and not isinstance(value, (Word, Literal)):
                found += _texts(value)
        return found

    # The questions that analyses and checks ask. A step type overrides those that have an answer for it.

    def blocks(self) -> Iterator[list[Step]]:
        """The lists of steps inside this one, which the same run executes."""
        return iter(())

    def arranged(
        self, name: Word, branches: dict[str, list[Step]], after: dict[str, tuple[str, ...]]
    ) -> Step:
        """A step with concurrent branches like this one, with other branches that begin one after the other."""
        raise TypeError(f"{self.label} has no concurrent branches")

    def concurrent(self) -> dict[str, list[Step]]:
        """The blocks that run concurrently, by name."""
        return {}

    def child(self) -> Child | None:
        """The runs of a task or of another workflow that it starts."""
        return None

    def jumps(self) -> Iterator[tuple[str, Word]]:
        """The steps that it names as places to continue at, each with the field that does."""
        return iter(())

    def jump(self) -> Word | None:
        """The step at which the flow always continues, instead of the one that follows in the list."""
        return None

    def decision(self) -> Decision | None:
        """The condition by which it chooses between its blocks. The `when` that every step may have is not one."""
        return None

    @property
    def condition(self) -> Text | None:
        """The condition of its decision."""
        decision = self.decision()
        return decision.condition if decision is not None else None

    def bindings(self) -> Bindings | None:
        """The mapping whose templates may use names that its other templates may not."""
        return None

    def assigns(self) -> dict[str, Tree] | None:
        """The state fields that it computes from templates; None for a step that computes none.

        If it has an `output_to` that is not among them, that field gets all of them as one object.
        """
        return None

    def partial(self) -> Iterator[Update]:
        """The changes of fields or parts of fields that it makes."""
        return iter(())

    def names_inside(self) -> Variables | None:
        """The names that it gives to the steps inside it."""
        return None

    def local_names(self) -> dict[Text, dict[str, Type]]:
        """Templates that have names of their own, each with these names and their types."""
        return {}

    def computed_seconds(self, name: str) -> Any:
        """A number of seconds, or the expression that gives it when the step begins."""
        value = self.values.get(name)
        return value if isinstance(value, Text) else self.setting(name)

    def returns(self) -> Tree | None:
        """The value that the run returns when it ends at this step."""
        return None

    @property
    def recovers(self) -> bool:
        """Whether the flow continues with another step after this one has failed."""
        return False

    def writes(self) -> dict[str, tuple[Span, Type]]:
        """The state fields that it writes, each with the span that names it and the type of the value."""
        return self._all_writes

    @cached_property
    def _all_writes(self) -> dict[str, tuple[Span, Type]]:
        return self._writes()

    def _writes(self) -> dict[str, tuple[Span, Type]]:
        return {}

    def idle_fields(self) -> Iterator[tuple[str, str, str]]:
        """Fields of its own that have no effect beside its others: each with the reason and a help."""
        return iter(())

    def files(self) -> Iterator[Text]:
        """The paths of the files that it writes, where the source names them."""
        return iter(())

    def lower(self, chart: ChartBuilder, after: str) -> None:
        """Add this step's states and edges to the chart. `after` is the state that follows it."""
        raise NotImplementedError(self.kind)


def _texts(value: Any) -> Iterator[Text]:
    match value:
        case Text():
            if value.is_text:
                yield value
        case Tree():
            yield from value.texts
        case list():
            for item in value:
                # Nested steps report their own templates.
                yield from _texts(item) if not isinstance(item, Step) else ()
        case dict():
            for item in value.values():
                yield from _texts(item)
        case Shape() if not isinstance(value, Step):
            yield from _texts(dict(value.values))


class Keeping(Step):
    """A step whose result can be written to a state field."""

    output_to = Field(NAME, "The state field that gets the result.", example="test_results")
    secret = Field(
        BOOLEAN,
        "Whether the result is redacted in history, state, errors and logs.",
        default=False,
    )

    def result_type(self) -> Type:
        return types.ANY

    def _writes(self) -> dict[str, tuple[Span, Type]]:
        return {self.output_to.text: (self.output_to.span, self.result_type())} if self.output_to else {}


class Changing(Keeping):
    """A step that waits for a result, and can change fields with it."""

    changes = Field(
        CHANGES, "Changes of state fields to make with the result, which is called `result` in their values."
    )

    def local_names(self) -> dict[Text, dict[str, Type]]:
        mine = {"result": self.result_type()} if self.changes else {}
        found = dict.fromkeys(_texts(self.changes), mine) if self.changes else {}
        return {**super().local_names(), **found}

    def partial(self) -> Iterator[Update]:
        yield from super().partial()
        yield from self.changes or []

    # Later entries win: what is known exactly replaces `any`.
    def _writes(self) -> dict[str, tuple[Span, Type]]:
        # A field that gets the whole result has its type; other values are not inferred.
        whole = {
            one.field: (one.field_span, self.result_type())
            for one in self.changes or []
            if one.is_whole and one.value is not None and _is_result(one.value.data)
        }
        return {**_changed(self.changes), **whole, **super()._writes()}

    def changing(self) -> dict[str, Any]:
        """The arguments of the effect that say what is changed after a result or a failure."""
        failed = self.values.get("error_changes")
        fallback = self.values.get("fallback")
        return {
            "changes": lowered(self.changes),
            "error_changes": lowered(failed),
            "failure_message": self.values.get("failure_message"),
            "fallback": Make("UseFallback", {"value": fallback.data}) if fallback is not None else None,
        }


def _is_result(value: Any) -> bool:
    return isinstance(value, str) and value.replace(" ", "") == "{{result}}"


def _changed(changes: list[Update] | None) -> dict[str, tuple[Span, Type]]:
    """The fields that changes write. A field that is changed twice has any type."""
    found: dict[str, tuple[Span, Type]] = {}
    for one in changes or []:
        if one.path:
            found[one.field] = one.field_span, types.ANY if one.field in found else one.kind
    return found


ERROR = types.Record(
    "", tuple(types.Property(name, types.TEXT) for name in ("code", "message", "step_id")), open=False
)
"""The settings of a step for failures."""


class Fallible(Step):
    """A step that can fail and may handle that."""

    on_error = Field(
        OnErrorType(),
        "The reaction to a failure: `fail` the run, `continue` after it, `defer` (continue, and fail the run with "
        "this error at its end), or `{goto: <step>}`.",
        default="fail",
    )

    def jumps(self) -> Iterator[tuple[str, Word]]:
        if isinstance(self.on_error, Recovery) and self.on_error.goto:
            yield "on_error", self.on_error.goto

    @property
    def recovers(self) -> bool:
        # `defer` continues too, but the run fails in the end.
        handler = self.on_error
        return isinstance(handler, Recovery) or (handler is not None and handler.text == "continue")


class Handling(Fallible):
    """A step that says what is changed and told after its failure."""

    error_changes = Field(
        CHANGES,
        "Changes of state fields to make when the step has failed; `error` has its `code`, `message` and `step_id`.",
    )

    failure_message = Field(
        TEXT,
        "The message for the user when the step has failed; `error` has its `code`, `message` and `step_id`.",
    )

    def local_names(self) -> dict[Text, dict[str, Type]]:
        mine: dict[str, Type] = {"error": ERROR}
        found = dict.fromkeys(_texts(self.error_changes), mine) if self.error_changes else {}
        if self.failure_message is not None:
            found[self.failure_message] = mine
        return {**super().local_names(), **found}

    def partial(self) -> Iterator[Update]:
        yield from super().partial()
        yield from self.error_changes or []

    def _writes(self) -> dict[str, tuple[Span, Type]]:
        return {**_changed(self.error_changes), **super()._writes()}


class Waiting(Handling):
    """A step that waits for an answer, optionally with a time limit."""

    deadline = Field(
        SECONDS_COMPUTED,
        "How long the run waits for this step, in seconds. Then the step fails. Without a deadline it waits as long as "
        "it takes.",
        example=86400,
    )


class Retried(Fallible):
    """A step that can be retried."""

    retry = Field(Nested(lambda: Retry, "a mapping with `max_attempts`"), "Retry when the step fails.")


class UnknownStep(Step):
    """A step whose `type` is missing or unknown. Other checks still see it."""

    kind = "unknown"

    def texts(self) -> Iterator[Text]:
        return iter(())

    def lower(self, chart: ChartBuilder, after: str) -> None:
        """Wait for it and continue: a step of an unknown type may do anything, but later steps can be checked."""
        # A step of an unknown type may do anything, so nothing is assumed about its result.
        chart.edge(chart.state(self), after, "submit")


# Steps that suspend the machine until the agent or the user has answered.


class Answered(Changing):
    """An action with a kind, parameters and a result. It is lowered to one Ask."""

    instruction: str | None = None
    """Tells the agent what to do with the parameters, where that differs from what the runtime says for the kind
    (`wfc_runtime.instructions`)."""
    result: ClassVar[Any] = None
    """The contract's TypedDict for the answer."""

    def parameters(self) -> dict[str, Any]:
        """The parameters of the action, with unevaluated templates."""
        return {}

    def result_class(self) -> Any:
        return self.result

    def result_schema_data(self) -> Any:
        """The JSON Schema that the file gives, if any. It overrides the result of the contract."""
        tree = self.values.get("result_schema")
        return tree.data if tree is not None else None

    def result_type(self) -> Type:
        schema = self.result_schema_data()
        if schema is not None:
            return types.of_schema(schema)
        kind = self.result_class()
        return types.of_python(kind) if kind is not None else types.ANY

    def narrowing(self) -> dict[str, Any]:
        """Constraints on properties of the result beyond their type."""
        return {}

    def lower(self, chart: ChartBuilder, after: str) -> None:
        chart.suspend(self, chart.effect("Ask", self, self.ask), after, "submit")

    def ask(self) -> dict[str, Any]:
        """The arguments of the Ask."""
        schema = self.result_schema_data()
        kind = self.result_class()
        return {
            "kind": self.kind,
            "instruction": self.instruction,
            "parameters": self.parameters(),
            "result": schema if schema is not None else kind,
            "where": self.narrowing() or None,
            # Some kinds have no timeout.
            "timeout": self.setting("timeout") if "timeout" in self.FIELDS else None,
            "deadline": self.computed_seconds("deadline") if "deadline" in self.FIELDS else None,
            **self.changing(),
        }


class Action(Answered, Waiting, Retried):
    """An action that can fail and be retried."""

    fallback = Field(
        Constants(),
        "The result after a failure that no retry follows; the step then succeeds. Of a command, its output.",
        example=[],
    )
