"""What many tests need: projects made of texts, checked or compiled in memory, and patience."""

from __future__ import annotations

import itertools
import sys
import time
import types
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import TypeVar

from wfc.checker import check_project, each_finding, in_order
from wfc.compiler import compile_project
from wfc.config import Config
from wfc.findings import Diagnostic, Severity
from wfc.fixes import Checked, Fixed, fix_texts
from wfc.project import Project, SourceFile, load_file
from wfc.rules import BY_CODE
from wfc_runtime.machine import Workflow
from wfc_runtime.registry import Module, Registry

ROOT = Path(__file__).parents[1]

SAMPLED = frozenset(
    [
        "analyze-codebase",
        "audit-security",
        "build-feature",
        "changelog-draft",
        "conditional-deploy",
        "deploy-service",
        "deps-audit",
        "fix-standards",
        "incident-triage",
        "interactive-planning",
        "new-service",
        "overhaul-docs",
        "pr-automation",
        "python-ci",
        "python-tests",
        "raise-coverage",
        "release-checks",
        "release-notes",
        "review-branch",
        "ship-release",
        "standards-fix",
        "tests-until-green",
        "upgrade-dependencies",
        "worktree-build",
    ]
)
"""Shipped workflows that tests of compiler and runtime run over. They have every construct of the four languages, so
that a further workflow of the library makes only its own tests longer."""
PATIENCE = 300.0
"""Seconds that a test waits for an event. No test is about speed: this only ends a test whose event never comes."""
_numbers = itertools.count(1)
T = TypeVar("T")


def is_sampled(name: str) -> bool:
    """Whether a shipped workflow, by its name or the stem of a file, is in `SAMPLED`."""
    return name.replace(":", "-").replace("_", "-") in SAMPLED


def wait_until(found: Callable[[], T], what: str | Callable[[], str] = "what the test waits for") -> T:
    """Poll until `found` gives something that counts as true, and return it."""
    end = time.monotonic() + PATIENCE
    while not (value := found()):
        if time.monotonic() > end:
            said = what if isinstance(what, str) else what()
            raise AssertionError(f"not within {PATIENCE:.0f} seconds: {said}")
        time.sleep(0.01)
    return value


@cache
def shipped_modules() -> tuple[Module, ...]:
    """The compiled modules of this repository. Several files need them to name their tests; loading takes a second."""
    return tuple(Registry(ROOT / "generated").modules())


def load(*texts: str, config: Config | None = None) -> Project:
    """A project of workflows called w1.yaml, w2.yaml and so on."""
    settings = config or Config(Path("."))
    project = Project(settings)
    for number, text in enumerate(texts, 1):
        load_file(f"w{number}.yaml", text.encode(), settings, project)
    return project


def file_of(text: str) -> SourceFile:
    return load(text).files[0]


def check(*texts: str, config: Config | None = None) -> list[Diagnostic]:
    found = check_project(load(*texts, config=config))
    assert [one.message for one in found if one.is_crash] == []
    return found


def found_by(rules: Iterable[str], project: Project) -> list[Diagnostic]:
    """What the rules of some codes find, sorted by place. A test of a rule runs that rule, so that another one which
    is added later changes nothing here."""
    chosen = [BY_CODE[code] for code in sorted(set(rules))]
    found = in_order(list(each_finding(file, chosen)) for file in project.files)
    assert [one.message for one in found if one.is_crash] == []
    return found


Finder = Callable[[str], list[Diagnostic]]
"""The findings of a text, in the place where it stands in its project."""


def fixed(text: str, look: Finder = check, *, unsafe: bool = True) -> Fixed:
    """A text fixed by the engine of `wfc check --fix`."""
    return fix_texts({W: text}, lambda texts: {W: Checked(file_of(texts[W]), look(texts[W]))}, unsafe=unsafe)


W = Path("w1.yaml")
SETTLED = tuple((ROOT / "tests" / "clean" / "rules.txt").read_text(encoding="utf-8").split())
"""The rules that right workflows and good examples are held to. A new rule joins them when its author adds it."""


def codes(*texts: str) -> list[str]:
    return [found.code for found in check(*texts)]


def workflow_of(module: str) -> Workflow:
    """What a generated module registers once it is imported. It stays: pydantic looks for it when models are used."""
    name = f"generated_{next(_numbers)}"
    made = sys.modules[name] = types.ModuleType(name)
    exec(compile(module, f"{name}.py", "exec"), vars(made))
    found: Workflow = made.WORKFLOW
    return found


def is_black_stable(module: str) -> bool:
    """Whether black would leave a module as it is, if it looked at it: modules tell it not to."""
    import black

    text = module.replace("# fmt: off\n", "", 1)
    return black.format_str(text, mode=black.Mode()) == text


def loaded(*texts: str) -> dict[str, Workflow]:
    """Workflows compiled and imported, by name. They may call each other."""
    project = load(*texts)
    compilation = compile_project(project, {file: file.source.path for file in project.files})
    broken = [f"{one.code} {one.message}" for one in compilation.findings if one.severity is Severity.ERROR]
    assert not broken, broken
    found = [workflow_of(module.text) for module in compilation.modules]
    return {workflow.name: workflow for workflow in found}
