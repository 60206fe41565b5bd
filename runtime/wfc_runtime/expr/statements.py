"""Compiles the statements of a template into functions that write its text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jinja2 import nodes

from .access import Loop
from .compile import Eval, build, build_filter
from .errors import ExpressionError
from .run import Frame
from .syntax import Syntax
from .values import Macro, Namespace, Undefined, Value, defined, items_of, text_of, truth

Write = Callable[[Frame, list[str]], None]
Bind = Callable[[Frame, Value], None]


def build_template(syntax: Syntax) -> Eval:
    """The function that computes a template: of a lone `{{ expression }}` the value, of anything else the text."""
    assert syntax.ast is not None
    if syntax.lone:
        return build(syntax.expression)
    write = build_all(syntax.ast.body)

    def render(frame: Frame) -> str:
        # Parts are joined at the end: adding to a text would copy it each time.
        out: list[str] = []
        write(frame, out)
        return "".join(out)

    return render


def build_all(body: Sequence[nodes.Node]) -> Write:
    """The function that writes a sequence of statements."""
    steps = [BUILDERS[type(node)](node) for node in body]
    if len(steps) == 1:
        return steps[0]

    def write(frame: Frame, out: list[str]) -> None:
        for step in steps:
            step(frame, out)

    return write


def _output(node: nodes.Output) -> Write:
    parts = [_data(part) if isinstance(part, nodes.TemplateData) else _hole(part) for part in node.nodes]

    def write(frame: Frame, out: list[str]) -> None:
        for part in parts:
            part(frame, out)

    return write


def _data(node: nodes.TemplateData) -> Write:
    text = node.data
    return lambda frame, out: frame.run.emit(out, text)


def _hole(node: nodes.Expr) -> Write:
    value = build(node)

    def write(frame: Frame, out: list[str]) -> None:
        try:
            frame.run.emit(out, text_of(frame.run, value(frame)))
        except ExpressionError as error:
            # The innermost expression that knows its place wins.
            if error.node is None:
                error.node = node
            raise

    return write


def _if(node: nodes.If) -> Write:
    branches = [(build(branch.test), build_all(branch.body)) for branch in (node, *node.elif_)]
    otherwise = build_all(node.else_)

    def write(frame: Frame, out: list[str]) -> None:
        for test, body in branches:
            if truth(test(frame)):
                return body(frame, out)
        return otherwise(frame, out)

    return write


def _for(node: nodes.For) -> Write:
    iterable, bind = build(node.iter), target_of(node.target)
    body, otherwise = build_all(node.body), build_all(node.else_)
    test = build(node.test) if node.test else None
    # Only loops can make a template run long: an iteration costs as much fuel as it has operations.
    cost = weigh(node)

    def turns(frame: Frame) -> list[Value]:
        run = frame.run
        try:
            items = items_of(run, iterable(frame))
        except ExpressionError as error:
            error.node = error.node or node.iter
            raise
        if test is None:
            return items
        kept = []
        for item in items:
            run.spend(cost)
            # The test sees the loop's variables and leaves no names behind.
            inner = frame.inner()
            bind(inner, item)
            if truth(test(inner)):
                kept.append(item)
        return kept

    def write(frame: Frame, out: list[str]) -> None:
        items = turns(frame)
        if not items:
            return otherwise(frame.inner(), out)
        loop = Loop(items)
        for index, item in enumerate(items):
            frame.run.spend(cost)
            loop.index0 = index
            inner = frame.inner()
            bind(inner, item)
            inner.names["loop"] = loop
            body(inner, out)
        return None

    return write


def weigh(node: nodes.Node) -> int:
    weight, todo = 0, [node]
    while todo:
        weight += 1
        todo.extend(todo.pop().iter_child_nodes())
    return weight


def _set(node: nodes.Assign) -> Write:
    value, bind = build(node.node), target_of(node.target)

    def write(frame: Frame, out: list[str]) -> None:
        bind(frame, value(frame))

    return write


def _set_block(node: nodes.AssignBlock) -> Write:
    body, bind = build_all(node.body), target_of(node.target)
    shape = shape_of(node.filter) if node.filter else None

    def write(frame: Frame, out: list[str]) -> None:
        # Names that are set inside the block stay inside it.
        text = frame.run.catch(lambda out: body(frame.inner(), out))
        bind(frame, shape(text)(frame) if shape else text)

    return write


def shape_of(node: nodes.Filter) -> Callable[[str], Eval]:
    """The filters of `{% set x | upper %}`, innermost first."""
    chain = [node]
    while isinstance(chain[-1].node, nodes.Filter):
        chain.append(chain[-1].node)

    def shape(text: str) -> Eval:
        operand: Eval = lambda frame: text  # noqa: E731  the loop gives it other values
        for part in reversed(chain):
            operand = build_filter(part, operand)
        return operand

    # The filters are looked up once now, so that an unknown filter is an error before anything runs.
    shape("")
    return shape


def target_of(node: nodes.Node) -> Bind:
    """The function that binds a value to a name, to several names, or to a field of a namespace."""
    if isinstance(node, nodes.Name):
        name = node.name
        return lambda frame, value: frame.names.__setitem__(name, value)
    if isinstance(node, nodes.NSRef):
        return _field(node)
    assert isinstance(node, nodes.Tuple)
    targets = [target_of(item) for item in node.items]

    def unpack(frame: Frame, value: Value) -> None:
        items = items_of(frame.run, value, "unpack")
        if len(items) != len(targets):
            message = f"can't unpack {len(items)} values into {len(targets)} names"
            raise ExpressionError(message, "type", node)
        for bind, item in zip(targets, items, strict=True):
            bind(frame, item)

    return unpack


def _field(node: nodes.NSRef) -> Bind:
    def bind(frame: Frame, value: Value) -> None:
        namespace = frame.names.get(node.name)
        if not isinstance(namespace, Namespace):
            message = f"only a field of a namespace can be set, and {node.name} is none"
            raise ExpressionError(message, "type", node)
        # A new field takes memory; changing one does not.
        if node.attr not in namespace.fields:
            frame.run.make_list(1)
        namespace.fields[node.attr] = defined(value)

    return bind


# Statements that only whole texts have: `with`, `filter`, `block` and `macro`.


def _with(node: nodes.With) -> Write:
    bound = [(target_of(name), build(value)) for name, value in zip(node.targets, node.values, strict=True)]
    body = build_all(node.body)

    def write(frame: Frame, out: list[str]) -> None:
        inner = frame.inner()
        for bind, value in bound:
            # Values are computed outside: a name of the same `with` is not visible yet.
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
    """A block is rendered where it is written: templates have no parents."""
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
    """The arguments of a call by the names of the macro's parameters."""
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
    """A parameter without an argument is undefined, which is an error only where it is used."""
    return lambda frame: Undefined(lambda: f"{name} was given no `{key}`", None, frame.run.lenient)


BUILDERS: dict[type[nodes.Node], Callable[[Any], Write]] = {
    nodes.Output: _output,
    nodes.If: _if,
    nodes.For: _for,
    nodes.Assign: _set,
    nodes.AssignBlock: _set_block,
    nodes.With: _with,
    nodes.FilterBlock: _filter,
    nodes.Block: _block,
    nodes.Macro: _macro,
}
