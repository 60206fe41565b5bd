"""The language: the core AST that every dialect is translated to, its fields, types and step types."""
