"""Any program: the prompt on standard input, the answer on standard output."""

from __future__ import annotations

from collections.abc import Sequence

from wfc_runtime.agents.base import Adapter, Call, Outcome, answer, crash


class Command(Adapter):
    name = "command"
    program = ""
    env = ()
    takes_schema = False
    has_sessions = False
    names_sessions = False

    def unenforced(self, tools: tuple[str, ...]) -> str:
        # The operator's own program: its command determines its rights.
        return ""

    def fixed_tokens(self, tools: tuple[str, ...] | None) -> int:
        return 0

    def arguments(self, call: Call) -> list[str]:
        return []

    def progress(self, line: str) -> str | None:
        return line.strip()[:80] or None

    def outcome(self, call: Call, lines: Sequence[str], errors: str, code: int) -> Outcome:
        text = "\n".join(lines).strip()
        if code:
            return crash(errors, code, errors or text)
        return answer(call, text, {})

    def tool_name(self, tool: str) -> str:
        return tool
