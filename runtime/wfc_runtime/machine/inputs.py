"""What a machine is started with: checked against its Inputs, and filled from the item of a foreach."""

from __future__ import annotations

import types
import typing
from difflib import get_close_matches
from typing import Annotated, Any, Union

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from wfc_runtime.contract import Json
from wfc_runtime.errors import RequestError, StepError
from wfc_runtime.machine.broken import every_broken_rule
from wfc_runtime.machine.chart import AnyMachine, WorkflowInputs
from wfc_runtime.machine.limits import Limits
from wfc_runtime.machine.masking import is_secret_place
from wfc_runtime.machine.plain import NotPlainError, check_plain
from wfc_runtime.machine.schema import describe


def check_inputs(machine: AnyMachine, given: Json, limits: Limits) -> dict[str, Json]:
    """The inputs as a Start event takes them, defaults filled in. Every problem is in the one message."""
    try:
        check_plain(given, limits.input_bytes, limits.nesting)
    except NotPlainError as error:
        raise RequestError("invalid_inputs", f"`inputs` {error}") from None
    if not isinstance(given, dict):
        raise RequestError(
            "invalid_inputs", f"`inputs` must be an object, not {describe(given)}", _expected(machine)
        )
    try:
        checked = machine.inputs.model_validate(given)
    except ValidationError as error:
        broken = every_broken_rule(error, machine.inputs, given)
        problems = dict.fromkeys(_problem(one, machine.inputs) for one in broken)
        raise RequestError("invalid_inputs", "; ".join(problems), _expected(machine)) from None
    return machine.start_values(checked)


def bind_item(machine: AnyMachine, item: Json) -> dict[str, Json]:
    """A foreach item as a task's inputs, where the step does not say `with`.

    One input gets the item itself, unless that is an object with a key of that name. An object fills several
    by name.
    """
    declared = _declared(machine.inputs)
    if not declared:
        return {}
    if len(declared) == 1:
        [(name, annotation)] = declared.items()
        by_name = isinstance(item, dict) and name in item and not _takes_objects(annotation)
        return {name: item[name] if by_name else item}
    if isinstance(item, dict):
        return {name: item[name] for name in declared if name in item}
    names = ", ".join(f"`{name}`" for name in declared)
    raise StepError(
        "item",
        f"the item is {describe(item)}, and the task has the inputs {names}",
        "Say with `with` which is which.",
    )


def only_declared(machine: AnyMachine, given: dict[str, Json]) -> dict[str, Json]:
    """What a machine has inputs for, of what it is given."""
    declared = _declared(machine.inputs)
    return {name: value for name, value in given.items() if name in declared}


def _declared(model: type[WorkflowInputs]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _takes_objects(annotation: Any) -> bool:
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        return _takes_objects(typing.get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return any(map(_takes_objects, typing.get_args(annotation)))
    kind = origin or annotation
    return isinstance(kind, type) and issubclass(kind, (dict, BaseModel))


def _expected(machine: AnyMachine) -> str:
    fields = {field.alias or name: field for name, field in machine.inputs.model_fields.items()}
    if not fields:
        return "This workflow takes no inputs."
    names = [f"`{name}`" if field.is_required() else f"`{name}` (optional)" for name, field in fields.items()]
    return f"Inputs: {', '.join(names)}."


def _problem(error: ErrorDetails, model: type[WorkflowInputs]) -> str:
    place = _place(error["loc"], model)
    kind = error["type"]
    if kind == "missing":
        return f"{place} is required"
    if kind == "extra_forbidden":
        near = get_close_matches(str(error["loc"][-1]), list(_declared(model)), 1)
        return f"{place} is not an input" + (f"; did you mean `{near[0]}`?" if near else "")
    if kind.endswith(("too_short", "too_long")):
        return f"{place} {_demand(error)}; it has {len(error['input'])}"
    if is_secret_place(model, error["loc"]):
        return f"{place} {_demand(error)}; what it is, is a secret"
    return f"{place} {_demand(error)}, not {describe(error['input'])}"


def _place(location: tuple[int | str, ...], model: type[WorkflowInputs]) -> str:
    """The way to a value, without the names of a union's members that pydantic puts in between."""
    first, *rest = location
    parts = [
        part for part in rest if part not in ("int", "float") and not str(part).startswith(("list[", "dict["))
    ]
    return f"`{first}{''.join(f'[{part}]' if isinstance(part, int) else f'.{part}' for part in parts)}`"


_DEMANDS = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "int_from_float": "must be a whole number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "literal_error": "must be one of {expected}",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} items",
    "too_long": "must have at most {max_length} items",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
}


def _demand(error: ErrorDetails) -> str:
    # Where a number need not be whole, both kinds have been tried.
    kind = "float_type" if error["loc"][-1] == "int" else error["type"]
    demand = _DEMANDS.get(kind)
    if demand is not None:
        return demand.format(**error.get("ctx", {}))
    return error["msg"].removeprefix("Value error, ")
