"""Results checked against JSON Schema: nothing is fetched, and no pattern can backtrack for ever."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from wfc_runtime.contract import Json
from wfc_runtime.machine.fitting import surely_fits
from wfc_runtime.machine.plain import to_text

_SHOWN = 10
_MAX_PATTERN = 2_000


def problems(value: Json, schema: Json, quoted: bool = True) -> list[str]:
    """Why a value does not fit a schema, each with its place; empty where it fits. A secret is not to be quoted."""
    if schema is None or surely_fits(value, schema):
        return []
    try:
        found = list(_validator(to_text(schema)).iter_errors(value))
    except Exception as error:
        # An address that nobody fetches, a schema that holds itself: whatever it is, the step's author has to know.
        raise UnusableSchemaError(f"the result_schema can't be used: {str(error)[:300]}") from error
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

    own = {"pattern": _pattern, "patternProperties": _pattern_properties, "additionalProperties": _additional}
    return jsonschema.validators.extend(jsonschema.Draft202012Validator, own)


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield _error(f"{instance[:60]!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for pattern, inner in patterns.items():
            for key, value in instance.items():
                if _matches(pattern, key):
                    yield from validator.descend(value, inner, path=key, schema_path=pattern)


def _additional(validator: Any, inner: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    patterns = schema.get("patternProperties", {})
    known = schema.get("properties", {})
    extra = [key for key in instance if key not in known and not any(_matches(one, key) for one in patterns)]
    if inner is False and extra:
        yield _error(f"{', '.join(repr(key) for key in extra[:_SHOWN])} should not be there")
    elif isinstance(inner, dict):
        for key in extra:
            yield from validator.descend(instance[key], inner, path=key)


def _error(message: str) -> Any:
    import jsonschema

    return jsonschema.ValidationError(message)


def _matches(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(text) is not None


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> Any:
    import re2  # type: ignore[import-untyped]  # it has no types

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern[:_MAX_PATTERN], options)
    except re2.error as error:
        raise ValueError(f"RE2 does not know the pattern {pattern[:60]!r}: {error}") from None


class UnusableSchemaError(Exception):
    """A schema that no result can be checked against."""
