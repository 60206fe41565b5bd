"""The interface to runs for everything that drives them, with several engines behind it."""

from wfc_runtime.service.interface import Archive, Reply, Service, WholeRuns, actions_of

__all__ = ["Archive", "Reply", "Service", "WholeRuns", "actions_of"]
