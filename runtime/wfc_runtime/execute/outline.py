"""The outline of a text file: functions and classes of Python, headings of Markdown, with their lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_LONGEST_DOC = 80
_MOST_PYTHON = 1_000_000
"""The longest Python file that is parsed, in characters."""
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def outline(name: str, text: str, with_docs: bool) -> str:
    """The outline of a file, below a line with its name and length. Other kinds of files have that line only."""
    found = [f"--- {name} ({len(text.splitlines()):,} lines) ---"]
    if name.endswith((".py", ".pyi")) and len(text) <= _MOST_PYTHON:
        try:
            found += _of_python(ast.parse(text).body, with_docs)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            # Any file may end in .py, also one that the parser can't handle.
            found.append("  (not valid Python)")
    elif name.endswith((".md", ".markdown")):
        found += _of_markdown(text)
    return "\n".join(found)


def _of_markdown(text: str) -> Iterator[str]:
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        # A fence opens or closes a block; a line that begins with `#` inside it is not a heading.
        in_code ^= bool(_FENCE.match(line))
        heading = None if in_code else _HEADING.fullmatch(line)
        if heading:
            yield f"{'  ' * len(heading[1])}├── {heading[2].strip(' #')} [{number}]"


def _of_python(body: list[ast.stmt], with_docs: bool, depth: int = 0) -> Iterator[str]:
    above = "  " + "│   " * depth
    for node in body:
        if not isinstance(node, _Definition):
            continue
        lines = f"{node.lineno}-{node.end_lineno}" if node.end_lineno != node.lineno else f"{node.lineno}"
        yield f"{above}├── {_header(node)} [{lines}]"
        doc = (ast.get_docstring(node) or "").split("\n")[0][:_LONGEST_DOC]
        if with_docs and doc:
            yield f'{above}│   └── "{doc}..."'
        yield from _of_python(node.body, with_docs, depth + 1)


def _header(node: _Definition) -> str:
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(map(ast.unparse, (*node.bases, *node.keywords)))
        return f"class {node.name}({bases})" if bases else f"class {node.name}"
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{word} {node.name}({ast.unparse(node.args)}){returns}"
