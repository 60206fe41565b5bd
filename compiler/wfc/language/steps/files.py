"""Files that two steps write, where nothing says which of them comes first."""

from __future__ import annotations

from posixpath import normpath

from wfc.language.steps.base import Step
from wfc.language.steps.merge_json_state import MergeJsonState
from wfc.language.values import Text
from wfc.template.parse import exclude_each_other

Written = tuple[str, Step, Text]
"""A file under its plain name, the step that writes it, and where that is said."""


def written_by(step: Step) -> list[Written]:
    # What is only known in a run stays as it is.
    return [(path.data if "{{" in path.data else normpath(path.data), step, path) for path in step.files()]


def may_clash(one: Step, other: Step) -> bool:
    """Whether it matters which of two that write one file comes first: both may run, and they change the same in it."""
    if one.when and other.when and exclude_each_other(one.when.template, other.when.template):
        return False
    if isinstance(one, MergeJsonState) and isinstance(other, MergeJsonState):
        # One at a time, and each leaves alone what it does not name.
        return not (one.updates or {}).keys().isdisjoint(other.updates or {})
    return True
