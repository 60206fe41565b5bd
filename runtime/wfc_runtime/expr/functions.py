"""The functions: `now()`, `uuid()`, `range()`, `dict()`, `namespace()`."""

from __future__ import annotations

from datetime import datetime

from .errors import ExpressionError
from .registry import FUNCTIONS, define
from .run import Run
from .values import Namespace, Value, kind_of


@define(FUNCTIONS, "now")
def now(run: Run) -> datetime:
    """`now()`: the time of the event that drives the step; `now().isoformat()`, `now().date()`."""
    return run.now


@define(FUNCTIONS, "uuid")
def uuid(run: Run) -> str:
    """`uuid()`: a new id, the same again when the run is replayed."""
    import hashlib

    run.uuids += 1
    digest = bytearray(
        hashlib.sha256(f"{run.uuid_seed}\0{run.uuids}".encode("utf-8", "surrogatepass")).digest()[:16]
    )
    # Version 4, RFC variant, so that whoever checks ids is content.
    digest[6] = digest[6] & 0x0F | 0x40
    digest[8] = digest[8] & 0x3F | 0x80
    text = digest.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@define(FUNCTIONS, "range")
def range_(run: Run, *bounds: Value) -> list[int]:
    """`range(stop)`, `range(start, stop, step)`: a list of whole numbers, `stop` left out."""
    for bound in bounds:
        if not isinstance(bound, int):
            raise ExpressionError(f"range takes whole numbers, not {kind_of(bound)}", "type")
    if len(bounds) == 3 and bounds[2] == 0:
        raise ExpressionError("range can't go in steps of 0")
    numbers = range(*bounds)
    # Not len(numbers), which fails beyond the machine's word.
    count = max(0, -((numbers.start - numbers.stop) // numbers.step))
    run.make_list(count, slots=1 + max(numbers.start.bit_length(), numbers.stop.bit_length()) // 64)
    return list(numbers)


@define(FUNCTIONS, "dict")
def dict_(run: Run, *args: Value, **fields: Value) -> dict[str, Value]:
    """`dict(a=1, b=2)`: an object; `dict(other, b=2)` is a copy with changes."""
    if len(args) > 1 or not all(isinstance(arg, dict) for arg in args):
        raise ExpressionError("dict takes at most one object, then name=value", "type")
    run.make_list(len(fields) + sum(map(len, args)))
    return {**(args[0] if args else {}), **fields}


@define(FUNCTIONS, "namespace")
def namespace(run: Run, *args: Value, **fields: Value) -> Namespace:
    """`namespace(total=0)`: fields that `{% set ns.total = ... %}` may change, also inside a loop."""
    return Namespace(dict_(run, *args, **fields))
