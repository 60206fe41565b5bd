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
    """One line, with an example of its use first."""
    takes_undefined: bool = False


FILTERS: dict[str, Builtin] = {}
TESTS: dict[str, Builtin] = {}
FUNCTIONS: dict[str, Builtin] = {}


def define(table: dict[str, Builtin], *names: str, takes_undefined: bool = False) -> Callable[[_F], _F]:
    """Enter a function in a table, under all its names. The first line of its docstring documents it."""

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
        raise ExpressionError(_explain(name, call, args, kwargs, error), "type") from None
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
    import inspect  # only ever needed for a message

    signature = inspect.signature(call)
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        # The run, and the value that a filter or method is applied to, are not the template's business.
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


# Tests, as in `x is defined` and `selectattr('status', 'equalto', 'pass')`.

_ITERABLE = (list, dict, str)


def _test(names: str, doc: str, call: Callable[..., bool]) -> None:
    call.__doc__ = doc
    define(TESTS, *names.split())(call)


@define(TESTS, "defined", takes_undefined=True)
def is_defined(run: Run, value: Value) -> bool:
    """`x is defined`: is there such a name, field or item?"""
    return not isinstance(value, Undefined)


@define(TESTS, "undefined", takes_undefined=True)
def is_undefined(run: Run, value: Value) -> bool:
    """`x is undefined`: is there no such name, field or item?"""
    return isinstance(value, Undefined)


@define(TESTS, "ok", takes_undefined=True)
def is_ok(run: Run, value: Value) -> bool:
    """`state.build is ok`: is there a result of the step, with exit code 0 if it has an exit code?"""
    if value is None or isinstance(value, Undefined):
        return False
    if not isinstance(value, dict):
        raise ExpressionError(f"this test is for results of steps, not {kind_of(value)}", "type")
    return bool(value.get("exit_code", 0) == 0)


def _integer(value: Value) -> int:
    if not isinstance(value, int):
        raise ExpressionError(f"this test is for whole numbers, not {kind_of(value)}", "type")
    return value


@define(TESTS, "divisibleby")
def is_divisible(run: Run, value: Value, by: Value) -> bool:
    """`x is divisibleby(3)`: no remainder?"""
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


_test("odd", "`x is odd`: a whole number that 2 does not divide?", lambda run, x: _integer(x) % 2 == 1)
_test("even", "`x is even`: a whole number that 2 divides?", lambda run, x: _integer(x) % 2 == 0)
_test("none", "`x is none`: null?", lambda run, x: x is None)
_test("boolean", "`x is boolean`: true or false?", lambda run, x: isinstance(x, bool))
_test("true", "`x is true`: exactly true?", lambda run, x: x is True)
_test("false", "`x is false`: exactly false?", lambda run, x: x is False)
_test("integer", "`x is integer`: a whole number?", lambda run, x: type(x) is int)
_test("float", "`x is float`: a number with a fraction?", lambda run, x: isinstance(x, float))
_test("number", "`x is number`: a number?", lambda run, x: is_number(x))
_test("string", "`x is string`: text?", lambda run, x: isinstance(x, str))
_test("mapping", "`x is mapping`: an object?", lambda run, x: isinstance(x, dict))
_test("sequence", "`x is sequence`: a list, an object or text?", lambda run, x: isinstance(x, _ITERABLE))
_test("iterable", "`x is iterable`: can a loop go over it?", lambda run, x: isinstance(x, _ITERABLE))
_test("lower", "`x is lower`: no capital letters?", _cased(str.islower))
_test("upper", "`x is upper`: only capital letters?", _cased(str.isupper))
_test("in", "`x is in(list)`: an item, a key, a part of the text?", lambda run, x, y: contains(run, y, x))
_test("callable", "`x is callable`: never, for a value is not a function.", lambda run, x: False)
_test("escaped", "`x is escaped`: never, for all text is plain.", lambda run, x: False)
_test("filter", "`'upper' is filter`: is there such a filter?", lambda run, x: _known(FILTERS, x))
_test("test", "`'odd' is test`: is there such a test?", lambda run, x: _known(TESTS, x))
_test("sameas", "`x is sameas(true)`: the same value, of the same kind?", _same)

_test("eq equalto ==", "`x is equalto(y)`: the same value?", _compare("eq"))
_test("ne !=", "`x is ne(y)`: another value?", _compare("ne"))
_test("gt greaterthan >", "`x is greaterthan(y)`: more?", _compare("gt"))
_test("ge >=", "`x is ge(y)`: as much or more?", _compare("gteq"))
_test("lt lessthan <", "`x is lessthan(y)`: less?", _compare("lt"))
_test("le <=", "`x is le(y)`: as much or less?", _compare("lteq"))
