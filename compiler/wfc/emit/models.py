"""Types as Python annotations, and inputs as pydantic models."""

from __future__ import annotations

import keyword
from collections.abc import Callable
from math import ceil, floor
from typing import Any

from wfc.emit.printer import Call, print_assignment, print_class, print_value, quoted, width
from wfc.ir import Ref
from wfc.language import types
from wfc.language.shape import InputDecl
from wfc.language.types import Choice, Exact, Fixed, ListType, MapType, Record, Simple, Type, Union
from wfc.lower.names import class_name, field_names

# Annotations. Records become TypedDicts, named after the place where they are used.

_SIMPLE = {"text": "str", "int": "int", "number": "int | float", "bool": "bool", "null": "None", "any": "Any"}


class Annotations:
    """The annotations of one module, with the TypedDicts and imports that they need."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self.imports: set[str] = set()
        self.contract: set[str] = set()
        self.choices: list[str] = []
        self.records: list[str] = []
        self._named: dict[Record | Choice, str] = {}

    def of(self, kind: Type, hint: str) -> str:
        """The annotation of a type; `hint` names a record that has no name of its own."""
        match kind:
            case Simple():
                self._need(kind)
                return _SIMPLE[kind.name]
            case ListType():
                return f"list[{self.of(kind.item, hint + 'Item')}]"
            case MapType():
                return f"dict[str, {self.of(kind.item, hint + 'Value')}]"
            case Choice():
                return self._choice(kind, hint)
            case Exact():
                return self.of(types.of_value(kind.value), hint)
            case Fixed():
                return self.of(ListType(types.union(*kind.items)), hint)
            case Union():
                return self._union(kind, hint)
            case Record():
                return self._record(kind, hint)

    def _choice(self, kind: Choice, hint: str) -> str:
        """The annotation of a choice. A long one becomes an alias, which keeps the fields readable."""
        self.imports.add("Literal")
        values = [quoted(value) for value in dict.fromkeys(kind.values)]
        flat = f"Literal[{', '.join(values)}]"
        if len(flat) <= 40:
            return flat
        # The same choice in several places gets one alias.
        if kind not in self._named:
            self._named[kind] = self.free(class_name(hint))
            self.choices.append(
                "\n".join([f"{self._named[kind]} = Literal[", *(f"    {v}," for v in values), "]"])
            )
        return self._named[kind]

    def _need(self, kind: Type) -> None:
        if kind == types.ANY:
            self.imports.add("Any")

    def _union(self, kind: Union, hint: str) -> str:
        options = [option for option in kind.options if option != types.NULL]
        parts = [self.of(option, hint) for option in options]
        if types.NULL in kind.options:
            parts.append("None")
        # Null last, as people write it.
        return " | ".join(dict.fromkeys(parts))

    def _record(self, kind: Record, hint: str) -> str:
        if kind.name:
            self.contract.add(kind.name)
            return kind.name
        # A TypedDict in the class syntax can only have keys that are identifiers.
        if not all(_is_plain(prop.name) for prop in kind.properties):
            self.imports.add("Any")
            return "dict[str, Any]"
        # Equal records share one definition, under the name of the first use.
        if kind not in self._named:
            name = self.free(class_name(hint))
            self._named[kind] = name
            self.records.append(self._definition(name, kind))
        return self._named[kind]

    def _definition(self, name: str, kind: Record) -> str:
        self.contract.add("TypedDict")
        lines = [f"class {name}(TypedDict):"]
        for prop in kind.properties:
            kind_text = self.of(prop.type, f"{name}_{prop.name}")
            if not prop.required:
                self.contract.add("NotRequired")
                kind_text = f"NotRequired[{kind_text}]"
            lines.append(f"    {prop.name}: {kind_text}")
        return "\n".join(lines if kind.properties else [*lines, "    pass"])

    def free(self, name: str) -> str:
        free, number = name, 2
        while free in self.taken:
            free, number = f"{name}{number}", number + 1
        self.taken.add(free)
        return free


def _is_plain(name: str) -> bool:
    return name.isidentifier() and name.isascii() and not keyword.iskeyword(name) and not name.startswith("_")


# Input models. Each validation rule becomes a constraint that a reviewer can read.

_NOTHING = object()
"""Stands for a missing default: None is a default too."""

_CONSTRAINTS = {
    "string": {"pattern": "pattern", "min_length": "min_length", "max_length": "max_length"},
    "number": {"min": "ge", "max": "le"},
    "integer": {"min": "ge", "max": "le"},
    "array": {"min_items": "min_length", "max_items": "max_length"},
}
_ROUNDED: dict[str, Callable[[float], int]] = {"min": ceil, "max": floor}
"""Bounds of integers are rounded to integers, inwards."""
_PLAIN = {
    "string": "str",
    "number": "int | float",
    "integer": "int",
    "boolean": "bool",
    "array": "list[Any]",
    "object": "dict[str, Any]",
}


class InputModels:
    """Writes the model of a scope's inputs, and a model for each object in them."""

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
        # Null is the value of an optional input without a default, and a default may be null.
        if not required and ("default" not in decl.values or decl.values["default"].data is None):
            kind = f"{kind} | None"
        extras = self._extras(decl, alias=key if name != key else None)
        default = _NOTHING if required else _default(kind, decl)
        # An author may write `default: "5"` for a number; pydantic would refuse it, and the language only
        # warns.
        if not required and not _fits(decl):
            self.runtime.add("unchecked")
            default = Call("unchecked", (default,))
        if extras:
            self.annotations.imports.add("Annotated")
            kind = self._annotated(name, kind, extras, default)
        return (
            f"    {name}: {kind}" if default is _NOTHING else print_assignment(f"{name}: {kind}", default, 1)
        )

    def _annotated(self, name: str, kind: str, extras: list[Call], default: Any) -> str:
        # A negative position: only the width of the text on one line is wanted.
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
                # `min: 1.5` for an integer means 2; pydantic would compare with 1.5, and show that to the
                # user.
                keywords[argument] = _ROUNDED[rule](value) if decl.kind == "integer" else value
        if decl.description:
            keywords["description"] = " ".join(decl.description.text.split())
        calls = [Call("Field", (), keywords)] if keywords else []
        if decl.setting("convert") and decl.kind in _PLAIN:
            calls.append(Call("lenient", (decl.kind,)))
        enum = decl.rule_value("enum")
        # Text choices are a `Literal`, which reviewers and type checkers can read.
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
            # Written before the model that uses it, since a module defines what it uses first.
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
    if isinstance(value, dict) and decl.kind == "object" and decl.rule("properties"):
        # A default of plain data would not be an object of the model.
        return Call(f"{kind}.model_validate", (value,))
    return value


_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def _fits(decl: InputDecl) -> bool:
    """Whether the default is of the declared kind. In some languages a wrong one is only a warning."""
    value = decl.values["default"].data if "default" in decl.values else None
    if value is None or decl.kind not in _KINDS:
        return True
    # A boolean is an int for Python.
    return isinstance(value, _KINDS[decl.kind]) and isinstance(value, bool) == (decl.kind == "boolean")


def _is_literal(decl: InputDecl, enum: list[Any]) -> bool:
    return decl.kind == "string" and bool(enum) and all(isinstance(value, str) for value in enum)
