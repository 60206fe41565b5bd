"""What must hold for any text at all: findings instead of exceptions, each in its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.support import W, file_of
from wfc.compiler import Compilation, compile_project
from wfc.config import Config
from wfc.findings import Diagnostic
from wfc.fixes import Checked, Group, apply, candidates
from wfc.project import Project, load_file
from wfc.render.github import render_github
from wfc.render.json import render_json
from wfc.render.sarif import render_sarif
from wfc.render.style import Style
from wfc.render.text import render_text
from wfc.yaml import Span

CONFIG = Config(Path("."))


def compiled(*texts: str | bytes, config: Config = CONFIG) -> Compilation:
    """Files called w1.yaml, w2.yaml and so on, checked and compiled together."""
    project = Project(config)
    for number, text in enumerate(texts, 1):
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        load_file(f"w{number}.yaml", data, config, project)
    return compile_project(project, {file: file.source.path for file in project.files})


def survived(*texts: str | bytes) -> Compilation:
    """Compile, and look at all that comes out: places, rendered findings, fixes, modules."""
    result = compiled(*texts)
    for found in result.findings:
        for span in _spans(found):
            assert 0 <= span.start <= span.end <= len(span.source.text), (found, span.start, span.end)
            assert span.line >= 1
            assert span.end_column >= 1
        assert found.message
        assert not found.is_crash, found.message
        for text in (found.message, found.help, *(note.message for note in found.notes)):
            assert len(text) <= 1000
            assert text.isprintable()
    render_text(result.findings, Style())
    render_json(result.findings)
    render_github(result.findings)
    render_sarif(result.findings)
    for source in {found.span.source for found in result.findings}:
        mine = [found for found in result.findings if found.span.source is source]
        for group in Group:
            checked = {W: Checked(file_of(""), mine)}
            apply(
                source.text, [c for one in candidates(checked, [W], group, unsafe=True) for c in one.changes]
            )
    for module in result.modules:
        compile(module.text, module.file_name, "exec")
    return result


def _spans(found: Diagnostic) -> Iterator[Span]:
    yield found.span
    yield from (note.span for note in found.notes if note.span is not None)
    if found.fix:
        yield from (edit.span for edit in found.fix.edits)
