"""Types as Python annotations. Records become TypedDicts, named after where they are used."""

from __future__ import annotations

import keyword

from wfc.emit.printer import quoted
from wfc.language import types
from wfc.language.types import Choice, Exact, Fixed, ListType, MapType, Record, Simple, Type, Union
from wfc.lower.names import class_name

_SIMPLE = {"text": "str", "int": "int", "number": "int | float", "bool": "bool", "null": "None", "any": "Any"}


class Annotations:
    """Names annotations for one module, and remembers what they need."""

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
        """A long choice gets a name, so that the fields around it stay readable."""
        self.imports.add("Literal")
        values = [quoted(value) for value in dict.fromkeys(kind.values)]
        flat = f"Literal[{', '.join(values)}]"
        if len(flat) <= 40:
            return flat
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
        return " | ".join(dict.fromkeys(parts))

    def _record(self, kind: Record, hint: str) -> str:
        if kind.name:
            self.contract.add(kind.name)
            return kind.name
        if not all(_is_plain(prop.name) for prop in kind.properties):
            self.imports.add("Any")
            return "dict[str, Any]"
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
