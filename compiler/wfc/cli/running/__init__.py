"""A run worked in the terminal: by the person in front of it, or by an answers file."""
