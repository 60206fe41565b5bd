"""Definitions, references and renames."""

from __future__ import annotations

import os
from pathlib import Path

from wfc.language.fields import ID, NAME
from wfc.lsp.analysis import Analysis
from wfc.lsp.index import Symbol
from wfc.yaml import Scalar, Span

RENAMED = {"step": ID, "task": ID, "field": NAME, "input": NAME}
"""The kinds of symbols that can be renamed, and the field type that checks a new name."""


class RenameError(Exception):
    """Why a rename is refused."""


def definitions_at(analysis: Analysis, offset: int) -> list[tuple[Path, Span]]:
    """The definitions of the symbol at an offset. Each step that writes a state field defines it."""
    found = analysis.index.at(offset)
    if found is None:
        part = analysis.file.dialect.part_at(analysis.file.source, offset)
        owner = analysis.index.find("step", None, part.step) if part else None
        return [(analysis.path, span) for span in owner.definitions[:1]] if owner else []
    symbol, _ = found
    if symbol.kind == "workflow" and not symbol.definitions:
        files = analysis.file.project.named(symbol.name)
        named = [
            (file.source.path, file.workflow.name.span)
            for file in files
            if file.workflow and file.workflow.name
        ]
        return [(Path(os.path.abspath(path)), span) for path, span in named]
    return [(analysis.path, span) for span in symbol.definitions]


def references_at(analysis: Analysis, offset: int, with_definitions: bool) -> list[Span]:
    found = analysis.index.at(offset)
    if found is None:
        return []
    return found[0].places if with_definitions else found[0].references


def renamable_at(analysis: Analysis, offset: int) -> tuple[Symbol, Span] | None:
    """The symbol that would be renamed, and the span of its name. Only symbols that this file defines can be."""
    found = analysis.index.at(offset)
    if found is None or found[0].kind not in RENAMED or not found[0].definitions:
        return None
    symbol, (start, end) = found
    return symbol, Span(analysis.file.source, start, end)


def renamed(analysis: Analysis, offset: int, name: str) -> list[Span]:
    """The spans to replace with the new name. Raises `RenameError`."""
    found = renamable_at(analysis, offset)
    if found is None:
        raise RenameError("nothing here can be renamed")
    symbol, span = found
    word = analysis.file.language.step if symbol.kind == "step" else symbol.kind
    wrong = RENAMED[symbol.kind].mismatches(Scalar(span, name, name, ""))
    if wrong:
        raise RenameError(f"`{name}` is not a valid name for a {word}: {wrong[0].help or wrong[0].message}")
    taken = analysis.index.find(symbol.kind, symbol.scope, name)
    if taken is not None and taken is not symbol and taken.definitions:
        raise RenameError(f"there is a {word} `{name}` already")
    return symbol.places
