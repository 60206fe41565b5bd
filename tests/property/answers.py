"""What an agent would send back: values that fit a JSON Schema, made from a random source."""

from __future__ import annotations

import re
from random import Random
from typing import Any

from tests.property.inputs import PATTERNS

_TEXTS = (
    "ok",
    "7",
    "",
    "a,b c",
    "two\nlines",
    "日本 🚀",
    '{"a": [1]}',
    "{{ state.x }}",
    "x" * 300,
    *PATTERNS.values(),
)


def answer(schema: Any, random: Random) -> Any:
    """A value that the schema allows."""
    if not schema:
        return random.choice([None, 3, "ok", ["a"], {"title": "t", "count": 1, "ok": True}])
    if "enum" in schema:
        return random.choice(schema["enum"])
    if "anyOf" in schema:
        return answer(random.choice(schema["anyOf"]), random)
    kind = schema.get("type", "object")
    kind = random.choice(kind) if isinstance(kind, list) else kind
    match kind:
        case "string":
            return random.choice([text for text in _TEXTS if _fits(text, schema)])
        case "integer":
            return max(random.choice([0, 1, 2, 7]), schema.get("minimum", 0))
        case "number":
            return random.choice([0, 1, 2.5])
        case "boolean":
            return random.random() < 0.5
        case "array":
            least = schema.get("minItems", 0)
            count = random.randint(least, max(least, min(3, schema.get("maxItems", 3))))
            return [answer(schema.get("items"), random) for _ in range(count)]
        case "object":
            return _record(schema, random)
    return None


def _record(schema: Any, random: Random) -> dict[str, Any]:
    needed = schema.get("required", ())
    declared = {**dict.fromkeys(needed), **schema.get("properties", {})}
    return {
        name: answer(inner, random)
        for name, inner in declared.items()
        # A result that says it timed out is no answer.
        if name in needed or (name != "timed_out" and random.random() < 0.5)
    }


def _fits(text: str, schema: Any) -> bool:
    least, most = schema.get("minLength", 0), schema.get("maxLength", 10**6)
    return least <= len(text) <= most and (
        "pattern" not in schema or bool(re.search(schema["pattern"], text))
    )
