"""The default engine: one SQLite file, shared by any number of processes."""

from wfc_runtime.service.sqlite.engine import SqliteService

__all__ = ["SqliteService"]
