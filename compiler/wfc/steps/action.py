"""Steps that suspend the machine until the agent, or the person behind it, has answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from wfc.core import types
from wfc.core.types import Type
from wfc.ir import Ref
from wfc.steps.base import Keeping, Retried

if TYPE_CHECKING:
    from wfc.lower import Lowering


class Answered(Keeping):
    """An action with a kind, parameters and a result: lowered to one Ask."""

    instruction: str | None = None
    """Tells the agent what to do with the parameters, where that differs from what the runtime says for the kind
    (`wfc_runtime.instructions`)."""
    result: ClassVar[Any] = None
    """The contract's TypedDict for the answer."""

    def parameters(self) -> dict[str, Any]:
        """What the agent gets, with templates still in it."""
        return {}

    def result_class(self) -> Any:
        return self.result

    def result_schema_data(self) -> Any:
        """A JSON Schema that the author gave, if any: it takes the place of the contract's result."""
        tree = self.values.get("result_schema")
        return tree.data if tree is not None else None

    def result_type(self) -> Type:
        schema = self.result_schema_data()
        if schema is not None:
            return types.of_schema(schema)
        kind = self.result_class()
        return types.of_python(kind) if kind is not None else types.ANY

    def narrowing(self) -> dict[str, Any]:
        """Demands on properties of the result beyond their type."""
        return {}

    def lower(self, chart: Lowering, after: str) -> None:
        chart.suspend(self, chart.effect("Ask", self, self.ask), after, "submit")

    def ask(self) -> dict[str, Any]:
        """The arguments of the Ask."""
        schema = self.result_schema_data()
        kind = self.result_class()
        result = schema if schema is not None else Ref(kind.__name__) if kind is not None else None
        return {
            "kind": self.kind,
            "instruction": self.instruction,
            "parameters": self.parameters(),
            "result": result,
            "where": self.narrowing() or None,
            "timeout": self.setting("timeout") if "timeout" in self.FIELDS else None,
        }


class Action(Answered, Retried):
    """An action that can fail and be tried again."""
