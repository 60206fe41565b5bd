"""Functions and options shared by several commands."""
