"""What a template can use by name. The modules that define filters, tests and functions fill the tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from .values import Value

Call = Callable[..., Value]
_F = TypeVar("_F", bound=Call)


class Builtin(NamedTuple):
    """A filter, test or function, called with the run, the value (not for functions) and the arguments."""

    name: str
    call: Call
    doc: str
    """One line, with an example of its use first."""
    takes_undefined: bool = False


FILTERS: dict[str, Builtin] = {}
TESTS: dict[str, Builtin] = {}
FUNCTIONS: dict[str, Builtin] = {}


def define(table: dict[str, Builtin], *names: str, takes_undefined: bool = False) -> Callable[[_F], _F]:
    """Enter a function in a table, under all its names. The first line of its docstring documents it."""

    def enter(call: _F) -> _F:
        doc = (call.__doc__ or "").strip().partition("\n")[0]
        for name in names:
            table[name] = Builtin(name, call, doc, takes_undefined)
        return call

    return enter
