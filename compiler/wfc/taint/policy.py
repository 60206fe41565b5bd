"""What makes a value harmless, which depends on where it ends up."""

from __future__ import annotations

from wfc.analysis.types.builtins import FILTERS
from wfc.language.types import BOOL, INT, NUMBER
from wfc.struct import struct
from wfc.taint.patterns import IN_PATH, IN_SHELL, Characters

NUMBERS = (INT, NUMBER, BOOL)
_ALWAYS = frozenset({"abs", "float", "hash", "int", "round", "sum"}) | {
    name for name, signature in FILTERS.items() if signature.gives in NUMBERS
}


@struct(frozen=True, eq=False)
class Policy:
    characters: Characters
    cleaning: frozenset[str]
    """Filters that give nothing harmful, whatever goes in."""


SHELL = Policy(IN_SHELL, _ALWAYS | {"shquote", "urlencode"})
"""For commands, and for texts of any other kind."""
PATH = Policy(IN_PATH, _ALWAYS)
"""For paths: quoting leaves `../` as it is, and a pattern may be fine for a shell that lets it through."""
