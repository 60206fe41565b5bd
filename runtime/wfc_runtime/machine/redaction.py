"""Redaction of secrets in everything that is stored or shown about a run."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from shlex import quote as shell_quote
from typing import Any, get_args
from urllib.parse import quote as url_quote
from urllib.parse import quote_plus as url_quote_plus

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema

from wfc_runtime.contract import Json

HIDDEN = "***"
LEAST = 6
"""Shorter values are only redacted as whole fields: inside other texts they would match what is not secret."""
_FRAGMENT = 8
"""Messages quote the beginnings and ends of values: this many characters in a row reveal a secret."""
_FEW = 100
"""Up to this many forms are searched one by one, which is faster."""


@dataclass(frozen=True)
class Secret:
    """Marks an input whose value is redacted wherever a run is shown."""

    # `writeOnly` is how JSON Schema marks a value that is never returned.
    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), "writeOnly": True}


class Mask:
    """Redacts some values wherever they occur."""

    def __init__(self, values: Iterable[str]) -> None:
        self._values = [value for value in dict.fromkeys(values) if len(value) >= LEAST]
        forms = {form for value in self._values for form in _forms(value) if len(form) >= LEAST}
        # Longest first: of two overlapping forms, the longer one must be replaced as a whole.
        self._forms = sorted(forms, key=lambda form: (-len(form), form))
        # Indexed by their first characters: a text is scanned once, however many forms there are.
        self._by_beginning: dict[str, list[str]] = {}
        for form in self._forms:
            self._by_beginning.setdefault(form[:LEAST], []).append(form)

    def text(self, text: str) -> str:
        # `in` is a fast search in C; the loop below runs only if there is something to replace.
        if len(self._forms) <= _FEW and not any(form in text for form in self._forms):
            return text
        parts, start, at = [], 0, 0
        while at <= len(text) - LEAST:
            form = self._form_at(text, at)
            if form:
                parts += [text[start:at], HIDDEN]
                start = at + len(form)
            at += len(form) or 1
        return "".join([*parts, text[start:]])

    def _form_at(self, text: str, at: int) -> str:
        candidates = self._by_beginning.get(text[at : at + LEAST], ())
        return next((form for form in candidates if text.startswith(form, at)), "")

    def value(self, value: Json) -> Json:
        """The redacted value; the same object if nothing was redacted, so that callers can compare by identity."""
        if not self._forms:
            return value
        match value:
            case str():
                hidden = self.text(value)
                return value if hidden == value else hidden
            case dict():
                made = {self.text(key): self.value(item) for key, item in value.items()}
                # Redacting keys may merge two of them, so the sets are compared first.
                same = made.keys() == value.keys() and all(made[key] is value[key] for key in made)
                return value if same else made
            case list() | tuple():
                items = [self.value(item) for item in value]
                return value if all(one is other for one, other in zip(items, value, strict=True)) else items
            case bool() | None:
                return value
        # A number is compared as a whole: it has no part that could be replaced.
        return HIDDEN if str(value) in self._values else value

    def message(self, text: str) -> str:
        """Redact a message. It may quote a part of a value, or an uppercase copy: such fragments are redacted, too."""
        if not self._forms:
            return text
        text = self.text(text)
        pieces = {
            value[at : at + _FRAGMENT].lower()
            for value in self._values
            for at in range(len(value) - _FRAGMENT + 1)
        }
        hidden = [False] * len(text)
        for at in range(len(text) - _FRAGMENT + 1):
            if text[at : at + _FRAGMENT].lower() in pieces:
                hidden[at : at + _FRAGMENT] = [True] * _FRAGMENT
        # The null character marks hidden positions; adjacent ones become a single mark.
        kept = "".join("\0" if hide else char for char, hide in zip(text, hidden, strict=True))
        return re.sub("\0+", HIDDEN, kept)


NO_MASK = Mask(())


# The same secrets are used for every message of a run, and computing the forms is the expensive part.
@lru_cache(maxsize=64)
def mask_of(values: tuple[str, ...]) -> Mask:
    return Mask(values) if values else NO_MASK


def texts_in(value: Json) -> Iterator[str]:
    """The texts that a secret value consists of. Keys are assumed not to be secret."""
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from texts_in(item)
        case list() | tuple():
            for item in value:
                yield from texts_in(item)
        case bool() | None:
            return
        case _:
            yield str(value)


def _forms(value: str) -> Iterator[str]:
    """The forms in which a value may appear in a command, a document or a URL."""
    yield value
    yield value.strip()
    # Both forms: a document may have its non-ASCII characters escaped or not.
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    # As the value appears inside quotes, and so without them.
    yield shell_quote(value).strip("'")
    yield repr(value)[1:-1]
    # Python, HTML forms and JavaScript leave different characters unescaped in URLs.
    yield from (url_quote(value, safe=kept) for kept in ("", "/", "!'()*~"))
    yield url_quote_plus(value)
    data = value.encode("utf-8", "replace")
    # The base64 of a value depends on its offset modulo three; characters shared with its neighbours are left out.
    for shift in range(3):
        coded = b64encode(b"\0" * shift + data).decode()
        # The first characters of the code depend on the bytes before the value, the last ones on those after
        # it.
        first = (0, 2, 3)[shift]
        yield coded[first : len(coded) - (0, 3, 2)[(len(data) + shift) % 3]]
    # Tools print keys and certificates line by line.
    if "\n" in value:
        yield from (line.strip() for line in value.splitlines())


# -- inputs ----------------------------------------------------------------------


def hide_inputs(model: type[BaseModel], values: Mapping[str, Json]) -> dict[str, Json]:
    """The inputs with secrets redacted, also inside objects."""
    return {name: _hidden(_fields(model).get(name), value) for name, value in values.items()}


def _hidden(field: FieldInfo | None, value: Json) -> Json:
    if field is None or value is None:
        return value
    if _is_secret(field):
        return HIDDEN
    inner = _model_in(field.annotation)
    return hide_inputs(inner, value) if inner is not None and isinstance(value, dict) else value


def hide_known(value: Json, secrets: Collection[str]) -> Json:
    """Redact every occurrence of these values, however short: for inputs whose model is not available."""
    match value:
        case dict():
            return {key: hide_known(item, secrets) for key, item in value.items()}
        case list() | tuple():
            return [hide_known(item, secrets) for item in value]
        case bool() | None:
            return value
    return HIDDEN if str(value) in secrets else value


def secrets_in(model: type[BaseModel], values: Mapping[str, Json]) -> Iterator[str]:
    """The texts of all inputs that are marked as secret."""
    for name, field in _fields(model).items():
        value, inner = values.get(name), _model_in(field.annotation)
        if _is_secret(field):
            yield from texts_in(value)
        elif inner is not None and isinstance(value, dict):
            yield from secrets_in(inner, value)


def is_secret_place(model: type[BaseModel], place: tuple[int | str, ...]) -> bool:
    """Whether a location inside the inputs is part of a secret, or should contain one."""
    inner: type[BaseModel] | None = model
    for part in place:
        field = _fields(inner).get(str(part)) if inner is not None else None
        if field is not None and _is_secret(field):
            return True
        inner = _model_in(field.annotation) if field is not None else inner
    # An object that contains secrets may itself be the wrong value, for example a list of keys.
    return inner is not None and inner is not model and _has_secrets(inner)


def _has_secrets(model: type[BaseModel]) -> bool:
    inner = (_model_in(field.annotation) for field in _fields(model).values())
    return any(map(_is_secret, _fields(model).values())) or any(map(_has_secrets, filter(None, inner)))


@lru_cache(maxsize=256)
def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _is_secret(field: FieldInfo) -> bool:
    return any(isinstance(mark, Secret) for mark in field.metadata)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model of an input that is an object, even if it may be null."""
    options = (annotation, *get_args(annotation))
    found = (one for one in options if isinstance(one, type) and issubclass(one, BaseModel))
    return next(found, None)
