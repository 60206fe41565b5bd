"""Conflicts between steps that write the same file in no defined order."""

from __future__ import annotations

from posixpath import normpath

from wfc.language.steps.base import Step
from wfc.language.steps.merge_json_state import MergeJsonState
from wfc.language.values import Text
from wfc.template.parse import exclude_each_other

Written = tuple[str, Step, Text]
"""The normalized path of a file, the step that writes it, and the text that names it."""


def written_by(step: Step) -> list[Written]:
    # A path that is only known at run time stays as it is written.
    return [(path.data if "{{" in path.data else normpath(path.data), step, path) for path in step.files()]


def may_clash(one: Step, other: Step) -> bool:
    """Whether the order of two writers of one file matters: both may run, and they write the same part of it."""
    if one.when and other.when and exclude_each_other(one.when.template, other.when.template):
        return False
    if isinstance(one, MergeJsonState) and isinstance(other, MergeJsonState):
        # Merges are atomic, and each keeps the keys that it does not name.
        return not (one.updates or {}).keys().isdisjoint(other.updates or {})
    return True
