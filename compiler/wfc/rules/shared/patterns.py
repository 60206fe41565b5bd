"""The patterns of validation rules, tried out as the runtime does: in a time that can't explode."""

from __future__ import annotations

from datetime import UTC, datetime

from wfc.lazy import remembered

_SEARCH = "{{ inputs.text | regex_search(inputs.pattern) | length > 0 }}"


@remembered(64)
def pattern_error(pattern: str) -> str | None:
    """Why a pattern can't be used; None if it can."""
    from wfc_runtime.expr import ExpressionError

    try:
        _search(pattern, "")
    except ExpressionError as error:
        return error.message
    return None


def is_found(pattern: str, text: str) -> bool:
    """Whether a usable pattern occurs in the text. What takes too long to find out counts as found."""
    from wfc_runtime.expr import ExpressionError

    try:
        return _search(pattern, text)
    except ExpressionError:
        return True


def _search(pattern: str, text: str) -> bool:
    from wfc_runtime.expr import evaluate

    context = {"inputs": {"pattern": pattern, "text": text}}
    return bool(evaluate(_SEARCH, context, now=datetime(2000, 1, 1, tzinfo=UTC), uuid_seed=""))
