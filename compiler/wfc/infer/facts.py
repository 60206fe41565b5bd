"""What a test shows where it has come out true, and where false."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from wfc.core.types import Type
from wfc.infer.environment import Held, Path
from wfc.infer.terms import join
from wfc.structs import struct

_NOWHERE: Mapping[Path, Type] = MappingProxyType({})


@struct(frozen=True)
class Facts:
    """Narrower types of paths, and the conditions themselves, for what types can't say."""

    paths: Mapping[Path, Type] = _NOWHERE
    held: tuple[Held, ...] = ()

    def and_(self, other: Facts) -> Facts:
        if not self.paths and not self.held:
            return other
        if not other.paths and not other.held:
            return self
        return Facts({**self.paths, **other.paths}, self.held + other.held)

    def or_(self, other: Facts) -> Facts:
        """What holds whichever of the two does."""
        if not self.paths or not other.paths:
            return NO_FACTS
        both = {
            path: join(kind, other.paths[path]) for path, kind in self.paths.items() if path in other.paths
        }
        return Facts(both) if both else NO_FACTS


NO_FACTS = Facts()


@struct(frozen=True)
class Outcome:
    """What an expression is, and what its truth and its falsehood show."""

    type: Type
    true: Facts = NO_FACTS
    false: Facts = NO_FACTS
