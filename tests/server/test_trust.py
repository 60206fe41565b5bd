"""Modules that appear or change while a server runs, through the official client."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal

from tests.e2e.command import wfc
from tests.runtime.support import OK, steps
from tests.server.driver import Agent, Place
from wfc.emit.module import with_header
from wfc_runtime.header import digest

DEPLOY = steps(
    "{id: build, type: shell, command: make, output_to: built}",
    "{id: r, type: return, needs_state: [built], value: '{{ state.built.stdout }}'}",
    name="deploy",
)
CALLS = steps(
    "{id: make, type: call, workflow: deploy, output_to: made}",
    "{id: r, type: return, needs_state: [made], value: '{{ state.made }}'}",
    name="calls",
)
BLOCKS = """\
name: in-blocks
version: 1.0.0
blocks:
  - id: say
    type: Shell
    inputs: {command: echo one}
outputs:
  said: {value: "{{ blocks.say.outputs.stdout }}"}
"""


class Project(Place):
    """A place whose modules come from YAML in `workflows`, compiled by the command."""

    def write(self, **texts: str) -> None:
        for name, text in texts.items():
            (self.folder / "workflows" / f"{name}.yaml").write_text(text, encoding="utf-8")

    def compile(self, env: dict[str, str] | None = None) -> None:
        done = wfc("compile", cwd=self.folder, env=env or {})
        assert done.status == 0, done.out + done.err

    @property
    def sentinel(self) -> Path:
        return self.folder / "executed"

    def evil(self, source: str, body: str = "") -> str:
        """A module with a right digest whose body leaves a mark when it is executed."""
        mark = f"open({str(self.sentinel)!r}, 'w').close()\n"
        return with_header(source, digest("x"), mark + body)


@pytest.fixture
def project(tmp_path: Path, portal: BlockingPortal) -> Project:
    place = Project(tmp_path, portal)
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    (tmp_path / "workflows").mkdir()
    place.write(deploy=DEPLOY, calls=CALLS, blocks=BLOCKS)
    place.compile()
    return place


def names(agent: Agent) -> list[str]:
    return [one["workflow"] for one in agent.call("list_workflows")["workflows"]]


def test_a_module_that_appears_while_the_server_runs_is_listed_as_untrusted_and_not_executed(
    project: Project,
) -> None:
    with project.server() as agent:
        assert names(agent) == ["calls", "deploy", "in-blocks"]
        (project.folder / "generated" / "evil.py").write_text(project.evil("workflows/evil.yaml"))
        reply = agent.call("list_workflows")
        [broken] = reply["broken"]
        assert "evil.py is untrusted: it appeared after the server started" in broken["reason"]
        assert "`workflows/evil.yaml`, which is not a workflow source of this project" in broken["reason"]
        assert "restart the server" in broken["hint"]
        assert [one["workflow"] for one in reply["workflows"]] == ["calls", "deploy", "in-blocks"]
        assert "is untrusted" in agent.refusal("start_workflow", workflow="evil")
        assert "is untrusted" in agent.refusal("get_workflow_info", workflow="evil")
    assert not project.sentinel.exists()


def test_the_first_call_of_a_server_trusts_what_was_there_at_its_start_and_nothing_later(
    project: Project,
) -> None:
    with project.server() as agent:
        # The modules are first looked at after the file has come.
        (project.folder / "generated" / "evil.py").write_text(project.evil("workflows/deploy.yaml"))
        assert "differs from the module that `workflows/deploy.yaml` compiles to" in str(
            agent.call("list_workflows")
        )
    assert not project.sentinel.exists()


def test_a_replaced_module_is_refused_while_its_runs_go_on_with_their_version(project: Project) -> None:
    module = project.folder / "generated" / "deploy.py"
    with project.server() as agent:
        run = agent.call("start_workflow", workflow="deploy")["workflow_id"]
        body = module.read_text(encoding="utf-8").split("\n", 4)[4]
        module.write_text(project.evil("workflows/deploy.yaml", body), encoding="utf-8")
        refused = agent.refusal("start_workflow", workflow="deploy")
        assert "deploy.py is untrusted: it changed after the server started" in refused
        done = agent.call("submit_result", workflow_id=run, step_id="build", result=OK)
        assert (done["status"], done["result"]) == ("completed", "fine")
        project.compile()
        assert agent.call("start_workflow", workflow="deploy")["status"] == "pending_action"
    assert not project.sentinel.exists()


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("deploy", lambda text: text.replace("command: make", "command: make all")),
        ("calls", lambda text: text.replace("'{{ state.made }}'", "['{{ state.made }}']")),
        ("blocks", lambda text: text.replace("echo one", "echo two")),
    ],
)
@pytest.mark.parametrize("templates", [False, True], ids=["project", "templates"])
def test_an_edited_source_that_is_compiled_again_is_served_without_a_restart(
    project: Project, tmp_path: Path, name: str, edit: Callable[[str], str], templates: bool
) -> None:
    env = {}
    if templates:
        folder = tmp_path / "templates"
        folder.mkdir()
        (folder / "more.yaml").write_text(DEPLOY.replace("name: deploy", "name: more"), encoding="utf-8")
        # It goes before the project's own, also where a workflow calls it.
        (folder / "deploy.yaml").write_text(
            DEPLOY.replace("'{{ state.built.stdout }}'", "1"), encoding="utf-8"
        )
        env = {"WORKFLOWS_TEMPLATE_PATHS": str(folder)}
    source = project.folder / "workflows" / f"{name}.yaml"
    with project.server("--toolsets", "core,debug", env=env) as agent:
        assert len(names(agent)) == (4 if templates else 3)
        changed = edit(source.read_text(encoding="utf-8"))
        assert changed != source.read_text(encoding="utf-8")
        project.write(**{name: changed, "fresh": DEPLOY.replace("name: deploy", "name: fresh")})
        project.compile(env)
        reply = agent.call("list_workflows")
        assert "broken" not in reply
        assert "fresh" in [one["workflow"] for one in reply["workflows"]]
        assert agent.call("start_workflow", workflow="fresh")["status"] == "pending_action"


def test_a_server_with_template_folders_takes_modules_compiled_without_them(
    project: Project, tmp_path: Path
) -> None:
    """The agent's client sets the variable for the server; the shell in which a person compiles lacks it."""
    folder = tmp_path / "templates"
    folder.mkdir()
    # With this one in the place of the project's own, the workflows call each other: an error.
    other = steps("{id: back, type: call, workflow: calls}", name="deploy")
    (folder / "deploy.yaml").write_text(other, encoding="utf-8")
    env = {"WORKFLOWS_TEMPLATE_PATHS": str(folder)}
    with project.server(env=env) as agent:
        project.write(calls=CALLS.replace("'{{ state.made }}'", "'{{ state.made | upper }}'"))
        assert wfc("compile", "workflows/calls.yaml", cwd=project.folder, env=env).status == 1
        project.compile()
        # What is broken is the template.
        assert "untrusted" not in str(agent.call("list_workflows"))
        assert "calls" in names(agent)


def test_a_module_that_comes_before_its_source_is_trusted_once_the_source_is_there(project: Project) -> None:
    """As `git checkout` may write them."""
    source = project.folder / "workflows" / "fresh.yaml"
    project.write(fresh=DEPLOY.replace("name: deploy", "name: fresh"))
    project.compile()
    module = project.folder / "generated" / "fresh.py"
    text, made = source.read_bytes(), module.read_bytes()
    source.unlink()
    module.unlink()
    with project.server() as agent:
        module.write_bytes(made)
        assert "not a workflow source" in agent.refusal("start_workflow", workflow="fresh")
        source.write_bytes(text)
        assert agent.call("start_workflow", workflow="fresh")["status"] == "pending_action"


def test_the_next_server_trusts_what_it_finds_at_its_start(project: Project) -> None:
    (project.folder / "workflows" / "deploy.yaml").unlink()
    with project.server() as agent:
        assert "deploy" in names(agent)


def test_typed_tools_and_prompts_leave_an_untrusted_module_out(project: Project) -> None:
    with project.server("--typed-tools") as agent:
        (project.folder / "generated" / "evil.py").write_text(project.evil("workflows/evil.yaml"))
        tools = [tool.name for tool in agent.ask("list_tools").tools]
        assert "start_deploy" in tools
        assert "start_evil" not in tools
        assert "evil" not in [prompt.name for prompt in agent.ask("list_prompts").prompts]
    assert not project.sentinel.exists()
