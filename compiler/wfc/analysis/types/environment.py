"""The environment of an expression (the types of the names it may use), and the problems that inference reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Protocol

from jinja2 import nodes

from wfc.language.types import ANY, Type
from wfc.struct import struct
from wfc.template import Template

Path = tuple[str | int, ...]
"""A name and the properties read from it: ("state", "build", "exit_code")."""


@struct(frozen=True)
class Held:
    """A condition that was evaluated before this point, and its outcome."""

    node: nodes.Expr
    outcome: bool


class Given(Protocol):
    """A condition of another template that holds at this point."""

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
    """The parts of an environment that are the same in the whole scope."""

    overall: Callable[[str], Type] = _nothing_known
    """The join of all types that a state field has during a run."""
    inputs: Mapping[str, Type] = field(default_factory=dict)
    nonzero: frozenset[Path] = frozenset()
    """Numbers that are declared to be greater or less than zero."""
    nonempty: frozenset[Path] = frozenset()
    """Texts that are declared to have at least one character."""


_NOWHERE = Surroundings()


@struct(slots=True)
class Environment:
    around: Surroundings = _NOWHERE
    state: Callable[[str], Type] = _nothing_known
    """The type of a state field at this point; it includes undefined if some path has not written the field."""
    names: Mapping[str, Type] = field(default_factory=dict)
    """`item`, `index` and `previous` in a task, and the earlier keys of the same `updates`."""
    given: Sequence[Given] = ()
    """Conditions that hold at this point."""

    def bare(self) -> Environment:
        """The environment without its conditions."""
        return Environment(self.around, self.state, self.names)


# Problems. Rules turn them into findings; each rule handles one kind.


class Kind(StrEnum):
    PROPERTY = "property"
    MISMATCH = "mismatch"
    NOT_A_LIST = "not a list"
    CONSTANT = "constant"
    DEAD_DEFAULT = "dead default"
    STRINGIFIED = "stringified"
    ZERO_DIVISION = "zero division"
    EMPTY_SPLIT = "empty split"
    NULLABLE = "nullable"
    OPTIONAL = "optional property"
    EMPTY = "possibly empty"
    UNCHECKED_PARSE = "unchecked parse"
    UNSET = "unset"
    LOOSE_EQUALITY = "loose equality"


@struct(frozen=True)
class Change:
    """A replacement for some characters of the template."""

    start: int
    end: int
    text: str


@struct(frozen=True)
class Problem:
    """One error in a template, between two offsets."""

    kind: Kind
    start: int
    end: int
    message: str
    help: str = ""
    field: str | None = None
    """The state field concerned: the rule may look up the path on which its value got here."""
    sure: bool = True
    """Whether every evaluation fails, not only those with certain values."""
    only_possible: bool = False
    """Whether there is no evidence that such values occur: reported as information."""
    path: Path | None = None
    """The path that is read."""
    changes: tuple[Change, ...] = ()
    fix: str = ""
    """The title of the fix that the changes make."""
    safe: bool = False
    held: tuple[Held, ...] = ()
    """The conditions of the template itself that hold at this point."""


# Helpers for expression trees.

STRIPPING = frozenset({"strip", "trim", "lstrip", "rstrip"})


def path_of(node: nodes.Expr) -> Path | None:
    names: list[str | int] = []
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        # Items by number and constant keys are part of a path; computed ones end it.
        value = node.attr if isinstance(node, nodes.Getattr) else getattr(node.arg, "value", None)
        if not isinstance(value, str | int):
            return None
        names.append(value)
        node = node.node
    return (node.name, *reversed(names)) if isinstance(node, nodes.Name) else None


TIGHT = (nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Call, nodes.Filter, nodes.Const)
"""Expressions that a filter or a condition behind them takes as a whole; others need brackets."""


def mentions(node: nodes.Node, wanted: nodes.Node) -> bool:
    """Whether an expression contains another one."""
    todo = [node]
    while todo:
        one = todo.pop()
        # By structure, not by identity: the same expression is written again in the condition.
        if one == wanted:
            return True
        todo += one.iter_child_nodes()
    return False


def stripped(node: nodes.Expr) -> nodes.Expr:
    """The operand of `trim` or `strip`, if the expression is one of these; otherwise the expression."""
    while True:
        if isinstance(node, nodes.Filter) and node.name in STRIPPING and node.node is not None:
            node = node.node
        elif (
            isinstance(node, nodes.Call)
            and isinstance(node.node, nodes.Getattr)
            and node.node.attr in STRIPPING
        ):
            node = node.node.node
        else:
            return node
