"""Results checked against JSON Schema: nothing is fetched, and no pattern can backtrack for ever."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache
from itertools import islice
from typing import Any

from wfc_runtime.contract import Json
from wfc_runtime.expr import ExprLimits
from wfc_runtime.expr.limits import Meter
from wfc_runtime.machine.fitting import surely_fits
from wfc_runtime.machine.plain import to_text

_SHOWN = 10
_LOOKED_AT = 50
"""Of so many problems the first ones by their place are told. A long list has one per item."""
_MAX_PATTERN = 2_000
_MAX_MEMORY = 8 << 20
_LIMITS = ExprLimits(fuel=2_000_000)
"""What comparing one value with one schema may take: some seconds, counted as fuel and not timed."""
_COST = 4
_REFERENCE_COST = 16
_ITEMS_PER_UNIT = 8
_CHARS_PER_UNIT = 64
_STEPS_PER_UNIT = 64
_COMPILED_PER_UNIT = 4
"""Of a pattern. All the fuel there is buys some two seconds of the worst case, of which one text may take half."""

Keyword = Callable[[Any, Any, Any, Any], Any]
_meter: ContextVar[Meter] = ContextVar("meter")


def problems(value: Json, schema: Json, quoted: bool = True) -> list[str]:
    """Why a value does not fit a schema, each with its place; empty where it fits. A secret is not to be quoted."""
    if schema is None or surely_fits(value, schema):
        return []
    token = _meter.set(Meter(_LIMITS))
    try:
        found = list(islice(_validator(to_text(schema)).iter_errors(value), _LOOKED_AT))
    except Exception as error:
        # An address that nobody fetches, a schema that holds itself: whatever it is, the step's author has to know.
        raise UnusableSchemaError(f"the result_schema can't be used: {str(error)[:300]}") from error
    finally:
        _meter.reset(token)
    found.sort(key=lambda error: [str(part) for part in error.absolute_path])
    return [
        f"{_place(error.absolute_path)}{_shortened(error.message) if quoted else _demand(error)}"
        for error in found[:_SHOWN]
    ]


def _demand(error: Any) -> str:
    demand = _shortened(to_text(error.validator_value))
    return f"does not fit `{error.validator}`, which is {demand}"


def _place(path: Any) -> str:
    steps = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return f"result{steps}: " if steps else ""


def _shortened(message: str) -> str:
    """Messages quote the value first, whatever its size, and say what is wrong with it last."""
    return message if len(message) <= 300 else f"{message[:120]} ... {message[-160:]}"


@lru_cache(maxsize=512)
def _validator(schema: str) -> Any:
    from referencing import Registry

    return _validator_class()(json.loads(schema), registry=Registry())


@cache
def _validator_class() -> Any:
    # 0.1 s to import, paid with the first result that is checked.
    import jsonschema  # type: ignore[import-untyped]  # it has no types

    base = jsonschema.Draft202012Validator
    keywords = {**base.VALIDATORS, **_OWN}
    return jsonschema.validators.extend(base, {name: _metered(name, one) for name, one in keywords.items()})


def _metered(name: str, keyword: Keyword) -> Keyword:
    """The same, paid for: schemas that refer to each other can ask for more than anybody can wait for."""
    cost = _REFERENCE_COST if name in ("$ref", "$dynamicRef") else _COST

    def check(validator: Any, demand: Any, instance: Any, schema: Any) -> Any:
        meter = _meter.get()
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
    # The first problem is enough: of a long list there would be one per item.
    return next(validator.descend(instance, schema), None) is None


def _unique_items(validator: Any, demanded: Any, instance: Any, schema: Any) -> Iterator[Any]:
    # By what they are as JSON: comparing each with all others takes minutes for some thousand objects.
    if (
        demanded
        and isinstance(instance, list)
        and len({_identity(item) for item in instance}) < len(instance)
    ):
        yield _error(f"{instance!r} has non-unique elements")


def _identity(value: Json) -> str:
    return json.dumps(_with_whole_numbers(value), sort_keys=True)


def _with_whole_numbers(value: Json) -> Json:
    """1.0 and 1 are the same number."""
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
    # Whether or not the pattern has to be compiled again: that depends on what else the process has done.
    _meter.get().spend(int(_compiled(pattern).programsize) // _COMPILED_PER_UNIT)
    return _cost(pattern, text) > _LIMITS.fuel // 2


def _matches(pattern: str, text: str) -> bool:
    _meter.get().spend(_COST + _cost(pattern, text))
    return _compiled(pattern).search(text) is not None


def _cost(pattern: str, text: str) -> int:
    """RE2's time is at most the length of the text times the size of the pattern, and far less as a rule."""
    return len(text) * int(_compiled(pattern).programsize) // _STEPS_PER_UNIT


@lru_cache(maxsize=32)
def _compiled(pattern: str) -> Any:
    import re2  # type: ignore[import-untyped]  # it has no types

    if len(pattern) > _MAX_PATTERN:
        raise ValueError(f"the pattern {pattern[:60]!r}... has more than {_MAX_PATTERN:,} characters")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    # Whether it matches is all that is asked. Where each group does takes a hundred times as long.
    options.never_capture = True
    try:
        compiled = re2.compile(pattern, options)
        # Its own cache would keep four times as many alive.
        re2.purge()
        return compiled
    except re2.error as error:
        raise ValueError(f"RE2 does not know the pattern {pattern[:60]!r}: {error}") from None


class UnusableSchemaError(Exception):
    """A schema that no result can be checked against."""
