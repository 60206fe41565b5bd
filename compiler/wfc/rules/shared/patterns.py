"""The patterns of validation rules, tried out as the runtime does: in a time that can't explode."""

from __future__ import annotations

from datetime import UTC, datetime

from wfc.caching import cached
from wfc_runtime.expr import DEFAULT_LIMITS, ExpressionError
from wfc_runtime.expr.filters.patterns import regex_search
from wfc_runtime.expr.run import Run

_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)


@cached(64)
def pattern_error(pattern: str) -> str | None:
    """Why a pattern can't be used; None if it can."""
    try:
        _search(pattern, "")
    except ExpressionError as error:
        return error.message
    return None


def is_found(pattern: str, text: str) -> bool:
    """Whether a usable pattern occurs in the text. What takes too long to find out counts as found."""
    try:
        return _search(pattern, text)
    except ExpressionError:
        return True


def _search(pattern: str, text: str) -> bool:
    run = Run({}, _ANY_TIME, uuid_seed="", limits=DEFAULT_LIMITS, hidden=frozenset())
    return bool(regex_search(run, text, pattern))
