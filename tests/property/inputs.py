"""Declared inputs with every validation rule, and values that satisfy them."""

from __future__ import annotations

from typing import Any

from tests.property.values import FIELD_STEMS, Chooser

PATTERNS = {"[a-z][a-z0-9-]*": "abc-1", "^v[0-9]+$": "v12", "(yes|no)": "yes", r"\w+@\w+\.org": "me@home.org"}
"""Patterns, and a text that each matches."""


Decl = dict[str, Any]


def declarations(choose: Chooser, most: int = 4) -> dict[str, Decl]:
    """A few inputs, among them always `target`, a text that must be given."""
    used: set[str] = {"target"}
    found: dict[str, Decl] = {"target": {"type": "string", "required": True}}
    for _ in range(choose.number(0, most)):
        name = choose.fresh(FIELD_STEMS, used)
        found[name] = declaration(choose, 2)
    return found


def declaration(choose: Chooser, depth: int) -> Decl:
    kinds = ("string", "number", "integer", "boolean", "array", "object")
    kind = choose.pick(kinds if depth else kinds[:5])
    rules, default = _RULES[kind](choose, depth)
    found: Decl = {"type": kind}
    need = choose.pick(("required", "default", "neither"))
    if need == "required":
        found["required"] = True
    elif need == "default":
        found["default"] = default
    if choose.chance():
        found["description"] = choose.prose()
    if need != "default" and choose.chance(4):
        found["secret"] = True
    if kind in ("number", "integer", "boolean") and choose.chance(4):
        found["convert"] = True
    if rules and choose.chance():
        found["validation"] = rules
    else:
        found |= rules
    return found


def _text(choose: Chooser, depth: int) -> tuple[Decl, Any]:
    match choose.number(0, 4):
        case 1:
            pattern = choose.pick(sorted(PATTERNS))
            return {"pattern": pattern}, PATTERNS[pattern]
        case 2:
            return {"min_length": 1, "max_length": 200}, "some text"
        case 3:
            return {"enum": ["staging", "it's live"]}, "staging"
        case 4:
            return {"enum": [f"environment number {n}" for n in range(4)]}, "environment number 2"
    return {}, choose.prose()


def _number(choose: Chooser, depth: int) -> tuple[Decl, Any]:
    rules: Decl = choose.pick(({}, {"min": 0}, {"min": -1.5, "max": 10}, {"enum": [1, 2.5, 3]}))
    return dict(rules), choose.pick((1, 2.5))


def _integer(choose: Chooser, depth: int) -> tuple[Decl, Any]:
    rules: Decl = choose.pick(({}, {"min": 0}, {"min": -1.5, "max": 10}, {"enum": [1, 2, 3]}))
    return dict(rules), choose.pick((1, 2))


def _boolean(choose: Chooser, depth: int) -> tuple[Decl, Any]:
    return choose.pick((({}, False), ({}, True), ({"enum": [True]}, True)))


def _array(choose: Chooser, depth: int) -> tuple[Decl, Any]:
    return choose.pick(
        (
            ({}, []),
            ({"item_type": "string", "min_items": 1}, ["a", "b"]),
            ({"item_type": "number", "max_items": 9}, [1, 2.5]),
            ({"item_type": "integer"}, [1, -2]),
            ({"item_type": "object"}, [{"a": 1}]),
            ({"min_items": 1, "max_items": 3}, ["one"]),
        )
    )


def _object(choose: Chooser, depth: int) -> tuple[Decl, Any]:
    if choose.chance():
        return choose.pick((({}, {"a": 1}), ({"required_keys": ["a", "b c"]}, {"a": 1, "b c": 2})))
    used: set[str] = set()
    properties = {
        choose.fresh(FIELD_STEMS, used): declaration(choose, depth - 1) for _ in range(choose.number(1, 3))
    }
    needed = [name for name in properties if choose.chance()]
    rules: Decl = {"properties": properties}
    if needed:
        rules["required_keys"] = needed
    wanted = {name for name, decl in properties.items() if decl.get("required") or name in needed}
    return rules, {name: sample(decl) for name, decl in properties.items() if name in wanted}


_RULES = {
    "string": _text,
    "number": _number,
    "integer": _integer,
    "boolean": _boolean,
    "array": _array,
    "object": _object,
}


def sample(decl: Decl) -> Any:
    """A value that a declaration takes."""
    rules = {**decl, **decl.get("validation", {})}
    if "enum" in rules:
        return rules["enum"][0]
    match decl["type"]:
        case "string":
            return PATTERNS[rules["pattern"]] if "pattern" in rules else "some text"
        case "number" | "integer":
            return 1
        case "boolean":
            return True
        case "array":
            item = {"string": "a", "number": 1, "integer": 2, "object": {"a": 1}}.get(
                rules.get("item_type", "string")
            )
            return [item]
    properties = rules.get("properties", {})
    found = {name: sample(inner) for name, inner in properties.items()}
    return {**dict.fromkeys(rules.get("required_keys", ()), 1), **found}
