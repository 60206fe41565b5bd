"""Expressions: Jinja2's language, sandboxed, bounded, and the same on every machine.

Checking needs `wfc_runtime.expr.syntax`, running needs `evaluate` and its kin. FILTERS,
TESTS, FUNCTIONS and METHODS say what a template can use by name.
"""

from .access import METHODS
from .builtins import FILTERS, FUNCTIONS, TESTS, Builtin
from .errors import ExpressionError, TemplateError
from .evaluate import evaluate, evaluate_condition, evaluate_tree, is_lone, mistake_in, render
from .run import DEFAULT_LIMITS, TEXT_LIMITS, ExprLimits
from .values import is_template

__all__ = [
    "DEFAULT_LIMITS",
    "FILTERS",
    "FUNCTIONS",
    "METHODS",
    "TESTS",
    "TEXT_LIMITS",
    "Builtin",
    "ExprLimits",
    "ExpressionError",
    "TemplateError",
    "evaluate",
    "evaluate_condition",
    "evaluate_tree",
    "is_lone",
    "is_template",
    "mistake_in",
    "render",
]
