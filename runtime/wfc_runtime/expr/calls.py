"""Calling filters, tests, functions and methods, with clear messages when the arguments are wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .errors import ExpressionError, shorten
from .lookup import nearest
from .methods import METHODS
from .registry import FILTERS, FUNCTIONS, TESTS, Builtin
from .run import Run
from .values import Undefined, Value, defined, kind_of

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
        _check_defined(value, *args, *kwargs.values())
    return _guarded(run, builtin.name, builtin.call, (run, value, *args), kwargs)


def call_function(run: Run, builtin: Builtin, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    """Call a function."""
    _check_defined(*args, *kwargs.values())
    return _guarded(run, builtin.name, builtin.call, (run, *args), kwargs)


def call_method(
    run: Run, value: Value, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> Value:
    """Call a method, even of an object that has a key of that name: what a key holds can't be called."""
    _check_defined(value, *args, *kwargs.values())
    for kind, methods in METHODS.items():
        if isinstance(value, kind):
            if name in methods:
                return _guarded(run, name, methods[name], (run, value, *args), kwargs)
            close = nearest(name, methods)
            hint = f": did you mean '{close}'?" if close else ""
            raise ExpressionError(f"{kind_of(value)} has no method '{shorten(name)}'{hint}", "undefined")
    raise ExpressionError(f"{kind_of(value)} has no method '{shorten(name)}'", "undefined")


def _check_defined(*values: Value) -> None:
    for value in values:
        if isinstance(value, Undefined):
            defined(value)


def _guarded(
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
