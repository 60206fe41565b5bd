"""Every check shown at work: tests/errors/<CODE>/ holds workflows and exactly what that check says of them.

`bad*.yaml` has its findings in `bad*.out`, and where the rule has a fix, the fixed text in `bad*.fixed.yaml`.
`good*.yaml` is about the same thing done right: nothing may be found in it. A folder `bad*/` is a project of several
files, with modules in `generated/` where those are the matter. `UPDATE=1 pytest tests/errors` writes the expected
files anew; read the diff before you commit it.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.support import W, fixed, found_by
from wfc.compiler import compile_project
from wfc.config import Config, load_config
from wfc.findings import Diagnostic, Severity
from wfc.project import Project, drift_of, load_file, map_drift_of, without_repeats
from wfc.render.github import render_github
from wfc.render.json import render_json
from wfc.render.sarif import render_sarif
from wfc.render.style import Style
from wfc.render.text import render_text
from wfc.rules import BY_CODE, RULES
from wfc.workspace.files import read_beside
from wfc_runtime.line_map import map_path
from wfc_runtime.store.queries import Waiting

HERE = Path(__file__).parent
FOLDERS = sorted(path for path in HERE.iterdir() if path.name.startswith("WF"))
CASES = sorted(
    path
    for folder in FOLDERS
    for path in folder.iterdir()
    if path.is_dir() or (path.suffix == ".yaml" and not path.stem.endswith(".fixed"))
)


def files_of(path: Path) -> list[Path]:
    """A case's files. The fix of a folder is shown for its first file."""
    return sorted([*path.glob("*.yaml"), *path.glob("*.md")]) if path.is_dir() else [path]


def findings(path: Path, text: str | None = None) -> list[Diagnostic]:
    """What the rule of its folder finds in a case; `text` takes the place of its first file."""
    code = path.parent.name
    files = files_of(path)
    config = (
        load_config(path) if path.is_dir() and (path / "pyproject.toml").exists() else Config(path.parent)
    )
    place = path if path.is_dir() else path.parent
    project = Project(
        config,
        runs=lambda: runs_under_way(path),
        texts=lambda source, name: read_beside(str(place / source), name, config),
    )
    for file in files:
        data = text.encode() if text is not None and file == files[0] else file.read_bytes()
        load_file(file.name, data, config, project)
    # A comment that hides a finding needs the rule of that finding too.
    named = {
        one
        for source_file in project.files
        for one in re.findall(r"WF\d{3}", source_file.source.text)
        if one in BY_CODE
    }
    found = found_by({code, *named}, project) + drift_findings(project, path / "generated")
    return [one for one in found if one.code == code]


def runs_under_way(path: Path) -> list[Waiting]:
    """The runs that a case's `runs.json` lists: [run, workflow, task, steps]."""
    listed = path / "runs.json"
    rows = json.loads(listed.read_text(encoding="utf-8")) if path.is_dir() and listed.exists() else []
    return [Waiting(run, workflow, task, tuple(steps)) for run, workflow, task, steps in rows]


def drift_findings(project: Project, folder: Path) -> list[Diagnostic]:
    """What `wfc compile --check` adds for a case that has modules in `generated/`."""
    if not folder.is_dir():
        return []
    for module in compile_project(project, {file: file.source.path for file in project.files}).modules:
        if os.environ.get("UPDATE") and folder.parent.name.startswith("good"):
            for name, text in module.files.items():
                (folder / name).write_text(text, encoding="utf-8")
        shown, line_map = f"generated/{module.file_name}", map_path(folder / module.file_name)
        found = [
            drift_of(shown, _read(folder / module.file_name), module.text, module.file.source.text),
            map_drift_of(f"generated/{line_map.name}", _read(line_map), module.line_map),
        ]
        module.file.drift = without_repeats([one for one in found if one])
    rules = (BY_CODE["WF701"], BY_CODE["WF702"])
    return [found for file in project.files for rule in rules for found in rule.run(file)]


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def expect(path: Path, actual: str) -> None:
    if os.environ.get("UPDATE"):
        path.write_text(actual, encoding="utf-8", newline="")
    assert path.read_bytes().decode() == actual


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_wfc_says_of_it(case: Path) -> None:
    found = findings(case)
    every_form_shows(found)
    code = case.parent.name
    if case.name.startswith("good"):
        assert [item for item in found if item.severity is not Severity.INFO] == []
        return
    assert code in [item.code for item in found]
    expect(case.with_name(f"{case.stem}.out"), render_text(found, Style()))


def every_form_shows(found: list[Diagnostic]) -> None:
    lines = render_text(found, Style()).split("\n")
    assert len([line for line in lines if re.match(r"\S+:\d+:\d+: ", line)]) == len(found)
    assert render_github(found).count("\n") == len(found)
    assert len(json.loads(render_json(found))["findings"]) == len(found)
    assert len(json.loads(render_sarif(found))["runs"][0]["results"]) == len(found)


FIXED = [case for case in CASES if case.with_name(f"{case.stem}.fixed.yaml").exists()]


@pytest.mark.parametrize("case", FIXED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_its_fix_settles_it_and_fixing_again_changes_nothing(case: Path) -> None:
    file = files_of(case)[0]
    text = file.read_bytes().decode()

    def mine(other: str) -> list[Diagnostic]:
        return [found for found in findings(case, other) if found.path == file.name]

    result = fixed(text, mine)
    assert result.settled
    expect(case.with_name(f"{case.stem}.fixed.yaml"), result.texts[W])
    assert fixed(result.texts[W], mine).settled == 0
    assert len(mine(result.texts[W])) < len(mine(text))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_every_rule_has_a_bad_and_a_good_case_and_a_page(rule: object) -> None:
    code, fix, doc = rule.code, rule.fix, rule.doc  # type: ignore[attr-defined]
    names = [path.name for path in CASES if path.parent.name == code]
    assert any(name.startswith("bad") for name in names)
    assert any(name.startswith("good") for name in names)
    assert "Bad:" in doc
    assert "Good:" in doc
    if fix:
        assert any(path.parent.name == code for path in FIXED)
