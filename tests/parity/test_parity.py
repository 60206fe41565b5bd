"""The same flow in two languages is the same machine: `cases/<what>.<language>.yaml`, and all that convert makes."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests.blocks.support import result
from tests.support import ROOT, file_of, is_sampled, load
from wfc.checker import check_file
from wfc.cli.convert import to_steps
from wfc.dialects import DIALECTS
from wfc.findings import Severity
from wfc.ir import Module, dump
from wfc.project import SourceFile

HERE = Path(__file__).parent
PAIRS: dict[str, dict[str, Path]] = defaultdict(dict)
for path in sorted((HERE / "cases").glob("*.yaml")):
    PAIRS[path.name.split(".")[0]][path.name.split(".")[1]] = path
SHIPPED = [
    path
    for path in sorted((ROOT / "workflows").glob("*.yaml"))
    if is_sampled(path.stem) and "\nblocks:" in path.read_text("utf-8")
]
RUNS = sorted((ROOT / "tests" / "blocks" / "cases").glob("*.yaml"))


def module_of(file: SourceFile) -> Module:
    assert file.module is not None
    return file.module


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAIRS)
def test_the_same_flow_is_the_same_machine_in_every_language(name: str) -> None:
    dumps = {language: dump(module_of(file_of(text_of(path)))) for language, path in PAIRS[name].items()}
    expected = dumps.pop("steps")
    for found in dumps.values():
        # A machine says which language its expressions are in; references and literals are the same in all of them.
        assert found.replace("  expressions javascript\n", "") == expected


def test_every_language_has_flows_that_are_compared() -> None:
    flows = Counter(language for pair in PAIRS.values() for language in pair)
    # A mission has no single actions; tests/phases compares missions with what `convert` and `mission` write of them.
    compared = {dialect.name for dialect in DIALECTS} - {"phases"}
    assert {name for name, count in flows.items() if count >= 2} == compared
    assert all("steps" in pair for pair in PAIRS.values())


@pytest.mark.parametrize("path", [*SHIPPED, *RUNS], ids=lambda path: path.stem)
def test_what_convert_writes_is_the_same_machine(path: Path) -> None:
    others = [text_of(other) for other in SHIPPED if other != path and path in SHIPPED]
    file = load(text_of(path), *others).files[0]
    steps = to_steps(file)
    assert "steps:" in steps
    kept, before = module_of(file_of(steps)), module_of(file)
    assert dump(kept) == dump(before)
    assert (kept.tags, kept.author, kept.main.facts) == (before.tags, before.author, before.main.facts)
    wrong = [
        one.message for one in check_file(load(steps, *others).files[0]) if one.severity is Severity.ERROR
    ]
    assert wrong == []


def test_convert_keeps_who_wrote_it_and_the_words_to_find_it_by() -> None:
    shipped = next(path for path in SHIPPED if path.stem == "python-ci")
    steps = to_steps(load(*(text_of(path) for path in (shipped, *SHIPPED))).files[0])
    assert "\nauthor: wfc\n" in steps
    assert "\ntags: [python, ci]\n" in steps
    assert module_of(file_of(steps)).tags == ("python", "ci")


def test_we_ship_at_least_six_workflows_of_blocks() -> None:
    assert len(SHIPPED) >= 6


@pytest.mark.parametrize(
    "name",
    ["files", "json_state", "templates", "conditions", "what_looks_like_a_template_of_the_core_is_text"],
)
def test_what_convert_writes_gives_the_same_result(name: str, tmp_path: Path) -> None:
    case = ROOT / "tests" / "blocks" / "cases" / f"{name}.yaml"
    expected = json.loads(case.with_suffix(".json").read_text(encoding="utf-8"))
    assert result(tmp_path, to_steps(file_of(text_of(case)))) == expected
