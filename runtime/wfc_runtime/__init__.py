"""What generated modules and servers need at run time. Import the part you use; nothing heavy loads from here."""
