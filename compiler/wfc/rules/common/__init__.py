"""Analyses, hints and edits that several rules share."""
