"""Replies and errors as tool results: one form of each, so that a model reads nothing twice."""

from __future__ import annotations

import json
import logging

from mcp_types import CallToolResult, TextContent

from wfc_runtime.errors import WfcError, without_words
from wfc_runtime.server.characters import sendable
from wfc_runtime.service import Reply

_STRUCTURED_SINCE = "2025-06-18"
_LONGEST_NAME = 100
_log = logging.getLogger(__name__)


def to_result(reply: Reply, protocol: str) -> CallToolResult:
    """Structured content alone; text alone for clients from before there was any."""
    if protocol >= _STRUCTURED_SINCE:
        return CallToolResult(content=[], structured_content=reply)
    return CallToolResult(content=[_text(json.dumps(reply, ensure_ascii=False, separators=(",", ":")))])


def to_error(tool: str, error: WfcError) -> CallToolResult:
    """What failed, why, and what to call next."""
    return _error(f"{tool[:_LONGEST_NAME]}: {error}")


def to_failure(tool: str, error: Exception) -> CallToolResult:
    """A mistake of ours: where it was goes to the log."""
    _log.error("%s failed: %s", tool[:_LONGEST_NAME], without_words(error))
    return _error(
        f"{tool[:_LONGEST_NAME]}: wfc itself failed ({type(error).__name__}); the server's log says where. Next: "
        "get_workflow_status(workflow_id=...) shows where a run is, list_runs() which are open."
    )


def _error(text: str) -> CallToolResult:
    return CallToolResult(content=[_text(sendable(text))], is_error=True)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)
