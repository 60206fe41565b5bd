"""Where the tools work: the service and the workflows, opened when the first call needs them.

Loading them takes longer than all else of ours that stands between the start of the process and its first
answer, so nothing is imported before somebody asks.
"""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING

from wfc_runtime.server.options import Options

if TYPE_CHECKING:
    from wfc_runtime.registry import Registry
    from wfc_runtime.service import Service


class Desk:
    """One store and one folder of modules, shared by every call of the process."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._lock = RLock()
        self._registry: Registry | None = None
        self._service: Service | None = None

    @property
    def registry(self) -> Registry:
        """The compiled workflows, as the folder has them now."""
        with self._lock:
            if self._registry is None:
                from wfc_runtime.registry import Registry

                self._registry = Registry(self.options.generated)
            return self._registry

    @property
    def service(self) -> Service:
        """Raises `StoreError` where the store can't be opened; the next call tries again."""
        with self._lock:
            if self._service is None:
                from wfc_runtime.machine.limits import Limits
                from wfc_runtime.service.sqlite import SqliteService
                from wfc_runtime.store import Store

                limits = Limits.of(self.options.limits)
                self._service = SqliteService(Store(self.options.state), self.registry, limits)
            return self._service

    def close(self) -> None:
        with self._lock:
            if self._service is not None:
                self._service.close()
                self._service = None
