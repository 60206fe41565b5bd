"""What an expression sees: the types of the names that it may use, at the place where it is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from wfc.core.types import ANY, Type
from wfc.structs import struct
from wfc.template import Template
from wfc_runtime.expr import nodes

Path = tuple[str | int, ...]
"""A name and the way on from it: ("state", "build", "exit_code")."""


@struct(frozen=True)
class Held:
    """A condition that has been looked at on the way, and how it came out."""

    node: nodes.Expr
    outcome: bool


class Given(Protocol):
    """The same for a condition that stands in another template."""

    @property
    def template(self) -> Template: ...
    @property
    def node(self) -> nodes.Expr: ...
    @property
    def outcome(self) -> bool: ...
    @property
    def narrows(self) -> bool: ...


def _nothing_known(field: str) -> Type:
    return ANY


@struct(frozen=True, slots=True)
class Surroundings:
    """What is the same all over a scope."""

    overall: Callable[[str], Type] = _nothing_known
    """The type of a state field over the whole run."""
    inputs: Mapping[str, Type] = field(default_factory=dict)
    nonzero: frozenset[Path] = frozenset()
    """Numbers that are declared to be above or below zero."""
    nonempty: frozenset[Path] = frozenset()
    """Texts that are declared to have a character at least."""


_NOWHERE = Surroundings()


@struct(slots=True)
class Environment:
    around: Surroundings = _NOWHERE
    state: Callable[[str], Type] = _nothing_known
    """The type of a field at this place; undefined among it where nothing may have written it."""
    names: Mapping[str, Type] = field(default_factory=dict)
    """`item` and its kin, and the earlier keys of the same `updates`."""
    given: Sequence[Given] = ()
    """Conditions that hold here."""

    def bare(self) -> Environment:
        """The same without the conditions."""
        return Environment(self.around, self.state, self.names)
