"""What the README shows is what a user gets."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.e2e.command import wfc
from tests.support import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_the_example_workflow_is_clean_and_compiles(tmp_path: Path) -> None:
    (tmp_path / "workflows").mkdir()
    (example,) = (text for text in blocks("yaml") if text.startswith("name:") and "\nsteps:\n" in text)
    answers, tests = (text for text in blocks("yaml") if text.startswith("inputs:"))
    (tmp_path / "workflows" / "release-notes.yaml").write_text(example, encoding="utf-8")
    assert wfc("check", cwd=tmp_path).out == "checked 1 workflow: all clean\n"
    assert wfc("compile", cwd=tmp_path).status == 0
    assert (tmp_path / "generated" / "release_notes.py").exists()
    (tmp_path / "answers.yaml").write_text(answers, encoding="utf-8")
    assert wfc("run", "release-notes", "--answers", "answers.yaml", cwd=tmp_path).out == "Better.\n"
    (tmp_path / "workflows" / "release-notes.test.yaml").write_text(tests, encoding="utf-8")
    assert "2 tests passed" in wfc("test", cwd=tmp_path).out


def test_the_graph_of_blocks_is_clean_and_runs_to_its_end(tmp_path: Path) -> None:
    (example,) = (text for text in blocks("yaml") if "\nblocks:\n" in text)
    (tmp_path / "graph.yaml").write_text(example, encoding="utf-8")
    (tmp_path / "Makefile").write_text("all test ship:\n\t@echo $@\nlint:\n\t@false\n", encoding="utf-8")
    assert wfc("check", "graph.yaml", cwd=tmp_path).out == "checked 1 workflow: all clean\n"
    found = wfc("run", "graph.yaml", "-i", "environment=production", "--allow-exec", "--json", cwd=tmp_path)
    assert json.loads(found.out)["result"] == {"shipped": True}


def test_the_findings_it_shows_are_those_of_the_demo() -> None:
    found = wfc("check", "demo/wrong.yaml", cwd=ROOT)
    assert found.status == 1
    for block in blocks("text"):
        assert block in found.out


def test_the_demo_workflow_has_five_different_mistakes_and_one_run_shows_them_all() -> None:
    found = wfc("check", "demo/wrong.yaml", "--format", "github", cwd=ROOT)
    codes = re.findall(r"title=(WF\d+)", found.out)
    assert sorted(codes) == ["WF004", "WF104", "WF106", "WF204", "WF301"]


def test_the_settings_it_shows_are_accepted(tmp_path: Path) -> None:
    (settings,) = blocks("toml")
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    (tmp_path / "workflows").mkdir()
    assert wfc("check", cwd=tmp_path).status == 0


def test_every_command_it_shows_exists() -> None:
    for line in blocks("sh")[1].splitlines():
        command = line.split("#")[0].split()
        if command[0] == "wfc":
            assert wfc(command[1], "--help", cwd=ROOT).status == 0
