"""What of an event may be kept in the history: everything but secrets."""

from __future__ import annotations

from wfc_runtime.contract import Json
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.events import Outcome, Start, Submit
from wfc_runtime.machine.masking import HIDDEN, hide_inputs, mask_of
from wfc_runtime.machine.snapshot import Snapshot


class Cover:
    """Hides the secrets of a run: those that it had before an event, and those that came with it."""

    def __init__(self, machine: AnyMachine, before: Snapshot | None, outcome: Outcome) -> None:
        self._machine = machine
        self._before = before
        self._mask = mask_of(outcome.secrets)

    def value(self, value: Json) -> Json:
        """The very same object where nothing in it is hidden."""
        return self._mask.value(value)

    def inputs(self, event: Start) -> dict[str, Json]:
        return dict(self.value(hide_inputs(self._machine.inputs, event.inputs)))

    def field(self, name: str, value: Json) -> Json:
        return HIDDEN if name in self._machine.secrets else self.value(value)

    def result(self, event: Submit) -> Json:
        pending = self._before.pending.get(event.visit) if self._before else None
        writes = self._machine.steps[pending.state].writes if pending else None
        return HIDDEN if writes in self._machine.secrets else self.value(event.result)
