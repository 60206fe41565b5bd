"""Runs, as whoever drives them sees them: one interface, several engines."""

from wfc_runtime.service.interface import Reply, Service

__all__ = ["Reply", "Service"]
