"""The command line. Only this package and `wfc.workspace` access the disk."""
