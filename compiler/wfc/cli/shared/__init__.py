"""What several commands do in the same way."""
