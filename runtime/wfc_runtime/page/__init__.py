"""The live page: runs as they are, and forms for what they ask people."""
