"""The default engine: one SQLite file, any number of processes."""

from wfc_runtime.service.sqlite.engine import SqliteService

__all__ = ["SqliteService"]
