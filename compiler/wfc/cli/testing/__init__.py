"""Running workflow tests, and telling what came of them."""
