"""The Jinja2 environment that templates are written for.

Only its grammar is used: the parser reads a template, and `wfc_runtime.expr` evaluates the tree itself. No
Python is generated from a template and no Python object can be reached from one, so there is nothing to break
out to, and every operation can be metered. (Jinja's own sandbox lets memory bombs, slow comparisons and
mutation through.)
"""

from __future__ import annotations

from functools import cache
from typing import Any, NoReturn

from jinja2 import StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

REFUSED_STATEMENTS = frozenset(
    {
        "autoescape",
        "block",
        "call",
        "extends",
        "filter",
        "from",
        "import",
        "include",
        "macro",
        "print",
        "with",
    }
)
"""Statements that Jinja knows and this language does without: no loading, no recursion, no output tricks."""


class ExpressionEnvironment(ImmutableSandboxedEnvironment):
    """Reads templates. To evaluate them there is only `wfc_runtime.expr.evaluate`."""

    def compile(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("templates are evaluated by wfc_runtime.expr.evaluate, never compiled to Python")


@cache
def environment() -> ExpressionEnvironment:
    """The one environment, for checking and for running."""
    return ExpressionEnvironment(
        optimized=False,
        autoescape=False,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        loader=None,
        cache_size=0,
    )
