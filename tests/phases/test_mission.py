"""`wfc mission`: what it writes, that it reads back as the same machine, and what it never overwrites."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.command import wfc
from tests.support import ROOT
from wfc.config import Config
from wfc.ir import dump
from wfc.project import Project, SourceFile, load_file
from wfc_runtime.header import read_mark, with_mark
from wfc_runtime.server.toolsets import load_tools

TRICKY = """\
name: tricky
version: "2.0"
description: "Has: everything, that Markdown could change."
inputs:
  topic: {type: string, default: "a: b # c"}
objective: |
  - it looks like a list
  - and has {{ inputs.topic }}
scope: {include: [src/, docs/], exclude: [src/vendor/]}
constraints: ["- a dash", "1. a number", "a *star* and {% raw %}{{ x }}{% endraw %}", "  spaces  "]
success_criteria: [one]
mcp: direct
proof: {git: strict}
agents:
  writer: {subagent_type: general-purpose, tools: [Read, Edit], prompt: "Of the role: ``` {{ inputs.topic }}"}
budget: {usd: 2.5, tokens: 200000, steps: 40, seconds: 3600}
phases:
  - number: 10
    agents:
      - type: writer
        prompt: |
          A fence in a prompt:

          ````
          ```yaml
          phase: 3
          ```
          ````
            indented, and at the end two lines


      - {type: writer, prompt: "the second of one role"}
      - {type: general-purpose, prompt: "named like the agent that plays another"}
    outputs: ["docs/{{ inputs.topic }}.md", docs/b.md#Part, a promise]
    completion: {tests pass: "the log", no warnings: true}
    checkpoint: human
    retry: {max_attempts: 3}
  - id: last
    number: 20
    name: "The \\"last\\" one: {{ not a template"
    requires: [10]
    parallel: true
    agents:
      - {type: reader, subagent_type: Explore, scope: the words}
      - {type: Plan, timeout: 60}
    completion: |
      any agent success
    on_error: continue
"""
MISSION = """\
name: overhaul-docs
objective: Good documentation.
constraints: [It is true., It is short.]
phases:
  - id: inventory
    number: 1
    name: Inventory
    agents: [{type: surveyor, subagent_type: Explore}]
    completion: every page is judged
  - id: edit
    number: 2
    name: Edit
    requires: 1
    agents: [{type: editor, subagent_type: general-purpose, prompt: Edit it.}]
    completion: all agents success
    checkpoint: human
"""
SHIPPED = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "workflows").glob("*.yaml"))]


def source(text: str, path: str = "workflows/tricky.yaml", files: dict[str, str] | None = None) -> SourceFile:
    config = Config(Path(".").resolve())
    return load_file(path, text.encode(), config, Project(config, companions=lambda: files or {}))


def read_back(file: SourceFile) -> SourceFile:
    assert file.parsed is not None
    assert file.name is not None
    texts = file.dialect.mission(file.parsed, only_start=False)
    marked = {name: with_mark(file.source.path, file.name, text) for name, text in texts.items()}
    folder = f".claude/workflows/{file.name}"
    beside = {f"{folder}/{name}": text for name, text in marked.items()}
    return source(marked["workflow.md"], f"{folder}/workflow.md", beside)


@pytest.mark.parametrize(
    "text",
    [TRICKY, *(text for text in SHIPPED if "\nphases:" in text)],
    ids=lambda text: text.split("name: ")[1].split("\n")[0],
)
def test_the_written_workflow_is_the_same_machine(text: str) -> None:
    file = source(text)
    again = read_back(file)
    assert file.module is not None
    assert again.module is not None
    assert dump(again.module) == dump(file.module)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    (tmp_path / "workflows").mkdir()
    text = MISSION
    (tmp_path / "workflows" / "overhaul-docs.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def test_files_are_written_once_and_drift_is_reported(project: Path) -> None:
    folder = project / ".claude" / "workflows" / "overhaul-docs"
    assert wfc("mission", "overhaul-docs", "--check", cwd=project).status == 1
    assert not folder.exists()
    assert wfc("mission", "overhaul-docs", cwd=project).status == 0
    assert sorted(path.name for path in folder.iterdir()) == ["definition.md", "start.md", "workflow.md"]
    assert all(read_mark(path.read_text(encoding="utf-8")) for path in folder.iterdir())
    start = (folder / "start.md").read_text(encoding="utf-8")
    assert "ids" not in start
    [parameter] = re.findall(r'call start_workflow with (\w+) "overhaul-docs"', start)
    assert parameter in load_tools(["core"])["start_workflow"].input_schema["properties"]
    assert wfc("mission", "overhaul-docs", "--check", cwd=project).status == 0
    assert "unchanged" in wfc("mission", "overhaul-docs", cwd=project).out
    # What was written is no source: the workflow is there once.
    assert "checked 1 workflow:" in wfc("check", cwd=project).out
    path = project / "workflows" / "overhaul-docs.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("name: Edit", "name: Polish"), encoding="utf-8")
    stale = wfc("mission", "overhaul-docs", "--check", cwd=project)
    assert stale.status == 1
    assert "workflow.md` is out of date" in stale.err
    assert wfc("mission", "overhaul-docs", cwd=project).status == 0
    assert "Polish" in (folder / "workflow.md").read_text(encoding="utf-8")


def test_a_file_that_a_person_wrote_or_edited_is_not_overwritten(project: Path) -> None:
    folder = project / ".claude" / "workflows" / "overhaul-docs"
    folder.mkdir(parents=True)
    (folder / "start.md").write_text("mine\n", encoding="utf-8")
    refused = wfc("mission", "overhaul-docs", cwd=project)
    assert refused.status == 1
    assert "start.md` was not written by wfc" in refused.err
    assert [path.name for path in folder.iterdir()] == ["start.md"]
    (folder / "start.md").unlink()
    assert wfc("mission", "overhaul-docs", cwd=project).status == 0
    written = folder / "workflow.md"
    edited = written.read_text(encoding="utf-8").replace("Inventory", "Stocktaking")
    written.write_text(edited, encoding="utf-8")
    assert wfc("mission", "overhaul-docs", cwd=project).status == 1
    assert written.read_text(encoding="utf-8") == edited
    found = wfc("check", cwd=project).out
    assert "error[WF702 edited-output]" in found
    assert "--adopt" in found
    adopted = wfc("mission", "overhaul-docs", "--adopt", cwd=project)
    assert adopted.status == 0
    assert "still has the same name" in adopted.out
    (project / "workflows" / "overhaul-docs.yaml").unlink()
    assert "checked 1 workflow: all clean" in wfc("check", cwd=project).out
    # It is the source now, so only the prompt for the start is written, beside it.
    (folder / "start.md").unlink()
    assert wfc("mission", "overhaul-docs", cwd=project).out.split() == [
        "written",
        ".claude/workflows/overhaul-docs/start.md",
    ]
    assert wfc("mission", "overhaul-docs", "--adopt", cwd=project).status == 2


def test_only_missions_have_such_files(project: Path) -> None:
    (project / "workflows" / "plain.yaml").write_text(
        "name: plain\nversion: '1'\nsteps:\n  - {id: a, type: shell, command: make}\n", encoding="utf-8"
    )
    refused = wfc("mission", "plain", cwd=project)
    assert refused.status == 2
    assert "only a workflow of phases is a mission" in refused.err
