"""What an expression sees: the types of the names that it may use, at the place where it is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from jinja2 import nodes

from wfc.core.types import ANY, Type

Path = tuple[str | int, ...]
"""A name and the way on from it: ("state", "build", "exit_code")."""


@dataclass(frozen=True, slots=True)
class Held:
    """A condition that has been looked at on the way, and how it came out."""

    node: nodes.Expr
    outcome: bool


def _nothing_known(field: str) -> Type:
    return ANY


@dataclass(frozen=True, slots=True)
class Environment:
    state: Callable[[str], Type] = _nothing_known
    """The type of a field at this place; undefined among it where nothing may have written it."""
    overall: Callable[[str], Type] = _nothing_known
    """The type of a field over the whole run."""
    inputs: Mapping[str, Type] = field(default_factory=dict)
    names: Mapping[str, Type] = field(default_factory=dict)
    """`item` and its kin, and the earlier keys of the same `updates`."""
    held: tuple[Held, ...] = ()
    """Conditions that hold here."""
    nonzero: frozenset[Path] = frozenset()
    """Numbers that are declared to be above or below zero."""
    nonempty: frozenset[Path] = frozenset()
    """Texts that are declared to have a character at least."""
