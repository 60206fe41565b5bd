"""Type inference: types of expressions, and of the state before each step. Nothing is evaluated."""
