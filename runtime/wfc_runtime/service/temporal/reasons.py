"""Why a run is cancelled, and by whom, in the one text that Temporal has room for."""

from __future__ import annotations

import json


def cancel_reason(reason: str, actor: str | None, by_parent: bool = False) -> str:
    """A reason with who gave it, in the one text that Temporal has room for."""
    return json.dumps({"reason": reason, "actor": actor, "by_parent": by_parent})


def read_cancel_reason(text: str | None) -> tuple[str, str | None, bool]:
    """Also as it is typed into Temporal's own tools. From workflow to workflow, Temporal puts words before it."""
    try:
        data = json.loads((text or "").rpartition(" with reason: ")[2])
        return str(data["reason"]), data["actor"], bool(data["by_parent"])
    except (ValueError, TypeError, KeyError):
        return text or "", None, False
