"""What several checks look at, say or mend in the same way."""
