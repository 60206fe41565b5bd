"""Evaluating a template in a test takes one short call."""

from datetime import UTC, datetime
from typing import Any

import pytest

from wfc_runtime.expr import ExpressionError, ExprLimits, evaluate

NOW = datetime(2025, 8, 19, 14, 30, tzinfo=UTC)


def ev(
    text: str, /, limits: ExprLimits | None = None, hidden: frozenset[str] = frozenset(), **context: Any
) -> Any:
    return evaluate(text, context, now=NOW, uuid_seed="seed", limits=limits or ExprLimits(), hidden=hidden)


def value(expression: str, /, **context: Any) -> Any:
    return ev("{{ " + expression + " }}", **context)


def failure(text: str, /, **arguments: Any) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        ev(text, **arguments)
    return caught.value
