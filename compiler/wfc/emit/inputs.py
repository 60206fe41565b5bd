"""Inputs as pydantic models: each validation rule of the language as a constraint that a reviewer can read."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor
from typing import Any

from wfc.emit.annotations import Annotations
from wfc.emit.names import field_names
from wfc.emit.printer import Call, print_assignment, print_class, print_value, width
from wfc.ir import Ref
from wfc.language.shape import InputDecl
from wfc.lower.names import class_name

_NOTHING = object()
"""No default at all."""

_CONSTRAINTS = {
    "string": {"pattern": "pattern", "min_length": "min_length", "max_length": "max_length"},
    "number": {"min": "ge", "max": "le"},
    "integer": {"min": "ge", "max": "le"},
    "array": {"min_items": "min_length", "max_items": "max_length"},
}
_ROUNDED: dict[str, Callable[[float], int]] = {"min": ceil, "max": floor}
"""Bounds of whole numbers, which are whole themselves."""
_PLAIN = {
    "string": "str",
    "number": "int | float",
    "integer": "int",
    "boolean": "bool",
    "array": "list[Any]",
    "object": "dict[str, Any]",
}


class InputModels:
    """Writes the model of a scope's inputs, and models for the objects inside it."""

    def __init__(self, annotations: Annotations, runtime: set[str]) -> None:
        self.annotations = annotations
        self.runtime = runtime
        self.models: list[str] = []

    def write(
        self, name: str, declared: dict[str, InputDecl], base: str = "WorkflowInputs", needed: Any = ()
    ) -> None:
        self.runtime.add(base)
        lines = [print_class(name, (Ref(base),), {}, 0)]
        attributes = field_names(declared)
        for key, decl in declared.items():
            lines.append(self._field(name, attributes[key], key, decl, decl.is_required or key in needed))
        self.models.append("\n".join(lines if declared else [*lines, "    pass"]))

    def _field(self, model: str, name: str, key: str, decl: InputDecl, required: bool) -> str:
        kind = self._kind(model, key, decl)
        if not required and ("default" not in decl.values or decl.values["default"].data is None):
            kind = f"{kind} | None"
        extras = self._extras(decl, alias=key if name != key else None)
        default = _NOTHING if required else _default(kind, decl)
        if extras:
            self.annotations.imports.add("Annotated")
            kind = self._annotated(name, kind, extras, default)
        return (
            f"    {name}: {kind}" if default is _NOTHING else print_assignment(f"{name}: {kind}", default, 1)
        )

    def _annotated(self, name: str, kind: str, extras: list[Call], default: Any) -> str:
        after = 0 if default is _NOTHING else 3 + width(print_value(default, 0, -9999).split("\n", 1)[0])
        flat = "Annotated[" + ", ".join([kind, *(print_value(extra, 0, -9999) for extra in extras)]) + "]"
        if 4 + len(name) + 2 + width(flat) + after <= 88:
            return flat
        parts = [f"        {print_value(extra, 2, 0, 1)}," for extra in extras]
        return "\n".join(["Annotated[", f"        {kind},", *parts, "    ]"])

    def _extras(self, decl: InputDecl, alias: str | None) -> list[Call]:
        rules = _CONSTRAINTS.get(decl.kind, {})
        keywords: dict[str, Any] = {} if alias is None else {"alias": alias}
        for rule, argument in rules.items():
            value = decl.rule_value(rule)
            if value is not None:
                keywords[argument] = _ROUNDED[rule](value) if decl.kind == "integer" else value
        if decl.description:
            keywords["description"] = " ".join(decl.description.text.split())
        calls = [Call("Field", (), keywords)] if keywords else []
        if decl.setting("convert") and decl.kind in _PLAIN:
            calls.append(Call("lenient", (decl.kind,)))
        enum = decl.rule_value("enum")
        if isinstance(enum, list) and not _is_literal(decl, enum):
            calls.append(Call("one_of", tuple(enum)))
        if decl.kind == "object" and decl.rule_value("required_keys"):
            calls.append(Call("with_keys", tuple(decl.rule_value("required_keys"))))
        if decl.is_secret:
            calls.append(Call("Secret", ()))
        self.runtime.update(call.name for call in calls)
        return calls

    def _kind(self, model: str, key: str, decl: InputDecl) -> str:
        enum = decl.rule_value("enum")
        if isinstance(enum, list) and _is_literal(decl, enum):
            return self.annotations.of(decl.value_type, key)
        if decl.kind == "array" and decl.rule_value("item_type"):
            item = _PLAIN[decl.rule_value("item_type")]
            self._import_any(item)
            return f"list[{item}]"
        properties = decl.rule("properties")
        if decl.kind == "object" and properties:
            inner = self.annotations.free(f"{model}{class_name(key)}")
            self.write(inner, properties, "WorkflowObject", decl.rule_value("required_keys") or ())
            return inner
        kind = _PLAIN.get(decl.kind, "Any")
        self._import_any(kind)
        return kind

    def _import_any(self, kind: str) -> None:
        if "Any" in kind:
            self.annotations.imports.add("Any")


def _default(kind: str, decl: InputDecl) -> Any:
    value = decl.values["default"].data if "default" in decl.values else None
    if isinstance(value, dict) and not kind.startswith("dict"):
        return Call(f"{kind}.model_validate", (value,))
    return value


def _is_literal(decl: InputDecl, enum: list[Any]) -> bool:
    return decl.kind == "string" and bool(enum) and all(isinstance(value, str) for value in enum)
