"""Durable storage: one SQLite file with every run, its history and the modules that runs are pinned to."""

from wfc_runtime.store.database import DEFAULT_BUSY_SECONDS
from wfc_runtime.store.queries import Queries
from wfc_runtime.store.records import Changes, ClaimRow, ConflictError, GateRow, HistoryRow, ModuleRow, RunRow
from wfc_runtime.store.store import Store

__all__ = [
    "DEFAULT_BUSY_SECONDS",
    "Changes",
    "ClaimRow",
    "ConflictError",
    "GateRow",
    "HistoryRow",
    "ModuleRow",
    "Queries",
    "RunRow",
    "Store",
]
