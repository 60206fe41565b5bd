"""Statements of whole texts: `with`, `filter`, `block` and `macro`."""

from __future__ import annotations

from . import nodes
from .errors import ExpressionError
from .expressions import Eval, build
from .run import Frame
from .statements import BUILDERS, Write, build_all, shape_of, target_of, weigh
from .values import Macro, Undefined, Value, text_of


def _with(node: nodes.With) -> Write:
    bound = [(target_of(name), build(value)) for name, value in zip(node.targets, node.values, strict=True)]
    body = build_all(node.body)

    def write(frame: Frame, out: list[str]) -> None:
        inner = frame.inner()
        for bind, value in bound:
            bind(inner, value(frame))
        body(inner, out)

    return write


def _filter(node: nodes.FilterBlock) -> Write:
    body, shape = build_all(node.body), shape_of(node.filter)

    def write(frame: Frame, out: list[str]) -> None:
        text = frame.run.catch(lambda caught: body(frame.inner(), caught))
        frame.run.emit(out, text_of(frame.run, shape(text)(frame)))

    return write


def _block(node: nodes.Block) -> Write:
    """There are no parents, so that it stands where it is written."""
    body = build_all(node.body)
    return lambda frame, out: body(frame.inner(), out)


def _macro(node: nodes.Macro) -> Write:
    name, names = node.name, [argument.name for argument in node.args]
    unset = dict(zip(names[len(names) - len(node.defaults) :], map(build, node.defaults), strict=True))
    body, cost = build_all(node.body), weigh(node)

    def write(frame: Frame, out: list[str]) -> None:
        def call(args: list[Value], kwargs: dict[str, Value]) -> str:
            run = frame.run
            run.spend(cost)
            if run.calls >= run.limits.calls:
                raise ExpressionError(f"macros call each other more than {run.limits.calls} deep", "limit")
            inner = frame.inner()
            given = _given(name, names, args, kwargs)
            for key in names:
                inner.names[key] = given[key] if key in given else unset.get(key, _missing(name, key))(inner)
            run.calls += 1
            text = run.catch(lambda caught: body(inner, caught))
            run.calls -= 1
            return text

        frame.names[name] = Macro(call)

    return write


def _given(name: str, names: list[str], args: list[Value], kwargs: dict[str, Value]) -> dict[str, Value]:
    """The values of a call, each under the name that it has in the macro."""
    if len(args) > len(names):
        takes = f"{len(names)} value{'s' * (len(names) != 1)}"
        raise ExpressionError(f"{name} takes {takes}, not {len(args)}", "type")
    given = dict(zip(names, args, strict=False))
    for key, value in kwargs.items():
        if key in given or key not in names:
            message = f"{name} gets `{key}` twice" if key in given else f"{name} has no `{key}`"
            raise ExpressionError(message, "type")
        given[key] = value
    return given


def _missing(name: str, key: str) -> Eval:
    """What nobody gave to a macro: it may do without."""
    return lambda frame: Undefined(lambda: f"{name} was given no `{key}`", None, frame.run.lenient)


BUILDERS |= {nodes.With: _with, nodes.FilterBlock: _filter, nodes.Block: _block, nodes.Macro: _macro}
