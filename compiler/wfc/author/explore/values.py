"""Values that fit a JSON Schema: the simplest one, boundary values, and random ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor
from random import Random
from typing import Any

from wfc.author.explore.solve import JSON, sample
from wfc_runtime.results import UnusableSchemaError, problems

_DEEPEST = 6
_TEXTS = ("", "x", "two words", "a\nb", "0", "-1", "[]", "{}", "true", "ä€")
_MOST_EDGES = 60

Hints = Mapping[tuple[str | int, ...], Sequence[Any]]
"""Values worth trying at places inside a result: `("status",)`; a place in a list is 0."""


class Maker:
    """Values for one schema."""

    def __init__(self, schema: Any, hints: Hints, shape: Any = None) -> None:
        self._root = schema if isinstance(schema, Mapping) else {}
        self._hints = hints
        self._shape = shape
        """The parts that later steps read of a result without a schema."""

    def fits(self, value: Any) -> bool:
        if not self._root:
            return True
        try:
            return not problems(value, dict(self._root))
        except UnusableSchemaError:
            return False

    def plain(self) -> Any:
        """The simplest valid value; `Unfit` if none is found."""
        plain = self._plain(self._root, 0)
        # The simplest value may violate keywords that `_plain` ignores, such as `not` or `uniqueItems`. One of its
        # variants often fits.
        for value in (_with_texts(plain, self._shape), plain, *self.edges()):
            if self.fits(value):
                return value
        return Unfit

    def edges(self) -> Iterator[Any]:
        """Values that differ from the simplest one in a single place."""
        seen: set[str] = set()
        for number, value in enumerate(self._edges(self._root, (), 0)):
            if number > 10 * _MOST_EDGES or len(seen) > _MOST_EDGES:
                return
            text = json.dumps(value, sort_keys=True, default=str)
            if text not in seen and self.fits(value):
                seen.add(text)
                yield value

    def random(self, random: Random) -> Any:
        # Keywords that `_random` ignores make some values invalid; a few attempts are enough in practice.
        for _ in range(10):
            value = self._random(self._root, (), random, 0)
            if self.fits(value):
                return value
        return self.plain()

    def with_value(self, base: Any, place: tuple[str | int, ...], value: Any) -> Any:
        """The base with a value at a path, and the parts that the schema requires around it."""
        return self._put(base, place, value, self._root, 0)

    def _put(self, base: Any, place: tuple[str | int, ...], value: Any, schema: Any, depth: int) -> Any:
        resolved = self._resolved(schema)
        if not place:
            return self._filled(value, resolved, depth)
        first, *rest = place
        if first == JSON:
            return json.dumps(_put_in_json(_parsed(base), tuple(rest), value))
        if isinstance(first, str):
            inner = resolved.get("properties", {}).get(first, {})
            known = base if isinstance(base, dict) else {}
            below = known.get(first, self._plain(inner, depth + 1))
            return {**known, first: self._put(below, tuple(rest), value, inner, depth + 1)}
        items = resolved.get("items", {})
        # The first item stands for all of them.
        known_items = base if isinstance(base, list) and base else [self._plain(items, depth + 1)]
        return [self._put(known_items[0], tuple(rest), value, items, depth + 1), *known_items[1:]]

    def _filled(self, value: Any, schema: Any, depth: int) -> Any:
        """A value completed with all required keys, including those of nested values."""
        resolved = self._resolved(schema)
        if isinstance(value, list) and depth < _DEEPEST:
            items = resolved.get("items", {})
            return [self._filled(one, items, depth + 1) for one in value]
        if _kind(resolved) == "object" and not isinstance(value, dict) and depth:
            return self._plain(resolved, depth)
        if isinstance(value, dict) and depth < _DEEPEST:
            properties = resolved.get("properties", {})
            known = {
                name: self._filled(one, properties.get(name, {}), depth + 1) for name, one in value.items()
            }
            needed = resolved.get("required", ())
            lacking = [name for name in needed if name not in known]
            return {**{name: self._plain(properties.get(name, {}), depth + 1) for name in lacking}, **known}
        return value

    # -- plain -----------------------------------------------------------------

    def _plain(self, schema: Any, depth: int) -> Any:
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return schema["enum"][0]
        match _kind(schema):
            case "string":
                return _text(schema)
            case "integer" | "number":
                return _within(0, schema)
            case "boolean":
                return False
            case "array":
                count = max(int(schema.get("minItems", 0)), 1 if depth < _DEEPEST else 0)
                count = min(count, int(schema.get("maxItems", count)))
                return [self._plain(schema.get("items", {}), depth + 1) for _ in range(count)]
            case "object":
                properties = schema.get("properties", {})
                # A schema may refer to itself and require that part, so a value would have no end.
                needed = schema.get("required", ()) if depth <= 2 * _DEEPEST else ()
                return {name: self._plain(properties.get(name, {}), depth + 1) for name in needed}
            case "null":
                return None
        return self._shape if depth == 0 and self._shape is not None else "x"

    def _resolved(self, schema: Any) -> dict[str, Any]:
        """The schema with references resolved, parts merged, and the first of several options chosen."""
        if not isinstance(schema, Mapping):
            return {}
        found = dict(schema)
        if "$ref" in found:
            found |= _at(self._root, str(found.pop("$ref")))
        for part in found.pop("allOf", ()):
            if isinstance(part, Mapping):
                found |= {**part, "properties": {**found.get("properties", {}), **part.get("properties", {})}}
        for key in ("anyOf", "oneOf"):
            options = found.pop(key, None)
            if options and isinstance(options[0], Mapping):
                found |= self._resolved(options[0])
        return found

    # -- edges -----------------------------------------------------------------

    def _edges(self, schema: Any, place: tuple[str | int, ...], depth: int) -> Iterator[Any]:
        yield from self._hints.get(place, ())
        if depth > _DEEPEST or not isinstance(schema, Mapping):
            return
        for key in ("anyOf", "oneOf"):
            for option in schema.get(key, ()):
                yield from self._edges({**_without(schema, key), **option}, place, depth + 1)
        if isinstance(schema.get("type"), list):
            for kind in schema["type"]:
                yield from self._edges({**schema, "type": kind}, place, depth + 1)
            return
        resolved = self._resolved(schema)
        yield from resolved.get("enum", ())
        match _kind(resolved):
            case "string":
                if "enum" not in resolved:
                    yield from _TEXTS
                    yield from _lengths(resolved)
            case "integer" | "number":
                yield from _numbers(resolved)
            case "boolean":
                yield from (True, False)
            case "array":
                yield from self._lists(resolved, place, depth)
            case "object":
                yield from self._objects(resolved, place, depth)
            case "null":
                yield None
            case None if depth == 0:
                yield from self._anything()

    def _anything(self) -> Iterator[Any]:
        """Values for a result without a schema: one with the parts that are read, incomplete ones, and one of another
        type."""
        if isinstance(self._shape, dict):
            for name in self._shape:
                yield {key: value for key, value in self._shape.items() if key != name}
        yield from ({}, [], "x", None, 0, True)

    def _lists(self, schema: Mapping[str, Any], place: tuple[str | int, ...], depth: int) -> Iterator[Any]:
        items = schema.get("items", {})
        one = self._plain(items, depth + 1)
        yield []
        yield [one] * max(1, int(schema.get("minItems", 1)))
        for value in self._edges(items, (*place, 0), depth + 1):
            yield [value]
        yield [one, one]
        if "maxItems" in schema and schema["maxItems"] <= 100:
            yield [one] * int(schema["maxItems"])

    def _objects(self, schema: Mapping[str, Any], place: tuple[str | int, ...], depth: int) -> Iterator[Any]:
        base = self._plain(schema, depth)
        for name, inner in schema.get("properties", {}).items():
            for value in self._edges(inner, (*place, name), depth + 1):
                yield {**base, name: value}
        # `timed_out` reports a failure, and is not a part of a regular result.
        everything = {
            name: self._plain(inner, depth + 1)
            for name, inner in schema.get("properties", {}).items()
            if name != "timed_out"
        }
        yield {**everything, **base}

    # -- random ----------------------------------------------------------------

    def _random(self, schema: Any, place: tuple[str | int, ...], random: Random, depth: int) -> Any:
        hints = self._hints.get(place, ())
        # Hints are the values that conditions compare with: random values alone rarely meet them.
        if hints and random.random() < 0.6:
            return random.choice(list(hints))
        if isinstance(schema, Mapping) and (schema.get("anyOf") or schema.get("oneOf")):
            key = "anyOf" if schema.get("anyOf") else "oneOf"
            schema = {**_without(schema, key), **random.choice(schema[key])}
        if isinstance(schema, Mapping) and isinstance(schema.get("type"), list):
            schema = {**schema, "type": random.choice(schema["type"])}
        resolved = self._resolved(schema)
        if "const" in resolved:
            return resolved["const"]
        if resolved.get("enum"):
            return random.choice(resolved["enum"])
        match _kind(resolved):
            case "string":
                if "pattern" in resolved:
                    return sample(str(resolved["pattern"]), random) or _text(resolved)
                return random.choice([_text(resolved), *_TEXTS, *[f"x{random.randint(0, 999)}"] * 4])
            case "integer" | "number":
                return random.choice([*_numbers(resolved), _within(random.randint(-100, 1000), resolved)])
            case "boolean":
                return random.random() < 0.5
            case "array":
                count = random.choice((0, 1, 1, 2, 3)) if depth < _DEEPEST else 0
                count = max(count, int(resolved.get("minItems", 0)))
                count = min(count, int(resolved.get("maxItems", count)))
                items = resolved.get("items", {})
                return [self._random(items, (*place, 0), random, depth + 1) for _ in range(count)]
            case "object":
                needed = set(resolved.get("required", ()))
                return {
                    name: self._random(inner, (*place, name), random, depth + 1)
                    for name, inner in resolved.get("properties", {}).items()
                    if name in needed or (name != "timed_out" and random.random() < 0.4)
                }
            case "null":
                return None
        return random.choice([self._plain(schema, depth), *self._anything()])


def _with_texts(value: Any, shape: Any) -> Any:
    """A value with JSON in the texts that later steps parse."""
    if isinstance(value, dict) and isinstance(shape, dict):
        return {key: _with_texts(one, shape.get(key)) for key, one in value.items()}
    is_json = isinstance(value, str) and isinstance(shape, str) and shape[:1] in ("{", "[")
    return shape if is_json else value


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _put_in_json(base: Any, place: tuple[str | int, ...], value: Any) -> Any:
    """Put a value at a path in JSON. No schema describes it, so all other parts are kept."""
    if not place:
        return _like(value, base)
    first, *rest = place
    if first == JSON:
        return json.dumps(_put_in_json(_parsed(base), tuple(rest), value))
    if isinstance(first, str):
        known = base if isinstance(base, dict) else {}
        return {**known, first: _put_in_json(known.get(first), tuple(rest), value)}
    items = base if isinstance(base, list) and base else [None]
    return [_put_in_json(items[0], tuple(rest), value), *items[1:]]


def _like(value: Any, base: Any) -> Any:
    """The value, completed with the parts of the value that it replaces."""
    if isinstance(value, dict) and isinstance(base, dict):
        return {**base, **{key: _like(one, base.get(key)) for key, one in value.items()}}
    if isinstance(value, list) and isinstance(base, list) and base:
        kept = [_like(one, base[0]) for one in value]
        # "x" is a placeholder, which becomes a copy of the first item.
        return [base[0] if one == "x" and isinstance(base[0], dict | list) else one for one in kept]
    return value


class Unfit:
    """Stands for a value that could not be found."""


def _kind(schema: Mapping[str, Any]) -> str | None:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0] if kind else None
    if kind is None and ("properties" in schema or "required" in schema):
        return "object"
    return kind if isinstance(kind, str) else None


def _text(schema: Mapping[str, Any]) -> str:
    if "pattern" in schema:
        made = sample(str(schema["pattern"]))
        if made is not None:
            return made
    least = int(schema.get("minLength", 0))
    return ("x" * max(least, 1))[: int(schema.get("maxLength", max(least, 1)))]


def _lengths(schema: Mapping[str, Any]) -> Iterator[str]:
    if "pattern" in schema:
        yield _text(schema)
        return
    for key in ("minLength", "maxLength"):
        if key in schema and schema[key] <= 10_000:
            yield "x" * int(schema[key])


def _numbers(schema: Mapping[str, Any]) -> list[float]:
    whole = _kind(schema) == "integer"
    found: list[float] = [0, 1, -1, 2, *([] if whole else [0.5])]
    for key, inward in (("minimum", 1), ("maximum", -1)):
        if key in schema:
            found += [schema[key], schema[key] + inward]
    return [_within(number, schema) for number in found]


def _within(number: float, schema: Mapping[str, Any]) -> float:
    if "minimum" in schema:
        number = max(number, schema["minimum"])
    if "exclusiveMinimum" in schema:
        number = max(number, schema["exclusiveMinimum"] + 1)
    if "maximum" in schema:
        number = min(number, schema["maximum"])
    if "exclusiveMaximum" in schema:
        number = min(number, schema["exclusiveMaximum"] - 1)
    if _kind(schema) == "integer" and number != int(number):
        number = ceil(number) if number == schema.get("minimum") else floor(number)
    step = schema.get("multipleOf")
    return number - number % step if step else number


def _without(schema: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != key}


def _at(root: Mapping[str, Any], reference: str) -> dict[str, Any]:
    found: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        found = found.get(part, {}) if isinstance(found, Mapping) else {}
    return dict(found) if isinstance(found, Mapping) and found is not root else {}
