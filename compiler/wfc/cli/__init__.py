"""The command line: the only part of the compiler that touches the disk."""
