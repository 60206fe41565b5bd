"""Actions that can be done here and now, by the terminal's own machine."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from wfc.driver import Asked

if TYPE_CHECKING:
    from wfc_runtime.execute import Grant


class Executor:
    """Does what the person has said yes to. Whether to ask is for others to decide."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._made: Grant | None = None

    @property
    def _grant(self) -> Grant:
        if self._made is None:
            from wfc_runtime.execute import Grant

            # As if the person had typed it: with their environment.
            self._made = replace(Grant.all_commands(self._root), env=tuple(os.environ))
        return self._made

    def can(self, asked: Asked) -> bool:
        from wfc_runtime.execute import can_execute

        return can_execute(asked.action, self._grant)

    def execute(self, asked: Asked) -> Any:
        """The result. Ctrl-C ends the command and all that it started before it is passed on."""
        from wfc_runtime.execute import execute

        stop, found = Event(), dict[str, Any]()
        grant = self._grant
        thread = Thread(target=lambda: found.update(execute(asked.action, grant, asked.run, stop)))
        thread.start()
        try:
            while thread.is_alive():
                # A join without a limit would not let Ctrl-C through on every platform.
                thread.join(0.5)
        except KeyboardInterrupt:
            stop.set()
            thread.join()
            raise
        return found
