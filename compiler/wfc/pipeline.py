"""Sources in, modules out: the whole compiler without the disk."""

from __future__ import annotations

from dataclasses import dataclass

from wfc.check import check_project
from wfc.diagnostics import Diagnostic, Severity
from wfc.emit.header import digest, with_header
from wfc.emit.module import emit_body
from wfc.infer.unit_types import typed_module
from wfc.lower.names import module_name
from wfc.unit import Project, Unit


@dataclass(frozen=True)
class Compiled:
    """One module: what it is called, what it was made from, and its text."""

    unit: Unit
    file_name: str
    text: str


@dataclass(frozen=True)
class Compilation:
    modules: list[Compiled]
    findings: list[Diagnostic]


def compile_project(project: Project, recorded_paths: dict[Unit, str]) -> Compilation:
    """Every workflow without an error as a module. `recorded_paths`: what each header says it was made from."""
    findings = check_project(project)
    broken = {found.span.source for found in findings if found.severity is Severity.ERROR}
    modules = [
        compile_unit(unit, recorded_paths[unit])
        for unit in project.units
        if unit.source not in broken and unit.module is not None
    ]
    return Compilation(modules, findings)


def compile_unit(unit: Unit, recorded_path: str) -> Compiled:
    module = typed_module(unit)
    assert module is not None
    text = with_header(recorded_path, digest(unit.source.text), emit_body(module))
    return Compiled(unit, f"{module_name(module.name)}.py", text)
