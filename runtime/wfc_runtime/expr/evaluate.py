"""Entry points: evaluate a template, a tree of templates, or a condition.

These functions raise nothing but ExpressionError, for any template and any values. The context is read, never changed,
and a result shares no list or object with it. A result is never evaluated as a template again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from . import filters  # noqa: F401  fills the table of filters
from .builtins import FUNCTIONS, define
from .errors import ExpressionError
from .run import DEFAULT_LIMITS, ExprLimits, Frame, Run
from .values import Value, is_template, plain, text_of, truth

if TYPE_CHECKING:
    from .syntax import Syntax

NO_NAMES: frozenset[str] = frozenset()
# Longer templates are rare and take little longer to run than to parse.
_CACHED_LENGTH = 4 * 1024


class _Program:
    """A template ready to run."""

    __slots__ = ("_compute", "syntax")

    def __init__(self, syntax: Syntax, compute: Callable[[Frame], Value]) -> None:
        self.syntax = syntax
        self._compute = compute

    def run(self, run: Run) -> Value:
        """Compute the value. Errors get their position."""
        run.begin(self.syntax)
        try:
            return self._compute(Frame(run, {}))
        except ExpressionError as error:
            # Only here are nodes turned into offsets: the tree belongs to the template, and not to the error.
            raise _placed(error, self.syntax) from None
        except RecursionError:
            raise _placed(ExpressionError("a value is nested too deeply", "limit"), self.syntax) from None
        except Exception as error:
            # A bug in a builtin must fail the step, and not the server.
            message = f"can't be evaluated: {type(error).__name__}: {error}"
            raise _placed(ExpressionError(message), self.syntax) from error


def _placed(error: ExpressionError, syntax: Syntax) -> ExpressionError:
    node = error.node
    return error.place(syntax.text, *(syntax.span(node) if node is not None else (0, len(syntax.text))))


def _compile(text: str, limits: ExprLimits) -> _Program:
    # Importing Jinja takes 40 ms. A process that loads a workflow does not wait for it until a template runs.
    from .statements import build_template
    from .syntax import parse

    syntax = parse(text, limits)
    if syntax.error is not None:
        error = ExpressionError(syntax.error.message, "syntax")
        raise error.place(text, syntax.error.start, syntax.error.end)
    try:
        return _Program(syntax, build_template(syntax))
    except ExpressionError as error:
        raise _placed(error, syntax) from None


def mistake_in(text: str, limits: ExprLimits) -> ExpressionError | None:
    """The error of a template that fails for all values: in its syntax, or an unknown filter, test or function."""
    try:
        # Compiling is enough: names of filters and functions are resolved there.
        _compile(text, limits) if is_template(text) else None
    except ExpressionError as error:
        return error
    return None


_compile_cached = lru_cache(maxsize=512)(_compile)


def _program(text: str, limits: ExprLimits) -> _Program:
    return _compile_cached(text, limits) if len(text) <= _CACHED_LENGTH else _compile(text, limits)


@lru_cache(maxsize=1024)
def is_lone(text: str) -> bool:
    """Whether it is a single `{{ expression }}`, so that evaluating it gives the value itself."""
    from .syntax import parse

    return parse(text).lone


def evaluate(
    text: str,
    context: Mapping[str, Value],
    *,
    now: datetime,
    uuid_seed: str,
    limits: ExprLimits = DEFAULT_LIMITS,
    hidden: frozenset[str] = NO_NAMES,
) -> Value:
    """The value of a template: of a lone `{{ expression }}` the value itself, of anything else a text.

    `context` holds plain JSON under names such as `state`, `inputs` and `item`. `now()` gives `now`; `uuid()`
    is made from `uuid_seed`. `hidden` names fields of the state that exist but that the step did not declare.
    """
    if not is_template(text):
        return text
    return _value(text, Run(context, now, uuid_seed, limits, hidden))


def _value(text: str, run: Run) -> Value:
    program = _program(text, run.limits)
    value = program.run(run)
    # A text with several parts is text already.
    if not program.syntax.lone:
        return value
    try:
        return plain(run, value, run.limits.value)
    except ExpressionError as error:
        raise _placed(error, program.syntax) from None


def render(
    text: str,
    context: Mapping[str, Value],
    *,
    now: datetime,
    uuid_seed: str,
    limits: ExprLimits = DEFAULT_LIMITS,
    strict: bool = True,
) -> str:
    """The text of a template, even of a single expression. Without `strict`, an undefined value is empty text."""
    if not is_template(text):
        return text
    # Nothing is hidden: there are no other variables.
    run = Run(context, now, uuid_seed, limits, NO_NAMES, lenient=not strict)
    program = _program(text, limits)
    try:
        return text_of(run, program.run(run))
    except ExpressionError as error:
        raise _placed(error, program.syntax) from None


@define(FUNCTIONS, "render")
def render_text(outer: Run, text: Value, variables: Value) -> str:
    """`render(text, {'name': x})`: a text rendered as a template that knows only these variables.

    It uses up the limits of the expression around it. Its ids and placeholders of secrets are not those of the
    expression: the template may come from outside.
    """
    if not isinstance(text, str) or not isinstance(variables, dict):
        raise ExpressionError("render takes a text and an object with the variables", "type")
    # Rendering counts as a call, so that templates can't render each other endlessly.
    if outer.calls >= outer.limits.calls:
        raise ExpressionError(f"templates render each other more than {outer.limits.calls} deep", "limit")
    outer.spend(len(text))
    run = outer.inside(variables, f"{outer.uuid_seed}/render{outer.uuids}")
    outer.uuids += 1
    program = _program(text, run.limits) if is_template(text) else None
    try:
        return text_of(run, program.run(run)) if program else text
    except ExpressionError as error:
        # Its position is one in the inner template, not in the expression.
        raise ExpressionError(f"render: {error}", error.reason) from None
    finally:
        # Also after an error: the work has been done.
        outer.fuel, outer.room = run.fuel, run.room


def evaluate_tree(
    value: Value,
    context: Mapping[str, Value],
    *,
    now: datetime,
    uuid_seed: str,
    limits: ExprLimits = DEFAULT_LIMITS,
    hidden: frozenset[str] = NO_NAMES,
) -> Value:
    """The tree with every text in it evaluated. The limits apply to the whole tree; keys are not evaluated."""
    run = Run(context, now, uuid_seed, limits, hidden)
    return map_texts(value, lambda text: _value(text, run) if is_template(text) else text, limits.depth)


def map_texts(
    value: Value, evaluate: Callable[[str], Value], depth: int, path: tuple[str | int, ...] = ()
) -> Value:
    """A tree with its texts evaluated, in any language of expressions. Keys are not evaluated."""
    if isinstance(value, str):
        try:
            return evaluate(value)
        except ExpressionError as error:
            # The innermost place knows the path.
            error.path = path
            raise
    if len(path) > depth:
        raise ExpressionError(f"nested too deeply: the limit is {depth} levels", "limit")
    if isinstance(value, dict):
        return {key: map_texts(item, evaluate, depth, (*path, key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [map_texts(item, evaluate, depth, (*path, index)) for index, item in enumerate(value)]
    return value


def evaluate_condition(
    text: Value,
    context: Mapping[str, Value],
    *,
    now: datetime,
    uuid_seed: str,
    limits: ExprLimits = DEFAULT_LIMITS,
    hidden: frozenset[str] = NO_NAMES,
) -> bool:
    """Whether the value of a template is true. Zero, null and empty values are false; any other text is true."""
    if not isinstance(text, str):
        return truth(text)
    return truth(evaluate(text, context, now=now, uuid_seed=uuid_seed, limits=limits, hidden=hidden))
