"""The second expression language: JavaScript, in a sandbox that reaches nothing but the values that it is given.

The extra `reactive` installs the engine. It is imported when the first expression is evaluated.
"""

from .engine import INSTALL
from .evaluate import RESERVED, as_text, evaluate, evaluate_condition, evaluate_tree
from .scanner import Hole, find_holes, has_holes, is_lone

__all__ = [
    "INSTALL",
    "RESERVED",
    "Hole",
    "as_text",
    "evaluate",
    "evaluate_condition",
    "evaluate_tree",
    "find_holes",
    "has_holes",
    "is_lone",
]
