"""Actions that can be done here and now, by the terminal's own machine."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from wfc.author.driver import Asked

if TYPE_CHECKING:
    from wfc.config import Config
    from wfc_runtime.execute import Grant


class Executor:
    """Does what the person has said yes to. Whether to ask is for others to decide."""

    def __init__(self, config: Config, store: Path) -> None:
        self._config = config
        self._store = store
        self._made: Grant | None = None
        self._tasks: dict[tuple[str, str], Task] = {}

    @property
    def _grant(self) -> Grant:
        if self._made is None:
            from wfc.cli.running.serving import terminal_grant

            # Commands get the person's whole environment, as if the person had typed them.
            self._made = replace(terminal_grant(self._config, self._store), env=tuple(os.environ))
        return self._made

    def can(self, asked: Asked) -> bool:
        from wfc_runtime.execute import can_execute

        return can_execute(asked.action, self._grant)

    def begin(self, asked: Asked) -> Task:
        """Begin with it, unless that has been done: what is pending at the same time runs at the same time."""
        key = (asked.run, asked.step_id)
        if key not in self._tasks:
            self._tasks[key] = Task(asked, self._grant)
        return self._tasks[key]

    def execute(self, asked: Asked) -> Any:
        """The result. Ctrl-C ends the command and all that it started before it is passed on."""
        task = self.begin(asked)
        try:
            result = task.wait()
        except KeyboardInterrupt:
            self.close()
            raise
        del self._tasks[(asked.run, asked.step_id)]
        return result

    def close(self) -> None:
        """End what is under way."""
        for task in self._tasks.values():
            task.stop()
        self._tasks.clear()


class Task:
    """One action under way."""

    def __init__(self, asked: Asked, grant: Grant) -> None:
        from wfc_runtime.execute import execute

        self._stop = Event()
        self._found: dict[str, Any] = {}
        self._thread = Thread(
            target=lambda: self._found.update(execute(asked.action, grant, asked.run, self._stop))
        )
        self._thread.start()

    def wait(self) -> dict[str, Any]:
        while self._thread.is_alive():
            # A join without a limit would not let Ctrl-C through on every platform.
            self._thread.join(0.5)
        return self._found

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
