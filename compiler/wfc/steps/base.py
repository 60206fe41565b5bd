"""What every step has, and the groups of steps that share a behaviour."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from wfc.core import types
from wfc.core.fields import (
    BOOLEAN,
    CONDITION,
    COUNT,
    DELAY,
    FACTOR,
    ID,
    NAME,
    WORD,
    WORDS,
    FieldType,
    Mismatch,
    Nested,
    OneOf,
    Reader,
    kind_of,
)
from wfc.core.shape import Field, Shape
from wfc.core.types import Type
from wfc.core.values import Literal, Text, Tree, Word
from wfc.lazy import lazy
from wfc.yaml import Mapping, Node, Scalar, Span

if TYPE_CHECKING:
    from wfc.lower import Lowering


class Retry(Shape):
    """How often a failing step is tried, with a pause that may grow."""

    label = "`retry`"

    max_attempts = Field(COUNT, "How often to try in all.", required=True, example=3)
    delay_seconds = Field(DELAY, "The pause before the second try.", default=0)
    backoff = Field(FACTOR, "By how much each further pause grows.", default=1)


class Recovery(Shape):
    """Where to go on after a failure."""

    label = "`on_error`"

    goto = Field(WORD, "The step to go on with.", required=True)


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
    """One step. Its class docstring is its documentation; its fields are its schema."""

    kind: ClassVar[str] = ""
    color: ClassVar[str] = "control"
    """How pictures show it: control, state, agent, person, time or child."""
    shape_rules: ClassVar[dict[str, Any]] = {}
    """What else its JSON Schema says, beside its fields."""

    id = Field(ID, "The step's name, unique in the workflow.", required=True, example="run-tests")
    type = Field(WORD, "The kind of step.", required=True)
    description = Field(WORD, "What the step is for; kept in the generated module.")
    needs_state = Field(
        WORDS, "The state fields that this step's expressions may read.", example=["build_output"]
    )
    when = Field(
        CONDITION, "Skip the step unless this is true.", example="{{ state.build_output.exit_code == 0 }}"
    )

    @lazy
    def name(self) -> str:
        return self.id.text if self.id else ""

    @lazy
    def span(self) -> Span:
        return self.id.node.span if self.id else super().span

    @property
    def declared(self) -> list[Word]:
        return self.needs_state or []

    def texts(self) -> Iterator[Text]:
        """Every template of the step itself, nested steps left out, in source order."""
        return iter(self._all_texts)

    @lazy
    def _all_texts(self) -> list[Text]:
        found: list[Text] = []
        for name in dict.fromkeys([entry.key.text for entry in self.node.entries]):
            value = self.values.get(name)
            if value is not None and not isinstance(value, (Word, Literal)):
                found += _texts(value)
        return found

    def blocks(self) -> Iterator[list[Step]]:
        """The lists of steps inside this one."""
        return iter(())

    def writes(self) -> dict[str, tuple[Span, Type]]:
        """The state fields it writes: where that is said, and what is known of the value."""
        return self._all_writes

    @lazy
    def _all_writes(self) -> dict[str, tuple[Span, Type]]:
        return self._writes()

    def _writes(self) -> dict[str, tuple[Span, Type]]:
        return {}

    def files(self) -> Iterator[Text]:
        """The files that it writes, as far as their names stand in the source."""
        return iter(())

    def lower(self, chart: Lowering, after: str) -> None:
        """Add this step's states and edges to the chart; `after` is where the flow goes on."""
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
                yield from _texts(item) if not isinstance(item, Step) else ()
        case dict():
            for item in value.values():
                yield from _texts(item)
        case Shape() if not isinstance(value, Step):
            yield from _texts(dict(value.values))


class Keeping(Step):
    """A step whose result can be kept."""

    output_to = Field(NAME, "The state field that gets the result.", example="test_results")
    secret = Field(
        BOOLEAN,
        "Whether what it keeps is hidden wherever a run is shown: history, state, errors and logs.",
        default=False,
    )

    def result_type(self) -> Type:
        return types.ANY

    def _writes(self) -> dict[str, tuple[Span, Type]]:
        return {self.output_to.text: (self.output_to.span, self.result_type())} if self.output_to else {}


class Fallible(Step):
    """A step that can fail, and can say what then."""

    on_error = Field(
        OnErrorType(),
        "What to do when the step fails: `fail` the run, `continue` after it, `defer` (go on after it, and fail the "
        "run with this error at its end), or `{goto: <step>}`.",
        default="fail",
    )


class Retried(Fallible):
    """A step that may be tried again."""

    retry = Field(Nested(lambda: Retry, "a mapping with `max_attempts`"), "Try again when the step fails.")


class UnknownStep(Step):
    """Stands in for a step whose `type` is missing or not a step type, so that the other checks go on."""

    kind = "unknown"

    def texts(self) -> Iterator[Text]:
        return iter(())

    def lower(self, chart: Lowering, after: str) -> None:
        """It could do anything: the flow waits for it and goes on."""
        chart.edge(chart.state(self), after, "submit")
