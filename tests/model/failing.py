"""What becomes of a run that fails: it starts over, or its own steps for that are done first."""

from __future__ import annotations

from math import inf
from typing import Any

from tests.model.changing import changed, path_of
from tests.model.flow import FailError, Flow, Stop, Thread, Wait
from tests.model.steps import Steps


class Failing(Steps):
    """A run that can fail."""

    main: Thread
    error: tuple[str, str] | None
    pending: dict[str, Wait]
    left: dict[str, Wait]
    stopped: tuple[Thread, Stop] | None
    limit: float = inf
    """When it fails because it has taken too long."""
    restarted: int = 0
    is_handling: bool = False
    """Whether it does the steps of `on_failure`."""

    def fill_state(self) -> None:
        raise NotImplementedError

    def begin(self, flow: Flow) -> None:
        raise NotImplementedError

    def _drop(self, wait: Wait) -> None:
        raise NotImplementedError

    def _end(self, status: str, result: Any = None, error: tuple[str, str] | None = None) -> None:
        raise NotImplementedError

    def fail(self, stop: Stop, thread: Thread) -> None:
        if self.is_handling:
            # The first error counts.
            self._end("failed", error=self.error)
            return
        self.error = (stop.code, stop.visit)
        place = self.scope.get("collect_errors")
        if place is not None:
            self._collect(path_of(place))
        if self.restarted < self.scope.get("restarts", 0):
            self._start_over(path_of(place)[0] if place is not None else None)
        elif "on_failure" in self.scope or self.scope.get("completes_on_failure"):
            self._leave_all()
            self.is_handling = True
            self.names = {**self.names, "error": self.family.record(self)}  # type: ignore[arg-type]
            self.begin(self.steps_of(self.scope.get("on_failure", [])))
        else:
            self.stopped, self.left = (thread, stop), dict(self.pending)
            self._end("failed", error=self.error)

    def finish(self) -> None:
        """Its steps are done, or those for its failure."""
        if self.is_handling and not self.scope.get("completes_on_failure"):
            self._end("failed", error=self.error)
        else:
            self._end("completed", result=self.state)

    def _collect(self, path: list[Any]) -> None:
        try:
            self.write(changed(self.state, [(path, "append", self.family.record(self))]))  # type: ignore[arg-type]
        except FailError:
            # The run fails all the same, with its own error.
            return

    def _start_over(self, kept: str | None) -> None:
        """Visits go on, all else is as in the beginning; but a field that was written stays, as null."""
        self.restarted += 1
        self._leave_all()
        self.error = self.deferred = None
        self.jumps.clear()
        errors = {kept: self.state[kept]} if kept in self.state else {}
        self.state = dict.fromkeys(self.state)
        self.fill_state()
        self.state |= errors
        self.begin(self.steps_of(self.scope["steps"]))

    def _leave_all(self) -> None:
        """Nothing that is pending matters any more, in no branch."""
        for wait in list(self.pending.values()):
            self._drop(wait)
        threads = [self.main]
        for thread in threads:
            threads += thread.branches
            thread.branches = []
