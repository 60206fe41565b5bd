"""Derived fields of a scope: computed from other fields whenever they change, or once when a run starts.

To checks that look at templates, such a field is a step without a place in the flow.
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.caching import cached_property
from wfc.language.fields import ANYTHING, CONDITION, WORD, Constants, OneOf
from wfc.language.shape import Field
from wfc.language.steps.base import Step
from wfc.language.values import Text, Tree, state_use
from wfc.yaml import Mapping, Node, Span

ON_ERROR = ("use_fallback", "propagate", "ignore")


class Computed(Step):
    """A field that the scope computes, as a step."""

    without = ("id", "type", "needs_state", "when", "description")
    is_step = False
    field = ""
    _around: Node | None = None

    def named(self, field: str, around: Node | None) -> None:
        """Set the name of the field, and the mapping that has it as a key."""
        self.field, self._around = field, around

    @cached_property
    def name(self) -> str:
        return self.field

    @cached_property
    def span(self) -> Span:
        entry = self._around.entry(self.field) if isinstance(self._around, Mapping) else None
        return entry.key.span if entry else self.node.span

    def roots(self, text: Text) -> frozenset[str]:
        """The names that one of its templates may use."""
        raise NotImplementedError(self.label)

    def assigns(self) -> dict[str, Tree]:
        raise NotImplementedError(self.label)


class StartValue(Computed):
    """A field that is computed once, when a run starts."""

    label = "a start value"
    kind = "start_value"

    def __init__(self, node: Mapping, field: str, tree: Tree) -> None:
        super().__init__(node, {})
        self.named(field, node.get("start_values"))
        self.tree = tree

    def texts(self) -> Iterator[Text]:
        return iter(self.tree.texts)

    def roots(self, text: Text) -> frozenset[str]:
        return frozenset({"inputs"})

    def assigns(self) -> dict[str, Tree]:
        return {self.field: self.tree}


class Derivation(Computed):
    """A field that is computed from others. It is up to date before the next condition or step sees the state.

    It is computed when a run starts, and again after each write that changes a field which it reads: once, after the
    fields that it depends on, and not at all if none of them changed. No step can write it.
    """

    label = "a derived field"
    kind = "derived"

    from_ = Field(
        ANYTHING,
        "An expression, or a list of expressions, whose value is called `input` in `value`.",
        example="{{ state.results }}",
    )
    value = Field(
        ANYTHING, "The value, usually one expression.", required=True, example="{{ state.results | length }}"
    )
    on_error = Field(
        OneOf(ON_ERROR),
        "The reaction to a failure: `use_fallback` sets the field to its `fallback`, `propagate` fails the step that "
        "wrote the state, `ignore` keeps the last value.",
        default="use_fallback",
    )
    fallback = Field(Constants(), "The value after a failure; by default null.", example=0)
    check = Field(
        CONDITION,
        "A condition over `output`; if it is false, the value has failed.",
        example="{{ output >= 0 }}",
    )
    description = Field(WORD, "The purpose of the field.")

    @property
    def recovers(self) -> bool:
        return self.values.get("on_error") is not None or self.values.get("fallback") is not None

    def roots(self, text: Text) -> frozenset[str]:
        # The expressions of `from` produce `input`, so only the other templates can use it.
        more = (
            {"input"}
            if self.from_ is not None and not any(text is one for one in self.from_.texts)
            else set()
        )
        return frozenset({"state", "inputs", *more, *({"output"} if text is self.check else ())})

    def assigns(self) -> dict[str, Tree]:
        return {self.field: self.value} if self.value is not None else {}

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The state fields that its templates name, in source order."""
        return tuple(
            dict.fromkeys(field for text in self.texts() for field in state_use(text.template).fields)
        )

    @property
    def reads_all(self) -> bool:
        """Whether a template may read any field."""
        return any(state_use(text.template).whole for text in self.texts())
