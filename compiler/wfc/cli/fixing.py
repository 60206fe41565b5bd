"""`wfc check --fix` and `--diff`: fixes computed in memory until nothing more can be mended, then written or shown."""

from __future__ import annotations

import codecs
import difflib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from wfc.checker import check_project
from wfc.config import Config
from wfc.findings import Diagnostic
from wfc.project import SourceFile
from wfc.render.style import counted
from wfc.suppress import apply_fixes
from wfc.workspace.files import Selection, read_bytes, replace_file, writing
from wfc.workspace.loading import load_project
from wfc.yaml import Source, YamlLimits, parse_document

_ROUNDS = 10
"""A fix may uncover another finding; each round settles at least one, and this many are plenty."""


def show_fixes(selection: Selection, unsafe: bool, quiet: bool) -> int:
    """Print what would change. Something to fix is a finding."""
    changed, settled = fix_files(selection, unsafe=unsafe)
    for file in changed:
        sys.stdout.writelines(file.diff())
    more = 0 if unsafe or quiet else fix_files(selection, unsafe=True)[1] - settled
    _report(
        "would fix", settled, len(changed), quiet, f"; {more} more with --unsafe-fixes" if more > 0 else ""
    )
    return 1 if changed else 0


def write_fixes(selection: Selection, unsafe: bool, quiet: bool) -> None:
    """Mend the files."""
    changed, settled = fix_files(selection, unsafe=unsafe)
    for file in changed:
        file.write()
    _report("fixed", settled, len(changed), quiet)


def _report(verb: str, settled: int, files: int, quiet: bool, more: str = "") -> None:
    """On standard error: findings, diffs and nothing else go to standard output."""
    if not quiet:
        click.echo(f"{verb} {counted(settled, 'finding')} in {counted(files, 'file')}{more}", err=True)


@dataclass(frozen=True)
class FixedFile:
    path: Path
    before: str
    after: str
    mark: bytes
    """The byte order mark that the file begins with, if any."""

    def write(self) -> None:
        """All of it or, on a full disk, nothing. The file keeps its mode, owner and links."""
        with writing(self.path):
            replace_file(self.path, self.mark + self.after.encode())

    def diff(self) -> Iterator[str]:
        before, after = _lines(self.before), _lines(self.after)
        for line in difflib.unified_diff(before, after, str(self.path), str(self.path)):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def fix_files(selection: Selection, *, unsafe: bool) -> tuple[list[FixedFile], int]:
    """The files that change when all is fixed that can be, and how many findings that settles."""
    marks = {path: mark for path in selection.files if (mark := _mark(path, selection.config)) is not None}
    files = load_project(selection)[1]
    before = {path: files[path].source.text for path in marks}
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
    project, files = load_project(selection, texts)
    found: dict[Source, list[Diagnostic]] = {}
    for diagnostic in check_project(project):
        found.setdefault(diagnostic.span.source, []).append(diagnostic)
    settled = 0
    for path in texts:
        fixed, number = apply_fixes(texts[path], found.get(files[path].source, []), unsafe=unsafe)
        if fixed != texts[path] and _is_still_yaml(fixed, files[path]):
            texts[path] = fixed
            settled += number
    return settled


def _is_still_yaml(text: str, file: SourceFile) -> bool:
    """A fix that breaks a file would be our mistake; the author's text is worth more than the fix."""
    limits = YamlLimits(file.limits.yaml_depth, file.limits.yaml_nodes)
    return len(parse_document(Source(file.source.path, text), limits).problems) <= len(file.problems)


def _lines(text: str) -> list[str]:
    """Lines as diff programs know them: YAML and Python end lines at more characters than a line feed."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
