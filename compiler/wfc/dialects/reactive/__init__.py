"""Reactive state: steps that write raw fields, and computed fields that follow from them by JavaScript transforms.

A file is translated to a workflow of the steps language whose expressions are JavaScript. References are resolved here:
`raw.x`, `state.x`, `this.x`, `computed.x` and a bare `x` all become `state.x`, so that nothing after this package knows
how a field was written. `translate` combines the parts:

- `reading` reads the file into the shapes of `model` and `kinds`, in both spellings of the language.
- `imports` adds the tasks of other files.
- `names` resolves references, innermost scope first, and `texts` rewrites the expressions of a text.
- `updates` translates paths, operations and values of state updates.
- `computed` translates computed fields, `steps` one step type per function, `tasks` the tasks of sub-agents.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from wfc.caching import pattern
from wfc.config import Config
from wfc.dialects.base import Dialect, Surroundings
from wfc.yaml import Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from wfc.dialects.editing import OpenFile, StepUse, Suggestion
    from wfc.language.dialect import Parsed
    from wfc.language.shape import Shape

_MARKS = ("state_schema", "default_state", "sub_agent_tasks", "imports", "error_handling")
"""Keys of the top level that no other language has."""

_OF_LIBRARY = frozenset(("sub_agent_tasks", "imports", "name", "description", "version", "author", "tags"))
"""The keys of a file that has only tasks."""

_OWN_TYPES = frozenset(
    (
        "agent_prompt",
        "agent_response",
        "agent_shell_command",
        "apply_hints",
        "batch_state_update",
        "conditional",
        "exit",
        "include_workflow",
        "parallel_foreach",
        "shell_command",
        "state_update",
        "user_input",
        "user_message",
        "wait_step",
        "while_loop",
    )
)
"""Step types that no other language has."""


_SHARED_TYPES = frozenset(("break", "continue", "foreach", "mcp_call", "while"))
_OWN_SCOPE = pattern(r"\{\{\s*(?:this|global)\.[A-Za-z_]")
"""The beginning of an expression that no other language has."""


class ReactiveDialect(Dialect):
    """Its modules are imported on first use: most projects have no such file."""

    name = "reactive"
    has_companions = True

    def matches(self, root: Mapping) -> bool:
        if root.entry("steps") is None:
            inner = root.get("workflow")
            return isinstance(inner, Mapping) and inner.entry("steps") is not None
        steps = root.get("steps")
        if any(root.entry(key) is not None for key in _MARKS) or _has_own_type(steps):
            return True
        # The types of these steps are in other languages too, but their expressions are not.
        return _has_only(steps, _SHARED_TYPES) and bool(_OWN_SCOPE.search(root.span.text))

    def mark(self) -> dict[str, Any]:
        own = {"contains": {"properties": {"type": {"enum": sorted(_OWN_TYPES)}}, "required": ["type"]}}
        marked = [{"required": [key]} for key in ("workflow", *_MARKS)]
        return {"anyOf": [*marked, {"properties": {"steps": own}, "required": ["steps"]}]}

    def parse(self, root: Mapping) -> Parsed:
        from pathlib import Path

        return self.parse_among(root, Surroundings("", Config(Path(".")), {}))

    def parse_among(self, root: Mapping, around: Surroundings) -> Parsed:
        from wfc.dialects.reactive.translate import parse_reactive

        return parse_reactive(root, around)

    def is_library(self, root: Mapping) -> bool:
        keys = {entry.key.text for entry in root.entries}
        return "sub_agent_tasks" in keys and keys <= _OF_LIBRARY

    def schema(self) -> dict[str, Any]:
        from wfc.dialects.reactive.schema import reactive_schema

        return reactive_schema()

    def complete(self, file: OpenFile, text: str, offset: int) -> Iterable[Suggestion]:
        from wfc.dialects.reactive import editing

        return editing.complete(file, text, offset)

    def page(self, shape: Shape, kind: str) -> str:
        from wfc.dialects.reactive.kinds import KINDS, ReactiveStep, page_of

        return page_of(KINDS[kind]) if isinstance(shape, ReactiveStep) and kind in KINDS else ""

    def step_uses(self, parsed: Parsed, root: Node | None) -> Iterable[StepUse]:
        from wfc.dialects.reactive import editing

        return editing.step_uses(parsed)


def _has_own_type(node: Node | None) -> bool:
    """Whether a list of steps, or one inside of its steps, has a step of a type that only this language has."""
    if not isinstance(node, Sequence):
        return False
    for step in node.items:
        if isinstance(step, Mapping):
            kind = step.get("type")
            if isinstance(kind, Scalar) and kind.value in _OWN_TYPES:
                return True
            if any(_has_own_type(entry.value) for entry in step.entries):
                return True
    return False


def _has_only(node: Node | None, types: frozenset[str]) -> bool:
    """Whether all steps of a list are of these types."""
    steps = node.items if isinstance(node, Sequence) else []
    kinds = [step.get("type") if isinstance(step, Mapping) else None for step in steps]
    return bool(kinds) and all(isinstance(kind, Scalar) and kind.value in types for kind in kinds)
