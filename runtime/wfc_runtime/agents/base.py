"""The interface of agent programs: a call, its outcome, and the adapter between the two."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from wfc_runtime.contract import Json

Kind = Literal[
    "done",
    "misfit",
    "budget",
    "denied",
    "limit",
    "timeout",
    "crash",
    "login",
    "network",
    "quota",
    "missing",
    "gone",
    "stopped",
]
"""How a call ended. Only "done" has a value that may be the result. "budget" means that the budget is used up, "gone"
that the program does not know the session any more."""
OUTAGES = ("login", "network", "quota", "missing")
"""No agent is available. This is not a failure of the step, which waits."""
# The end of an error output has the cause; the whole of it would not fit into a reply.
_QUOTED = 600


@dataclass(frozen=True)
class Call:
    """One call of an agent program."""

    prompt: str
    schema: Json = None
    """The JSON Schema of the result. None: the result is text."""
    model: str | None = None
    agent: str | None = None
    """The name of an agent that the program itself knows."""
    tools: tuple[str, ...] | None = None
    """The tools that it gets, in wfc's words: read, edit, shell, shell(pattern), web, mcp:server. None: its own."""
    granted: tuple[str, ...] = ()
    """Those of them that it may use without asking."""
    session: str | None = None
    resumes: bool = False
    """Whether the session exists, and the prompt continues it."""
    usd: float | None = None
    """The most that it may spend."""
    spent: float = 0.0
    """The cost of the session before this call."""
    trusts_project: bool = False
    """Whether settings, hooks and servers of the project's folder apply."""


@dataclass(frozen=True)
class ToolCall:
    """A tool call of the agent. `result` is the tool's result; None if the output does not show it."""

    name: str
    parameters: Mapping[str, Json]
    result: Json = None
    is_error: bool = False


@dataclass(frozen=True)
class Outcome:
    kind: Kind
    value: Json = None
    """The result of a call that is done; otherwise the text that the agent returned, if any."""
    message: str = ""
    session: str | None = None
    model: str | None = None
    usd: float | None = None
    """The cost of the session so far, including earlier calls, if the program reports it."""
    tokens: int | None = None
    """The tokens of this call alone."""
    turns: int | None = None
    denied: tuple[str, ...] = ()
    """The tools that it wanted to use and was not allowed to."""
    tool_calls: tuple[ToolCall, ...] = ()
    resets_at: float | None = None
    """When a quota that is used up is available again."""


class Adapter(Protocol):
    """Knows one agent program."""

    name: str
    program: str
    """The program that is started if the operator's file does not name one."""
    env: tuple[str, ...]
    """Environment variables that it needs for its own account."""
    takes_schema: bool
    """Whether the program takes the schema as an argument. Otherwise the prompt contains it."""
    has_sessions: bool
    """Whether a later call can continue the conversation."""
    names_sessions: bool
    """Whether the program chooses the id of a session itself."""

    def unenforced(self, tools: tuple[str, ...]) -> str:
        """Why the program can't be limited to these tools; empty if it can."""

    def fixed_tokens(self, tools: tuple[str, ...] | None) -> int:
        """About how many tokens a call costs before any work; 0 if that is not known."""

    def arguments(self, call: Call) -> list[str]:
        """The arguments after the program. The prompt goes to standard input."""

    def progress(self, line: str) -> str | None:
        """A short description of its activity, from a line of its output."""

    def outcome(self, call: Call, lines: Sequence[str], errors: str, code: int) -> Outcome:
        """The outcome that its output proves. `code` is its exit code."""

    def tool_name(self, tool: str) -> str:
        """The name under which it knows the tool of an `mcp_call` step, or its tool for commands."""


def json_objects(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The lines that are JSON objects. The last one may be cut off, and programs print other things in between."""
    for line in lines:
        if line.startswith("{"):
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, dict):
                yield found


def crash(errors: str, code: int, said: str = "", **more: Any) -> Outcome:
    """The outcome of a program that failed, with the end of its output."""
    words = (said or errors).strip()[-_QUOTED:]
    return Outcome(
        "crash", message=f"the agent ended with exit code {code}{': ' if words else ''}{words}", **more
    )


# The exit codes of the programs do not distinguish outages from other failures, so their words have to.
_SIGNS: dict[Kind, re.Pattern[str]] = {
    "login": re.compile(r"not logged in|/login|api key|oauth token|authenticat|unauthorized|\b401\b", re.I),
    "quota": re.compile(r"(usage|rate|session|weekly) limit|quota|credit balance|\b429\b", re.I),
    "network": re.compile(
        r"connection|network|stream disconnected|ECONNREFUSED|ENOTFOUND|\b(503|529)\b", re.I
    ),
}


def outage_of(said: str) -> Kind | None:
    """The kind of outage that the words of a program mean, if any."""
    return next((kind for kind, sign in _SIGNS.items() if sign.search(said)), None)


_UNKNOWN = re.compile(
    r"not found|no (rollout|conversation|saved session)|unknown session|invalid session", re.I
)


_IN_USE = re.compile(r"\bsession\b.{0,80}\balready in use", re.I)


def is_unusable_session(call: Call, errors: str) -> bool:
    """Whether a program that ended without an event reports that it does not know the session, or that the id is
    taken."""
    if call.resumes and _UNKNOWN.search(errors):
        return True
    return call.session is not None and _IN_USE.search(errors) is not None


def answer(call: Call, text: str, about: dict[str, Any]) -> Outcome:
    """The outcome of a call that ended well, for a program that gets the schema in the prompt."""
    if not text.strip():
        return Outcome("misfit", "", "the agent returned nothing", **about)
    if call.schema is None:
        return Outcome("done", text.strip(), **about)
    found = last_json(text.strip())
    if found is NOTHING:
        return Outcome("misfit", text, "the agent returned text instead of JSON", **about)
    return Outcome("done", found, **about)


_FENCE = re.compile(r"^```[A-Za-z0-9]*[ \t]*\n(.*?)\n```[ \t]*$", re.M | re.S)
NOTHING = object()


def last_json(text: str) -> Json:
    """The JSON value that a text is or, if it is more than that, the one in its last fenced block."""
    # Only the last block: earlier ones may quote the schema or an example.
    fenced = _FENCE.findall(text)
    for candidate in (text, *fenced[-1:]):
        try:
            return json.loads(candidate, parse_constant=_refuse)
        except (ValueError, RecursionError):
            continue
    return NOTHING


def _refuse(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def shortened(value: Any) -> str:
    """Some words of a value on one line, for progress messages."""
    return " ".join(str(value or "").split())[:80]


def number(value: Any) -> float | None:
    """A finite number of 0 or more, as usage is counted; None for anything else."""
    # NaN, infinity and absurd values would make every later sum of costs useless.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e12:
        return None
    return value
