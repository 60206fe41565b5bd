"""Writing parts of fields: a path into a field, an operation and a value. Several are one write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, Self

from wfc_runtime.contract import Json
from wfc_runtime.errors import StepError
from wfc_runtime.expr import is_template
from wfc_runtime.machine.effects import Effect
from wfc_runtime.results import describe

if TYPE_CHECKING:
    from wfc_runtime.machine.run import Run

Operation = Literal["set", "append", "increment", "decrement", "multiply", "merge"]
_LARGEST = 2**1024
"""Larger integers would not be numbers for other readers of JSON."""


@dataclass(frozen=True, kw_only=True)
class FieldUpdate:
    """One change of a field or of a part of it."""

    path: Sequence[Json]
    """The field, then the keys that lead to the part: texts, numbers, or expressions for one key each."""
    operation: Operation = "set"
    value: Json = None

    def resolved(self, run: Run, reads: tuple[str, ...], names: Mapping[str, Json]) -> Resolved:
        """The change with its expressions evaluated."""
        field, *keys = self.path
        # Constant keys are common, and need no evaluation.
        if any(isinstance(key, str) and is_template(key) for key in keys):
            keys = run.evaluate(keys, reads, names)
        value = run.evaluate(self.value, reads, names)
        if value is None and self.operation in ("increment", "decrement"):
            value = 1
        return Resolved(str(field), tuple(map(_key, keys)), self.operation, value)


@dataclass(frozen=True)
class Resolved:
    """A change whose path and value are known."""

    field: str
    keys: tuple[str | int, ...]
    operation: Operation
    value: Json

    def to_data(self) -> list[Json]:
        return [self.field, list(self.keys), self.operation, self.value]

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> Self:
        field, keys, operation, value = data
        return cls(field, tuple(keys), operation, value)

    def applied(self, before: Json) -> Json:
        """The value of the field after the change. The given value is not modified."""
        return self._put(before, 0)

    def _put(self, here: Json, depth: int) -> Json:
        if depth == len(self.keys):
            return self._operate(here)
        key = self.keys[depth]
        # A missing part becomes an object, even if the key is a number: a path never creates lists.
        if here is None:
            return {str(key): self._put(None, depth + 1)}
        if isinstance(here, dict):
            return {**here, str(key): self._put(here.get(str(key)), depth + 1)}
        if isinstance(here, list):
            index = _index(key)
            # The index after the last item appends; a gap is an error, since the items between would be made
            # up.
            if index is None or index > len(here):
                raise self._failed(f"a list of {len(here):,} has no place {key!r}", depth)
            inner = self._put(here[index] if index < len(here) else None, depth + 1)
            return [*here[:index], inner, *here[index + 1 :]]
        raise self._failed(f"{describe(here)} has no part {key!r}", depth)

    def _operate(self, here: Json) -> Json:
        value = self.value
        match self.operation:
            case "set":
                return value
            case "append":
                if here is not None and not isinstance(here, list):
                    raise self._failed(f"`append` takes a list, and there is {describe(here)}")
                return [*(here or ()), value]
            case "merge":
                if not isinstance(value, dict) or not (here is None or isinstance(here, dict)):
                    raise self._failed(
                        f"`merge` takes two objects, not {describe(here)} and {describe(value)}"
                    )
                return {**(here or {}), **value}
        # A field that is not there yet counts as zero.
        return self._computed(0 if here is None else here, value)

    def _computed(self, here: Json, value: Json) -> Json:
        if not _is_number(here) or not _is_number(value):
            raise self._failed(
                f"`{self.operation}` takes numbers, not {describe(here)} and {describe(value)}"
            )
        try:
            match self.operation:
                case "increment":
                    found = here + value
                case "decrement":
                    found = here - value
                case _:
                    found = here * value
            # A float overflows to infinity silently, while integers have no limit in Python.
            is_fine = isfinite(found) if isinstance(found, float) else abs(found) < _LARGEST
        except OverflowError:
            is_fine = False
        if not is_fine:
            raise self._failed("the number is too large")
        return found

    def _failed(self, why: str, depth: int | None = None) -> StepError:
        way = [self.field, *map(str, self.keys[: len(self.keys) if depth is None else depth])]
        return StepError("change", f"`{'.'.join(way)}` can't be changed: {why}")


@dataclass(frozen=True, kw_only=True)
class ChangeFields(Effect):
    """Change fields or parts of fields, all of them or none. Every expression sees the state from before."""

    updates: Sequence[FieldUpdate]

    @property
    def fields(self) -> list[str]:
        return list(dict.fromkeys([*(str(one.path[0]) for one in self.updates), *super().fields]))

    @property
    def texts(self) -> list[Json]:
        return [*(part for one in self.updates for part in (*one.path, one.value)), *super().texts]

    def enter(self, run: Run, state: str) -> None:
        # Resolved before any is applied, so that every expression sees the state from before.
        run.change([update.resolved(run, self.reads, {}) for update in self.updates])


def applied(
    run: Run, changes: Sequence[Resolved], start: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    """The fields after some changes, one after the other; `start` has fields that are written before them."""
    fields: dict[str, Json] = dict(start or {})
    # A later change of the same field continues with the result of the earlier one.
    for change in changes:
        before = fields[change.field] if change.field in fields else run.snapshot.state.get(change.field)
        fields[change.field] = change.applied(before)
    return fields


def _key(key: Json) -> str | int:
    if isinstance(key, bool) or not isinstance(key, (str, int)):
        # A number from JSON may be 2.0 where 2 was meant, such as the result of a division.
        if isinstance(key, float) and key.is_integer():
            return int(key)
        raise StepError("change", f"a key of the path is {describe(key)}, not text or a whole number")
    return key


def _index(key: str | int) -> int | None:
    if isinstance(key, str):
        # `isdecimal` alone also accepts digits of other scripts.
        return int(key) if key.isascii() and key.isdecimal() and len(key) < 10 else None
    return key if key >= 0 else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
