"""Common parts of all action kinds: parameters, the job with its grant, and execution errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any

from wfc_runtime.contract import Json

if TYPE_CHECKING:
    from wfc_runtime.execute.permissions import Grant


# Parameters, jobs and errors.

Result = dict[str, Json]
NESTING = 100
"""How deeply lists and objects may be nested in a result."""
_YES = ("true", "1", "yes", "on")
_NO = ("false", "0", "no", "off", "")


class ExecutionError(Exception):
    """The action could not be executed. A command that ran and failed is not such an error: its exit code is data."""

    def __init__(self, message: str, code: str = "execution", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint

    def record(self) -> Result:
        found: Result = {"code": self.code, "message": self.message}
        return {**found, "hint": self.hint} if self.hint else found


class Parameters:
    """An action's parameters. Null counts as absent; numbers and flags may be text, since templates produce text."""

    def __init__(self, values: Mapping[str, Json]) -> None:
        self._values = {name: value for name, value in values.items() if value is not None}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def value(self, name: str, *others: str) -> Json:
        """The parameter, under the first of its names that is present."""
        for one in (name, *others):
            if one in self._values:
                return self._values[one]
        raise ExecutionError(f"`{name}` is missing")

    def text(self, name: str, default: str | None = None) -> str:
        if name not in self._values and default is not None:
            return default
        value = self.value(name)
        if not isinstance(value, str):
            raise ExecutionError(f"`{name}` must be text, not {type(value).__name__}")
        return value

    def path(self, name: str) -> str:
        path = self.text(name)
        if not path.strip() or "\0" in path:
            raise ExecutionError(f"`{name}` must be a path, not {path[:80]!r}")
        return path

    def flag(self, name: str, default: bool) -> bool:
        value = self._values.get(name, default)
        if isinstance(value, bool):
            return value
        said = str(value).strip().lower()
        if said in _YES or said in _NO:
            return said in _YES
        raise ExecutionError(f"`{name}` must be true or false, not {value!r:.80}")

    def number(self, name: str, default: float) -> float:
        value = self._values.get(name, default)
        try:
            # `float(True)` would be 1.
            number = float(value) if not isinstance(value, bool) else -1.0
        except (TypeError, ValueError, OverflowError):
            number = -1.0
        if not 0 <= number < 1e9:
            raise ExecutionError(f"`{name}` must be a number of 0 or more, not {value!r:.80}")
        return number

    def mapping(self, name: str, *others: str) -> dict[str, Json]:
        """An object; empty if it is not present under any of its names."""
        if not any(one in self._values for one in (name, *others)):
            return {}
        value = self.value(name, *others)
        if not isinstance(value, dict):
            raise ExecutionError(f"`{name}` must be an object, not {type(value).__name__}")
        return value


@dataclass(frozen=True)
class Job:
    """One action to execute, with its grant."""

    parameters: Parameters
    grant: Grant
    run: str = "run"
    """The id of the root run; names the scratch folder."""
    stop: Event = field(default_factory=Event)
    """Set when the result is no longer needed: the run was cancelled, or the server is shutting down."""


@dataclass(frozen=True)
class Executor:
    """How one kind of action is executed."""

    kind: str
    work: Callable[[Job], Result]
    """Raises `ExecutionError`."""
    refusal: Callable[[Parameters, Grant], str]
    """Why a grant does not cover the action; empty if it does."""


def always(parameters: Parameters, grant: Grant) -> str:
    """The refusal of action kinds that have no effect outside the run: there is none."""
    return ""


def shortened(value: Any, most: int = 120) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= most else f"{text[: most - 3]}..."


# `echo`: returns its message. For trying out a workflow.

_LONGEST_ECHO = 60.0


def _echo(job: Job) -> Result:
    message = str(job.parameters.value("message"))
    # An event instead of `sleep`, so that a cancelled run does not wait.
    if job.stop.wait(min(job.parameters.number("delay_ms", 0) / 1000, _LONGEST_ECHO)):
        raise ExecutionError("the run ended before the delay was over", "interrupted")
    return {"echoed": f"Echo: {message}", "message": message, "success": True}


ECHO = Executor("echo", _echo, always)
