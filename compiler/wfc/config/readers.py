"""Kinds of settings. Each takes the table and the key that a value stands under, and gives it back or says what is
wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from wfc.suggest import did_you_mean

Reader = Callable[[str, str, Any], Any]


class ConfigError(Exception):
    """The settings can't be used. The message says which and why."""


def misfit(table: str, key: str, what: str) -> ConfigError:
    return ConfigError(f"[{table}] {key} must be {what}")


def path(table: str, key: str, value: Any) -> str:
    if not isinstance(value, str) or not value or Path(value).is_absolute() or ".." in Path(value).parts:
        raise misfit(table, key, "a path inside the project, as text")
    return value


def text(table: str, key: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise misfit(table, key, "text")
    return value


def texts(table: str, key: str, value: Any, what: str = "a list of text") -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise misfit(table, key, what)
    return tuple(value)


def flag(table: str, key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise misfit(table, key, "true or false")
    return value


def count(table: str, key: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise misfit(table, key, "a whole number of 1 or more")
    return value


def one_of(*choices: str) -> Reader:
    def read(table: str, key: str, value: Any) -> str:
        if value not in choices:
            raise misfit(table, key, " or ".join(f'"{choice}"' for choice in choices))
        return str(value)

    return read


def table_of(readers: Mapping[str, Reader], noun: str = "setting") -> Reader:
    """A table inside a table, with a reader for each of its keys."""

    def read(table: str, key: str, value: Any) -> dict[str, Any]:
        return read_table(f"{table}.{key}", value, readers, noun)

    return read


def read_table(name: str, table: Any, readers: Mapping[str, Reader], noun: str = "setting") -> dict[str, Any]:
    if not isinstance(table, dict):
        raise ConfigError(f"[{name}] must be a table")
    for key in table:
        if key not in readers:
            raise ConfigError(f"[{name}] has no {noun} `{key}`; {did_you_mean(key, readers)}")
    return {key: readers[key](name, key, value) for key, value in table.items()}
