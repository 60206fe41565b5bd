"""Run one JavaScript expression in a sandbox, within limits.

A context costs a millisecond, so that each thread keeps one, with its compiled functions. `prelude.js` freezes
everything in it: an expression can leave nothing behind for the next. Values cross the border as JSON text.

The engine's time limit counts the CPU time of the whole process, so other threads use it up as well. Therefore an
expression that reaches it is evaluated again in its own process, and only the verdict of that process counts. The
other limits are judged by a new context, without the garbage of earlier expressions.
"""

from __future__ import annotations

import json
import math
import re
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from wfc_runtime.expr.errors import ExpressionError, Reason

Mode = Literal["value", "text", "truth"]
"""The wanted form of an expression: its value, the value as text, or its truth value."""

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class EngineLimits:
    seconds: float = 5.0
    """CPU time of one expression."""
    memory: int = 64 * MIB
    stack: int = 512 * KIB
    source: int = 64 * KIB
    """Characters of one expression."""


DEFAULT_ENGINE_LIMITS = EngineLimits()
# An expression that takes longer in this process is continued in one of its own.
_SHARED_SECONDS = 1.0
# How much longer than its limit a process of its own may take, to say why the expression was stopped.
_SPARE_SECONDS = 2.0
_MOST_FUNCTIONS = 512
# The prelude begins at this line, so that its frames can be distinguished from those of an expression.
_PRELUDE_LINE = 100_000


class Job(NamedTuple):
    """One evaluation. Everything in it is plain, so that another process can do it."""

    source: str
    names: tuple[str, ...]
    """The names of the scope that the expression can use. All of them are JavaScript identifiers."""
    scope: str
    """The values of the scope, as JSON."""
    mode: Mode
    at: float
    """The time of the event, in milliseconds since 1970."""
    seed: str
    hidden: tuple[str, ...]
    """Names of fields of `state` whose reading fails."""
    limits: EngineLimits = DEFAULT_ENGINE_LIMITS


class LimitReachedError(Exception):
    """An expression was stopped. The message says why; a new context or a process of its own may disagree."""

    def __init__(self, message: str, is_time: bool, place: tuple[int, int] | None = None) -> None:
        super().__init__(message)
        self.is_time = is_time
        self.place = place


def execute(job: Job) -> str:
    """The result as JSON text. Raises ExpressionError, placed in the source of the job."""
    if len(job.source) > job.limits.source:
        message = f"an expression of {len(job.source):,} characters: the limit is {job.limits.source:,}"
        raise ExpressionError(message, "limit").place(job.source, 0, len(job.source))
    context = _context_of_thread()
    try:
        return context.run(job, min(job.limits.seconds, _SHARED_SECONDS))
    except LimitReachedError as error:
        _contexts.context = None
        if error.is_time:
            return _run_in_process(job, error)
    try:
        return Context().run(job, job.limits.seconds)
    except LimitReachedError as error:
        raise placed(job, str(error), "limit", error.place) from None


def syntax_error(source: str) -> ExpressionError | None:
    """The error of a source that can't be compiled, placed in it."""
    job = Job(source, (), "", "value", 0, "", ())
    context = _context_of_thread()
    try:
        context.compile(job)
    except LimitReachedError as error:
        _contexts.context = None
        return placed(job, str(error), "limit", error.place)
    except ExpressionError as error:
        return error
    return None


class _Contexts(threading.local):
    context: Context | None = None


_contexts = _Contexts()


def _context_of_thread() -> Context:
    context = _contexts.context
    if context is None:
        context = _contexts.context = Context()
    return context


# A context of the engine.


@cache
def _prelude() -> str:
    text = Path(__file__).with_name("prelude.js").read_text(encoding="utf-8")
    return "\n" * (_PRELUDE_LINE - 1) + text


class Context:
    """A sandbox. It is for one thread, and is thrown away when it has reached a limit."""

    def __init__(self) -> None:
        try:
            # The extension module of quickjs-ng. The package around it takes longer to import, for a pool of threads.
            import _quickjs as quickjs  # type: ignore[import-not-found]
        except ModuleNotFoundError:
            raise ExpressionError(f"JavaScript needs an extra: {INSTALL}") from None
        self._failure: type[Exception] = quickjs.JSException
        self._context = quickjs.Context()
        self._run: Any = self._context.eval(_prelude())
        self._functions: OrderedDict[tuple[str, tuple[str, ...]], Any] = OrderedDict()
        self._guards: dict[tuple[str, ...], Any] = {}
        self._limited: EngineLimits | None = None
        self._seconds = 0.0

    def run(self, job: Job, seconds: float) -> str:
        self._limit(job, seconds)
        try:
            function = self._function(job)
            found: Any = self._run(function, job.scope, job.mode, job.at, job.seed, *self._guard(job))
        except self._failure as error:
            raise self._stopped(job, str(error)) from None
        except UnicodeError:
            message = "half of a surrogate pair is not a character"
            raise placed(job, message, "value", None) from None
        if isinstance(found, str):
            return found
        thrown = json.loads(json.loads(found.json())["error"])
        raise self._thrown(job, thrown["name"], thrown["message"], thrown["stack"])

    def _limit(self, job: Job, seconds: float) -> None:
        if self._limited is job.limits and self._seconds == seconds:
            return
        self._limited, self._seconds = job.limits, seconds
        self._context.set_time_limit(seconds)
        self._context.set_memory_limit(job.limits.memory)
        self._context.set_max_stack_size(job.limits.stack)

    def compile(self, job: Job) -> None:
        """Check that the source is one expression."""
        self._limit(job, job.limits.seconds)
        try:
            self._function(job)
        except self._failure as error:
            raise self._stopped(job, str(error)) from None
        except UnicodeError:
            raise placed(job, "half of a surrogate pair is not a character", "syntax", None) from None

    def _function(self, job: Job) -> Any:
        key = (job.source, job.names)
        function = self._functions.get(key)
        if function is None:
            # Only one whole expression fits into brackets and into parentheses: `a) || (b` fails in the former, `a,` in
            # the latter.
            for opening, closing in ("[]", "()"):
                function = self._compile(job, opening, closing)
            if _ASYNCHRONOUS.search(job.source):
                # Pending jobs of asynchronous functions never run here; they would only accumulate in the context.
                _contexts.context = None
                return function
            self._functions[key] = function
            if len(self._functions) > _MOST_FUNCTIONS:
                self._functions.popitem(last=False)
        else:
            self._functions.move_to_end(key)
        return function

    def _compile(self, job: Job, opening: str, closing: str) -> Any:
        # The newline ends a comment at the end of the source.
        return self._context.eval(f"{_prefix(job.names)}{opening}{job.source}\n{closing}}})")

    def _guard(self, job: Job) -> tuple[Any, ...]:
        if not job.hidden:
            return ()
        guard = self._guards.get(job.hidden)
        if guard is None:
            if len(self._guards) > _MOST_FUNCTIONS:
                self._guards.clear()
            names = json.dumps(job.hidden)
            guard = self._guards[job.hidden] = self._run(None, names, "guard", 0, "")
        return (guard,)

    def _stopped(self, job: Job, text: str) -> Exception:
        """The error of something that the prelude could not catch: a limit, or a source that can't be compiled."""
        name, _, rest = text.partition(": ")
        message, _, stack = rest.partition("\n")
        return self._thrown(job, name, message, stack, is_compiled=False)

    def _thrown(self, job: Job, name: str, message: str, stack: str, is_compiled: bool = True) -> Exception:
        place = place_in(job, stack)
        if message == "interrupted":
            return LimitReachedError(
                f"takes more than {job.limits.seconds:g} seconds of CPU time", True, place
            )
        if "out of memory" in message:
            size = job.limits.memory // MIB
            return LimitReachedError(f"needs too much memory: the limit is {size} MiB", False, place)
        if "call stack" in message or "stack overflow" in message.lower():
            return LimitReachedError("functions call each other too deeply", False, place)
        if name == "HiddenField":
            shown = f"state.{message} exists, but the step does not declare it"
            return placed(job, shown, "hidden", place)
        if name == "SyntaxError" and not is_compiled:
            # The bracket behind the source is what the engine did not expect.
            is_over = place is not None and place[0] >= len(job.source)
            return placed(job, "the expression is not complete" if is_over else message, "syntax", place)
        return placed(job, message or name, _REASONS.get(name, "value"), place)


INSTALL = "pip install 'wfc-compiler[reactive]'"
_ASYNCHRONOUS = re.compile(r"\b(?:async|import)\b")
_REASONS: dict[str, Reason] = {"ReferenceError": "undefined", "TypeError": "type"}


def _prefix(names: Iterable[str]) -> str:
    return f'"use strict";(function({{{",".join(names)}}}){{return'


# Places: the engine counts lines and bytes of the text that it compiled.

_FRAME = re.compile(r"<input>:(\d+):(\d+)")
_SHOWN = re.compile(r"\??\.?[\w$]+(?:\??\.[\w$]+|(?:\?\.)?\[[^\[\]\n]*\])*|\S")
_CALLED = re.compile(r"[\w$.]*[\w$]\Z")


def place_in(job: Job, stack: str) -> tuple[int, int] | None:
    """The offsets in the source of the innermost frame of an error that is in it."""
    for line, column in _FRAME.findall(stack):
        if int(line) < _PRELUDE_LINE:
            start = _offset(job, int(line), int(column))
            shown = _SHOWN.match(job.source, start)
            end = shown.end() if shown else len(job.source)
            # The place of a call is its dot or its parenthesis.
            called = (
                _CALLED.search(job.source[:start]) if job.source[start : start + 1] in ("(", ".") else None
            )
            return called.start() if called else start, end
    return None


def _offset(job: Job, line: int, column: int) -> int:
    lines = job.source.split("\n")
    if line > len(lines):
        return len(job.source)
    taken = len(_prefix(job.names)) + 1 if line == 1 else 0
    before = lines[line - 1].encode("utf-8", "surrogatepass")[: max(0, column - 1 - taken)]
    return sum(len(one) + 1 for one in lines[: line - 1]) + len(before.decode("utf-8", "ignore"))


def placed(job: Job, message: str, reason: Reason, place: tuple[int, int] | None) -> ExpressionError:
    return ExpressionError(message, reason).place(job.source, *(place or (0, len(job.source))))


# The process that decides about time.


def _run_in_process(job: Job, first: LimitReachedError) -> str:
    """Evaluate in a new process. It is stopped by its own CPU time only, however busy the machine is."""
    import subprocess  # Nothing else here needs it.

    # -P: a module in the directory that the server was started in must not become its code.
    command = [sys.executable, "-P", "-c", f"from {__name__} import answer_job; answer_job()"]
    try:
        done = subprocess.run(
            command,
            input=json.dumps([*job[:-1], astuple(job.limits)]),
            capture_output=True,
            text=True,
            check=True,
        )
        answer = json.loads(done.stdout)
    except (OSError, subprocess.CalledProcessError, ValueError):
        # The process was killed, or there can't be one.
        raise placed(job, str(first), "limit", first.place) from None
    if "result" in answer:
        return str(answer["result"])
    raise ExpressionError(answer["message"], answer["reason"]).place(job.source, *answer["place"])


def answer_job() -> None:
    """Evaluate the job on standard input, and print its result: the whole work of such a process."""
    source, names, scope, mode, at, seed, hidden, limits = json.load(sys.stdin)
    job = Job(source, tuple(names), scope, mode, at, seed, tuple(hidden), EngineLimits(*limits))
    _stop_after(job.limits.seconds + _SPARE_SECONDS)
    try:
        answer: dict[str, object] = {"result": Context().run(job, job.limits.seconds)}
    except LimitReachedError as error:
        answer = _failure(placed(job, str(error), "limit", error.place))
    except ExpressionError as error:
        answer = _failure(error)
    json.dump(answer, sys.stdout)


def _stop_after(seconds: float) -> None:
    """Let the system end this process: the engine does not look at its time limit inside of its own functions."""
    try:
        import resource  # Not every system has it.
    except ImportError:
        return
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    limit = math.ceil(used + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))


def _failure(error: ExpressionError) -> dict[str, object]:
    return {"message": error.message, "reason": error.reason, "place": [error.start, error.end]}
