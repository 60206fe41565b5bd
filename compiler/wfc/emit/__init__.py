"""IR -> Python source, one module per workflow. Import the part you use: a check needs no more than the header."""
