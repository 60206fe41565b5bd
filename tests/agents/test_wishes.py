"""What a workflow may ask for: models and tools, never more than the operator allows, and how many at once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.support import Desk, delegate

MODELS = '[tool.wfc.agents]\nmodels = {fast = "haiku", strong = "opus"}\n'


def _option(call: dict[str, Any], name: str) -> str | None:
    words = call["arguments"]
    return words[words.index(name) + 1] if name in words else None


def test_the_model_of_a_step_holds_and_otherwise_that_of_the_foreach_around_it(desk: Desk) -> None:
    (desk.project / "pyproject.toml").write_text(MODELS)
    inner = f"[{delegate('b', 'say x')}, {delegate('c', 'say y', ', model: strong')}]"
    head = f"tasks: {{t: {{inputs: {{n: {{type: integer}}}}, steps: {inner}}}}}\n"
    desk.workflow(
        "{id: f, type: foreach, items: [1], task: t, model: fast}", delegate("a", "say z"), head=head
    )
    assert desk.run().status == 0
    assert [_option(call, "--model") for call in desk.calls()] == ["haiku", "opus", None]


@pytest.mark.parametrize(
    ("operator", "step", "available", "granted"),
    [
        # The operator says nothing: a step narrows, and nothing is granted.
        ("", "", None, None),
        ("", ", tools: [read]", "Read,Glob,Grep", None),
        ("", ", tools: [shell]", "Bash", None),
        ("", ", tools: []", "", None),
        # The operator's list is the most that a step gets.
        ('tools = ["read"]', ", tools: [read, edit, shell]", "Read,Glob,Grep", "Read,Glob,Grep"),
        ('tools = ["read", "shell(git *)"]', ", tools: [shell]", "Bash", "Bash(git *)"),
        ('tools = ["shell(git *)"]', ", tools: ['shell(rm *)']", "", None),
        ('tools = ["shell"]', ", tools: ['shell(git *)']", "Bash", "Bash(git *)"),
        ('tools = ["read", "mcp:github"]', ", tools: ['mcp:gitlab']", "", None),
        ('tools = ["read", "mcp:github"]', "", "Read,Glob,Grep", "Read,Glob,Grep,mcp__github"),
    ],
)
def test_a_step_never_gets_more_tools_than_the_operator_allows(
    desk: Desk, operator: str, step: str, available: str | None, granted: str | None
) -> None:
    desk.operator(operator)
    desk.workflow(delegate("a", "say x", step))
    assert desk.run().status == 0
    [call] = desk.calls()
    assert _option(call, "--tools") == available
    assert _option(call, "--allowedTools") == granted
    # An agent that may read everything could otherwise read the agent's key from its environment.
    can_read = granted is not None and granted.startswith("Read")
    assert _option(call, "--disallowedTools") == ("Read(//proc/**)" if can_read else None)


def test_a_model_that_the_project_no_longer_names_fails_the_step_and_calls_nobody(desk: Desk) -> None:
    gate = "{id: g, type: prompt, prompt_type: info, message: Go?}"
    desk.workflow(gate, delegate("a", "say x", ", model: fast"))
    (desk.project / "pyproject.toml").write_text(MODELS)
    assert desk.run().status == 4
    (desk.project / "pyproject.toml").write_text('[tool.wfc.agents]\nmodels = {quick = "haiku"}\n')
    done = desk.resume("--answer", 'g={"acknowledged": true}')
    assert done.status == 1
    assert "`models` has no `fast`" in done.err
    assert desk.calls() == []


def test_no_more_children_than_max_parallel_are_open_at_once(desk: Desk) -> None:
    head = f"tasks: {{t: {{inputs: {{n: {{type: integer}}}}, steps: [{delegate('c', 'say x')}]}}}}\n"
    desk.workflow("{id: f, type: foreach, items: [1, 2, 3, 4, 5], task: t, max_parallel: 2}", head=head)
    assert desk.run("--parallel", "5").status == 0
    events = [one for one in desk.history() if one["event"] in ("started", "child_ended")]
    most = count = 0
    for event in events[1:]:
        count += 1 if event["event"] == "started" else -1
        most = max(most, count)
    assert (most, len(desk.calls())) == (2, 5)
