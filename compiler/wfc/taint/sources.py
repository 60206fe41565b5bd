"""What comes in from outside: by the type, schema or declaration that says what it can be."""

from __future__ import annotations

from typing import Any

from wfc.language import types
from wfc.language.shape import InputDecl
from wfc.language.types import Choice, Exact, Fixed, ListType, MapType, Record, Simple, Type, Union
from wfc.taint.policy import Policy
from wfc.taint.values import CLEAN, Flow, Taint, joined, listed, only, record

_PLAIN_TYPES = (types.INT, types.NUMBER, types.BOOL, types.NULL)
_PLAIN_SCHEMAS = frozenset({"integer", "number", "boolean", "null"})
_DEEPEST = 4


def is_harmless(kind: Type) -> bool:
    """Numbers, booleans and texts that stand in the file can do no harm."""
    if isinstance(kind, Union):
        return all(map(is_harmless, kind.options))
    return kind in _PLAIN_TYPES if isinstance(kind, Simple) else isinstance(kind, Choice | Exact)


def of_type(kind: Type, flow: Flow) -> Taint:
    """A value of this type that comes from outside."""
    return within(only(flow), kind)


def within(taint: Taint, kind: Type, depth: int = _DEEPEST) -> Taint:
    """The same value, given what its type rules out."""
    if taint.is_clean or is_harmless(kind):
        return CLEAN
    match kind:
        case ListType() if depth:
            return taint.as_list(within(taint.item, kind.item, depth - 1))
        case Fixed() if depth:
            return listed(joined(within(taint.item, item, depth - 1) for item in kind.items))
        case MapType() if depth and not taint.parts:
            return taint if kind.item == types.ANY else within(taint, kind.item, depth - 1)
        case Record() if depth:
            known = {
                prop.name: within(taint.get(prop.name), prop.type, depth - 1) for prop in kind.properties
            }
            return record({**taint.parts, **known}, taint.flow if kind.open else None)
        case Union():
            options = [option for option in kind.options if not is_harmless(option)]
            return within(taint, options[0], depth) if len(options) == 1 else taint
    return taint


def of_schema(schema: Any, flow: Flow, policy: Policy, depth: int = _DEEPEST) -> Taint:
    """What a JSON Schema lets in."""
    if not isinstance(schema, dict) or depth == 0:
        return only(flow)
    if isinstance(schema.get("enum"), list) or "const" in schema:
        return CLEAN
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if all(isinstance(kind, str) and kind in _PLAIN_SCHEMAS for kind in kinds):
        return CLEAN
    others = [kind for kind in kinds if not isinstance(kind, str) or kind not in _PLAIN_SCHEMAS]
    if others == ["string"]:
        return CLEAN if policy.characters.is_safe(schema.get("pattern")) else only(flow)
    if others == ["array"]:
        return listed(of_schema(schema.get("items"), flow, policy, depth - 1), flow, "maxItems" in schema)
    properties = schema.get("properties")
    if others in (["object"], [None]) and isinstance(properties, dict):
        parts = {str(name): of_schema(inner, flow, policy, depth - 1) for name, inner in properties.items()}
        return record(parts, None if schema.get("additionalProperties") is False else flow)
    return only(flow)


def of_declaration(decl: InputDecl, taint: Taint, policy: Policy, depth: int = _DEEPEST) -> Taint:
    """What the declaration of an input lets through."""
    if taint.is_clean or decl.kind in _PLAIN_SCHEMAS:
        return CLEAN
    if decl.kind == "string":
        pattern = decl.rule_value("pattern")
        return CLEAN if decl.rule("enum") is not None or policy.characters.is_safe(pattern) else taint
    if decl.kind == "array":
        plain = decl.rule_value("item_type") in _PLAIN_SCHEMAS
        found = taint.as_list(CLEAN if plain else None)
        return found.short() if decl.rule("max_items") is not None else found
    properties = decl.rule("properties")
    if decl.kind == "object" and isinstance(properties, dict) and depth:
        parts = {
            name: of_declaration(inner, taint.get(name), policy, depth - 1)
            for name, inner in properties.items()
        }
        return record({**taint.parts, **parts}, taint.flow)
    return taint
