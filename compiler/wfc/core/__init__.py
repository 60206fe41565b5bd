"""The core AST: what every dialect becomes, each part with its place in the file."""
