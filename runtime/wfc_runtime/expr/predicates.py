"""The tests, as in `x is defined` and `selectattr('status', 'equalto', 'pass')`."""

from __future__ import annotations

from collections.abc import Callable

from .comparison import contains, equal
from .errors import ExpressionError
from .operators import COMPARISONS
from .registry import FILTERS, TESTS, Builtin, define
from .run import Run
from .values import Undefined, Value, is_number, kind_of

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
