"""Validation of results with JSON Schema. Nothing is fetched, and no pattern can backtrack without bound."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Literal, NotRequired, Union

from typing_extensions import get_type_hints, is_typeddict

from wfc_runtime.contract import DEFAULTS, Json, Report
from wfc_runtime.expr import ExprLimits
from wfc_runtime.expr.run import Meter
from wfc_runtime.reports import UnreadableReportError, read_report

# The fast path: most results match a simple schema, and importing the validator takes 0.1 s.

_TYPES: dict[Any, Callable[[Json], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
# Any other keyword, even an unknown one, takes the slow path: this function must never accept what the
# validator refuses.
_KNOWN = {"type", "enum", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "items"}
_KNOWN |= {"properties", "required", "title", "description"}


def surely_fits(value: Json, schema: Json) -> bool:
    try:
        return _fits_simple(value, schema)
    except (TypeError, AttributeError, LookupError, RecursionError):
        # A malformed schema must be reported by the validator, which can describe the problem.
        return False


def _fits_simple(value: Json, schema: Json) -> bool:
    if not isinstance(schema, dict) or not schema.keys() <= _KNOWN:
        return False
    # `type` may also be a list of types, which raises TypeError here: the slow path handles it.
    if "type" in schema and not _TYPES[schema["type"]](value):
        return False
    # Values other than text take the slow path: for Python 1, 1.0 and true are equal.
    if "enum" in schema and not (isinstance(value, str) and value in schema["enum"]):
        return False
    if isinstance(value, str):
        return _within(len(value), schema, "minLength", "maxLength")
    if isinstance(value, dict):
        return _object_fits(value, schema)
    if isinstance(value, list):
        items = schema.get("items")
        return _within(len(value), schema, "minItems", "maxItems") and (
            items is None or all(_fits_simple(item, items) for item in value)
        )
    return value is None or _within(value, schema, "minimum", "maximum")


def _object_fits(value: dict[str, Json], schema: dict[str, Json]) -> bool:
    properties = schema.get("properties", {})
    return all(name in value for name in schema.get("required", ())) and all(
        _fits_simple(value[name], inner) for name, inner in properties.items() if name in value
    )


def _within(number: float, schema: dict[str, Json], least: str, most: str) -> bool:
    return not (least in schema and number < schema[least]) and not (most in schema and number > schema[most])


# Validation.

_SHOWN = 10
_LOOKED_AT = 50
"""The number of problems that are collected before the first ones, by location, are reported. A long list may have one
per item."""
_MAX_PATTERN = 2_000
_MAX_MEMORY = 8 << 20
_LIMITS = ExprLimits(fuel=2_000_000)
"""The budget for checking one value against one schema: some seconds, counted as fuel and not timed, so that the
result does not depend on the machine."""
_COST = 4
_REFERENCE_COST = 16
_ITEMS_PER_UNIT = 8
_CHARS_PER_UNIT = 64
_STEPS_PER_UNIT = 64
_COMPILED_PER_UNIT = 4
"""For patterns. The whole budget allows about two seconds in the worst case, of which one text may take half."""

Keyword = Callable[[Any, Any, Any, Any], Any]
_meter: ContextVar[Meter] = ContextVar("meter")


def problems(value: Json, schema: Json, quoted: bool = True) -> list[str]:
    """Why a value does not match a schema, each problem with its location; empty if it does. `quoted=False` keeps the
    value, a secret, out of the messages."""
    if schema is None or surely_fits(value, schema):
        return []
    token = _meter.set(Meter(_LIMITS))
    try:
        # Lazily, so that a list of a million wrong items does not produce a million errors.
        found = list(islice(_validator(_text(schema)).iter_errors(value), _LOOKED_AT))
    except Exception as error:
        # A remote reference, a schema that contains itself, ...: the author of the step has to know the reason.
        raise UnusableSchemaError(f"the result_schema can't be used: {str(error)[:300]}") from error
    finally:
        _meter.reset(token)
    # The validator reports in the order of keywords; sorted by location, messages are stable and easier to
    # follow.
    found.sort(key=lambda error: [str(part) for part in error.absolute_path])
    return [
        f"{_place(error.absolute_path)}{_shortened(error.message) if quoted else _demand(error)}"
        for error in found[:_SHOWN]
    ]


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _demand(error: Any) -> str:
    demand = _shortened(_text(error.validator_value))
    return f"does not fit `{error.validator}`, which is {demand}"


def _place(path: Any) -> str:
    steps = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return f"result{steps}: " if steps else ""


def _shortened(message: str) -> str:
    """Shorten a message in the middle: it quotes the value first, whatever its size, and ends with the problem."""
    return message if len(message) <= 300 else f"{message[:120]} ... {message[-160:]}"


@lru_cache(maxsize=512)
def _validator(schema: str) -> Any:
    from referencing import Registry

    # An empty registry: a remote `$ref` fails instead of being fetched.
    return _validator_class()(json.loads(schema), registry=Registry())


@cache
def _validator_class() -> Any:
    # The import takes 0.1 s; it is paid with the first result that is checked.
    import jsonschema  # type: ignore[import-untyped]  # it has no types

    base = jsonschema.Draft202012Validator
    # Replaces keywords whose implementation takes quadratic time, builds all errors of each option, or uses
    # `re`.
    keywords = {**base.VALIDATORS, **_OWN}
    return jsonschema.validators.extend(base, {name: _metered(name, one) for name, one in keywords.items()})


def _metered(name: str, keyword: Keyword) -> Keyword:
    """The keyword with a cost: schemas that refer to each other can take exponential time."""
    cost = _REFERENCE_COST if name in ("$ref", "$dynamicRef") else _COST

    def check(validator: Any, demand: Any, instance: Any, schema: Any) -> Any:
        meter = _meter.get()
        # Charged before the work is done, so that a single expensive keyword can't exceed the budget.
        meter.spend(cost + _size(demand) + _size(instance))
        meter.check()
        return keyword(validator, demand, instance, schema)

    return check


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value) // _CHARS_PER_UNIT
    return len(value) // _ITEMS_PER_UNIT if isinstance(value, (dict, list)) else 0


def _any_of(validator: Any, options: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not any(_fits(validator, one, instance) for one in options):
        yield _error(f"{instance!r} is not valid under any of the given schemas")


def _one_of(validator: Any, options: Any, instance: Any, schema: Any) -> Iterator[Any]:
    fitting = [one for one in options if _fits(validator, one, instance)]
    if not fitting:
        yield _error(f"{instance!r} is not valid under any of the given schemas")
    elif len(fitting) > 1:
        yield _error(f"{instance!r} is valid under each of {', '.join(map(repr, fitting))}")


def _fits(validator: Any, schema: Any, instance: Any) -> bool:
    # The first problem is enough: a long list would have one per item.
    return next(validator.descend(instance, schema), None) is None


def _unique_items(validator: Any, demanded: Any, instance: Any, schema: Any) -> Iterator[Any]:
    # By their canonical JSON: comparing each pair takes minutes for some thousand objects.
    if (
        demanded
        and isinstance(instance, list)
        and len({_identity(item) for item in instance}) < len(instance)
    ):
        yield _error(f"{instance!r} has non-unique elements")


def _identity(value: Json) -> str:
    return json.dumps(_with_whole_numbers(value), sort_keys=True)


def _with_whole_numbers(value: Json) -> Json:
    """Convert floats like 1.0 to 1: JSON Schema considers them equal."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: _with_whole_numbers(item) for key, item in value.items()}
        case list():
            return [_with_whole_numbers(item) for item in value]
    return value


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, str):
        return
    if _is_too_long(pattern, instance):
        yield _error(f"{instance[:60]!r}... is too long to be compared with {pattern!r}")
    elif not _matches(pattern, instance):
        yield _error(f"{instance[:60]!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for pattern, inner in patterns.items():
            for key, value in instance.items():
                if _is_too_long(pattern, key):
                    yield _error(f"{key[:60]!r}... is too long to be compared with {pattern!r}")
                elif _matches(pattern, key):
                    yield from validator.descend(value, inner, path=key, schema_path=pattern)


def _additional(validator: Any, inner: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    patterns = schema.get("patternProperties", {})
    known = schema.get("properties", {})
    extra = [key for key in instance if key not in known and not _is_named(patterns, key)]
    if inner is False and extra:
        yield _error(f"{', '.join(repr(key) for key in extra[:_SHOWN])} should not be there")
    elif isinstance(inner, dict):
        for key in extra:
            yield from validator.descend(instance[key], inner, path=key)


def _is_named(patterns: Mapping[str, Any], key: str) -> bool:
    return any(not _is_too_long(one, key) and _matches(one, key) for one in patterns)


_OWN: dict[str, Keyword] = {
    "anyOf": _any_of,
    "oneOf": _one_of,
    "uniqueItems": _unique_items,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
}


def _error(message: str) -> Any:
    import jsonschema

    return jsonschema.ValidationError(message)


def _is_too_long(pattern: str, text: str) -> bool:
    # Charged even if the compiled pattern is cached: the cost must not depend on what else the process has done.
    _meter.get().spend(int(_compiled(pattern).programsize) // _COMPILED_PER_UNIT)
    return _cost(pattern, text) > _LIMITS.fuel // 2


def _matches(pattern: str, text: str) -> bool:
    _meter.get().spend(_COST + _cost(pattern, text))
    return _compiled(pattern).search(text) is not None


def _cost(pattern: str, text: str) -> int:
    """RE2's time is at most the length of the text times the size of the pattern, and usually far less."""
    return len(text) * int(_compiled(pattern).programsize) // _STEPS_PER_UNIT


@lru_cache(maxsize=32)
def _compiled(pattern: str) -> Any:
    import re2  # type: ignore[import-untyped]  # it has no types

    # Checked before compiling: RE2 compiles large repetitions in full.
    if len(pattern) > _MAX_PATTERN:
        raise ValueError(f"the pattern {pattern[:60]!r}... has more than {_MAX_PATTERN:,} characters")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    # Only whether it matches is needed; locating groups takes a hundred times as long.
    options.never_capture = True
    try:
        compiled = re2.compile(pattern, options)
        # The cache of re2 itself would keep four times as many patterns alive.
        re2.purge()
        return compiled
    except re2.error as error:
        raise ValueError(f"RE2 does not support the pattern {pattern[:60]!r}: {error}") from None


class UnusableSchemaError(Exception):
    """A schema that no result can be checked against."""


# Result types of generated modules as JSON Schema.

_SIMPLE: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
    dict: "object",
    list: "array",
}


def of(result: Any) -> Json:
    """The JSON Schema of a result type of a generated module."""
    if result is None:
        return None
    if isinstance(result, Mapping):
        return result
    return _of_type(result)


@lru_cache(maxsize=512)
def _of_type(kind: Any) -> Json:
    if kind is Any:
        return {}
    if kind in _SIMPLE:
        return {"type": _SIMPLE[kind]}
    if is_typeddict(kind):
        return _of_record(kind)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return _of_union(arguments)
    if origin is list:
        return {"type": "array", "items": _of_type(arguments[0])}
    if origin is dict:
        return {"type": "object"}
    if origin is NotRequired:
        return _of_type(arguments[0])
    raise TypeError(f"no JSON Schema for {kind!r}")


def _of_record(kind: Any) -> Json:
    hints = get_type_hints(kind)
    return {
        **({"title": _REPORT} if kind is Report else {}),
        "type": "object",
        "properties": {name: _of_type(hint) for name, hint in hints.items()},
        "required": [
            name for name in hints if name in kind.__required_keys__ and name not in DEFAULTS.get(kind, ())
        ],
    }


def _of_union(arguments: tuple[Any, ...]) -> Json:
    # In Python annotations `int | float` is how the contract says "number".
    if set(arguments) == {int, float}:
        return {"type": "number"}
    return {"anyOf": [_of_type(argument) for argument in arguments]}


def narrowed(schema: Json, where: Mapping[str, Json]) -> Json:
    """The schema with further constraints on some properties. A property with required parts is required itself."""
    if not where:
        return schema
    properties = {
        name: {**value, **where.get(name, {})} for name, value in schema.get("properties", {}).items()
    }
    # Such as the evidence of a report: demanding parts of an optional property would have no effect.
    needed = [name for name, demands in where.items() if "required" in demands]
    required = list(dict.fromkeys([*schema.get("required", ()), *needed]))
    return {**schema, "properties": properties, "required": required}


# Reports, which may be submitted in other forms than that of their schema.

_REPORT = "The report of an agent"


def is_report(schema: Json) -> bool:
    return isinstance(schema, Mapping) and schema.get("title") == _REPORT


def read(value: Json, schema: Json) -> tuple[Json, list[str]]:
    """A value in the form of its schema, and why it can't be read. Only a report has other forms."""
    if not is_report(schema):
        return value, []
    criteria = schema["properties"]["evidence"].get("required", ())
    try:
        return read_report(value, [str(one) for one in criteria]), []
    except UnreadableReportError as error:
        return value, [str(error)]


def describe(value: Json) -> str:
    """A value's kind in words, for messages."""
    match value:
        case None:
            return "null"
        case bool():
            return f"the boolean {str(value).lower()}"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {value[:40]!r}"
        case list():
            return "a list"
        case _:
            return "an object"
