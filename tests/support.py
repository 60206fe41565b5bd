"""What many tests need: a project made of texts, checked or compiled in memory."""

from __future__ import annotations

import itertools
import sys
import types
from pathlib import Path

from wfc.check import check_project
from wfc.config import Config
from wfc.diagnostics import Diagnostic, Severity
from wfc.pipeline import compile_project
from wfc.unit import Project, Unit, load_unit
from wfc_runtime.machine import Workflow

ROOT = Path(__file__).parents[1]
_numbers = itertools.count(1)


def load(*texts: str, config: Config | None = None) -> Project:
    """A project of workflows called w1.yaml, w2.yaml and so on."""
    settings = config or Config(Path("."))
    project = Project(settings)
    for number, text in enumerate(texts, 1):
        load_unit(f"w{number}.yaml", text.encode(), settings, project)
    return project


def unit_of(text: str) -> Unit:
    return load(text).units[0]


def check(*texts: str, config: Config | None = None) -> list[Diagnostic]:
    return check_project(load(*texts, config=config))


def codes(*texts: str) -> list[str]:
    return [found.code for found in check(*texts)]


def workflow_of(module: str) -> Workflow:
    """What a generated module registers once it is imported. It stays: pydantic looks for it when models are used."""
    name = f"generated_{next(_numbers)}"
    made = sys.modules[name] = types.ModuleType(name)
    exec(compile(module, f"{name}.py", "exec"), vars(made))
    found: Workflow = made.WORKFLOW
    return found


def loaded(*texts: str) -> dict[str, Workflow]:
    """Workflows compiled and imported, by name. They may call each other."""
    project = load(*texts)
    compilation = compile_project(project, {unit: unit.source.path for unit in project.units})
    broken = [f"{one.code} {one.message}" for one in compilation.findings if one.severity is Severity.ERROR]
    assert not broken, broken
    found = [workflow_of(module.text) for module in compilation.modules]
    return {workflow.name: workflow for workflow in found}
