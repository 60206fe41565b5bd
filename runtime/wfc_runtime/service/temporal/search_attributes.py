"""The search attributes of a run. The server indexes them, so they are never encrypted and contain no user content."""

from __future__ import annotations

from typing import Any

from temporalio.common import (
    SearchAttributeKey,
    SearchAttributePair,
    SearchAttributeUpdate,
    TypedSearchAttributes,
)

WORKFLOW = SearchAttributeKey.for_keyword("WfcWorkflow")
VERSION = SearchAttributeKey.for_keyword("WfcVersion")
STATUS = SearchAttributeKey.for_keyword("WfcStatus")
PENDING = SearchAttributeKey.for_keyword_list("WfcPending")
CHILD = SearchAttributeKey.for_bool("WfcChild")
NOTED = "noted"
"""The status of an execution that only adds to the journal of a run that has ended. Lists and counts leave it out."""
KEYS = (WORKFLOW, VERSION, STATUS, PENDING, CHILD)


def at_first(workflow: str, version: str, is_child: bool) -> TypedSearchAttributes:
    return TypedSearchAttributes(
        [
            SearchAttributePair(WORKFLOW, workflow),
            SearchAttributePair(VERSION, version),
            SearchAttributePair(CHILD, is_child),
        ]
    )


def of_note(workflow: str, version: str, is_child: bool) -> TypedSearchAttributes:
    """The attributes of an execution that only adds to the journal."""
    return at_first(workflow, version, is_child).updated(SearchAttributePair(STATUS, NOTED))


def of_moved(
    workflow: str, version: str, is_child: bool, status: str, pending: list[str]
) -> TypedSearchAttributes:
    """The attributes of a run that comes from elsewhere, in its state."""
    shown = [SearchAttributePair(STATUS, _shown(status, pending))]
    waiting = [SearchAttributePair(PENDING, pending)] if pending else []
    return at_first(workflow, version, is_child).updated(*shown, *waiting)


def since(status: str, pending: list[str]) -> list[SearchAttributeUpdate[Any]]:
    """Updates of the attributes that change from step to step."""
    return [STATUS.value_set(_shown(status, pending)), PENDING.value_set(pending)]


def _shown(status: str, pending: list[str]) -> str:
    return "pending_action" if status == "running" and pending else status
