"""Taint analysis: which values are untrusted, property by property, and the path on which each got where it is."""
