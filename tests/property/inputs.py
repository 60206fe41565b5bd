"""Declared inputs with every validation rule, and values that satisfy them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.property.values import FIELD_STEMS, fresh, prose

PATTERNS = {"[a-z][a-z0-9-]*": "abc-1", "^v[0-9]+$": "v12", "(yes|no)": "yes", r"\w+@\w+\.org": "me@home.org"}
"""Patterns, and a text that each matches."""


@st.composite
def declarations(draw: st.DrawFn, most: int = 4) -> dict[str, dict[str, Any]]:
    """A few inputs, among them always `target`, a text that must be given."""
    used: set[str] = {"target"}
    found: dict[str, dict[str, Any]] = {"target": {"type": "string", "required": True}}
    for _ in range(draw(st.integers(0, most))):
        name = draw(fresh(FIELD_STEMS, used))
        found[name] = draw(declaration(2))
    return found


@st.composite
def declaration(draw: st.DrawFn, depth: int) -> dict[str, Any]:
    kinds = ["string", "number", "boolean", "array", "object"]
    kind = draw(st.sampled_from(kinds if depth else kinds[:4]))
    rules, default = draw(_RULES[kind](depth))
    found: dict[str, Any] = {"type": kind}
    need = draw(st.sampled_from(["required", "default", "neither"]))
    if need == "required":
        found["required"] = True
    elif need == "default":
        found["default"] = default
    if draw(st.booleans()):
        found["description"] = draw(prose())
    if rules and draw(st.booleans()):
        found["validation"] = rules
    else:
        found |= rules
    return found


@st.composite
def _text(draw: st.DrawFn, depth: int) -> tuple[dict[str, Any], Any]:
    match draw(st.sampled_from(["free", "pattern", "length", "enum", "long enum"])):
        case "pattern":
            pattern = draw(st.sampled_from(sorted(PATTERNS)))
            return {"pattern": pattern}, PATTERNS[pattern]
        case "length":
            return {"min_length": 1, "max_length": 200}, "some text"
        case "enum":
            return {"enum": ["staging", "it's live"]}, "staging"
        case "long enum":
            return {"enum": [f"environment number {n}" for n in range(4)]}, "environment number 2"
    return {}, draw(prose())


@st.composite
def _number(draw: st.DrawFn, depth: int) -> tuple[dict[str, Any], Any]:
    rules = draw(st.sampled_from([{}, {"min": 0}, {"min": -1.5, "max": 10}, {"enum": [1, 2.5, 3]}]))
    return rules, draw(st.sampled_from([1, 2.5] if "enum" in rules else [1, 7, 2.5]))


@st.composite
def _boolean(draw: st.DrawFn, depth: int) -> tuple[dict[str, Any], Any]:
    return draw(st.sampled_from([({}, False), ({}, True), ({"enum": [True]}, True)]))


@st.composite
def _array(draw: st.DrawFn, depth: int) -> tuple[dict[str, Any], Any]:
    return draw(
        st.sampled_from(
            [
                ({}, []),
                ({"item_type": "string", "min_items": 1}, ["a", "b"]),
                ({"item_type": "number", "max_items": 9}, [1, 2.5]),
                ({"item_type": "object"}, [{"a": 1}]),
                ({"min_items": 1, "max_items": 3}, ["one"]),
            ]
        )
    )


@st.composite
def _object(draw: st.DrawFn, depth: int) -> tuple[dict[str, Any], Any]:
    if not draw(st.booleans()):
        return draw(st.sampled_from([({}, {"a": 1}), ({"required_keys": ["a", "b c"]}, {"a": 1, "b c": 2})]))
    used: set[str] = set()
    properties = {
        draw(fresh(FIELD_STEMS, used)): draw(declaration(depth - 1)) for _ in range(draw(st.integers(1, 3)))
    }
    needed = draw(st.lists(st.sampled_from(sorted(properties)), unique=True))
    rules: dict[str, Any] = {"properties": properties}
    if needed:
        rules["required_keys"] = needed
    wanted = {name for name, decl in properties.items() if decl.get("required") or name in needed}
    return rules, {name: sample(decl) for name, decl in properties.items() if name in wanted}


_RULES = {"string": _text, "number": _number, "boolean": _boolean, "array": _array, "object": _object}


def sample(decl: dict[str, Any]) -> Any:
    """A value that a declaration takes."""
    rules = {**decl, **decl.get("validation", {})}
    if "enum" in rules:
        return rules["enum"][0]
    match decl["type"]:
        case "string":
            return PATTERNS[rules["pattern"]] if "pattern" in rules else "some text"
        case "number":
            return 1
        case "boolean":
            return True
        case "array":
            item = {"string": "a", "number": 1, "object": {"a": 1}}.get(rules.get("item_type", "string"))
            return [item]
    properties = rules.get("properties", {})
    found = {name: sample(inner) for name, inner in properties.items()}
    return {**dict.fromkeys(rules.get("required_keys", ()), 1), **found}
