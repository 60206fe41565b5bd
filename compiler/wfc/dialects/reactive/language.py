"""The words of the reactive language: severities, advice and names that differ from the core's."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from wfc.findings import Severity
from wfc.language.dialect import Language

_MILD = frozenset({"WF004", "WF009", "WF111", "WF207", "WF304", "WF501", "WF502", "WF507"})
"""Errors of the core that are warnings here. The tools of the language ignored keys that they did not know (WF004) and
settings that could not have an effect (WF009). An included workflow may be in a folder that only the server knows
(WF111). In JavaScript an operator accepts values of all types, and a name that the sandbox lacks fails one expression,
which may have a fallback (WF207, WF304, WF507). Existing files put values into commands without quotes (WF501, WF502);
`shquote(...)` quotes them."""

_SILENT = frozenset({"WF219", "WF301", "WF302", "WF303", "WF602"})
"""Rules that do not apply: the translation lists the state that each step reads (WF301, WF302, WF303), a hole is the
only notation (WF219), and `max_parallel` limits how many sub-agents run at the same time (WF602)."""

_QUOTED = "quote it: `{{ shquote(...) }}`"
_ADVICE = {
    "WF103": "run it with a parallel_foreach (`sub_agent_task`), or remove it",
    "WF108": "move what both need into a workflow that includes neither",
    "WF402": "add `max_iterations`",
    "WF501": _QUOTED,
    "WF502": "leave out the quotes, and write `{{ shquote(...) }}`",
    "WF503": "quote it, and write it behind `--`",
}
"""Help for findings that the core would have fixed with means that this language does not have."""

_KEYS = {
    "if": "condition",
    "with": "inputs",
    "task": "sub_agent_task",
    "steps": "body",
    "working_dir": "working_directory",
    "options": "choices",
    "changes": "state_update",
    "error_changes": "error_state_update",
    "result_schema": "response_schema",
    "derived": "computed",
}


class ReactiveLanguage(Language):
    # The tools of the language had no limit, and existing files are nested deeper than the core allows.
    deep_nesting = Severity.WARNING
    roots = MappingProxyType(
        {
            "raw": "the fields that steps write",
            "computed": "the fields that follow from others",
            "this": "both, a computed field first",
            "global": "the fields of the whole run, which sub-agents share",
            "inputs": "the inputs of the run",
            "loop": "the iteration of the innermost loop: `iteration`, `item`, `index`",
        }
    )
    on_failure = "`on_error` says what happens when a step fails, and `error_handling` does for the workflow."

    def __init__(self, fields: Mapping[str, str]) -> None:
        """`fields` has the author's name of each field that the core has under another one."""
        self._fields = fields

    def severity(self, code: str, default: Severity) -> Severity | None:
        if code in _SILENT:
            return None
        return Severity.WARNING if code in _MILD else default

    def advice(self, code: str, help: str) -> str:
        # A finding that explains itself has no help in any language.
        return _ADVICE.get(code, help) if help else ""

    def name_of(self, *path: object) -> str:
        match path:
            case ["state", field, *rest]:
                return super().name_of(self._fields.get(str(field), field), *rest)
        return super().name_of(*path)

    def key(self, name: str) -> str:
        return _KEYS.get(name, name)
