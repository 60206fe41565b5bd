"""Entry points: evaluate a text with holes, a tree of such texts, or a condition. They mirror `wfc_runtime.expr`.

A lone hole has the value of its expression, and `undefined` is null. In a longer text a hole prints its value: text as
it is, numbers, booleans and null as JavaScript prints them, lists and objects as JSON; `undefined` is an error. A
condition has JavaScript's truth: `[]` and `{}` are true. These functions raise nothing but ExpressionError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from wfc_runtime.expr.errors import ExpressionError, TemplateError
from wfc_runtime.expr.evaluate import map_texts
from wfc_runtime.expr.run import DEFAULT_LIMITS, ExprLimits
from wfc_runtime.javascript.engine import (
    DEFAULT_ENGINE_LIMITS,
    MIB,
    EngineLimits,
    Job,
    Mode,
    execute,
    syntax_error,
)
from wfc_runtime.javascript.scanner import Hole, find_holes, has_holes, is_lone

Value = Any

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*\Z")
_WORDS = """
arguments await break case catch class const continue debugger default delete do else enum eval export extends false
finally for function if implements import in instanceof interface let new null package private protected public return
static super switch this throw true try typeof undefined var void while with yield
"""
RESERVED = frozenset(_WORDS.split())
"""Words that can't be the name of a variable."""


class _Evaluation:
    """The shared state of the texts of one call: the values of the scope, encoded when an expression first needs
    them."""

    def __init__(
        self,
        context: Mapping[str, Value],
        now: datetime,
        uuid_seed: str,
        limits: ExprLimits,
        hidden: frozenset[str],
    ) -> None:
        self._context = context
        self._at = now.timestamp() * 1000
        self._seed = uuid_seed
        self._count = 0
        self.limits = limits
        self._hidden = tuple(sorted(hidden)) if hidden and "state" in context else ()
        self._encoded: dict[str, str] = {}
        # A run with results of a server may have larger values than others.
        self._engine = DEFAULT_ENGINE_LIMITS if limits.value <= MIB else _larger(16 * limits.value)

    def run(self, text: str, hole: Hole, mode: Mode) -> Value:
        """The value of one expression. Errors get their position in the text."""
        source = text[hole.inner_start : hole.inner_end]
        try:
            if not source:
                raise ExpressionError("an expression is missing between the braces", "syntax").place("", 0, 0)
            names = _names_in(source, tuple(self._context))
            hidden = self._hidden if "state" in names else ()
            # Equal texts of one call have different ids.
            self._count += 1
            seed = f"{self._seed}/{self._count}"
            found = execute(
                Job(source, names, self._scope(names), mode, self._at, seed, hidden, self._engine)
            )
            return self._decoded(found, mode)
        except ExpressionError as error:
            start, end = (
                (error.start or 0, error.end or 0) if error.template is not None else (0, len(source))
            )
            raise error.place(text, hole.inner_start + start, hole.inner_start + end) from None

    def _scope(self, names: tuple[str, ...]) -> str:
        parts = []
        for name in names:
            encoded = self._encoded.get(name)
            if encoded is None:
                encoded = self._encoded[name] = f'"{name}":{_encode(self._context[name])}'
            parts.append(encoded)
        return "{" + ",".join(parts) + "}"

    def _decoded(self, found: str, mode: Mode) -> Value:
        most = self.limits.output if mode == "text" else self.limits.value
        if len(found) > most or (not found.isascii() and len(found.encode()) > most):
            what = "renders too much text" if mode == "text" else "makes too large a value"
            raise ExpressionError(f"{what}: the limit is {most:,} bytes", "limit")
        try:
            value = json.loads(found)
        except RecursionError:
            value = None
        if found.count("[") + found.count("{") > self.limits.depth and (
            value is None or _is_deeper(value, self.limits.depth)
        ):
            raise ExpressionError(f"nested too deeply: the limit is {self.limits.depth} levels", "limit")
        # The engine escapes halves of surrogate pairs, and nothing else in this range.
        if "\\ud" in found and _has_half(value):
            raise ExpressionError("half of a surrogate pair is not a character")
        return value


@lru_cache(maxsize=256)
def _identifiers(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if _IDENTIFIER.match(name) and name not in RESERVED)


@lru_cache(maxsize=1024)
def _names_in(source: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names that an expression may use, so that other values need not be encoded for it."""
    found = _identifiers(names)
    # `arguments` is the whole scope.
    return found if "arguments" in source else tuple(name for name in found if name in source)


@lru_cache(maxsize=8)
def _larger(memory: int) -> EngineLimits:
    return EngineLimits(memory=memory)


def _is_deeper(value: Value, most: int) -> bool:
    level = [value]
    for _ in range(most + 1):
        inner = [one.values() if type(one) is dict else one for one in level]
        level = [one for items in inner for one in items if type(one) is dict or type(one) is list]
        if not level:
            return False
    return True


def _has_half(value: Value) -> bool:
    try:
        _encode(value).encode()
    except UnicodeEncodeError:
        return True
    return False


def as_text(code: str) -> str:
    """A transformation without braces as a text: an expression, or the body of a function with `return`."""
    if has_holes(code) and syntax_error(code) is not None:
        return code
    body = f"(() => {{{code}\n}})()"
    is_body = syntax_error(code) is not None and "return" in code and syntax_error(body) is None
    return f"{{{{ {body if is_body else code}\n}}}}"


@lru_cache(maxsize=1024)
def _holes(text: str) -> tuple[list[Hole], bool]:
    try:
        holes = find_holes(text)
    except TemplateError as error:
        raise ExpressionError(error.message, "syntax").place(text, error.start, error.end) from None
    return holes, is_lone(text, holes)


def _value(text: str, evaluation: _Evaluation) -> Value:
    holes, lone = _holes(text)
    if lone:
        return evaluation.run(text, holes[0], "value")
    parts: list[str] = []
    size = after = 0
    for hole in holes:
        parts += text[after : hole.start], evaluation.run(text, hole, "text")
        after = hole.end
        size += len(parts[-1]) + len(parts[-2])
        if size > evaluation.limits.output:
            message = f"renders too much text: the limit is {evaluation.limits.output:,} bytes"
            raise ExpressionError(message, "limit").place(text, hole.start, hole.end)
    return "".join(parts) + text[after:]


def evaluate(
    text: str,
    context: Mapping[str, Value],
    *,
    now: datetime,
    uuid_seed: str,
    limits: ExprLimits = DEFAULT_LIMITS,
    hidden: frozenset[str] = frozenset(),
) -> Value:
    """The value of a text: of a lone hole the value itself, of anything else a text.

    An expression sees the names of `context` and the built-in objects. `now()` and `Date` give `now`; `uuid()` is made
    from `uuid_seed`. `hidden` names fields of `state` that exist but that the step did not declare.
    """
    return _value(text, _Evaluation(context, now, uuid_seed, limits, hidden)) if has_holes(text) else text


def evaluate_tree(
    value: Value,
    context: Mapping[str, Value],
    *,
    now: datetime,
    uuid_seed: str,
    limits: ExprLimits = DEFAULT_LIMITS,
    hidden: frozenset[str] = frozenset(),
) -> Value:
    """The tree with every text in it evaluated. Keys are not evaluated."""
    evaluation = _Evaluation(context, now, uuid_seed, limits, hidden)
    return map_texts(value, lambda text: _value(text, evaluation) if has_holes(text) else text, limits.depth)


def evaluate_condition(
    text: Value,
    context: Mapping[str, Value],
    *,
    now: datetime,
    uuid_seed: str,
    limits: ExprLimits = DEFAULT_LIMITS,
    hidden: frozenset[str] = frozenset(),
) -> bool:
    """Whether a condition is true: of a lone hole, whether JavaScript takes its value for true."""
    if not isinstance(text, str) or not has_holes(text):
        # A list or an object is true, even an empty one.
        return isinstance(text, (list, dict)) or bool(text)
    evaluation = _Evaluation(context, now, uuid_seed, limits, hidden)
    holes, lone = _holes(text)
    return bool(evaluation.run(text, holes[0], "truth") if lone else _value(text, evaluation))
