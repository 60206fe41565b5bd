"""Changes of a run's state from outside, for someone who corrects a run by hand.

A path begins with a tier: `raw.x`, `state.x` and `this.x` are the field `x`, `global.x` is a field of the whole run.
A raw field that has the name of a derived one is stored as `raw_x`, a global one as `global_x`.
"""

from __future__ import annotations

import re
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from wfc_runtime.contract import Json
from wfc_runtime.errors import NotFoundError, RefusedError, RequestError, StepError, guess
from wfc_runtime.machine.change import Operation, Resolved, applied
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.events import FieldsUpdated
from wfc_runtime.machine.run import Run
from wfc_runtime.machine.values import Limits, NotPlainError, check_plain
from wfc_runtime.results import describe

MOST_UPDATES = 100
_TIERS = ("raw", "state", "this", "global")
_FORMS = "Write `raw.<field>` or `global.<field>`, and parts as `raw.a.b`, `raw.list[0]` or `raw.files['src/a.ts']`."
_PART = re.compile(r"\.([A-Za-z_$][\w$-]*)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\[\"((?:[^\"\\]|\\.)*)\"\]")
_OPERATIONS = get_args(Operation)


def read_updates(machine: AnyMachine, updates: Json, limits: Limits) -> list[list[Json]]:
    """Updates `{path, operation, value}` as the changes of a `FieldsUpdated` event. Raises `WfcError`."""
    try:
        check_plain(updates, limits.result_bytes, limits.nesting)
    except NotPlainError as error:
        raise RequestError("invalid_updates", f"`updates` {error}") from None
    if not isinstance(updates, list) or not updates:
        raise RequestError("invalid_updates", "`updates` must be a list with at least one update", _FORMS)
    if len(updates) > MOST_UPDATES:
        raise RequestError(
            "invalid_updates", f"{len(updates):,} updates at once; the limit is {MOST_UPDATES}"
        )
    return [_read(machine, number, one).to_data() for number, one in enumerate(updates)]


def _read(machine: AnyMachine, number: int, update: Json) -> Resolved:
    where = f"updates[{number}]"
    if not isinstance(update, dict) or not isinstance(update.get("path"), str):
        raise RequestError("invalid_updates", f"`{where}` must be an object with a `path`", _FORMS)
    unknown = [name for name in update if name not in ("path", "operation", "value")]
    if unknown:
        raise RequestError(
            "invalid_updates",
            f"`{where}` has an unknown key {unknown[0][:60]!r}",
            "Use path, operation, value.",
        )
    operation = update.get("operation", "set")
    if operation not in _OPERATIONS:
        raise RequestError(
            "invalid_updates",
            f"`{where}.operation` is {describe(operation)}",
            f"Use one of {', '.join(_OPERATIONS)}.",
        )
    value = update.get("value")
    if "value" not in update:
        if operation not in ("increment", "decrement"):
            raise RequestError("invalid_updates", f"`{where}` has no `value`")
        value = 1
    tier, keys = _parsed(update["path"], where)
    return Resolved(_field(machine, tier, str(keys[0])), tuple(keys[1:]), operation, value)


def _parsed(path: str, where: str) -> tuple[str, list[str | int]]:
    """The tier of a path, and its field and keys."""
    tier = path.partition(".")[0].strip()
    if tier not in _TIERS:
        raise RequestError("not_writable", f"`{where}.path` {path[:100]!r} can't be written", _FORMS)
    at, end = len(path) - len(path.lstrip()) + len(tier), len(path.rstrip())
    keys: list[str | int] = []
    while at < end:
        found = _PART.match(path, at, end)
        if found is None:
            raise RequestError(
                "invalid_updates",
                f"`{where}.path` {path[:100]!r} can't be read at character {at + 1}",
                _FORMS,
            )
        name, number, *quoted = found.groups()
        text = next((one for one in quoted if one is not None), None)
        keys.append(int(number) if number else name if text is None else re.sub(r"\\(.)", r"\1", text))
        at = found.end()
    if not keys or isinstance(keys[0], int):
        raise RequestError("invalid_updates", f"`{where}.path` {path[:100]!r} names no field", _FORMS)
    return tier, keys


def _field(machine: AnyMachine, tier: str, name: str) -> str:
    known = [one.alias or name for name, one in machine.fields.model_fields.items()]
    stored = f"global_{name}" if tier == "global" else f"raw_{name}" if name in machine.derived else name
    if name in machine.derived and tier != "global" and stored not in known:
        reads = ", ".join(f"`{one}`" for one in machine.derived[name].reads)
        raise RefusedError(
            "not_writable", f"`{name}` is computed", f"It follows from {reads or 'the inputs'}: write those."
        )
    # Fields that are stored under another name are internal, but the author's own.
    is_own = stored != name or stored not in machine.internal
    if stored not in known or not is_own:
        prefix = "global_" if tier == "global" else ""
        own = [one for one in known if one.startswith(prefix) and one not in machine.derived]
        names = [one.removeprefix(prefix) for one in own if prefix or one not in machine.internal]
        raise NotFoundError(
            "unknown_field",
            f"the workflow has no field `{tier}.{name[:100]}`",
            f"{guess(name, names)}Fields: {', '.join(names) or 'none'}.",
        )
    return stored


def update_fields(machine: AnyMachine, run: Run, event: FieldsUpdated) -> None:
    """Make the changes, and compute what is derived from them. Raises `RefusedError` if that is not possible.

    A value that does not fit the type of its field is refused: the expressions of later steps were checked with it.
    """
    changes, mask = [Resolved.from_data(one) for one in event.changes], run.snapshot.mask
    types = {one.alias or name: one.annotation for name, one in machine.fields.model_fields.items()}
    try:
        for name, value in applied(run, changes).items():
            _check_type(name, value, types.get(name, Any), is_secret=name in run.structure.secrets)
        run.change(changes)
    except StepError as error:
        raise RefusedError("not_updated", mask.message(error.message), error.hint) from None


def _check_type(name: str, value: Json, annotation: Any, is_secret: bool) -> None:
    try:
        TypeAdapter(annotation).validate_python(value, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else "" for part in first["loc"])
        given = "" if is_secret else f", not {describe(first['input'])}"
        raise StepError(
            "type",
            f"`{name}{place}` can't have this value: {first['msg'][:1].lower()}{first['msg'][1:]}{given}",
            "The steps of the workflow were checked for another type.",
        ) from None
