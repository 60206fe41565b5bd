"""The fields of a report: their names, other spellings of them, and how each is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from wfc_runtime.contract import Json

STATUSES = ("success", "partial", "failed")
FORM = """\
STATUS: success, partial or failed
SUMMARY: what was done, in one or two sentences
ACHIEVEMENTS:
- ...
LIMITATIONS:
- ...
DECISIONS:
- Question: ...
  Chosen: ...
  Reasoning: ...
ISSUES:
- Description: ...
  Requires_human: yes or no
FILES:
- path/of/a/file/that/was/changed"""
"""The form that a refusal shows, and that briefs may ask for. Only the first two fields are required."""

Reading = Literal["text", "status", "flag", "number", "percent", "texts", "names", "records", "evidence"]


@dataclass(frozen=True)
class Kind:
    """How a field is read. `names` are texts of which one line may list several."""

    reading: Reading
    fields: Mapping[str, Kind] = field(default_factory=dict)
    """Of records: their fields."""
    main: str = ""
    """Of records: the field that gets an entry which is only text."""
    empty: Mapping[str, Json] = field(default_factory=dict)
    """Of records: the values of fields that an entry lacks."""


_TEXT, _TEXTS, _NAMES = Kind("text"), Kind("texts"), Kind("names")
_NUMBER, _PERCENT = Kind("number"), Kind("percent")
_DECISION = {
    "question": _TEXT,
    "chosen": _TEXT,
    "reasoning": _TEXT,
    "category": _TEXT,
    "options_considered": _TEXTS,
    "trade_offs": _TEXT,
}
_ISSUE = {"description": _TEXT, "type": _TEXT, "requires_human": Kind("flag"), "resolution": _TEXT}
FIELDS: dict[str, Kind] = {
    "status": Kind("status"),
    "summary": _TEXT,
    "achievements": _TEXTS,
    "limitations": _TEXTS,
    "next_steps": _TEXTS,
    "decisions": Kind("records", _DECISION, "chosen", {"question": "", "chosen": "", "reasoning": ""}),
    "issues": Kind("records", _ISSUE, "description", {"description": "", "requires_human": False}),
    "milestones": Kind("records", {"message": _TEXT, "progress": _PERCENT}, "message", {"message": ""}),
    "progress": _PERCENT,
    "files": _NAMES,
    "evidence": Kind("evidence"),
    "tests_status": _TEXT,
    "packages_added": _NAMES,
    "commands_executed": _TEXTS,
    "tokens_input": _NUMBER,
    "tokens_output": _NUMBER,
}
SAID: dict[str, Kind] = {
    **FIELDS,
    "requires_human": Kind("flag"),
    "blockers": Kind("records", _ISSUE, "description", {"description": "", "requires_human": True}),
}
"""What a report can say: its fields, and two that become issues. A person who is needed must not be overlooked because
an agent says so in another place."""
_SPELLINGS = {
    "files_modified": "files",
    "files_changed": "files",
    "files_created": "files",
    "requires_human_review": "requires_human",
    "needs_human": "requires_human",
    "tests": "tests_status",
    "test_status": "tests_status",
    "packages": "packages_added",
    "commands": "commands_executed",
    "choice": "chosen",
    "decision": "chosen",
    "reason": "reasoning",
    "rationale": "reasoning",
    "options": "options_considered",
    "tradeoffs": "trade_offs",
    "issue": "description",
    "milestone": "message",
    "blocker": "blockers",
}
WRAPPERS = ("output", "report", "response", "result", "text", "content")
"""Keys under which agents and their clients put a whole report."""


def spelled(name: str, known: Mapping[str, Kind]) -> str | None:
    """The field that a key means: `RequiresHuman`, `requires-human` and `REQUIRES HUMAN` are the same."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip().strip("*`\"'")[:60])
    word = re.sub(r"[\s_-]+", "_", parts).lower()
    found = word if word in known else _SPELLINGS.get(word)
    return found if found in known else None


_ALONE = {
    "successful": "success",
    "succeeded": "success",
    "complete": "success",
    "completed": "success",
    "failure": "failed",
    "fail": "failed",
    "error": "failed",
    "blocked": "failed",
}
"""Words that mean a status only if nothing qualifies them: `completed with errors` is not a success."""
_FIRST = re.compile(r"\W*([A-Za-z]+)[_ -]?(success\b)?\W{0,3}(\w*)", re.ASCII | re.IGNORECASE)


def status_of(said: str) -> str | None:
    """The status that a text says; None if it says none, or several as a form does."""
    found = _FIRST.match(said[:200])
    if found is None or "|" in said[:80]:
        return None
    first, following = found[1].lower(), found[3].lower()
    if first in ("partial", "partially"):
        return "partial" if following not in ("or", *STATUSES) else None
    if first in STATUSES:
        return first if following not in ("or", "and", *STATUSES) else None
    return _ALONE.get(first) if not following else None
