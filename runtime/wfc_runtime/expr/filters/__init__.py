"""The filters, by what they work on. Importing this package fills the tables in `registry`."""

from . import conversion, data, lists, markup, numbers, patterns, picks, text

__all__ = ["conversion", "data", "lists", "markup", "numbers", "patterns", "picks", "text"]
