"""What the declarations of inputs say beyond their type."""

from __future__ import annotations

import re
import warnings

from wfc.core.ast import Scope
from wfc.core.inputs import NUMERIC, InputDecl
from wfc.core.types import Type
from wfc.infer.definitions import Definitions
from wfc.infer.environment import Path
from wfc.steps.action import Answered


def input_types(scope: Scope) -> dict[str, Type]:
    return {name: decl.read_type for name, decl in scope.declared_inputs.items()}


def nonzero_numbers(scope: Scope, definitions: Definitions) -> frozenset[Path]:
    """Inputs that may not be zero, and state fields that are only ever what they start as."""
    inputs = (("inputs", name) for name, decl in scope.declared_inputs.items() if _is_nonzero(decl))
    settings = (
        ("state", name)
        for name, value in scope.initial.items()
        if _is_number(value) and value and len(definitions.by_field.get(name, ())) == 1
    )
    return frozenset([*inputs, *settings])


def _is_nonzero(decl: InputDecl) -> bool:
    least, most, enum = (decl.rule_value(name) for name in ("min", "max", "enum"))
    if isinstance(enum, list) and enum and 0 not in enum:
        return True
    return (_is_number(least) and least > 0) or (_is_number(most) and most < 0)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def least_of_input(scope: Scope, name: str) -> float | None:
    """The smallest number that an input may be, where its declaration says so."""
    decl = scope.declared_inputs.get(name)
    least = decl.rule_value("min") if decl is not None and decl.kind in NUMERIC else None
    if not isinstance(least, int | float) or abs(least) >= 1 << 50:
        return None
    return float(least)


def nonempty_inputs(scope: Scope) -> frozenset[Path]:
    found = (name for name, decl in scope.declared_inputs.items() if _is_nonempty(decl))
    return frozenset(("inputs", name) for name in found)


def _is_nonempty(decl: InputDecl) -> bool:
    least, pattern = decl.rule_value("min_length"), decl.rule_value("pattern")
    if _is_number(least) and least > 0:
        return True
    if not isinstance(pattern, str):
        return False
    try:
        with warnings.catch_warnings():
            # What is odd about a pattern is another rule's business.
            warnings.simplefilter("ignore")
            return re.search(pattern, "") is None
    except (re.error, RecursionError, OverflowError):
        return False


def nonempty_answers(definitions: Definitions) -> frozenset[Path]:
    """Properties of answers that are validated to have a character at least."""
    found: set[Path] = set()
    for field, ways in definitions.by_field.items():
        asked = [way.step for way in ways if isinstance(way.step, Answered)]
        if asked and len(asked) >= len(ways) - 1:
            demands = [_long_enough(step) for step in asked]
            common = set(demands[0]).intersection(*demands[1:])
            found |= {("state", field, name) for name in common}
    return frozenset(found)


def _long_enough(step: Answered) -> list[str]:
    rules = step.narrowing().items()
    return [name for name, demand in rules if _is_number(demand.get("minLength")) and demand["minLength"] > 0]
