"""Derived fields: state fields that are computed from others, and recomputed when one of those changes.

A module lists them in dependency order. After a write, those that depend on a changed field are computed, each at most
once and in that order; one whose value stays the same does not make its dependents run. Their values are part of the
state, so nothing is computed again when a run is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Literal

from wfc_runtime.contract import Json
from wfc_runtime.errors import StepError
from wfc_runtime.machine.redaction import texts_in
from wfc_runtime.machine.values import NotPlainError, plain_text, size_of, to_text

if TYPE_CHECKING:
    from wfc_runtime.machine.run import Run

OnFailure = Literal["use_fallback", "propagate", "ignore"]
# Not None, which is a value of its own: a field may be null.
_MISSING = object()


@dataclass(frozen=True, kw_only=True)
class Derive:
    """How one derived field is computed."""

    value: Json = None
    """The expression. It reads the listed fields, the inputs, and `input`."""
    source: Json = None
    """An expression, or a list of expressions, whose value is `input`."""
    reads: tuple[str, ...] = ()
    """The fields that it may read, which are those that it depends on."""
    on_error: OnFailure = "use_fallback"
    """After a failure the field gets the `fallback`, the step that wrote fails, or the field keeps its value."""
    fallback: Json = None
    check: Json = None
    """A condition over `output`, which must be true for the value to count."""

    def compute(self, run: Run, name: str) -> Json:
        """The value. Raises `StepError` if it can't be computed, is not plain JSON, or does not pass the check."""
        names: dict[str, Json] = {}
        if self.source is not None:
            names["input"] = run.evaluate(self.source, self.reads)
        value = run.evaluate(self.value, self.reads, names)
        try:
            plain_text(value, run.limits.derived_bytes, run.limits.nesting)
        except NotPlainError as error:
            raise StepError("derived", f"the value of `{name}` {error}") from None
        # The check sees `input` as well, so that it can compare both.
        if self.check is not None and not run.is_true(self.check, self.reads, {**names, "output": value}):
            raise StepError("derived", f"the value of `{name}` does not pass its check")
        return value


class Derivations:
    """The derived fields of a machine, and which of them depend on a field."""

    def __init__(self, derived: Mapping[str, Derive]) -> None:
        self.order = list(derived.items())
        self.dependents: dict[str, list[int]] = {}
        for position, (_, derive) in enumerate(self.order):
            for field in derive.reads:
                self.dependents.setdefault(field, []).append(position)

    def __len__(self) -> int:
        return len(self.order)


def is_same(one: Json, other: Json) -> bool:
    """Whether two values are the same JSON. In Python, 1, 1.0 and true are equal."""
    return one is other or (one == other and to_text(one) == to_text(other))


def derive_all(run: Run) -> None:
    """Compute every derived field, at the start of a run."""
    # A fresh object, since `_store` writes into it and the given one may be shared.
    run.snapshot.state = dict(run.snapshot.state)
    _compute(run, range(len(run.structure.derived)), "")


def settle(run: Run, changed: Iterable[str]) -> None:
    """Compute what depends on changed fields. The state must be an object that no other snapshot shares."""
    dependents = run.structure.derived.dependents
    names = list(changed)
    found = {position for name in names for position in dependents.get(name, ())}
    if found:
        _compute(run, found, ", ".join(names))


def _compute(run: Run, positions: Iterable[int], trigger: str) -> None:
    derived, snapshot = run.structure.derived, run.snapshot
    # A heap of positions: a dependent always comes later in the module than what it depends on.
    queue = sorted(positions)
    queued = set(queue)
    while queue:
        name, derive = derived.order[heappop(queue)]
        before = snapshot.state.get(name, _MISSING)
        value = _value(run, name, derive, None if before is _MISSING else before, trigger)
        # Stops the propagation: dependents of an unchanged field are not computed.
        if before is not _MISSING and is_same(before, value):
            continue
        _store(run, name, before, value)
        for position in derived.dependents.get(name, ()):
            if position not in queued:
                queued.add(position)
                heappush(queue, position)


def _value(run: Run, name: str, derive: Derive, before: Json, trigger: str) -> Json:
    run.outcome.derived.append(name)
    try:
        return derive.compute(run, name)
    except StepError as error:
        # A read of an undeclared field is a mistake in the workflow, which no fallback may hide.
        if derive.on_error == "propagate" or error.code == "state_access":
            message = f"`{name}` can't be computed: {error.message}"
            # The step that wrote fails, but the mistake is in the field.
            raise StepError(error.code, message, error.hint, {**error.details, "field": name}) from None
        note: dict[str, Json] = {"derived": name, "code": error.code, "on_error": derive.on_error}
        # Messages of expressions quote values, and notes are part of the history.
        note["message"] = run.snapshot.mask.message(error.message)
        if trigger:
            note["trigger"] = trigger
        run.outcome.notes.append(note)
        return before if derive.on_error == "ignore" else derive.fallback


def _store(run: Run, name: str, before: object, value: Json) -> None:
    snapshot, limits = run.snapshot, run.limits
    if name in run.structure.secrets:
        snapshot.learn(texts_in(value))
        # Whole fields are hidden as well, because short values are not redacted inside texts.
        snapshot.hidden = list(dict.fromkeys([*snapshot.hidden, name]))
    # A new field has its name, a colon and, unless it is the first, a comma.
    own = size_of(name) + 1 + bool(snapshot.state) if before is _MISSING else -size_of(before)
    size = snapshot.derived_size + own + size_of(value)
    if size > limits.all_derived_bytes:
        raise StepError(
            "derived_size",
            f"the derived fields would be {size:,} bytes; the limit is {limits.all_derived_bytes:,}",
            "Derive counts and selections instead of copies of large values.",
        )
    snapshot.size += size - snapshot.derived_size
    snapshot.derived_size = size
    snapshot.state[name] = value
    run.outcome.written[name] = value
