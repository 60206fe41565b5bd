"""`wfc check --fix` and `--diff`: fixes are computed in memory until nothing is left to fix, then written or shown."""

from __future__ import annotations

import codecs
import difflib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from wfc.checker import check_project
from wfc.config import Config
from wfc.findings import Diagnostic, Redaction, one_line
from wfc.fixes import Checked, Fixed, fix_texts
from wfc.render.style import counted
from wfc.workspace.files import Selection, read_bytes, replace_file, writing
from wfc.workspace.loading import load_project
from wfc.yaml import Source


def show_fixes(
    selection: Selection, unsafe: bool, quiet: bool, texts: Mapping[Path, bytes] | None = None
) -> int:
    """Print what would change. Returns 1 if there is anything to fix."""
    changed, fixed = fix_files(selection, texts, unsafe=unsafe)
    for file in changed:
        sys.stdout.writelines(file.diff())
    # A second pass, only to tell how much more could be fixed.
    more = 0 if unsafe or quiet else fix_files(selection, texts, unsafe=True)[1].settled - fixed.settled
    _report("would fix", fixed, len(changed), quiet, f"; {more} more with --unsafe-fixes" if more > 0 else "")
    return 1 if changed else 0


def write_fixes(selection: Selection, unsafe: bool, quiet: bool) -> None:
    """Fix the files in place."""
    changed, fixed = fix_files(selection, unsafe=unsafe)
    for file in changed:
        file.write()
    _report("fixed", fixed, len(changed), quiet)


def fix_stdin(selection: Selection, path: Path, text: bytes, unsafe: bool, quiet: bool) -> bytes:
    """The text after all possible fixes."""
    changed, fixed = fix_files(selection, {path: text}, unsafe=unsafe)
    _report("fixed", fixed, len(changed), quiet)
    return changed[0].content if changed else text


def _report(verb: str, fixed: Fixed, files: int, quiet: bool, more: str = "") -> None:
    """Print a summary to standard error: standard output is for findings and diffs only."""
    if quiet:
        return
    hidden = Redaction(one.finding for one in fixed.refused)
    for refused in fixed.refused:
        finding, reason = refused.finding, refused.reason
        place = f"{finding.path}:{finding.span.line}:{finding.span.column}"
        line = f"{place}: {finding.code} {finding.name} is not fixed: {reason}"
        click.echo(one_line(hidden.text(line)), err=True)
    click.echo(f"{verb} {counted(fixed.settled, 'finding')} in {counted(files, 'file')}{more}", err=True)


@dataclass(frozen=True, slots=True)
class FixedFile:
    path: Path
    before: str
    after: str
    mark: bytes
    """The byte order mark at the start of the file, if any."""

    @property
    def content(self) -> bytes:
        return self.mark + self.after.encode()

    def write(self) -> None:
        """Write the file atomically. It keeps its mode, owner and links."""
        with writing(self.path):
            replace_file(self.path, self.content)

    def diff(self) -> Iterator[str]:
        before, after = _lines(self.before), _lines(self.after)
        for line in difflib.unified_diff(before, after, str(self.path), str(self.path)):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def fix_files(
    selection: Selection, texts: Mapping[Path, bytes] | None = None, *, unsafe: bool
) -> tuple[list[FixedFile], Fixed]:
    """The files, or the texts given for them, that all possible fixes change, and the result of each fix."""
    paths = (*selection.files, *selection.tests)
    given = texts or {path: read_bytes(path, selection.config) for path in paths}
    marks = {
        path: mark for path, data in given.items() if (mark := _mark(data, selection.config)) is not None
    }
    files = load_project(selection, given)[1]
    before = {path: files[path].source.text for path in marks}
    fixed = fix_texts(before, lambda texts: _checked(selection, texts), unsafe=unsafe)
    changed = [
        FixedFile(path, before[path], fixed.texts[path], mark)
        for path, mark in marks.items()
        if fixed.texts[path] != before[path]
    ]
    return changed, fixed


def _checked(selection: Selection, texts: Mapping[Path, str]) -> dict[Path, Checked]:
    project, files = load_project(selection, texts)
    found: dict[Source, list[Diagnostic]] = {}
    for diagnostic in check_project(project):
        found.setdefault(diagnostic.span.source, []).append(diagnostic)
    # Findings by source: a rule may report about another file.
    return {path: Checked(file, found.get(file.source, [])) for path, file in files.items()}


def _mark(data: bytes, config: Config) -> bytes | None:
    """The byte order mark of a file; None if its text can't be encoded back to the same bytes."""
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return mark if len(data) <= config.limits.source_bytes else None


def _lines(text: str) -> list[str]:
    """Split at line feeds only, as diff programs do: `str.splitlines` also splits at other characters."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
