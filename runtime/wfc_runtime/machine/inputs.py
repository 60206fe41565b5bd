"""The inputs of a machine: validation rules, all violations of a value, and inputs taken from the item of a foreach."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Iterator
from copy import deepcopy
from difflib import get_close_matches
from typing import Annotated, Any, Union

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from wfc_runtime.contract import Json
from wfc_runtime.errors import RequestError, StepError
from wfc_runtime.machine.chart import AnyMachine, WorkflowInputs
from wfc_runtime.machine.redaction import is_secret_place
from wfc_runtime.machine.values import Limits, NotPlainError, check_plain
from wfc_runtime.results import describe

# Validation rules for inputs that pydantic does not have.


def one_of(*allowed: Any) -> AfterValidator:
    """The value must be one of these."""

    def check(value: Any) -> Any:
        # Python considers 1 and True equal; JSON does not.
        if not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed):
            raise ValueError(f"must be one of {', '.join(map(repr, allowed))}")
        return value

    return AfterValidator(check)


def unchecked(value: Any) -> Any:
    """A default that does not fit the declared type, and is used as it is."""
    return value


def lenient(kind: str) -> BeforeValidator:
    """Convert text that contains a number, true, false, a list or an object, and numbers that should be text."""
    return BeforeValidator(_READERS[kind])


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    # Whole numbers first, so that "3" becomes 3 and not 3.0.
    for kind in (int, float):
        try:
            # Text that is not a number stays unchanged, and pydantic then reports it with its usual message.
            return kind(value)
        except ValueError:
            pass
    return value


def _integer(value: Any) -> Any:
    number = _number(value)
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _boolean(value: Any) -> Any:
    word = value.strip().lower() if isinstance(value, str) else ""
    return True if word in ("true", "yes", "1") else False if word in ("false", "no", "0") else value


def _json(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


_READERS: dict[str, Callable[[Any], Any]] = {
    "string": _text,
    "number": _number,
    "integer": _integer,
    "boolean": _boolean,
    "array": _json,
    "object": _json,
}


def with_keys(*keys: str) -> AfterValidator:
    """The object must have these keys."""

    def check(value: Any) -> Any:
        present = (
            value.model_dump(by_alias=True, exclude_unset=True) if isinstance(value, BaseModel) else value
        )
        missing = [key for key in keys if key not in present]
        if missing:
            raise ValueError(f"must have {', '.join(map(repr, missing))}")
        return value

    return AfterValidator(check)


# All rules that a value violates: pydantic stops at the first one of each text and of each list.


def every_broken_rule(error: ValidationError, model: type[BaseModel], given: Json) -> list[ErrorDetails]:
    """The errors, with the pattern errors of texts of a wrong length and the item errors of lists that are too long."""
    found: list[ErrorDetails] = []
    # A copy: lists are shortened in it so that pydantic looks at their items.
    rest = deepcopy(given)
    is_cut = False
    for one in error.errors():
        found.append(one)
        # pydantic checks the length first and then stops, so the pattern was never compared.
        if one["type"] in ("string_too_short", "string_too_long"):
            found += _pattern_errors(one, model)
        elif one["type"] == "too_long":
            # A list that is too long is reported without looking at its items.
            is_cut = _cut(rest, one["loc"], one["ctx"]["max_length"]) or is_cut
    if is_cut:
        # Errors found in the first pass are found again and left out.
        found += _items_errors(model, rest, {one["loc"] for one in found})
    return found


def _pattern_errors(error: ErrorDetails, model: type[BaseModel]) -> Iterator[ErrorDetails]:
    schema = model.model_json_schema()
    # A union has several schemas for one place; any of them may have the pattern.
    for place in _at(schema, error["loc"], schema):
        if "pattern" in place:
            try:
                TypeAdapter(Annotated[str, Field(pattern=place["pattern"])]).validate_python(error["input"])
            except ValidationError as broken:
                for one in broken.errors():
                    yield {**one, "loc": error["loc"]}


def _items_errors(model: type[BaseModel], shortened: Json, known: set[Any]) -> list[ErrorDetails]:
    try:
        model.model_validate(shortened)
    except ValidationError as error:
        return [one for one in every_broken_rule(error, model, shortened) if one["loc"] not in known]
    return []


def _cut(value: Json, location: tuple[int | str, ...], length: int) -> bool:
    """Shorten the list at a location, which may contain the names of union members."""
    # Parts that are not in the value are labels of union members, which pydantic puts into locations.
    for part in location:
        in_list = isinstance(value, list) and isinstance(part, int)
        if in_list or (isinstance(value, dict) and part in value):
            value = value[part]
    if not isinstance(value, list) or len(value) <= length:
        return False
    del value[length:]
    return True


def _at(
    schema: dict[str, Any], location: tuple[int | str, ...], whole: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The schemas that apply to a location."""
    if "$ref" in schema:
        yield from _at(whole["$defs"][schema["$ref"].rpartition("/")[2]], location, whole)
        return
    for member in schema.get("anyOf", ()):
        yield from _at(member, location, whole)
    if not location:
        yield schema
        return
    part, *rest = location
    inner = schema.get("items") if isinstance(part, int) else schema.get("properties", {}).get(part)
    if inner is not None:
        yield from _at(inner, tuple(rest), whole)


# Checking and binding.


def check_inputs(machine: AnyMachine, given: Json, limits: Limits) -> dict[str, Json]:
    """The inputs for a Start event, with defaults. Raises `RequestError` with all problems in one message."""
    try:
        # Size and depth first, since the models do not limit them.
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
        # Members of a union often report the same problem; each is shown once.
        problems = dict.fromkeys(_problem(one, machine.inputs) for one in broken)
        raise RequestError("invalid_inputs", "; ".join(problems), _expected(machine)) from None
    return machine.start_values(checked)


def bind_item(machine: AnyMachine, item: Json) -> dict[str, Json]:
    """The inputs of a task from the item of a foreach, if the step has no `with`.

    A single input gets the item itself, unless the item is an object with a key of that name. Several inputs are taken
    from an object by name.
    """
    declared = _declared(machine.inputs)
    if not declared:
        return {}
    if len(declared) == 1:
        [(name, annotation)] = declared.items()
        # An input that takes objects gets the whole item, since its own key of that name may be data.
        by_name = isinstance(item, dict) and name in item and not _takes_objects(annotation)
        return {name: item[name] if by_name else item}
    if isinstance(item, dict):
        return {name: item[name] for name in declared if name in item}
    names = ", ".join(f"`{name}`" for name in declared)
    raise StepError(
        "item",
        f"the item is {describe(item)}, and the task has the inputs {names}",
        "Use `with` to assign the inputs.",
    )


def only_declared(machine: AnyMachine, given: dict[str, Json]) -> dict[str, Json]:
    """The given values that the machine declares as inputs. Null leaves an input its default, if it has one."""
    fields = {field.alias or name: field for name, field in machine.inputs.model_fields.items()}
    return {
        name: value
        for name, value in given.items()
        # A null for an input without a default must reach the check, which then reports it.
        if name in fields and (value is not None or fields[name].is_required())
    }


def _declared(model: type[WorkflowInputs]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _takes_objects(annotation: Any) -> bool:
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        return _takes_objects(typing.get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return any(map(_takes_objects, typing.get_args(annotation)))
    kind = origin or annotation
    # Parametrised generics are not types, so their origin is tested.
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
    # Also if only the place is secret: a wrong value there may be a mistyped secret.
    if is_secret_place(model, error["loc"]):
        return f"{place} {_demand(error)}; its value is secret"
    return f"{place} {_demand(error)}, not {describe(error['input'])}"


def _place(location: tuple[int | str, ...], model: type[WorkflowInputs]) -> str:
    """The path of a value, without the names of union members that pydantic inserts."""
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
    # For a number that may be whole or not, pydantic has tried both types.
    kind = "float_type" if error["loc"][-1] == "int" else error["type"]
    demand = _DEMANDS.get(kind)
    if demand is not None:
        return demand.format(**error.get("ctx", {}))
    return error["msg"].removeprefix("Value error, ")
