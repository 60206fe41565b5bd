"""Own block types: what the models of an installed class say about the inputs and outputs of a block."""

from __future__ import annotations

import types
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from wfc.config import ConfigError
from wfc.dialects.blocks.file import OrReference
from wfc.dialects.blocks.kinds import AMOUNT, FLAG, KINDS, Kind, Mode, Output
from wfc.language.fields import ANYTHING, WORD, FieldType, ListOf
from wfc.language.shape import Field, Shape
from wfc_runtime.execute.own_blocks import NoBlockError, OwnBlock, load

_BUILT_IN = frozenset(KINDS)
_LIST = OrReference(ListOf(ANYTHING, "a list"))
_FIELDS: dict[type, tuple[FieldType[Any], Mode, str, str]] = {
    bool: (FLAG, Mode.VALUE, "bool", "boolean"),
    int: (AMOUNT, Mode.VALUE, "int", "integer"),
    float: (AMOUNT, Mode.VALUE, "float", "number"),
    str: (WORD, Mode.TEXT, "str", "string"),
    list: (_LIST, Mode.DATA, "list", "array"),
    dict: (ANYTHING, Mode.DATA, "dict", "object"),
}
"""By the Python type of a model's field: how a file writes it, how a reference is passed, and its types in the language
and in JSON Schema."""
_ANY = (ANYTHING, Mode.DATA, "any", "")
_used: tuple[str, ...] = ()


def use_own_types(names: tuple[str, ...]) -> None:
    """Make these block types known, and no others. Raises `ConfigError` for one that can't be used."""
    global _used
    if names == _used:
        return
    for name in _used:
        KINDS.pop(name, None)
    _used = ()
    for name in names:
        if name in _BUILT_IN:
            raise ConfigError(f"[tool.wfc] plugins: `{name}` is a block type of the language")
        try:
            KINDS[name] = _kind(load(name))
        except NoBlockError as error:
            raise ConfigError(f"[tool.wfc] plugins: {error}") from None
        _used = (*_used, name)


def _kind(block: OwnBlock) -> Kind:
    fields = {_name(name, field): field for name, field in block.inputs.model_fields.items()}
    modes = {name: _of(field)[1] for name, field in fields.items()}
    return Kind(
        "run_block",
        _shape(block, fields),
        {name: Output(name, _of(field)[2]) for name, field in block.outputs.model_fields.items()},
        modes=modes,
        schema=lambda _: _schema(block.outputs),
        own=(block.name, block.doc),
    )


def _shape(block: OwnBlock, fields: dict[str, FieldInfo]) -> type[Shape]:
    members: dict[str, Any] = {
        name: Field(
            _of(field)[0],
            field.description or f"The input `{name}`.",
            required=field.is_required(),
            default=None if field.is_required() else _plain(field),
            example=(field.examples or [None])[0] if field.examples else _EXAMPLES.get(_of(field)[2]),
        )
        for name, field in fields.items()
    }
    about = {"__doc__": block.doc, "label": f"a {block.name} block", "__module__": __name__}
    return type(f"{block.name}Inputs", (Shape,), {**about, **members})


_EXAMPLES = {"str": "text", "int": 1, "float": 1, "bool": True, "list": [], "dict": {}}


def _plain(field: FieldInfo) -> Any:
    """A default that a page can show."""
    found = field.get_default(call_default_factory=False)
    return found if isinstance(found, (str, int, float, bool)) else None


def _name(name: str, field: FieldInfo) -> str:
    alias = field.validation_alias or field.alias
    return alias if isinstance(alias, str) else name


def _of(field: FieldInfo) -> tuple[FieldType[Any], Mode, str, str]:
    kind = field.annotation
    if get_origin(kind) in (Union, types.UnionType):
        kinds = [one for one in get_args(kind) if one is not types.NoneType]
        kind = kinds[0] if len(kinds) == 1 else None
    kind = get_origin(kind) or kind
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        kind = dict
    return _FIELDS.get(kind, _ANY) if isinstance(kind, type) else _ANY


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a result. Only its first level is checked: the block itself checks the rest."""
    properties: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        kind = _of(field)[3]
        is_plain = kind and type(None) not in get_args(field.annotation)
        properties[name] = {"type": kind} if is_plain else {}
    needed = [name for name, field in model.model_fields.items() if field.is_required()]
    return {"type": "object", "properties": properties, "required": needed}
