"""The filters, by the type of value they work on. Importing this package fills the table FILTERS in `builtins`."""

from . import data, lists, patterns, reports, text

__all__ = ["data", "lists", "patterns", "reports", "text"]
