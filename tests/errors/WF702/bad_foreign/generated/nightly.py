"""Written by a person."""
