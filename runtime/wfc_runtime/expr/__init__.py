"""The expression language: Jinja2's syntax, evaluated in a sandbox within limits, equally on every machine.

The compiler parses templates with `wfc_runtime.expr.syntax`; the runtime calls `evaluate` and related functions.
FILTERS, TESTS, FUNCTIONS and METHODS list what a template can call.
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
