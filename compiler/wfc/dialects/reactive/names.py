"""Resolves names: which field, input, loop variable or part of a result a reference means.

A bare name is looked up innermost first: parts of the step's own result, loop variables, what a task was given,
computed fields, raw fields, inputs, and last the fields of included workflows. `this.x` is a computed field before a
raw one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from wfc.struct import replace, struct

WRITABLE = ("raw", "state", "this", "global")
"""The tiers that steps may write."""
TIERS = (*WRITABLE, "computed")
SCOPES = (*TIERS, "inputs", "loop")
"""The names that a reference to a member can begin with."""
_LOOP_FIELDS = {"loop_item": "item", "loop_index": "index", "attempt_number": "iteration"}
"""Fields that loops had in older versions of the language, and what they are now."""
GIVEN = ("item", "index", "total", "task_id")
"""The names that every child of a `parallel_foreach` has."""


@struct(eq=False)
class Fields:
    """The fields of one state, each with the name that the core has for it."""

    raw: dict[str, str] = field(default_factory=dict)
    computed: dict[str, str] = field(default_factory=dict)
    globals: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    """The declared or initial types of raw fields: string, number, integer, boolean, array, object."""
    parts: dict[tuple[str, ...], str] = field(default_factory=dict)
    """The initial types of numbers and booleans inside of raw fields, by their path."""
    is_declared: bool = False
    """Whether the file declares the raw fields."""
    is_global_declared: bool = False

    def add_raw(self, name: str) -> str:
        """The core's name of a raw field. One that has the name of a computed field is kept apart from it."""
        return self.raw.setdefault(name, f"raw_{name}" if name in self.computed else name)

    def add_global(self, name: str) -> str:
        return self.globals.setdefault(name, f"global_{name}")

    def of(self, tier: str, name: str) -> str | None:
        """The core's field for `tier.name`, or None if the tier has no such field."""
        match tier:
            case "global":
                return self.globals.get(name)
            case "computed":
                return self.computed.get(name)
            case "this":
                return self.computed.get(name) or self.raw.get(name)
        return self.raw.get(name) or self.computed.get(name)


@struct(frozen=True)
class Meaning:
    """The meaning of a reference."""

    code: str
    """The expression that replaces it."""
    parts: int = 0
    """How many parts of the path it replaces, beside the root."""
    fields: tuple[str, ...] = ()
    """The state fields that it reads."""
    is_whole: bool = False
    """Whether it may read any field."""
    problem: str = ""
    """Why it means nothing, for a finding."""
    code_of_finding: str = "WF202"
    is_mild: bool = False
    """Whether the finding is a warning: the reference still has a value."""
    instead: str = ""
    """The complete replacement."""
    candidates: tuple[str, ...] = ()
    """The names that could have been meant."""
    is_own: bool = False
    """Whether a bare name is a field or an input of the file, which wins over those of included workflows."""


@struct(frozen=True, eq=False)
class Loop:
    """A loop around a place, with its variables."""

    names: Mapping[str, Meaning] = field(default_factory=dict)
    """The author's names of the item and the index."""
    iteration: Meaning | None = None
    """The number of the turn."""


@struct(frozen=True, eq=False)
class Place:
    """A place in a scope: the fields there, and the names that only this place has."""

    fields: Fields
    inputs: frozenset[str] = frozenset()
    is_task: bool = False
    step: str = ""
    loops: tuple[Loop, ...] = ()
    passed: Loop | None = None
    """The last loop before the place, which `loop` means outside of every loop."""
    result: Mapping[str, Meaning] = field(default_factory=dict)
    """Names of the step's own result."""
    has_keys: bool = False
    """Whether every other name may be a key of the result too."""
    local: frozenset[str] = frozenset()
    """Names that the core has here itself: `error`, `input`, `output`."""
    included: Mapping[str, str] = field(default_factory=dict)
    """The fields that hold the results of included workflows, in the order in which they run, with their names."""
    loop_fields: Mapping[str, str] = field(default_factory=dict)
    """In a transform: the fields that hold the values of `loop.item` and similar names."""

    @property
    def innermost(self) -> Loop | None:
        return self.loops[-1] if self.loops else None


def meaning(root: str, first: str | int | None, place: Place, is_member: bool) -> Meaning | None:
    """The meaning of a reference, by its root and the first part of its path; None if it stays unchanged."""
    if root in place.local:
        return None
    if root in ("raw", "state", "this", "computed", "global") and root not in place.result:
        return _of_tier(root, first, place, is_member)
    if root == "loop":
        return _of_loop(first, place)
    if root == "inputs":
        return None
    return _bare(root, place)


def _of_tier(root: str, first: str | int | None, place: Place, is_member: bool) -> Meaning:
    if not is_member or not isinstance(first, str):
        return Meaning("state", is_whole=True)
    found = place.fields.of(root, first)
    if found is not None:
        return Meaning(f"state.{found}", 1, (found,))
    if first in _LOOP_FIELDS and place.innermost:
        return _of_loop(_LOOP_FIELDS[first], place) or Meaning("null", 1)
    known = (*place.fields.computed, *(() if root == "computed" else place.fields.raw))
    if root == "computed":
        return Meaning("null", 1, problem=f"there is no computed field `{first}`", candidates=known)
    if root == "global":
        return Meaning(
            "null",
            1,
            problem=f"nothing writes `global.{first}`",
            candidates=tuple(place.fields.globals),
            is_mild=True,
        )
    if first in place.inputs:
        return Meaning(
            f"inputs.{first}",
            1,
            problem=f"old spelling: `{first}` is an input",
            code_of_finding="WF012",
            instead=f"inputs.{first}",
        )
    return Meaning(
        "undefined",
        1,
        problem=f"nothing declares or writes the field `{first}`",
        code_of_finding="WF304",
        candidates=known,
    )


def _of_loop(first: str | int | None, place: Place) -> Meaning | None:
    if isinstance(first, str) and first in place.loop_fields:
        found = place.loop_fields[first]
        return Meaning(f"state.{found}", 1, (found,)) if found else Meaning("null", 1)
    if first == "iteration":
        inside = next((one.iteration for one in reversed(place.loops) if one.iteration), None)
        if inside is not None:
            return replace(inside, parts=1)
        if place.passed and place.passed.iteration and not place.loops:
            # The count stays after the loop. It is better read inside.
            problem = "`loop.iteration` outside of a loop is the number of iterations of the previous loop"
            return replace(place.passed.iteration, parts=1, problem=problem, code_of_finding="WF205")
    for loop in reversed(place.loops):
        if isinstance(first, str) and first in loop.names:
            return replace(loop.names[first], parts=1)
    problem = (
        "`loop` has a meaning only inside of a loop" if not place.loops else f"this loop has no `{first}`"
    )
    return Meaning("null", 1, problem=problem, code_of_finding="WF205")


def _bare(root: str, place: Place) -> Meaning | None:
    if root in place.result:
        return place.result[root]
    behind = _behind_result(root, place)
    if not place.has_keys:
        return behind
    # A key of the result wins. Which keys it has is known only when it is there.
    kept = behind.code if behind and not behind.problem else root if _is_core_name(root, place) else ""
    if not kept:
        return Meaning(f"Object(result).{root}")
    fields = behind.fields if behind else ()
    return Meaning(f'("{root}" in Object(result) ? result.{root} : {kept})', fields=fields)


def _is_core_name(root: str, place: Place) -> bool:
    return place.is_task and root in GIVEN


def _behind_result(root: str, place: Place) -> Meaning | None:
    for loop in reversed(place.loops):
        if root in loop.names:
            return loop.names[root]
    if place.is_task:
        if root in place.inputs:
            return Meaning(f"inputs.{root}")
        if root in GIVEN:
            return None
    found = place.fields.computed.get(root) or place.fields.raw.get(root)
    if found is not None:
        return Meaning(f"state.{found}", fields=(found,), is_own=True)
    if root in place.inputs:
        return Meaning(f"inputs.{root}", is_own=True)
    if root in place.included:
        return Meaning(f"state.{root}", fields=(root,))
    if place.included:
        return _of_included(root, tuple(place.included))
    candidates = tuple(dict.fromkeys(_known(place)))
    return Meaning(root, problem=f"there is no `{root}` here", candidates=candidates)


def _of_included(root: str, included: tuple[str, ...]) -> Meaning:
    """A field of an included workflow: the last one that has it wins."""
    code = f"Object(state.{included[0]}).{root}"
    for name in included[1:]:
        code = f'("{root}" in Object(state.{name}) ? state.{name}.{root} : {code})'
    return Meaning(code, fields=included)


def _known(place: Place) -> Iterator[str]:
    yield from place.result
    for loop in reversed(place.loops):
        yield from loop.names
    if place.is_task:
        yield from GIVEN
    yield from place.fields.computed
    yield from place.fields.raw
    yield from place.inputs
