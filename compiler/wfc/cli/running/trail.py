"""The path of a run so far, in the words of the workflow: which steps it has come through."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from wfc.cli.shared.service import events_of
from wfc_runtime.errors import WfcError

if TYPE_CHECKING:
    from wfc_runtime.service import Service


_WHEN = "_when"
_AFTER = {"recovered": "recovered", "deferred": "which fails the run at its end"}


class StepNames:
    """The steps' ids, as the YAML has them, of the states that a history names."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._names: dict[str, dict[str, str]] = {}

    def of(self, run: str, states: Iterable[str]) -> list[str]:
        """A step's work and its retries are states of their own; here they are one step. Its `when` is none: a step
        that is skipped has not been come through."""
        if run not in self._names:
            self._names[run] = self._read(run)
        known = self._names[run]
        names = [known.get(state, state) for state in states if not _is_guard(state, known)]
        return [name for index, name in enumerate(names) if index == 0 or names[index - 1] != name]

    def _read(self, run: str) -> dict[str, str]:
        try:
            machine = self._service.definition(run)[1]
        except WfcError:
            return {}
        return {state.id: str(state.name) for state in machine.states_map.values()}


def _is_guard(state: str, names: dict[str, str]) -> bool:
    """Whether a state only asks for a step's `when`: it has the name of the one that does the step's work."""
    work = state.removesuffix(_WHEN)
    return work != state and names.get(work) == names.get(state, "")


class Trail:
    """Follows the history of a family of runs."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._seen: dict[str, int] = {}
        self._names = StepNames(service)

    def news(self, run: str) -> list[str]:
        """The steps that a run has entered since it was last asked about, and failures that it has got over."""
        found: list[str] = []
        for event in events_of(self._service, run, self._seen.get(run, 0)):
            self._seen[run] = event["seq"]
            found += self._words(run, event)
        return found

    def _words(self, run: str, event: dict[str, Any]) -> list[str]:
        notes = [
            f"{note['step_id']} failed ({note['message']}), "
            + next((word for key, word in _AFTER.items() if key in note), "tried again")
            for note in event.get("notes", ())
        ]
        return notes + self._names.of(run, event.get("entered", ()))
