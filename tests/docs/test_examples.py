"""The examples of the other pages do what the pages say; a fence that no test knows fails the build."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import yaml

import tests.docs.test_readme  # noqa: F401  its fences count too
from tests.docs.commands import why_not
from tests.docs.fences import DOCS, FENCES, HELD, PAGES, Fence, holds
from tests.docs.test_docs import RUN
from tests.e2e.command import wfc
from tests.own_blocks import installed_from
from tests.support import ROOT, SETTLED, found_by, load
from tests.unit.test_completeness import example_of
from wfc.config import load_config
from wfc.dialects.blocks.kinds import KINDS
from wfc.dialects.blocks.reference import block_page
from wfc.dialects.reactive.kinds import KINDS as STEP_KINDS
from wfc.dialects.reactive.kinds import ReactiveStep, page_of
from wfc.findings import Severity
from wfc.language.steps import STEP_TYPES
from wfc.rules import BY_CODE, RULES
from wfc_runtime.agents.settings import load_programs
from wfc_runtime.service.temporal.encryption import read_keyring
from wfc_runtime.service.temporal.settings import TemporalSettings

_SPEC = spec_from_file_location("snippets", DOCS / "snippets.py")
assert _SPEC is not None
assert _SPEC.loader is not None
snippets = module_from_spec(_SPEC)
_SPEC.loader.exec_module(snippets)

WITH_EXAMPLES = [rule.code for rule in RULES if "```" in rule.doc]
each_check = pytest.mark.parametrize("code", WITH_EXAMPLES)


@each_check
def test_a_bad_example_has_the_finding_that_its_page_shows(code: str) -> None:
    bad = snippets.examples(BY_CODE[code].doc)["Bad"]
    found = snippets.findings(bad, [BY_CODE[code]])
    assert found
    page = (DOCS / "checks.md").read_text(encoding="utf-8")
    assert all(f"{one.severity}[{code} {one.name}]: {one.message}\n" in page for one in found)


@each_check
def test_a_good_example_has_no_finding_at_all(code: str) -> None:
    good = snippets.examples(BY_CODE[code].doc)["Good"]
    rules = [BY_CODE[one] for one in {code, *SETTLED}]
    assert [f"{one.code} {one.message}" for one in snippets.findings(good, rules)] == []


def test_what_examples_leave_out_is_right() -> None:
    read = ", ".join(snippets.GIVEN)
    whole = f"- {{id: last, type: return, needs_state: [{read}], value: '{{{{ state | tojson }}}}'}}\n"
    rules = [BY_CODE[code] for code in SETTLED]
    worst = [one for one in snippets.findings(whole, rules) if one.severity is not Severity.INFO]
    assert [f"{one.code} {one.message}" for one in worst] == []


@holds(
    ("docs/library.md", "wfc library add review-branch"),
    ("docs/library.md", 'name = "team"'),
    ("docs/library.md", "wfc library add ../team-pack"),
)
def test_the_commands_and_the_manifest_of_the_library_page_work(tmp_path: Path, texts: list[str]) -> None:
    project, pack = tmp_path / "project", tmp_path / "team-pack"
    (pack / "workflows").mkdir(parents=True)
    project.mkdir()
    (pack / "wfc-pack.toml").write_text(texts[1], encoding="utf-8")
    workflow = 'name: look\nversion: "1.0.0"\nsteps: [{id: a, type: shell, command: ls}]\n'
    (pack / "workflows" / "look.yaml").write_text(workflow, encoding="utf-8")
    lines = [line.partition("#")[0].split() for text in (texts[0], texts[2]) for line in text.splitlines()]
    local = [
        line for line in lines if line[0] == "wfc" and not any("git.example.org" in word for word in line)
    ]
    assert len(local) == 4
    for line in local:
        for words in " ".join(line[1:]).split(" && wfc "):
            found = wfc(*words.split(), cwd=project)
            assert found.status == 0, (words, found.err)
    assert (project / "workflows" / "look.yaml").exists()


@holds(("docs/temporal.md", "[tool.wfc]"))
def test_the_settings_for_temporal_are_taken(texts: list[str], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(texts[0], encoding="utf-8")
    config = load_config(tmp_path)
    assert config.engine == "temporal"
    assert TemporalSettings.of(config.temporal, {}).address == "temporal.example.com:7233"


@holds(("docs/headless.md", "[claude]"), ("docs/headless.md", "[tool.wfc.agents]"))
def test_the_settings_of_agents_are_taken(texts: list[str], tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "agents.toml").write_text(texts[0], encoding="utf-8")
    (project / "pyproject.toml").write_text(texts[1], encoding="utf-8")
    programs = load_programs(tmp_path / "agents.toml", project)
    assert programs["claude"].steps == ("delegate", "mcp_call", "shell")
    assert programs["local"].adapter.name == "command"
    settings = load_config(project).agents
    assert settings is not None
    assert settings["roles"]["plan-reviewer"]["model"] == "strong"


@holds(("docs/headless.md", "# .github/workflows/review.yml"))
def test_the_job_for_pull_requests_uses_options_that_there_are_and_gives_the_agent_no_token(
    texts: list[str], tmp_path: Path
) -> None:
    job = yaml.safe_load(texts[0])["jobs"]["review"]["steps"]
    assert "ref" not in job[0].get("with", {})
    commands = [one["run"] for one in job if "run" in one]
    [work] = [one for one in job if one.get("run", "").startswith("wfc ")]
    assert (
        why_not(work["run"].partition(" > ")[0].replace('"patch=$RUNNER_TEMP/change.patch"', "patch=x")) == ""
    )
    assert set(work["env"]) == {"ANTHROPIC_API_KEY"}
    [made] = [one for one in commands if "agents.toml" in one]
    env = {**os.environ, "HOME": str(tmp_path), "RUNNER_TEMP": "/elsewhere"}
    subprocess.run(["sh", "-ec", made], env=env, check=True)
    programs = load_programs(tmp_path / ".config" / "wfc" / "agents.toml", tmp_path / "project")
    assert programs["claude"].tools == ("read",)


@holds(("docs/headless.md", "name: nightly-audit"))
def test_the_example_with_budgets_checks_clean(texts: list[str]) -> None:
    assert [
        one.message for one in found_by(SETTLED, load(texts[0])) if one.severity is not Severity.INFO
    ] == []


@holds(("docs/temporal.md", "# make a key"))
def test_the_command_that_makes_a_key_makes_one_that_is_taken(texts: list[str], tmp_path: Path) -> None:
    subprocess.run(["sh", "-c", texts[0]], env={**os.environ, "HOME": str(tmp_path)}, check=True)
    [made] = tmp_path.iterdir()
    assert f"~/{made.name}" in (ROOT / "docs" / "temporal.md").read_text(encoding="utf-8")
    assert len(read_keyring(TemporalSettings(key_file=str(made))).ids) == 1


@holds(("docs/temporal.md", "# try it"), ("docs/temporal.md", "wfc worker"))
def test_the_commands_for_temporal_are_understood(texts: list[str]) -> None:
    programs = []
    for line in "".join(texts).splitlines():
        words = shlex.split(line, comments=True)
        if "wfc" in words:
            assert why_not(shlex.join(words[words.index("wfc") :])) == ""
        programs += words[:1]
    # `claude` is not ours to run; what it is told to start is.
    assert programs == ["temporal", "claude", "wfc", "wfc"]
    server = re.findall(r"^temporal (.*?) *#", texts[0], re.MULTILINE)[0].split()
    program = Path(sys.executable).with_name("temporal")
    shown = subprocess.run([program, *server, "--help"], capture_output=True, text=True, check=True).stdout
    assert all(f"{option} " in shown for option in server if option.startswith("--"))


@holds(("docs/architecture.md", "text -> yaml"))
def test_the_drawing_of_the_compiler_names_its_parts_in_their_order(texts: list[str]) -> None:
    parts = re.findall(r"^.{5}-> (\w+) ", texts[0], re.MULTILINE)
    assert parts == ["yaml", "dialects", "analysis", "rules", "lower", "emit", "workspace"]
    assert all(find_spec(f"wfc.{part}") for part in parts)


@holds(("docs/architecture.md", "tool call ->"))
def test_the_drawing_of_the_runtime_names_its_parts(texts: list[str]) -> None:
    parts = re.findall(r"-> (server|service|machine)\b", texts[0])
    assert parts == ["server", "service", "machine"]
    assert all(find_spec(f"wfc_runtime.{part}") for part in parts)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_command_within_a_sentence_is_understood(path: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    lines = [" ".join(line.split()) for line in re.findall(r"`(wfc(?: [^`]*)?)`", text)]
    wrong = {line: why_not(re.sub(r"<[^>]*>", "X", line)) for line in lines}
    assert {line: why for line, why in wrong.items() if why} == {}


MADE: dict[str, Callable[[Fence], bool]] = {
    # Made of docstrings by docs/build.py, which test_docs compares with the pages; what their examples do, others test.
    "docs/checks.md": lambda fence: fence.text in _of_checks(),
    "docs/language.md": lambda fence: fence.text in [example_of(kind) for kind in STEP_TYPES.values()],
    "docs/blocks.md": lambda fence: fence.text in [block_page(name).example for name in KINDS],
    "docs/reactive.md": lambda fence: fence.text in [_example(kind) for kind in STEP_KINDS.values()],
    "docs/parts/reactive.md": lambda fence: (
        fence.text in [other.text for other in FENCES["docs/reactive.md"]]
    ),
    "docs/command-line.md": lambda fence: fence.text.startswith("Usage: wfc"),
    "docs/parts/blocks.md": lambda fence: fence.text in [other.text for other in FENCES["docs/blocks.md"]],
    "docs/phases.md": lambda fence: fence.language == "markdown",  # tests/phases/test_markdown.py
    "docs/parts/phases.md": lambda fence: fence.text in [other.text for other in FENCES["docs/phases.md"]],
}


def _example(kind: type[ReactiveStep]) -> str:
    """The example on the page of a step type."""
    return page_of(kind).split("```yaml\n", 1)[1].split("```", 1)[0]


@cache
def _of_checks() -> list[str]:
    found = []
    for rule in RULES:
        found += re.findall(r"```\w+\n(.*?)```", snippets.with_findings(rule.code, rule.doc), re.DOTALL)
    return found


@pytest.mark.parametrize("page", FENCES)
def test_every_fence_is_held_by_a_test(page: str) -> None:
    unknown = [
        str(fence)
        for fence in FENCES[page]
        if fence not in HELD
        and not (ROOT / page in RUN and (fence.title or fence.language == "console"))
        and not (page in MADE and MADE[page](fence))
    ]
    assert unknown == [], "no test looks at these: give each one `holds`, or a title, or make it `console`"


OWN_BLOCKS = "docs/own-blocks.md"


@holds(
    (OWN_BLOCKS, "[build-system]"),
    (OWN_BLOCKS, "import re"),
    (OWN_BLOCKS, "[tool.wfc]"),
    (OWN_BLOCKS, "name: publish"),
)
def test_the_worked_block_type_checks_and_runs(texts: list[str], tmp_path: Path) -> None:
    place = installed_from(texts[0], texts[1], tmp_path / "site")
    project = tmp_path / "project"
    (project / "workflows").mkdir(parents=True)
    (project / "pyproject.toml").write_text(texts[2], encoding="utf-8")
    (project / "workflows" / "publish.yaml").write_text(texts[3], encoding="utf-8")
    env = {"PYTHONPATH": str(place)}
    checked = wfc("check", cwd=project, env=env)
    assert (checked.status, checked.out) == (0, "checked 1 workflow: all clean\n"), checked.out + checked.err
    grants = ["--allow-exec", "--allow-block", "Slug", "--exec-env", "PYTHONPATH", "--json"]
    done = wfc("run", "workflows/publish.yaml", *grants, cwd=project, env=env)
    assert json.loads(done.out)["result"] == {"slug": "hello-world", "words": 2}, done.out + done.err
    assert (project / "page.txt").read_text(encoding="utf-8") == "hello-world: Hello, World!\n"
