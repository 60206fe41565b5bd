"""Runs, as whoever drives them sees them: one interface, several engines."""

from wfc_runtime.service.interface import Archive, Reply, Service, actions_of

__all__ = ["Archive", "Reply", "Service", "actions_of"]
