"""Python names for what the YAML calls things."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from wfc.language.steps.base import Step
from wfc.lazy import remembered
from wfc.lower.reserved import CLASS_NAMES, RESERVED

_NOT_NAME = re.compile(r"[^A-Za-z0-9_]")
_DONE = "done_state_"
"""So begins the name of the edge that leaves a parallel step."""


@remembered(4096)
def identifier(name: str) -> str:
    """A Python identifier for a step, task or workflow name."""
    made = _NOT_NAME.sub("_", name)
    if not made[:1].isalpha() or made.startswith(_DONE):
        made = f"step_{made}"
    if keyword.iskeyword(made) or keyword.issoftkeyword(made) or made in RESERVED:
        made = f"{made}_"
    return made


class Names:
    """The names of one chart's states: each step's own first, then those of its parts, none of them twice.

    Two steps whose names become the same are an error (WF110), but other checks look at the IR all the same.
    """

    def __init__(self, steps: Iterable[Step]) -> None:
        self._taken: set[str] = set(RESERVED)
        self._counts: dict[str, int] = {}
        self._steps = {step: self.free(identifier(step.name)) for step in steps}
        self._parts: dict[tuple[Step, str], str] = {}

    def of(self, step: Step) -> str:
        return self._steps[step]

    def part(self, step: Step, part: str) -> str:
        """The name of a state that is part of a step."""
        key = (step, part)
        if key not in self._parts:
            self._parts[key] = self.branch(step, part)
        return self._parts[key]

    def branch(self, step: Step, title: str) -> str:
        """The name of one of a step's branches, whose title the author chose."""
        return self.free(f"{self.of(step)}_{_NOT_NAME.sub('_', title)}")

    def free(self, name: str) -> str:
        """That name, or the next like it that nothing has yet."""
        made = name
        while made in self._taken:
            self._counts[name] = self._counts.get(name, 1) + 1
            made = f"{name}_{self._counts[name]}"
        self._taken.add(made)
        return made


def class_name(name: str) -> str:
    """A class name: words run together, each with a capital."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", name) if word]
    made = "".join(word[:1].upper() + word[1:] for word in words)
    if keyword.iskeyword(made):  # None, True, False
        return f"{made}_"
    return f"_{made}" if made[:1].isdigit() else made or "_"


def machine_name(name: str) -> str:
    """The class of a workflow's or task's machine."""
    made = class_name(name)
    return f"{made}Machine" if made in CLASS_NAMES else made


def module_name(workflow: str) -> str:
    made = _NOT_NAME.sub("_", workflow)
    return f"_{made}" if made[:1].isdigit() else f"{made}_" if keyword.iskeyword(made) else made
