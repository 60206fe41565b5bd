"""What values are, before anything runs: types through expressions, and of the state at every step."""
