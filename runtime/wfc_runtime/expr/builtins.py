"""The filters, tests and functions that a template calls by name: their tables, how they are called, and
the functions and tests themselves. The filters are in `filters/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, TypeVar

from .errors import ExpressionError, nearest, shorten
from .operators import COMPARISONS, contains, equal
from .run import Run
from .values import Namespace, Undefined, Value, defined, is_number, kind_of

Call = Callable[..., Value]
_F = TypeVar("_F", bound=Call)


class Builtin(NamedTuple):
    """A filter, test or function, called with the run, the value (not for functions) and the arguments."""

    name: str
    call: Call
    doc: str
    """One line that begins with an example."""
    takes_undefined: bool = False


FILTERS: dict[str, Builtin] = {}
TESTS: dict[str, Builtin] = {}
FUNCTIONS: dict[str, Builtin] = {}


def define(table: dict[str, Builtin], *names: str, takes_undefined: bool = False) -> Callable[[_F], _F]:
    """Add a function to a table under all its names. The first line of its docstring is its documentation."""

    def enter(call: _F) -> _F:
        doc = (call.__doc__ or "").strip().partition("\n")[0]
        for name in names:
            table[name] = Builtin(name, call, doc, takes_undefined)
        return call

    return enter


# Calls, with clear messages where the arguments are wrong.

_NOTHING: dict[str, Value] = {}


def find_filter(name: str) -> Builtin:
    """The filter of this name."""
    return _find(FILTERS, "filter", name)


def find_test(name: str) -> Builtin:
    """The test of this name."""
    return _find(TESTS, "test", name)


def find_function(name: str) -> Builtin:
    """The function of this name."""
    return _find(FUNCTIONS, "function", name)


def _find(table: Mapping[str, Builtin], kind: str, name: str) -> Builtin:
    found = table.get(name)
    if found is None:
        close = nearest(name, table)
        hint = f": did you mean '{close}'?" if close else ""
        raise ExpressionError(f"there is no {kind} '{shorten(name)}'{hint}", "undefined")
    return found


def apply(
    run: Run, builtin: Builtin, value: Value, args: Sequence[Value], kwargs: Mapping[str, Value] = _NOTHING
) -> Value:
    """Call a filter or test on a value."""
    if not builtin.takes_undefined:
        check_defined(value, *args, *kwargs.values())
    return call_guarded(run, builtin.name, builtin.call, (run, value, *args), kwargs)


def call_function(run: Run, builtin: Builtin, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    """Call a function."""
    check_defined(*args, *kwargs.values())
    return call_guarded(run, builtin.name, builtin.call, (run, *args), kwargs)


def check_defined(*values: Value) -> None:
    for value in values:
        if isinstance(value, Undefined):
            defined(value)


def call_guarded(
    run: Run, name: str, call: Callable[..., Value], args: Sequence[Value], kwargs: Mapping[str, Value]
) -> Value:
    try:
        result = call(*args, **kwargs)
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        # Everything that Python's own functions raise for wrong arguments.
        raise ExpressionError(_explain(name, call, args, kwargs, error), "type") from None
    # Most builtins charge before they make something. This finds the rest.
    if isinstance(result, str):
        if len(result) > run.limits.text:
            run.make_text(len(result))
    elif isinstance(result, list):
        if len(result) > run.limits.items:
            run.make_list(len(result))
    elif isinstance(result, int):
        run.make_number(result)
    return result


def _explain(
    name: str,
    call: Callable[..., Value],
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
    error: Exception,
) -> str:
    import inspect  # only needed for a message

    signature = inspect.signature(call)
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        # The author of a template writes neither the run nor the value that a filter or method is applied to.
        # A filter may have the same name as a function.
        hidden = 1 if name in FUNCTIONS and FUNCTIONS[name].call is call else 2
        shown = list(signature.parameters.values())[hidden:]
        return f"wrong arguments: it is {name}({', '.join(map(_show, shown))})"
    return f"{name}: {str(error) or type(error).__name__}"


def _show(parameter: object) -> str:
    text = str(parameter)
    return text.partition(":")[0] + (f"={text.rpartition('= ')[2]}" if "= " in text else "")


# Functions.


@define(FUNCTIONS, "now")
def now(run: Run) -> datetime:
    """`now()`: the time of the event that drives the step; `now().isoformat()`, `now().date()`."""
    return run.now


@define(FUNCTIONS, "uuid")
def uuid(run: Run) -> str:
    """`uuid()`: a new id; a replay of the run gives the same one."""
    # Imported here: few templates need it.
    import hashlib

    run.uuids += 1
    digest = bytearray(
        hashlib.sha256(f"{run.uuid_seed}\0{run.uuids}".encode("utf-8", "surrogatepass")).digest()[:16]
    )
    # Version 4 and the RFC 9562 variant, so that the id passes a validator.
    digest[6] = digest[6] & 0x0F | 0x40
    digest[8] = digest[8] & 0x3F | 0x80
    text = digest.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@define(FUNCTIONS, "secret")
def secret(run: Run, name: Value) -> str:
    """`secret('TOKEN')`: stands for an environment variable that the step lists in `secrets`.

    Only a placeholder is stored and shown. It ends with a digest of the event that drives the step, which a value from
    outside can't know: a text that imitates a placeholder is not replaced.
    """
    import hashlib

    if not isinstance(name, str) or not name.isidentifier():
        raise ExpressionError(
            f"secret takes the name of an environment variable, not {kind_of(name)}", "type"
        )
    # The seed is not known outside the run, so the digest can't be guessed.
    digest = hashlib.sha256(f"{run.uuid_seed}\0secret\0{name}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"secret:{name}:{digest[:32]}"


@define(FUNCTIONS, "get")
def get(run: Run, value: Value, key: Value, default: Value = None) -> Value:
    """`get(x, 'name', '')`: a key of an object or an item of a list; the default if there is none."""
    if isinstance(value, dict):
        return value.get(key, default) if isinstance(key, str) else default
    if isinstance(value, list) and isinstance(key, int) and not isinstance(key, bool):
        return value[key] if -len(value) <= key < len(value) else default
    return default


@define(FUNCTIONS, "range")
def range_(run: Run, *bounds: Value) -> list[int]:
    """`range(stop)`, `range(start, stop, step)`: a list of whole numbers, without `stop`."""
    for bound in bounds:
        if not isinstance(bound, int):
            raise ExpressionError(f"range takes whole numbers, not {kind_of(bound)}", "type")
    if len(bounds) == 3 and bounds[2] == 0:
        raise ExpressionError("range can't go in steps of 0")
    numbers = range(*bounds)
    # Not len(numbers), which fails for a length above the largest machine integer.
    count = max(0, -((numbers.start - numbers.stop) // numbers.step))
    run.make_list(count, slots=1 + max(numbers.start.bit_length(), numbers.stop.bit_length()) // 64)
    return list(numbers)


@define(FUNCTIONS, "dict")
def dict_(run: Run, *args: Value, **fields: Value) -> dict[str, Value]:
    """`dict(a=1, b=2)`: an object; `dict(one, other, b=2)` has the keys of all, and the last value of each."""
    if not all(isinstance(arg, dict) for arg in args):
        raise ExpressionError("dict takes objects, then name=value", "type")
    run.make_list(len(fields) + sum(map(len, args)))
    made: dict[str, Value] = {}
    for arg in (*args, fields):
        made.update(arg)
    return made


@define(FUNCTIONS, "namespace")
def namespace(run: Run, *args: Value, **fields: Value) -> Namespace:
    """`namespace(total=0)`: fields that `{% set ns.total = ... %}` may change, also inside a loop."""
    return Namespace(dict_(run, *args, **fields))


# Tests, as in `x is defined` and `selectattr('status', 'equalto', 'pass')`.

_ITERABLE = (list, dict, str)


def _test(names: str, doc: str, call: Callable[..., bool]) -> None:
    call.__doc__ = doc
    define(TESTS, *names.split())(call)


@define(TESTS, "defined", takes_undefined=True)
def is_defined(run: Run, value: Value) -> bool:
    """`x is defined`: true if the name, field or item exists."""
    return not isinstance(value, Undefined)


@define(TESTS, "undefined", takes_undefined=True)
def is_undefined(run: Run, value: Value) -> bool:
    """`x is undefined`: true if the name, field or item does not exist."""
    return isinstance(value, Undefined)


@define(TESTS, "ok", takes_undefined=True)
def is_ok(run: Run, value: Value) -> bool:
    """`state.build is ok`: is there a result of the step, with exit code 0 if it has one, and no failed child?"""
    if value is None or isinstance(value, Undefined):
        return False
    if not isinstance(value, dict):
        raise ExpressionError(f"this test is for results of steps, not {kind_of(value)}", "type")
    if value.keys() == {"error"} or value.get("count_failed"):
        return False
    return bool(value.get("exit_code", 0) == 0)


def _integer(value: Value) -> int:
    if not isinstance(value, int):
        raise ExpressionError(f"this test is for whole numbers, not {kind_of(value)}", "type")
    return value


@define(TESTS, "divisibleby")
def is_divisible(run: Run, value: Value, by: Value) -> bool:
    """`x is divisibleby(3)`: true if the division leaves no remainder."""
    if _integer(by) == 0:
        raise ExpressionError("division by zero")
    return _integer(value) % _integer(by) == 0


def _known(table: dict[str, Builtin], name: Value) -> bool:
    return isinstance(name, str) and name in table


def _same(run: Run, value: Value, other: Value) -> bool:
    return type(value) is type(other) and equal(run, value, other)


def _compare(name: str) -> Callable[..., bool]:
    compare = COMPARISONS[name]
    return lambda run, value, other: bool(compare(run, value, other))


def _cased(holds: Callable[[str], bool]) -> Callable[..., bool]:
    def test(run: Run, value: Value) -> bool:
        if not isinstance(value, str):
            return False
        run.read(len(value))
        return holds(value)

    return test


_test("odd", "`x is odd`: true for an odd whole number.", lambda run, x: _integer(x) % 2 == 1)
_test("even", "`x is even`: true for an even whole number.", lambda run, x: _integer(x) % 2 == 0)
_test("none", "`x is none`: true for null.", lambda run, x: x is None)
_test("boolean", "`x is boolean`: true for true and false.", lambda run, x: isinstance(x, bool))
_test("true", "`x is true`: true for true only.", lambda run, x: x is True)
_test("false", "`x is false`: true for false only.", lambda run, x: x is False)
_test("integer", "`x is integer`: true for a whole number.", lambda run, x: type(x) is int)
_test("float", "`x is float`: true for a number with a decimal point.", lambda run, x: isinstance(x, float))
_test("number", "`x is number`: true for any number.", lambda run, x: is_number(x))
_test("string", "`x is string`: true for text.", lambda run, x: isinstance(x, str))
_test("mapping", "`x is mapping`: true for an object.", lambda run, x: isinstance(x, dict))
_test(
    "sequence",
    "`x is sequence`: true for a list, an object or text.",
    lambda run, x: isinstance(x, _ITERABLE),
)
_test(
    "iterable",
    "`x is iterable`: true if a loop can iterate over it.",
    lambda run, x: isinstance(x, _ITERABLE),
)
_test("lower", "`x is lower`: true for text in lower case.", _cased(str.islower))
_test("upper", "`x is upper`: true for text in upper case.", _cased(str.isupper))
_test("in", "`x is in(list)`: true for an item, a key or a substring.", lambda run, x, y: contains(run, y, x))
_test("callable", "`x is callable`: always false; a value is never a function.", lambda run, x: False)
_test("escaped", "`x is escaped`: always false; text is never marked as escaped.", lambda run, x: False)
_test("filter", "`'upper' is filter`: true for the name of a filter.", lambda run, x: _known(FILTERS, x))
_test("test", "`'odd' is test`: true for the name of a test.", lambda run, x: _known(TESTS, x))
_test("sameas", "`x is sameas(true)`: true for an equal value of the same type.", _same)

_test("eq equalto ==", "`x is equalto(y)`: the same as `x == y`.", _compare("eq"))
_test("ne !=", "`x is ne(y)`: the same as `x != y`.", _compare("ne"))
_test("gt greaterthan >", "`x is greaterthan(y)`: the same as `x > y`.", _compare("gt"))
_test("ge >=", "`x is ge(y)`: the same as `x >= y`.", _compare("gteq"))
_test("lt lessthan <", "`x is lessthan(y)`: the same as `x < y`.", _compare("lt"))
_test("le <=", "`x is le(y)`: the same as `x <= y`.", _compare("lteq"))
