"""SQL statements from a model: a table with its columns, and an operation on its rows.

Every value is bound as a parameter. Names are checked and quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import uuid4

from wfc_runtime.contract import Json
from wfc_runtime.execute.base import ExecutionError, Parameters

OPERATIONS = ("schema", "insert", "select", "update", "delete", "upsert")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_TYPES = {
    **dict.fromkeys(("text", "string", "str", "uuid", "timestamp", "datetime", "date", "json"), "TEXT"),
    **dict.fromkeys(("integer", "int", "bigint", "boolean", "bool"), "INTEGER"),
    **dict.fromkeys(("real", "float", "number", "num", "decimal"), "REAL"),
    "blob": "BLOB",
}
_COMPARED = {
    **{word: word for word in ("=", "!=", "<", "<=", ">", ">=")},
    "<>": "!=",
    "==": "=",
    "like": "LIKE",
    "not like": "NOT LIKE",
}
_AMONG = {"in": "IN", "not in": "NOT IN", "not_in": "NOT IN"}
_READS = re.compile(r"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*(select|values|with|explain|pragma)\b", re.I | re.S)
_WRITES = re.compile(r"\b(insert|update|delete|replace)\b", re.I)


@dataclass(frozen=True)
class Statement:
    """One statement and the values of its parameters."""

    text: str
    values: list[Json] | dict[str, Json] = field(default_factory=list)

    @property
    def is_reading(self) -> bool:
        """Whether it only reads, as far as its first word tells. The database itself makes sure."""
        word = _READS.match(self.text)
        # `with` may precede an INSERT or DELETE. A word in a text literal only makes the action ask for more
        # rights.
        return word is not None and (word[1].lower() != "with" or not _WRITES.search(self.text))


@dataclass(frozen=True)
class _Model:
    table: str
    columns: dict[str, dict[str, Json]]
    indexes: list[Json]

    def column(self, name: str) -> str:
        if name not in self.columns:
            raise ExecutionError(f"the model has no column {name[:60]!r}")
        return _quoted(name)

    @property
    def keys(self) -> list[str]:
        return [name for name, about in self.columns.items() if about.get("primary")]

    def automatic(self, kind: str) -> list[str]:
        return [name for name, about in self.columns.items() if about.get("auto") == kind]


def statement_of(parameters: Parameters) -> Iterator[Statement]:
    """The statements for the operation `op` on the `model`."""
    model, op = _model(parameters), parameters.text("op", "")
    match op:
        case "schema":
            yield from _schema(model)
        case "insert" | "upsert":
            yield _insert(model, parameters, is_upsert=op == "upsert")
        case "select":
            yield _select(model, parameters)
        case "update":
            yield _update(model, parameters)
        case "delete":
            where, values = _where(model, parameters, is_needed=True)
            yield Statement(f"DELETE FROM {_quoted(model.table)}{where}", values)
        case _:
            raise ExecutionError(f"`op` must be one of {', '.join(OPERATIONS)}")


def is_reading(parameters: Parameters) -> bool:
    """Whether an action only reads, as far as its parameters tell."""
    if "init_sql" in parameters:
        # It is there to create tables.
        return False
    if "op" in parameters:
        return parameters.text("op") == "select"
    # Several statements begin with the same kind of word, or the action fails when it is executed.
    return Statement(parameters.text("sql", "")).is_reading


def _model(parameters: Parameters) -> _Model:
    given = parameters.mapping("model")
    table, columns, indexes = given.get("table"), given.get("columns"), given.get("indexes") or []
    if not isinstance(table, str) or not isinstance(columns, dict) or not columns:
        raise ExecutionError("`model` must have a `table` and its `columns`")
    if not all(isinstance(about, dict) for about in columns.values()) or not isinstance(indexes, list):
        raise ExecutionError("each column of a model is an object, and `indexes` are a list")
    for name in (table, *columns):
        _quoted(name)
    return _Model(table, columns, indexes)


def _quoted(name: str) -> str:
    # Names with this prefix belong to SQLite.
    if not _NAME.fullmatch(name) or name.lower().startswith("sqlite_"):
        raise ExecutionError(f"{name[:60]!r} can't be the name of a table or column")
    return f'"{name}"'


def _schema(model: _Model) -> Iterator[Statement]:
    lines = [_declared(name, about) for name, about in model.columns.items()]
    if model.keys:
        lines.append(f"PRIMARY KEY ({', '.join(map(_quoted, model.keys))})")
    yield Statement(f"CREATE TABLE IF NOT EXISTS {_quoted(model.table)} ({', '.join(lines)})")
    for about in model.indexes:
        columns = about.get("columns") if isinstance(about, dict) else None
        if not isinstance(about, dict) or not isinstance(columns, list) or not columns:
            raise ExecutionError("an index of a model has a list of `columns`")
        order = " DESC" if str(about.get("order", "asc")).lower() == "desc" else ""
        names = [model.column(str(one)) for one in columns]
        index = _quoted("_".join(["idx", model.table, *map(str, columns)])[:63])
        unique = "UNIQUE " if about.get("unique") is True else ""
        listed = ", ".join(f"{name}{order}" for name in names)
        yield Statement(f"CREATE {unique}INDEX IF NOT EXISTS {index} ON {_quoted(model.table)} ({listed})")


def _declared(name: str, about: Mapping[str, Json]) -> str:
    kind = _TYPES.get(str(about.get("type", "text")).lower())
    if kind is None:
        raise ExecutionError(f"the column {name} has an unknown type; there is {', '.join(_TYPES)}")
    found = f"{_quoted(name)} {kind}"
    if about.get("required") is True:
        found += " NOT NULL"
    if about.get("unique") is True:
        found += " UNIQUE"
    return found


def _insert(model: _Model, parameters: Parameters, is_upsert: bool) -> Statement:
    given = parameters.mapping("data")
    row = {name: about["default"] for name, about in model.columns.items() if "default" in about}
    row |= {name: str(uuid4()) for name in model.automatic("uuid")}
    row |= {name: _now() for kind in ("created", "updated") for name in model.automatic(kind)}
    row |= given
    names = [model.column(name) for name in row]
    if not names:
        raise ExecutionError("`data` has no value for any column")
    text = f"INSERT INTO {_quoted(model.table)} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    if is_upsert:
        text += _on_conflict(model, parameters, given)
    return Statement(f"{text} RETURNING *", list(row.values()))


def _on_conflict(model: _Model, parameters: Parameters, given: Mapping[str, Json]) -> str:
    keys = _names(parameters, "conflict") or model.keys
    if not keys:
        raise ExecutionError("`conflict` must name columns, since the model has no primary key")
    target = ", ".join(model.column(name) for name in keys)
    # Automatic values other than the time of the update stay as they are in an existing row.
    changed = [name for name in (*given, *model.automatic("updated")) if name not in keys]
    if not changed:
        return f" ON CONFLICT ({target}) DO NOTHING"
    changes = ", ".join(f"{_quoted(name)} = excluded.{_quoted(name)}" for name in dict.fromkeys(changed))
    return f" ON CONFLICT ({target}) DO UPDATE SET {changes}"


def _update(model: _Model, parameters: Parameters) -> Statement:
    changes = {name: _now() for name in model.automatic("updated")} | parameters.mapping("data")
    if not parameters.mapping("data"):
        raise ExecutionError("`data` has nothing to change")
    where, values = _where(model, parameters, is_needed=True)
    listed = ", ".join(f"{model.column(name)} = ?" for name in changes)
    return Statement(f"UPDATE {_quoted(model.table)} SET {listed}{where}", [*changes.values(), *values])


def _select(model: _Model, parameters: Parameters) -> Statement:
    columns = ", ".join(model.column(name) for name in _names(parameters, "columns")) or "*"
    where, values = _where(model, parameters, is_needed=False)
    text = f"SELECT {columns} FROM {_quoted(model.table)}{where}"
    orders = []
    for one in _names(parameters, "order"):
        name, _, way = one.partition(":")
        if way.lower() not in ("", "asc", "desc"):
            raise ExecutionError(f"`order` must be like `name:desc`, not {one[:60]!r}")
        orders.append(f"{model.column(name)}{' DESC' if way.lower() == 'desc' else ''}")
    if orders:
        text += f" ORDER BY {', '.join(orders)}"
    if "limit" in parameters or "offset" in parameters:
        text += " LIMIT ? OFFSET ?"
        # SQLite has no OFFSET without a LIMIT.
        values += [int(parameters.number("limit", 1e8)), int(parameters.number("offset", 0))]
    return Statement(text, values)


def _where(model: _Model, parameters: Parameters, is_needed: bool) -> tuple[str, list[Json]]:
    given = parameters.mapping("where")
    if not given and is_needed:
        # An empty object is most likely a template that gave nothing.
        raise ExecutionError("`where` is required: without it the operation would change every row")
    parts: list[str] = []
    values: list[Json] = []
    for name, wanted in given.items():
        column = model.column(name)
        tests = wanted if isinstance(wanted, dict) else {"in" if isinstance(wanted, list) else "=": wanted}
        for word, value in tests.items():
            part, bound = _test(column, word.strip().lower(), value)
            parts.append(part)
            values += bound
    return (f" WHERE {' AND '.join(parts)}" if parts else ""), values


def _test(column: str, word: str, value: Json) -> tuple[str, list[Json]]:
    if word in _AMONG and isinstance(value, list):
        return f"{column} {_AMONG[word]} ({', '.join('?' * len(value))})", list(value)
    # In SQL, nothing equals NULL.
    if value is None and _COMPARED.get(word) in ("=", "!="):
        return f"{column} IS {'NOT ' if _COMPARED[word] == '!=' else ''}NULL", []
    if word not in _COMPARED or isinstance(value, (list, dict)):
        raise ExecutionError(
            f"`where` can't compare with {word[:40]!r}; there is {', '.join((*_COMPARED, *_AMONG))}"
        )
    return f"{column} {_COMPARED[word]} ?", [value]


def _names(parameters: Parameters, name: str) -> list[str]:
    given = parameters.value(name) if name in parameters else []
    found = [given] if isinstance(given, str) else given
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ExecutionError(f"`{name}` must be a list of names")
    return found


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
