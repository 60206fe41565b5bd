"""Any program: the prompt on standard input, the answer on standard output."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from wfc_runtime.agents.base import Adapter, Call, Outcome, crash
from wfc_runtime.contract import Json

_FENCE = re.compile(r"^```[A-Za-z0-9]*[ \t]*\n(.*?)\n```[ \t]*$", re.M | re.S)
_NOTHING = object()


class Command(Adapter):
    name = "command"
    program = ""
    env = ()
    takes_schema = False
    has_sessions = False
    names_sessions = False

    def arguments(self, call: Call) -> list[str]:
        return []

    def progress(self, line: str) -> str | None:
        return line.strip()[:80] or None

    def outcome(self, call: Call, lines: Sequence[str], errors: str, code: int) -> Outcome:
        text = "\n".join(lines).strip()
        if code:
            return crash(errors, code, errors or text)
        if not text:
            return Outcome("misfit", "", "the agent returned nothing")
        if call.schema is None:
            return Outcome("done", text)
        found = last_json(text)
        if found is _NOTHING:
            return Outcome("misfit", text, "the agent returned text instead of JSON")
        return Outcome("done", found)

    def tool_name(self, tool: str) -> str:
        return tool


def last_json(text: str) -> Json:
    """The JSON value that a text is or, if it is more than that, the one in its last fenced block."""
    fenced = _FENCE.findall(text)
    for candidate in (text, *fenced[-1:]):
        try:
            return json.loads(candidate, parse_constant=_refuse)
        except (ValueError, RecursionError):
            continue
    return _NOTHING


def _refuse(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")
