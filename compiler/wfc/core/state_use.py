"""What a template reads of the state."""

from __future__ import annotations

from wfc.lazy import remembered
from wfc.structs import struct
from wfc.template import Read, Template


@struct(frozen=True)
class StateUse:
    fields: dict[str, list[Read]]
    """The fields it names, each with every place that does."""
    whole: bool
    """Whether it looks at the state as a whole, as `state | tojson` and `state[name]` do."""


@remembered(4096)
def state_use(template: Template) -> StateUse:
    fields: dict[str, list[Read]] = {}
    whole = False
    for read in template.reads:
        if read.root != "state":
            continue
        first = read.path[0] if read.path else None
        if first is not None and isinstance(first.name, str) and not first.called:
            fields.setdefault(first.name, []).append(read)
        else:
            whole = True
    return StateUse(fields, whole)
