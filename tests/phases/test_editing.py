"""Missions in an editor: completion, hover, references and rename, in YAML and in Markdown."""

from __future__ import annotations

from pathlib import Path

import pytest

from wfc.lsp.analysis import Analysis
from wfc.lsp.hover import hover_at
from wfc.lsp.navigation import definitions_at, renamed

YAML = """\
name: m
inputs:
  topic: {type: string, required: true, description: What it is about.}
agents:
  helper: {subagent_type: Explore}
phases:
  - id: design
    number: 1
    agents: [{type: architect, subagent_type: general-purpose, prompt: "About {{ inputs.topic }}."}]
    completion: ok
  - id: build
    number: 2
    requires: design
    agents:
      - type: helper
        prompt: "As in <design>{{ phases.design.architect.summary }}</design>"
    completion: ok
"""
MARKDOWN = """\
# Workflow: M

```yaml
phase:
  id: design
  number: 1
  agents: [{type: architect, subagent_type: general-purpose}]
  completion: ok
```

#### Agent Prompt

```
Say {{ inputs.topic }}.
```

  ```yaml
  phase: 2
  id: build
  requires: design
  agents:
    - type: helper
      subagent_type: Explore
  completion: ok
  ```
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    (tmp_path / ".claude" / "agents").mkdir(parents=True)
    (tmp_path / ".claude" / "agents" / "a.md").write_text("---\nname: checker\n---\nx\n", encoding="utf-8")
    (tmp_path / "workflows" / "m").mkdir(parents=True)
    return tmp_path


def offered(path: Path, text: str, before: str, typed: str) -> set[str]:
    """What is offered after a line that is typed before another one."""
    at = text.index(before)
    now = text[:at] + typed + "\n" + text[at:]
    return {one.text for one in Analysis(path, text).complete(now, at + len(typed))}


def test_keys_values_agents_phases_and_references_are_completed_in_yaml(folder: Path) -> None:
    path = folder / "workflows" / "m.yaml"
    before = "    completion: ok\n"
    assert {"name", "checkpoint", "requires", "outputs"} <= offered(path, YAML, before, "    ")
    assert "number" not in offered(path, YAML, before, "    ")
    assert offered(path, YAML, before, "    checkpoint: ") == {"human"}
    assert {"all agents success", "any agent success"} <= offered(path, YAML, before, "    completion: ")
    assert offered(path, YAML, before, "    requires: [") == {"design", "build"}
    agent = '        prompt: "As'
    assert {"checker", "helper", "general-purpose", "Plan"} <= offered(path, YAML, agent, "      - type: ")
    assert {"checker", "Explore"} <= offered(path, YAML, agent, "        subagent_type: ")
    assert {"scope", "tools", "timeout"} <= offered(path, YAML, agent, "        ")
    assert offered(path, YAML, before, '    description: "{{ ') == {"inputs", "phases"}
    assert offered(path, YAML, before, '    description: "{{ inputs.') == {"topic"}
    assert offered(path, YAML, before, '    description: "{{ phases.') == {"design", "build"}
    assert offered(path, YAML, before, '    description: "{{ phases.design.') == {"architect"}
    assert {"summary", "decisions"} <= offered(
        path, YAML, before, '    description: "{{ phases.design.architect.'
    )
    assert {"objective", "proof", "mcp"} <= offered(path, YAML, "phases:\n", "")
    assert offered(path, YAML, "phases:\n", "budget:\n  ") == {"usd", "tokens", "steps", "seconds"}
    assert offered(path, YAML, "phases:\n", "mcp: ") == {"auto", "relay", "direct"}


def test_the_same_in_markdown_but_nothing_in_prose(folder: Path) -> None:
    path = folder / "workflows" / "m" / "workflow.md"
    assert Analysis(path, MARKDOWN).is_workflow
    assert {"checkpoint", "requires"} <= offered(path, MARKDOWN, "  completion: ok\n```", "  ")
    assert {"checkpoint", "name"} <= offered(path, MARKDOWN, "  completion: ok\n  ```", "  ")
    assert "checker" in offered(path, MARKDOWN, "      subagent_type: Explore", "    - type: ")
    assert offered(path, MARKDOWN, "#### Agent Prompt", "checkpoint: ") == set()
    assert offered(path, MARKDOWN, "Say {{", "  ") == set()
    assert offered(path, MARKDOWN, "Say {{", "{{ ") == {"inputs", "phases"}
    assert not Analysis(folder / "workflows" / "README.md", "# Hello\n").is_workflow


def test_phases_are_explained_found_and_renamed(folder: Path) -> None:
    path = folder / "workflows" / "m.yaml"
    analysis = Analysis(path, YAML)
    assert analysis.findings == []
    at = YAML.index("requires: design") + len("requires: ")
    shown = hover_at(analysis, at)
    assert shown is not None
    assert "phase 1" in shown[0]
    assert "architect" in shown[0]
    in_text = hover_at(analysis, YAML.index("architect.summary") + len("architect.s"))
    assert in_text is not None
    assert "phases.design.architect.summary" in in_text[0]
    [(_, place)] = definitions_at(analysis, at)
    assert place.start == YAML.index("id: design") + 4
    text = YAML
    for span in sorted(renamed(analysis, at, "plan"), key=lambda one: one.start, reverse=True):
        text = f"{text[: span.start]}plan{text[span.end :]}"
    assert text == YAML.replace("id: design", "id: plan").replace(
        "requires: design", "requires: plan"
    ).replace("phases.design", "phases.plan")


def test_a_prompt_in_markdown_has_its_findings_and_hover_texts(folder: Path) -> None:
    path = folder / "workflows" / "m" / "workflow.md"
    analysis = Analysis(path, MARKDOWN)
    [found] = [one for one in analysis.findings if one.code == "WF204"]
    assert MARKDOWN[found.span.start : found.span.end] == "topic"
    declared = MARKDOWN.replace(
        "# Workflow: M", "---\nname: m\ninputs: {topic: {type: string, default: x}}\n---\n"
    )
    analysis = Analysis(path, declared)
    assert analysis.findings == []
    shown = hover_at(analysis, declared.index("{{ inputs.topic") + len("{{ inputs.t"))
    assert shown is not None
    assert "inputs.topic" in shown[0]
