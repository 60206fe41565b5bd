"""The whole compiler without the disk: sources in, modules out."""

from __future__ import annotations

from dataclasses import dataclass

from wfc.analysis.types.workflow import typed_module
from wfc.checker import check_file, has_errors, in_order
from wfc.emit.module import emit_body, with_header
from wfc.findings import Diagnostic, Severity
from wfc.lower.names import module_name
from wfc.project import Project, SourceFile
from wfc.worker_pool import run_in_workers
from wfc_runtime.header import digest


@dataclass(frozen=True)
class Compiled:
    """One module: what it is called, what it was made from, and its text."""

    file: SourceFile
    file_name: str
    text: str


@dataclass(frozen=True)
class Compilation:
    modules: list[Compiled]
    findings: list[Diagnostic]


def compile_project(project: Project, recorded_paths: dict[SourceFile, str]) -> Compilation:
    """Every workflow without an error as a module. `recorded_paths`: what each header says it was made from."""

    def work(file: SourceFile) -> tuple[list[Diagnostic], Compiled | None]:
        found = check_file(file)
        sound = file.module is not None and not has_errors(found)
        return found, compile_file(file, recorded_paths[file]) if sound else None

    done = run_in_workers(work, project.files, project.processes, project.progress)
    findings = in_order(found for found, _ in done)
    broken = {found.span.source for found in findings if found.severity is Severity.ERROR}
    modules = [module for _, module in done if module is not None and module.file.source not in broken]
    return Compilation(modules, findings)


def compile_file(file: SourceFile, recorded_path: str) -> Compiled:
    module = typed_module(file)
    assert module is not None
    text = with_header(recorded_path, digest(file.source.text), emit_body(module))
    return Compiled(file, f"{module_name(module.name)}.py", text)
