"""What the brief of an agent says about who submits its report, and about a long mission."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wfc.checker import check_file
from wfc.config import Config
from wfc.findings import Severity
from wfc.project import Project, load_file


def actions(text: str, files: dict[str, str] | None = None) -> dict[str, dict[str, Any]]:
    """The parameters of each agent's action, by its step."""
    config = Config(Path(".").resolve())
    project = Project(config, companions=lambda: files or {})
    file = load_file("workflows/x.yaml", text.encode(), config, project)
    assert file.module is not None
    asked = [one for one in file.module.main.states() if one.effect is not None and one.effect.name == "Ask"]
    found = {one.title: one.effect.arguments["parameters"] for one in asked if one.effect is not None}
    return {name: one for name, one in found.items() if "instructions" in one}


def briefs(text: str) -> dict[str, str]:
    """The brief of each agent, by its step."""
    return {name: str(one["instructions"]) for name, one in actions(text).items()}


def mission(phases: int, mcp: str = "auto") -> str:
    lines = [f"name: x\nproof: none\nmcp: {mcp}\nphases:"]
    for number in range(1, phases + 1):
        agents = "[{type: Explore}, {type: Plan}]"
        lines.append(f"  - {{id: p{number}, number: {number}, agents: {agents}, completion: done}}")
    return "\n".join(lines) + "\n"


def test_from_the_sixth_phase_on_its_first_brief_says_that_the_context_may_be_cleared() -> None:
    found = briefs(mission(7))
    assert len(found) == 14
    told = [name for name, text in found.items() if "You may clear your context before this phase" in text]
    assert told == ["p6-explore", "p7-explore"]


@pytest.mark.parametrize(
    ("mcp", "says", "says_not"),
    [
        ("auto", "Return the report as your answer. You may also call log_decision", "submit_result"),
        ("relay", "Return the report as your answer.", "log_decision"),
        ("direct", "Submit the report yourself: submit_result(workflow_id=", "Return the report"),
    ],
)
def test_a_brief_says_who_submits_the_report(mcp: str, says: str, says_not: str) -> None:
    for text in briefs(mission(1, mcp)).values():
        assert says in text
        assert says_not not in text


def test_an_agent_that_the_client_does_not_know_is_played_by_one_that_it_has() -> None:
    files = {
        ".claude/agents/tester.md": "---\nname: tester\n---\nTest it.\n",
        "workflows/agents/scribe.md": "---\nname: scribe\n---\nWrite it down.\n",
    }
    phases = "[{number: 1, agents: [{type: tester}, {type: scribe}, {type: Plan}], completion: done}]"
    found = actions(f"name: x\nproof: none\nphases: {phases}\n", files)
    assert [one["subagent_type"] for one in found.values()] == ["tester", "general-purpose", "Plan"]
    assert [one["agent"] for one in found.values()] == ["@tester", "@scribe", "@plan"]
    assert "Write it down." in found["phase-1-scribe"]["instructions"]


def findings(prompt: str, objective: str = "None.") -> list[tuple[str, str]]:
    """What is wrong in the prompt of a phase `b` that requires `a`."""
    config = Config(Path(".").resolve())
    text = (
        f"name: x\nproof: none\nobjective: {json.dumps(objective)}\nphases:\n"
        "  - {id: a, number: 1, agents: [{type: Explore}], completion: done}\n"
        f"  - {{id: b, number: 2, requires: a, completion: done,\n"
        f"     agents: [{{type: Explore, prompt: {json.dumps(prompt)}}}]}}\n"
        "  - {id: c, number: 3, agents: [{type: Explore}], completion: done}\n"
    )
    file = load_file("workflows/x.yaml", text.encode(), config, Project(config))
    return [(one.code, one.message) for one in check_file(file)]


@pytest.mark.parametrize(
    ("reference", "code", "message"),
    [
        ("phases.a.nope.summary", "WF202", "phase `a` has no agent `nope`"),
        ("phases.zz.explore.summary", "WF202", "there is no phase `zz`"),
        ("phases.a", "WF202", "a reference names a phase and an agent"),
        ("phases.b.explore.summary", "WF313", "a phase can't read its own reports"),
        ("phases.c.explore.summary", "WF313", "phase `b` reads `c` but does not require it"),
        (
            "phases['c']['explore'].decisions[0].chosen",
            "WF313",
            "phase `b` reads `c` but does not require it",
        ),
        ("state.a.summary", "WF202", "undefined name `state`"),
    ],
)
def test_a_wrong_reference_is_reported_once(reference: str, code: str, message: str) -> None:
    assert findings(f"<x>{{{{ {reference} }}}}</x>") == [(code, message)]


def test_a_report_in_a_text_of_the_whole_mission_is_reported_once() -> None:
    message = "a text of the whole mission can't read the report of a phase"
    assert findings("Go.", "<x>{{ phases.a.explore.summary }}</x>") == [("WF202", message)]


@pytest.mark.parametrize(
    "prompt",
    [
        "{{ 'the state of it' }}",
        '{{ "all phases.zz.y of \\" state" }}',
        "{{ ['the state', 'phases.c.explore'] | join(' of ') }}",
        "{# state.x and phases.zz.y #}Go.",
        "{% raw %}{{ state.x }} {{ phases.zz.y }}{% endraw %}",
        "<x>{{ phases['a']['explore'].summary }}{{ 'phases.zz.y' }}</x>",
        "The state.x of phases.zz.y.",
    ],
)
def test_words_in_strings_comments_and_raw_text_are_no_references(prompt: str) -> None:
    assert findings(prompt) == []


def test_a_reference_in_a_string_stays_as_it_is() -> None:
    text = mission(2).replace("id: p2, number: 2", "id: p2, number: 2, requires: p1")
    text = text.replace("{type: Plan}", "{type: Plan, prompt: \"{{ 'phases.p1.plan.summary' }}\"}")
    assert "phases.p1.plan.summary" in briefs(text)["p2-plan"]


@pytest.mark.parametrize("agent", ["{type: ''}", "{type: '', subagent_type: Plan}", "{subagent_type: ''}"])
def test_an_agent_with_an_empty_name_is_reported_and_not_left_out(agent: str) -> None:
    config = Config(Path(".").resolve())
    text = mission(1).replace("{type: Plan}", agent)
    file = load_file("workflows/x.yaml", text.encode(), config, Project(config))
    assert [one.code for one in check_file(file)] == ["WF006"]


@pytest.mark.parametrize(
    ("extra", "mcp", "severities"),
    [
        ("", "auto", [Severity.WARNING]),
        ("", "relay", [Severity.ERROR]),
        ("", "direct", []),
        # The body is not the brief of an agent that has a prompt.
        (", prompt: Look.", "relay", []),
    ],
)
def test_a_call_in_the_file_of_an_agent_is_reported_where_the_file_is_the_brief(
    extra: str, mcp: str, severities: list[Severity]
) -> None:
    config = Config(Path(".").resolve())
    text = mission(1, mcp).replace("{type: Plan}", f"{{type: scout{extra}}}")
    files = {".claude/agents/scout.md": "---\nname: scout\n---\nBegin with start_task(workflow_id).\n"}
    file = load_file("workflows/x.yaml", text.encode(), config, Project(config, companions=lambda: files))
    found = [one for one in check_file(file) if one.code == "WF510"]
    assert [one.severity for one in found] == severities
    for one in found:
        assert "`scout`, which is .claude/agents/scout.md, calls `start_task`" in one.message
        assert one.span.text.startswith("scout")


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ("agents: {type: Plan}", "WF006"),
        ("agents: [{type: Plan}], completion: {a: {b: c}}", "WF006"),
        ("agents: []", "WF005"),
        ("agents: [{type: Plan}], outputs: []", "WF415"),
    ],
)
def test_a_key_of_another_type_is_reported_once_and_not_as_missing(keys: str, code: str) -> None:
    text = f"name: x\nproof: none\nphases:\n  - {{number: 1, {keys}}}\n"
    config = Config(Path(".").resolve())
    file = load_file("workflows/x.yaml", text.encode(), config, Project(config))
    assert [one.code for one in check_file(file)] == [code]
