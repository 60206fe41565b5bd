"""The plugin for Claude Code, `wfc init --claude`, and what `wfc doctor` and `wfc plan` say of a project's client."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.command import wfc
from tests.support import ROOT
from wfc.hooks import HOOKS
from wfc.starter.claude_plugin import (
    COMMAND_TOOLS,
    HOOK_EVENTS,
    TOOLSETS,
    UNASKED_TOOLS,
    marketplace,
    plugin_files,
    project_files,
)
from wfc_runtime.claude_code import find_missing
from wfc_runtime.plan import explain_plan
from wfc_runtime.registry import Registry
from wfc_runtime.server.toolsets import load_tools
from wfc_runtime.version import __version__

PLUGIN = ROOT / "plugin"
REVIEW = """\
name: review
version: "1.0.0"
steps:
  - {id: look, type: delegate, agent: "@code-reviewer", instructions: Look., output_to: seen}
  - {id: say, type: mcp_call, tool: chat.post, parameters: {}}
  - {id: done, type: return, needs_state: [seen], value: "{{ state.seen.response }}"}
"""


@pytest.fixture
def client(tmp_path: Path) -> Path:
    """The folder that Claude Code keeps its own files in."""
    folder = tmp_path / "client"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def environment(client: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"CLAUDE_CONFIG_DIR": str(client), "PATH": path}


def doctor(project: Path, client: Path) -> list[dict[str, str]]:
    result = wfc("doctor", "--json", cwd=project, env=environment(client))
    return [one for one in json.loads(result.out)["results"] if one["part"] in ("claude", "agents", "tools")]


def install(
    client: Path,
    version: str = __version__,
    path: Path | None = None,
    enabled: bool = True,
    project: Path | None = None,
) -> None:
    """Write what the client writes when the plugin is installed, for the user or for one project."""
    place = {"scope": "user", "installPath": str(path or PLUGIN), "version": version}
    if project:
        place |= {"scope": "project", "projectPath": str(project)}
    (client / "plugins").mkdir()
    installed = {"version": 2, "plugins": {"wfc@wfc": [place]}}
    (client / "plugins" / "installed_plugins.json").write_text(json.dumps(installed))
    (client / "settings.json").write_text(json.dumps({"enabledPlugins": {"wfc@wfc": enabled}}))


# The plugin.


def test_the_plugin_is_what_its_source_makes_of_it() -> None:
    texts = {
        str(path.relative_to(PLUGIN)): path.read_text(encoding="utf-8")
        for path in PLUGIN.rglob("*")
        if path.is_file() and path.suffix != ".png"
    }
    assert texts == plugin_files(), "run `make docs`"
    assert (ROOT / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8") == marketplace()


def test_the_icon_is_a_square_png_of_a_size_that_the_directory_accepts() -> None:
    data = (PLUGIN / ".claude-plugin" / "icon.png").read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    assert width == height
    assert 512 <= width <= 2048


SIDES = pytest.mark.parametrize(
    "files",
    [plugin_files(), project_files(), project_files(has_server=True)],
    ids=["plugin", "project", "project with a server"],
)


@SIDES
def test_every_tool_that_a_text_names_exists(files: dict[str, str]) -> None:
    tools = {*load_tools(TOOLSETS.split(","))}
    named = {name for text in files.values() for name in re.findall(r"mcp__(?:plugin_wfc_)?wfc__(\w+)", text)}
    assert named <= tools
    assert {*COMMAND_TOOLS} <= named
    started = [json.loads(text)["mcpServers"] for path, text in files.items() if path.endswith(".mcp.json")]
    server = {"command": "wfc", "args": ["serve", "--toolsets", TOOLSETS]}
    # Tools of the project's own server have a shorter prefix than those of a plugin.
    prefixes = {name for text in files.values() for name in re.findall(r"mcp__(?:plugin_wfc_)?wfc__", text)}
    assert (started, prefixes) in (([{"wfc": server}], {"mcp__plugin_wfc_wfc__"}), ([], {"mcp__wfc__"}))


@SIDES
def test_no_placeholder_is_left_in_a_text(files: dict[str, str]) -> None:
    assert not [path for path, text in files.items() if re.search(r"%[A-Z]+%", text)]


def test_the_front_matter_of_commands_agents_and_skills_is_yaml_with_the_required_keys() -> None:
    required = {
        "commands/workflow.md": {"description", "argument-hint", "allowed-tools"},
        "agents/runner.md": {"name", "description"},
        "skills/write-workflow/SKILL.md": {"name", "description"},
    }
    for path, keys in required.items():
        _, front, body = plugin_files()[path].split("---\n", 2)
        assert yaml.safe_load(front).keys() == keys
        assert body.strip()


def test_hooks_are_registered_for_the_events_that_wfc_hook_answers() -> None:
    hooks = json.loads(plugin_files()["hooks/hooks.json"])["hooks"]
    assert hooks.keys() == HOOK_EVENTS.keys()
    assert {*HOOK_EVENTS.values()} == {*HOOKS}
    for event, [entry] in hooks.items():
        [hook] = entry["hooks"]
        done = subprocess.run(
            ["/bin/sh", "-c", hook["command"]], env={"PATH": ""}, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), f"{event} without wfc on the PATH"


def test_the_command_takes_every_form_of_a_request() -> None:
    text = plugin_files()["commands/workflow.md"]
    for form in (
        "list",
        "NAME info",
        "NAME start",
        "resume [ID]",
        "status [ID]",
        "journal [ID]",
        "abort [ID]",
    ):
        assert form in text
    assert text.count("$") == 1
    assert "$ARGUMENTS" in text


def test_the_workflow_in_the_skill_checks_clean(tmp_path: Path) -> None:
    [example] = re.findall(r"```yaml\n(.*?)```", plugin_files()["skills/write-workflow/SKILL.md"], re.S)
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "release-notes.yaml").write_text(example, encoding="utf-8")
    assert wfc("check", cwd=tmp_path).out == "checked 1 workflow: all clean\n"


# The project's side.


def test_init_writes_the_projects_side_for_claude_code(project: Path, client: Path) -> None:
    result = wfc("init", "--claude", cwd=project, env=environment(client))
    assert result.status == 0, result.err
    for path, text in project_files().items():
        assert (project / path).read_text(encoding="utf-8") == text
    allowed = json.loads((project / ".claude" / "settings.json").read_text())["permissions"]["allow"]
    assert allowed == [f"mcp__plugin_wfc_wfc__{tool}" for tool in UNASKED_TOOLS]
    assert "mcp__plugin_wfc_wfc__cancel_workflow" not in allowed
    # The server is in the folder of the plugin; a second one would offer every tool twice.
    assert not (project / ".mcp.json").exists()
    assert wfc("init", cwd=project).status == 0
    assert not (project / ".mcp.json").exists()
    results = json.loads(wfc("doctor", "--json", cwd=project, env=environment(client)).out)["results"]
    [answer] = [one for one in results if one["part"] == "agent"]
    assert answer["status"] == "ok"
    assert ".claude/skills/wfc/.mcp.json" in answer["message"]
    # A plugin's agent has its prefix in the client.
    assert not find_missing(["@runner", "@wfc:runner", "@claude"], (), project, None)
    assert find_missing(["@other:runner"], (), project, None).agents == ("@other:runner",)


def test_init_leaves_the_server_where_the_project_has_it(project: Path, client: Path) -> None:
    assert wfc("init", cwd=project).status == 0
    assert wfc("init", "--claude", cwd=project).status == 0
    for path, text in project_files(has_server=True).items():
        assert (project / path).read_text(encoding="utf-8") == text
    assert not (project / ".claude" / "skills" / "wfc" / ".mcp.json").exists()
    assert not [one for one in doctor(project, client) if "twice" in one["message"]]


def test_the_block_in_claude_md_names_the_three_phrases(project: Path) -> None:
    assert wfc("init", "--claude", cwd=project).status == 0
    text = (project / "CLAUDE.md").read_text(encoding="utf-8")
    assert text.startswith("<!-- wfc: begin -->\n")
    assert text.endswith("<!-- wfc: end -->\n")
    for phrase, tool in (("continue workflow", "get_workflow_status"), ("abort workflow", "cancel_workflow")):
        [line] = [line for line in text.splitlines() if f'"{phrase}"' in line]
        assert tool in line
    assert '"workflow status"' in text


def test_init_without_the_option_writes_nothing_for_claude_code(project: Path) -> None:
    assert wfc("init", cwd=project).status == 0
    assert not (project / ".claude").exists()
    assert not (project / "CLAUDE.md").exists()


def test_init_adds_to_the_files_of_claude_code_that_are_there(project: Path) -> None:
    mine = {"permissions": {"deny": ["Read(.env)"], "allow": ["Bash(ls:*)"]}, "model": "é"}
    settings, memory = project / ".claude" / "settings.json", project / "CLAUDE.md"
    command = project / ".claude" / "commands" / "workflow.md"
    command.parent.mkdir(parents=True)
    command.write_text("mine\n")
    settings.write_text(json.dumps(mine, indent=4, ensure_ascii=False), encoding="utf-8")
    memory.write_bytes(b"# Mine\r\n\r\nNo line end: \xff")
    result = wfc("init", "--claude", cwd=project)
    assert result.status == 0, result.err
    merged = json.loads(settings.read_text(encoding="utf-8"))
    allowed = merged["permissions"].pop("allow")
    assert allowed == ["Bash(ls:*)", *(f"mcp__plugin_wfc_wfc__{tool}" for tool in UNASKED_TOOLS)]
    assert merged == {"permissions": {"deny": ["Read(.env)"]}, "model": "é"}
    assert '\n    "model": "é"' in settings.read_text(encoding="utf-8")
    block = project_files()["CLAUDE.md"].replace("\n", "\r\n").encode()
    assert memory.read_bytes() == b"# Mine\r\n\r\nNo line end: \xff\r\n\r\n" + block
    # A command of the project's own stays, and what belongs into it is printed.
    assert command.read_text() == "mine\n"
    assert "kept     .claude/commands/workflow.md: for" in result.out
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    again = wfc("init", "--claude", cwd=project)
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before
    assert "kept     .claude/settings.json: it has permissions for the wfc tools already" in again.out


@pytest.mark.parametrize(
    "text",
    ["", "// mine\n{}", "[]", "null", '{"permissions": []}', '{"permissions": {"allow": "all"}}', "[" * 9999],
)
def test_settings_of_another_form_are_kept_and_what_to_add_is_printed(project: Path, text: str) -> None:
    settings = project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(text)
    result = wfc("init", "--claude", cwd=project)
    assert settings.read_text() == text
    assert "kept     .claude/settings.json: for permissions for the wfc tools, add this to it:" in result.out


# What doctor says.


def test_doctor_finds_every_tool_twice(project: Path, client: Path) -> None:
    wfc("init", cwd=project)
    install(client)
    assert [one["status"] for one in doctor(project, client)] == ["ok", "problem"]
    assert "exists twice" in doctor(project, client)[1]["message"]
    (project / ".mcp.json").unlink()
    assert [one["status"] for one in doctor(project, client)] == ["ok"]
    # The folder of wfc init --claude has a server as well.
    assert wfc("init", "--claude", cwd=project).status == 0
    [twice] = [one for one in doctor(project, client) if "exists twice" in one["message"]]
    assert "in .claude/skills/wfc/.mcp.json and in the wfc plugin" in twice["message"]


def test_doctor_finds_a_server_without_the_journal_that_the_command_shows(
    project: Path, client: Path
) -> None:
    assert wfc("init", "--claude", cwd=project).status == 0
    assert not [one for one in doctor(project, client) if "journal" in one["message"]]
    plain = {"mcpServers": {"wfc": {"command": "wfc", "args": ["serve"]}}}
    (project / ".claude" / "skills" / "wfc" / ".mcp.json").write_text(json.dumps(plain), encoding="utf-8")
    [found] = [one for one in doctor(project, client) if "journal" in one["message"]]
    assert found["message"] == "`/workflow journal` has no tool: the server offers no journal"


def test_doctor_says_nothing_of_a_plugin_that_is_disabled(project: Path, client: Path) -> None:
    wfc("init", cwd=project)
    install(client, enabled=False)
    assert doctor(project, client) == []


def test_doctor_finds_a_plugin_that_is_enabled_for_this_project_only(project: Path, client: Path) -> None:
    wfc("init", cwd=project)
    install(client, enabled=False, project=project)
    assert doctor(project, client) == []
    (project / ".claude").mkdir()
    settings = project / ".claude" / "settings.json"
    settings.write_text(json.dumps({"enabledPlugins": {"wfc@wfc": True}}))
    assert "exists twice" in doctor(project, client)[1]["message"]
    # What a person has turned off for themselves in this project has no effect in it.
    (project / ".claude" / "settings.local.json").write_text(
        json.dumps({"enabledPlugins": {"wfc@wfc": False}})
    )
    assert doctor(project, client) == []


def test_a_plugin_that_another_project_has_installed_is_not_in_this_one(
    project: Path, client: Path, tmp_path: Path
) -> None:
    wfc("init", cwd=project)
    install(client, project=tmp_path / "other")
    assert doctor(project, client) == []


def test_doctor_finds_an_old_plugin_and_one_whose_files_are_gone(project: Path, client: Path) -> None:
    install(client, version="0.0.1")
    [old] = doctor(project, client)
    assert "has version 0.0.1" in old["message"]
    (client / "plugins" / "installed_plugins.json").write_text(
        json.dumps({"plugins": {"wfc@wfc": [{"installPath": "/gone", "version": __version__}]}})
    )
    [gone] = doctor(project, client)
    assert (gone["status"], "/gone" in gone["message"]) == ("problem", True)


def test_doctor_finds_old_files_of_init(project: Path, client: Path) -> None:
    wfc("init", "--claude", cwd=project)
    assert [one["status"] for one in doctor(project, client)] == ["ok"]
    manifest = project / ".claude" / "skills" / "wfc" / ".claude-plugin" / "plugin.json"
    manifest.write_text('{"version": "0.0.1"}')
    assert "has version 0.0.1" in doctor(project, client)[0]["message"]
    manifest.write_text("no json")
    assert doctor(project, client)[0]["status"] == "problem"


def test_doctor_finds_a_project_that_the_client_does_not_trust(project: Path, client: Path) -> None:
    wfc("init", "--claude", cwd=project)
    (client / ".claude.json").write_text(json.dumps({"projects": {}}))
    assert "does not trust this folder" in doctor(project, client)[1]["message"]
    projects = {str(project.resolve()): {"hasTrustDialogAccepted": True}}
    (client / ".claude.json").write_text(json.dumps({"projects": projects}))
    assert len(doctor(project, client)) == 1


@pytest.mark.parametrize(
    "odd", ["", "[]", "null", '{"plugins": 3}', '{"plugins": {"wfc@wfc": 7}}', "[" * 9999]
)
def test_files_of_the_client_that_have_another_form_count_as_missing(
    project: Path, client: Path, odd: str
) -> None:
    (client / "plugins").mkdir()
    for name in ("plugins/installed_plugins.json", "settings.json", ".claude.json"):
        (client / name).write_text(odd)
    assert doctor(project, client) == []


# Agents and tools that are missing.


def with_review(project: Path, settings: str = "") -> None:
    (project / "workflows").mkdir()
    (project / "workflows" / "review.yaml").write_text(REVIEW)
    (project / "pyproject.toml").write_text(f"[tool.wfc]\n{settings}\n")
    assert wfc("compile", cwd=project).status == 0


def plan(project: Path, client: Path) -> Any:
    result = wfc("plan", "review", "--json", cwd=project, env=environment(client))
    assert result.status == 0, result.out
    return json.loads(result.out).get("missing")


def test_plan_and_doctor_name_agents_that_are_missing(project: Path, client: Path) -> None:
    with_review(project)
    assert plan(project, client) == {"agents": ["@code-reviewer"], "tools": []}
    shown = wfc("plan", "review", cwd=project, env=environment(client)).out
    assert "missing   @code-reviewer: no such agent in .claude/agents" in shown
    [found] = doctor(project, client)
    assert found["message"] == "`review` names @code-reviewer, which does not exist"


@pytest.mark.parametrize("name", ["project", "user", "by its front matter", "plugin"])
def test_an_agent_counts_as_there_in_the_place(name: str, project: Path, client: Path) -> None:
    with_review(project)
    places = {
        "project": project / ".claude" / "agents" / "code-reviewer.md",
        "user": client / "agents" / "code-reviewer.md",
        "by its front matter": project / ".claude" / "agents" / "mine.md",
        "plugin": client / "plugged" / "agents" / "code-reviewer.md",
    }
    if name == "plugin":
        install(client, path=client / "plugged")
    path = places[name]
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: code-reviewer\ndescription: Reviews.\n---\nReview.\n")
    assert plan(project, client) is None


def test_a_tool_is_missing_only_if_the_settings_list_the_tools(project: Path, client: Path) -> None:
    with_review(project, 'tools = ["other"]\nignore = ["WF107"]')
    assert plan(project, client)["tools"] == ["chat.post"]
    (project / "pyproject.toml").write_text('[tool.wfc]\ntools = ["chat.post"]\n')
    assert plan(project, client)["tools"] == []


# The shipped workflows.

CLIENT_TOOLS = {"WebSearch", "Write"}
"""Tools of a plain Claude Code that shipped workflows call by name."""


def test_shipped_workflows_need_nothing_that_a_plain_client_lacks(client: Path, monkeypatch: Any) -> None:
    """Every compiled workflow of every language, by what its plan says that it needs."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(client))
    found = Registry(ROOT / "generated").modules()
    modules = {module.workflow.name: module.workflow for module in found}
    paths = [*(ROOT / "workflows").glob("*.yaml"), *(ROOT / "workflows").glob("*/workflow.md")]
    assert len(modules) >= len([path for path in paths if ".test" not in path.name]) >= 40
    lacking: dict[str, Any] = {}
    for name, workflow in modules.items():
        needs = explain_plan(workflow, modules.get)["needs"]
        missing = find_missing(needs.get("agents", ()), needs.get("tools", ()), ROOT, CLIENT_TOOLS)
        if missing:
            lacking[name] = missing
    assert lacking == {}
    # The check itself finds what is missing.
    assert find_missing(["@nobody"], ["chat.post"], ROOT, CLIENT_TOOLS)
