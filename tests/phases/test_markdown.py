"""A `workflow.md`: which fences are the program, whose prompt a fence is, and where findings point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT
from wfc.checker import check_file
from wfc.config import Config
from wfc.dialects.phases import markdown
from wfc.dialects.phases.markdown import read_definition, read_markdown
from wfc.language.values import plain
from wfc.project import Project, SourceFile, load_file
from wfc.yaml import Document, Source, YamlLimits, parse_document

ONE = "```yaml\nphase:\n  number: 1\n  agents: [{type: general-purpose}]\n  completion: done\n```\n"


def read(text: str, path: str = "some/folder/workflow.md") -> Document:
    return read_markdown(Source(path, text), YamlLimits())


def data(text: str, path: str = "some/folder/workflow.md") -> Any:
    found = read(text, path)
    assert found.problems == []
    assert found.root is not None
    return plain(found.root)


def phases(text: str) -> Any:
    return data(text)["phases"]


def loaded(text: str, files: dict[str, str] | None = None) -> SourceFile:
    config = Config(Path(".").resolve())
    project = Project(config, companions=lambda: files or {})
    return load_file(".claude/workflows/x/workflow.md", text.encode(), config, project)


def test_a_name_is_that_of_the_file_or_its_title_or_its_folder() -> None:
    assert data(f"---\nname: given\n---\n# Workflow: Title\n{ONE}")["name"] == "given"
    assert data(f"# Workflow: Grüße & Große Dinge!\n{ONE}")["name"] == "gr-e-gro-e-dinge"
    assert data(f"# workflow: A  Title ##\n# Workflow: Another\n{ONE}")["name"] == "a-title"
    assert data(f"**Workflow ID**: 123\n{ONE}")["name"] == "folder"
    assert data(f"# Plan: Workflow: no\n{ONE}")["name"] == "folder"


def test_only_yaml_fences_with_phases_are_the_program() -> None:
    text = (
        "```yaml\nname: not-this\nsteps: []\n```\n"
        "```\nphases: [1]\n```\n"
        "```python\nphases = []\n```\n"
        "```yaml\nmetadata:\n  phases: 3\n```\n"
        "```yaml\nthis: [is, broken\n```\n"
        "~~~yml\nversion: '2.0'\nphases:\n  - {number: 1}\n  - {number: 2}\n~~~\n"
        "  ```YAML\n  # the last one\n  phase: 3\n  name: Flat\n  ```\n"
        "````yaml\nphase:\n  number: 4\n  description: |\n    ```\n    inner\n    ```\n````\n"
    )
    found = data(text)
    assert found["version"] == "2.0"
    assert [one["number"] for one in found["phases"]] == [1, 2, 3, 4]
    assert found["phases"][2]["name"] == "Flat"
    assert found["phases"][3]["description"] == "```\ninner\n```\n"


def test_a_flat_phase_is_named_by_its_number_or_by_its_id() -> None:
    found = data("```yaml\nphase: design\nnumber: 1\n```\n```yaml\nphase: 2\nid: build\n```\n")
    assert found["phases"] == [{"id": "design", "number": 1}, {"number": 2, "id": "build"}]


def test_a_fence_ends_at_its_own_indentation_only() -> None:
    text = f"{ONE}**Agent Prompt:**\n\n```\nWrite this:\n  ```python\n  pass\n  ```\n   ```\nand `````` too.\n````\n"
    assert phases(text)[0]["agents"][0]["prompt"] == (
        "Write this:\n  ```python\n  pass\n  ```\n   ```\nand `````` too.\n"
    )


@pytest.mark.parametrize(
    ("heading", "whose"),
    [
        ("#### Agent Prompt: writer", 1),
        ("**Agent Prompt (writer):**", 1),
        ("**Agent Prompt (Writer)**", 1),
        ("### Agent Prompt for everybody", None),
        ("- **Agent Prompt: reader**", 0),
        ("#### Agent Prompt", None),
        ("#### Orchestrator Actions", None),
        ("#### agent prompt: nobody", None),
    ],
)
def test_a_prompt_belongs_to_the_agent_that_its_heading_names(heading: str, whose: int | None) -> None:
    two = (
        "```yaml\nphase:\n  number: 1\n  agents: [{type: reader}, {type: writer, subagent_type: Plan}]\n```\n"
    )
    [phase] = phases(f"{two}\n{heading}\n\n```text\nDo it.\n```\n")
    assert [one.get("prompt") for one in phase["agents"]] == [
        "Do it.\n" if number == whose else None for number in (0, 1)
    ]


def test_a_prompt_with_another_name_belongs_to_the_only_agent_of_the_phase() -> None:
    [phase] = phases(f"{ONE}#### Agent Prompt: Benchmarks\n\n```\nMeasure it.\n```\n")
    assert [one["prompt"] for one in phase["agents"]] == ["Measure it.\n"]


def test_prompts_of_equal_roles_go_to_one_agent_after_the_other() -> None:
    two = "```yaml\nphase:\n  number: 1\n  agents: [{type: a, subagent_type: Plan}, {type: Plan}]\n```\n"
    [phase] = phases(
        f"{two}\n#### Agent Prompt: plan\n```\nOne\n```\n#### Agent Prompt: plan\n```\nTwo\n```\n"
    )
    assert [one["prompt"] for one in phase["agents"]] == ["Two\n", "One\n"]


def test_the_clients_tools_are_no_roles() -> None:
    text = (
        "#### Agent 1: Code Reviewer (read only)\n```yaml\nphase:\n  number: 1\n  agents:\n"
        "    - {type: Task, subagent_type: Explore}\n```\n"
        "#### Anything\n```yaml\nphase:\n  number: 2\n  agents: [{type: Agent, subagent_type: Plan}]\n```\n"
    )
    assert [one["agents"][0]["type"] for one in phases(text)] == ["code-reviewer", "plan"]


def test_places_are_exact_in_indented_fences_with_windows_line_ends() -> None:
    text = (
        "# Workflow: X\n\n  ```yaml\n  phase:\n    number: 1\n    agents: [{type: general-purpos}]\n"
        "    completion: ok\n  ```\n\n#### Agent Prompt\n\n   ~~~\n   Read {{ inputs.naem }}.\n   ~~~\n"
    ).replace("\n", "\r\n")
    file = loaded(text)
    found = {one.code: one.span for one in check_file(file)}
    assert (found["WF113"].line, found["WF113"].column, found["WF113"].text) == (6, 21, "general-purpos")
    assert (found["WF204"].line, found["WF204"].text) == (13, "naem")


def test_prose_is_not_given_to_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    given = 0

    def counted(source: Source, limits: YamlLimits) -> Document:
        nonlocal given
        given += len(source.text)
        return parse_document(source, limits)

    monkeypatch.setattr(markdown, "parse_document", counted)
    text = "".join(f"{'Prose. ' * 200}\n\n```yaml\nphase: {number}\n```\n\n" for number in range(1, 101))
    found = data(text)
    assert [one["number"] for one in found["phases"]] == [*range(1, 101)]
    # Only line breaks stand for what is above a fence.
    assert given < len(text) / 2


def test_a_message_names_the_line_of_the_markdown() -> None:
    text = '# Title\n\nProse.\n\n```yaml\nphase: 1\nname: "open\nagents: []\n```\n'
    [problem] = read(text).problems
    assert problem.span.line == 7
    assert problem.span.text.startswith('"')


def test_a_syntax_error_and_an_open_fence_are_reported_in_the_markdown() -> None:
    [problem] = read("# X\n\n```yaml\nphase:\n  number: [1\n```\n").problems
    assert problem.span.line in (5, 6)
    [problem] = read("# X\n\n   ````yaml\n   phase: 1\n   ```\n").problems
    assert (problem.kind, problem.span.line, problem.span.column) == ("syntax", 3, 4)


def test_a_file_without_phases_says_so() -> None:
    for text in ("", "# Workflow: Nothing\n", "---\nname: x\n---\n", "```\n```\n"):
        [found] = [one for one in check_file(loaded(text)) if one.code == "WF006"]
        assert "phases" in found.message


def test_a_definition_gives_the_sections_that_the_file_lacks() -> None:
    text = (
        "# D\n\n## Objective\n\nMake {{ it }} work.\n\n<!-- a note -->\n## Constraints:\n- one\n* two\n  more\n"
        "## Else\n- no\n### Success Criteria\n1. a\n- [x] b\n#### Detail\n## Scope\n"
    )
    assert read_definition(text) == {
        "objective": "Make {{ it }} work.",
        "constraints": ["one", "two more"],
        "success_criteria": "1. a\n- [x] b\n#### Detail",
    }
    # A known section ends the one before it, at whichever level.
    assert read_definition("# Objective\nFast.\n## Why\nSlow.\n## Scope\n- src/\n# Constraints\nNone.") == {
        "objective": "Fast.\n## Why\nSlow.",
        "scope": ["src/"],
        "constraints": "None.",
    }
    beside = {".claude/workflows/x/definition.md": text, "definition.md": "# D\n## Scope\nelsewhere\n"}
    file = loaded(f"---\nconstraints: [mine]\n---\n{ONE}", beside)
    assert file.module is not None
    [state] = [one for one in file.module.main.states() if one.title == "phase-1"]
    assert state.effect is not None
    brief = str(state.effect.arguments["parameters"]["instructions"])
    assert "Objective: Make {{ '{{' }} it }} work." in brief
    assert "Constraints: mine" in brief
    assert "one" not in brief.split("Constraints: mine")[1].split("\n")[0]
    assert "elsewhere" not in brief


@pytest.mark.parametrize(
    "text",
    [
        "---\n---\n",
        "---\n",
        "---\nname: x\n",
        "```yaml\n```",
        "```yaml\nphase:\n```\n",
        "```yaml\nphases: 3\n```\n",
        "```yaml\nphases: [1, null, [2]]\n```\n",
        "```yaml\nphase: [1]\n```\n",
        "```yaml\nphase: {agents: {a: 1}}\n```\n#### Agent Prompt\n```\nx\n```\n",
        "#### Agent Prompt: x\n```\nx\n```\n",
        "\ufeff# Workflow: \n",
        "```yaml\nphase: &a {number: 1, agents: [*a]}\n```\n",
        "# Workflow: " + "x" * 5000,
        "```" * 2000,
        ("```yaml\nphase: 1\n```\n") * 600,
        "\t```yaml\n\tphase: 1\n\t```\n",
        "```yaml\nphase:\n  number: 1\n  agents: [{type: Task}]\n```\n",
        "<!-- Generated by wfc from x.yaml. Do not edit: y sha256:" + "0" * 64 + " -->\nx\n",
    ],
)
def test_nothing_that_a_file_may_hold_breaks_the_reader(text: str) -> None:
    file = loaded(text)
    assert [one.message for one in check_file(file) if one.is_crash] == []


def test_the_example_of_the_documentation_is_clean() -> None:
    text = (ROOT / "docs" / "phases.md").read_text(encoding="utf-8")
    example = text.split("````markdown\n")[1].split("````\n")[0]
    file = loaded(example)
    assert (file.name, check_file(file)) == ("weekly-report", [])


TWO = ONE.replace("number: 1", "number: 2")
NUMBERS: dict[str, tuple[str, list[int]]] = {
    "a phase that is commented out": (f"<!--\n{ONE}-->\n{TWO}", [2]),
    "comments of one line": (f"<!-- a -->\n{ONE}  <!-- b -->\n{TWO}", [1, 2]),
    "a comment inside a prompt": (f"{ONE}#### Agent Prompt\n```\n<!-- keep\n```\n{TWO}", [1, 2]),
    "a comment that never ends": (f"{ONE}<!--\n{TWO}", [1]),
    "phases in the front matter": (
        f"---\nphases: [{{number: 1, agents: [{{type: Explore}}]}}]\n---\n{TWO}",
        [1, 2],
    ),
    "carriage returns only": (f"# Workflow: A\n{ONE}{TWO}".replace("\n", "\r"), [1, 2]),
    "a fence in a list": ("- item\n\n" + "".join(f"  {line}\n" for line in ONE.splitlines()) + TWO, [1, 2]),
    "words behind yaml": (ONE.replace("```yaml", '```yaml title="x" {1,2}'), [1]),
    "more ticks at the end": (ONE.removesuffix("```\n") + "`````\n", [1]),
    "five thousand ticks": (ONE.replace("```", "`" * 5000), [1]),
    "a quoted fence": (f"> ```yaml\n> phase: 9\n> ```\n{ONE}", [1]),
    "a rule in place of the front matter": (f"---\n\n{ONE}", [1]),
    "a separator of lines": (f"# Workflow: A\u2028B\n{ONE}", [1]),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_odd_markdown_has_the_phases_that_a_reader_sees(name: str) -> None:
    text, numbers = NUMBERS[name]
    assert [one["number"] for one in phases(text)] == numbers


@pytest.mark.parametrize(
    ("text", "code", "line", "part"),
    [
        ("```yaml\nphases: 3\n```\n", "WF006", 2, "3"),
        ("```yaml\nphases:\n  - 1\n  - {number: 1, checkpoint: human}\n```\n", "WF006", 3, "1"),
        (f"---\nphases: [x]\n---\n{ONE}", "WF006", 2, "x"),
        (
            ONE.replace("phase:", "mcp: relay\nphase:") + TWO.replace("phase:", "mcp: auto\nphase:"),
            "WF002",
            9,
            "mcp",
        ),
        ("# X\n\n\t```yaml\n\tphase:\n\t  number: 1\n\t```\n", "WF001", 4, "\t"),
        ("```yaml\nphase: &p {number: 1}\n```\n```yaml\nphase: *p\n```\n", "WF001", 5, "*p"),
        (
            f"{ONE}#### Agent Prompt\n```\nOne\n```\n\t#### Agent Prompt\n```\nTwo\n```\n",
            "WF121",
            11,
            "Agent Prompt",
        ),
        (
            f"{ONE}```\n#### Agent Prompt\n```\n**Agent Prompt**\r\n```\nA\n```\n**Agent Prompt**\n```\nB\n```\n",
            "WF121",
            14,
            "Agent Prompt",
        ),
    ],
)
def test_what_is_wrong_in_markdown_is_reported_where_it_stands(
    text: str, code: str, line: int, part: str
) -> None:
    [found] = [one for one in check_file(loaded(text)) if one.code == code]
    assert (found.span.line, found.span.text) == (line, part)
