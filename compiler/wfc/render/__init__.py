"""Output forms of findings, one file each."""
