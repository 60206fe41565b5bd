"""Fixes in files: computed in memory until nothing more can be mended, then written, or shown as a diff."""

from __future__ import annotations

import codecs
import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from wfc.check import check_project
from wfc.cli.files import Selection, load_project, read_bytes
from wfc.cli.replacing import replace_file
from wfc.config import Config
from wfc.diagnostics import Diagnostic
from wfc.fixes import apply_fixes
from wfc.source import Source, YamlLimits, parse_document
from wfc.unit import Unit

_ROUNDS = 10
"""A fix may uncover another finding; each round settles at least one, and this many are plenty."""


@dataclass(frozen=True)
class FixedFile:
    path: Path
    before: str
    after: str
    mark: bytes
    """The byte order mark that the file begins with, if any."""

    def write(self) -> None:
        """All of it or, on a full disk, nothing. The file keeps its mode, owner and links."""
        try:
            replace_file(self.path, self.mark + self.after.encode())
        except OSError as error:
            raise click.ClickException(f"can't write `{self.path}`: {error.strerror}") from error

    def diff(self) -> Iterator[str]:
        before, after = _lines(self.before), _lines(self.after)
        for line in difflib.unified_diff(before, after, str(self.path), str(self.path)):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def fix_files(selection: Selection, *, unsafe: bool) -> tuple[list[FixedFile], int]:
    """The files that change when all is fixed that can be, and how many findings that settles."""
    marks = {path: mark for path in selection.files if (mark := _mark(path, selection.config)) is not None}
    units = load_project(selection)[1]
    before = {path: units[path].source.text for path in marks}
    after, settled = dict(before), 0
    for _ in range(_ROUNDS):
        number = _fix_once(selection, after, unsafe)
        settled += number
        if not number:
            break
    changed = [
        FixedFile(path, before[path], after[path], mark)
        for path, mark in marks.items()
        if after[path] != before[path]
    ]
    return changed, settled


def _mark(path: Path, config: Config) -> bytes | None:
    """What the text of a file is preceded by; None where the text would not give back the same bytes."""
    data = read_bytes(path, config)
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return mark if len(data) <= config.limits.source_bytes else None


def _fix_once(selection: Selection, texts: dict[Path, str], unsafe: bool) -> int:
    """Fix each text in place once. Returns how many findings that settles."""
    project, units = load_project(selection, texts)
    found: dict[Source, list[Diagnostic]] = {}
    for diagnostic in check_project(project):
        found.setdefault(diagnostic.span.source, []).append(diagnostic)
    settled = 0
    for path in texts:
        fixed, number = apply_fixes(texts[path], found.get(units[path].source, []), unsafe=unsafe)
        if fixed != texts[path] and _is_still_yaml(fixed, units[path]):
            texts[path] = fixed
            settled += number
    return settled


def _is_still_yaml(text: str, unit: Unit) -> bool:
    """A fix that breaks a file would be our mistake; the author's text is worth more than the fix."""
    limits = YamlLimits(unit.limits.yaml_depth, unit.limits.yaml_nodes)
    return len(parse_document(Source(unit.source.path, text), limits).problems) <= len(unit.problems)


def _lines(text: str) -> list[str]:
    """Lines as diff programs know them: YAML and Python end lines at more characters than a line feed."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
