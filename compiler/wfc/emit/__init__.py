"""IR -> Python source, one module per workflow. Import the part that you use: a check needs only the header."""
