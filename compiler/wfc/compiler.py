"""The compiler without disk access: sources in, modules out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wfc.analysis.types.workflow import typed_module
from wfc.checker import check_file, has_errors, in_order
from wfc.emit.module import emit_body, shown_path, with_header
from wfc.findings import Diagnostic, Severity
from wfc.lower.names import module_name
from wfc.project import Project, SourceFile
from wfc.worker_pool import run_in_workers
from wfc_runtime.header import digest
from wfc_runtime.line_map import map_path, write_line_map


@dataclass(frozen=True, slots=True)
class Compiled:
    """One module: its name, its source, its text and its line map."""

    file: SourceFile
    file_name: str
    text: str
    line_map: str
    """The text of the line map of the module."""

    @property
    def files(self) -> dict[str, str]:
        """The files to write, by name. The map comes first, so that a process that sees a new module finds its map."""
        return {map_path(Path(self.file_name)).name: self.line_map, self.file_name: self.text}


@dataclass(frozen=True, slots=True)
class Compilation:
    modules: list[Compiled]
    findings: list[Diagnostic]


def compile_project(project: Project, recorded_paths: dict[SourceFile, str]) -> Compilation:
    """Compile every workflow without errors. `recorded_paths`: the source path in the header of each module."""

    def work(file: SourceFile) -> tuple[list[Diagnostic], Compiled | None]:
        found = check_file(file)
        # A file with errors has no module, but its findings are reported.
        sound = file.module is not None and not has_errors(found)
        return found, compile_file(file, recorded_paths[file]) if sound else None

    done = run_in_workers(work, project.files, project.processes, project.progress)
    findings = in_order(found for found, _ in done)
    # A rule may report an error in another file than the one it was checking.
    broken = {found.span.source for found in findings if found.severity is Severity.ERROR}
    modules = [module for _, module in done if module is not None and module.file.source not in broken]
    return Compilation(modules, findings)


def compile_file(file: SourceFile, recorded_path: str) -> Compiled:
    module = typed_module(file)
    assert module is not None
    source = digest(file.source.text)
    text = with_header(recorded_path, source, emit_body(module))
    line_map = write_line_map(shown_path(recorded_path), source, module.lines)
    return Compiled(file, f"{module_name(module.name)}.py", text, line_map)
