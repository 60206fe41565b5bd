"""Gates, rights, two drivers, kills: who may answer, what is never taken from the project, and that nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.agents.support import Desk, delegate
from tests.e2e.command import wfc
from tests.execute.conftest import is_alive
from tests.support import wait_until

GATE = "{id: ok, type: prompt, prompt_type: confirm, message: Deploy?, output_to: ok_out}"
NAME = "{id: name, type: prompt, prompt_type: text, message: Name?, output_to: name_out}"
RETURN_OK = "{id: r, type: return, needs_state: [ok_out], value: '{{ state.ok_out.confirmed }}'}"


# Gates.


def test_a_prompt_is_never_answered_by_the_agent_and_the_run_waits(desk: Desk) -> None:
    desk.workflow(delegate("a", "say x"), GATE, RETURN_OK)
    done = desk.run()
    assert done.status == 4
    assert "ok (prompt) waits: a person must answer it" in done.err
    assert "Deploy?" in done.err
    assert "--agent stub --answer ok=VALUE" in done.err
    assert len(desk.calls()) == 1
    assert desk.runs()[0]["pending"] == ["ok"]


def test_an_answer_of_the_command_line_is_recorded_with_its_actor(desk: Desk) -> None:
    desk.workflow(
        GATE, NAME, "{id: r, type: return, needs_state: [name_out], value: '{{ state.name_out.input }}'}"
    )
    done = desk.run("--answer", "ok=yes", "--answer", "name=012")
    assert (done.status, done.out) == (0, "012\n")
    actors = [one["actor"] for one in desk.history() if one["event"] == "submitted"]
    assert actors == ["wfc run --answer", "wfc run --answer"]


def test_a_waiting_run_continues_with_an_answer(desk: Desk) -> None:
    desk.workflow(GATE, RETURN_OK)
    assert desk.run().status == 4
    done = desk.resume("--answer", "ok=no")
    assert (done.status, done.out) == (0, "false\n")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("okay=yes", "there is no step `okay`"),
        ("ok", "--answer takes step=value"),
        ("ok=maybe", "--answer ok:"),
    ],
)
def test_a_wrong_answer_is_refused_before_the_run_starts(desk: Desk, answer: str, said: str) -> None:
    desk.workflow(delegate("a", "say x"), GATE, RETURN_OK)
    done = desk.run("--answer", answer)
    assert done.status == 2
    assert said in done.err
    assert desk.calls() == []
    assert not (desk.project / ".wfc" / "state.db").exists() or desk.runs() == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("kind=z", "'z' is not one of ['a', 'b']"),
        ("name=x", "'x' is too short"),
        ("setup.env=moon", "'moon' is not one of ['dev', 'prod']"),
    ],
)
def test_an_answer_that_a_prompt_does_not_accept_is_refused_before_the_run_starts(
    desk: Desk, answer: str, said: str
) -> None:
    desk.workflow(
        delegate("a", "say x"),
        "{id: kind, type: prompt, prompt_type: choice, message: Which?, options: [{value: a, label: A}, b]}",
        "{id: name, type: prompt, prompt_type: text, message: Name?, validation: {min_length: 3}}",
        "{id: setup, type: prompt, prompt_type: questions, message: Setup,"
        " questions: [{id: env, text: Where?, choices: [dev, prod]}]}",
    )
    (desk.project / "answers.yaml").write_text("answers: {kind: z}\n")
    for options in (("--answer", answer), ("--answers", "answers.yaml")):
        done = desk.run(*options)
        assert done.status == 2
        assert desk.calls() == []
    assert said in desk.run("--answer", answer).err


def test_what_an_answers_file_lacks_goes_to_the_agent(desk: Desk) -> None:
    desk.workflow(delegate("a", "say x"), delegate("b", "say y"), GATE, RETURN_OK)
    (desk.project / "answers.yaml").write_text("answers: {ok: true, a: from the file}\n")
    done = desk.run("--answers", "answers.yaml")
    assert done.status == 0
    assert len(desk.calls()) == 1


def test_other_branches_go_on_while_a_prompt_waits(desk: Desk) -> None:
    right = f"[{delegate('b', 'say y')}, {delegate('c', 'say z')}]"
    desk.workflow(f"{{id: p, type: parallel, branches: {{left: [{GATE}], right: {right}}}}}", RETURN_OK)
    assert desk.run().status == 4
    assert len(desk.calls()) == 2


def test_there_is_no_option_that_answers_everything(desk: Desk) -> None:
    desk.workflow(GATE, RETURN_OK)
    assert desk.run("--yes").status == 2


def test_options_for_agents_need_an_agent(desk: Desk) -> None:
    desk.workflow(GATE, RETURN_OK)
    for options in (("--answer", "ok=yes"), ("--parallel", "2"), ("--events", "-")):
        done = wfc("run", "w", *options, cwd=desk.project)
        assert done.status == 2
        assert "goes with --agent" in done.err


# Rights.


def test_the_project_cannot_name_a_program_or_its_arguments(desk: Desk) -> None:
    desk.workflow(delegate("a", "say x"), GATE)
    for line in (
        'stub = {command = ["sh"]}',
        'stub = {use = "stub", args = ["-x"]}',
        'stub = {env = ["HOME"]}',
    ):
        (desk.project / "pyproject.toml").write_text(f"[tool.wfc.agents]\n{line}\n")
        done = desk.run()
        assert done.status == 2
        assert "has no setting" in done.err
    assert desk.calls() == []


def test_an_operators_file_inside_the_project_is_refused(desk: Desk) -> None:
    desk.workflow(delegate("a", "say x"))
    inside = desk.project / "agents.toml"
    inside.write_text(desk.settings.read_text())
    link = desk.settings.with_name("link.toml")
    link.symlink_to(inside)
    for path in (inside, link):
        done = wfc("run", "w", "--agent", "stub", cwd=desk.project, env={**desk.env, "WFC_AGENTS": str(path)})
        assert done.status == 2
        assert "is inside the project" in done.err
    assert desk.calls() == []


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_an_operators_file_that_others_can_write_is_refused(desk: Desk) -> None:
    desk.workflow(delegate("a", "say x"))
    desk.settings.chmod(0o666)
    done = desk.run()
    assert done.status == 2
    assert "can be written by other users" in done.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[stub]\ncomand = []\n", "has no setting `comand`"),
        ('[stub]\ncommand = ["x"]\n', "needs an `adapter`"),
        ('[stub]\nadapter = "command"\n', "needs a `command`"),
        ('[stub]\nadapter = "claude"\ntools = ["everything"]\n', "is not a tool"),
        ('[stub]\nadapter = "claude"\nsteps = ["prompt"]\n', "is not a kind of step"),
        ('[stub]\nadapter = "claude"\nenv = ["A=1"]\n', "is not the name of an environment variable"),
        ('[stub]\nadapter = "claude"\nseconds = 0\n', "must be a number of seconds"),
        ("stub = 1\n", "must be a table"),
        ("[stub\n", "agents.toml"),
    ],
)
def test_a_mistake_in_the_operators_file_is_reported_before_anything_starts(
    desk: Desk, text: str, said: str
) -> None:
    desk.workflow(delegate("a", "say x"))
    desk.operator(text=text)
    done = desk.run()
    assert done.status == 2
    assert said in done.err
    assert desk.calls() == []


def test_an_unknown_agent_is_reported_with_the_known_ones(desk: Desk) -> None:
    desk.workflow(delegate("a", "say x"))
    done = desk.run(agent="stbu")
    assert done.status == 2
    assert "there is no agent `stbu`. Did you mean `stub`?" in done.err


def test_an_agent_sees_the_variables_that_the_operator_names_and_no_others(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")
    for name in ("OTHER_TOKEN", "ANTHROPIC_API_KEY", *inner):
        monkeypatch.setenv(name, "x")
    # These two never: older clients hang if they seem to run inside another one.
    named = json.dumps(["STUB_NOTES", *inner])
    desk.operator(text=desk.settings.read_text().replace('["STUB_NOTES"]', named))
    desk.workflow(delegate("a", "say x"))
    assert desk.run().status == 0
    [call] = desk.calls()
    assert call["env"]["ANTHROPIC_API_KEY"] == "x"
    assert not {"OTHER_TOKEN", *inner} & set(call["env"])


def test_the_clients_settings_of_the_project_apply_only_where_the_operator_says_so(desk: Desk) -> None:
    desk.workflow(delegate("a", "say x"))
    assert desk.run().status == 0
    desk.operator('trusts_project = true\ntools = ["read", "edit", "shell(git *)", "mcp:github"]')
    assert desk.run().status == 0
    closed, opened = (call["arguments"] for call in desk.calls())
    assert closed[closed.index("--setting-sources") + 1] == "user"
    assert "--strict-mcp-config" in closed
    assert "--setting-sources" not in opened
    assert opened[opened.index("--tools") + 1] == "Read,Glob,Grep,Edit,Write,NotebookEdit,Bash"
    assert opened[opened.index("--allowedTools") + 1].endswith("Bash(git *),mcp__github")


def test_grants_of_the_projects_settings_are_not_followed(desk: Desk) -> None:
    (desk.project / "pyproject.toml").write_text('[tool.wfc.exec]\nallow = true\nenv = ["OTHER_TOKEN"]\n')
    desk.workflow("{id: s, type: shell, command: touch made, output_to: s_out}")
    done = desk.run()
    assert done.status == 4
    assert "s (shell) waits" in done.err
    assert not (desk.project / "made").exists()
    assert desk.resume("--allow-exec").status == 0
    assert (desk.project / "made").exists()


def test_a_named_agent_of_the_project_is_a_name_that_the_program_gets(desk: Desk) -> None:
    (desk.project / "pyproject.toml").write_text(
        '[tool.wfc.agents]\ndefault = "stub"\nmodels = {strong = "opus"}\n'
        'reviewer = {use = "stub", agent = "plan-reviewer", model = "strong"}\n'
    )
    desk.workflow(delegate("a", "say x", ", agent: '@reviewer'"))
    done = wfc("run", "w", "--agent", cwd=desk.project, env=desk.env)
    assert done.status == 0
    [call] = desk.calls()
    assert call["arguments"][call["arguments"].index("--agent") + 1] == "plan-reviewer"
    assert call["arguments"][call["arguments"].index("--model") + 1] == "opus"


# What one sees.


def test_events_are_json_lines_and_secrets_are_not_in_them(desk: Desk) -> None:
    head = "inputs: {token: {type: string, secret: true}}\n"
    text = json.dumps("DO say the token is {{ inputs.token }}")
    desk.workflow(f"{{id: a, type: delegate, instructions: {text}, output_to: a_out}}", head=head)
    done = desk.run("--events", "-", "-i", "token=s3cr3t-token")
    assert done.status == 0
    events = [json.loads(line) for line in done.out.splitlines()]
    assert [one["event"] for one in events] == ["run", "begin", "tool", "end", "ended"]
    assert events[-1]["usd"] == 0.01
    assert "s3cr3t-token" not in done.out + done.err
    [log] = (desk.project / ".wfc" / "agents").rglob("*.jsonl")
    assert "s3cr3t-token" not in log.read_text()
    assert "the token is ***" in log.read_text()


def test_each_call_has_a_log_of_bounded_size_that_is_erased_with_its_run(desk: Desk) -> None:
    desk.workflow(delegate("a", "flood 3000"))
    assert desk.run().status == 0
    [log] = (desk.project / ".wfc" / "agents").rglob("*.jsonl")
    assert log.name == "a.1.jsonl"
    assert log.stat().st_mode & 0o777 == 0o600
    text = log.read_text()
    assert len(text) <= 1024 * 1024 + 200
    lines = [json.loads(line) for line in text.splitlines()]
    assert any("left_out_bytes" in line for line in lines)
    assert lines[-1]["result"] == "flooded"
    [event] = [one for one in desk.history() if "agent" in one]
    assert desk.project / ".wfc" / event["agent"]["log"] == log
    assert wfc("runs", "prune", "--older-than", "0s", "--yes", cwd=desk.project).status == 0
    assert not log.parent.exists()


def test_the_cost_of_each_step_is_shown_at_the_end_and_later(desk: Desk) -> None:
    desk.workflow(delegate("a", "say x"), delegate("b", "say y"))
    done = desk.run()
    assert "a  stub stub-model  1 call" in done.err
    assert "in total  200 tokens  $0.0200" in done.err
    shown = wfc("runs", "show", desk.run_id(), cwd=desk.project)
    assert "in total  200 tokens  $0.0200" in shown.out
    found = wfc("runs", "show", desk.run_id(), "--json", cwd=desk.project)
    assert json.loads(found.out)["cost"]["usd"] == 0.02


# Kills.


def test_a_killed_driver_leaves_no_agent_and_the_next_one_pays_for_nothing_twice(desk: Desk) -> None:
    desk.workflow(delegate("a", "say x"), delegate("b", "sleep"), GATE, RETURN_OK)
    driver = desk.start("run", "w", "--agent", "stub")
    wait_until(
        lambda: (desk.notes / "child").exists() and (desk.notes / "child").read_text(), "the agent's child"
    )
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    pids = [call["pid"] for call in desk.calls()] + [int((desk.notes / "child").read_text())]
    for pid in pids:
        wait_until(lambda pid=pid: not is_alive(pid), "the end of the agent")  # type: ignore[misc]
    assert [one["pending"] for one in desk.runs()] == [["b"]]
    (desk.notes / "orders").write_text("say now")
    done = desk.resume("--answer", "ok=yes")
    assert (done.status, done.out) == (0, "true\n")
    # `a` was done once, and `b` a second time.
    assert len(desk.calls()) == 3
    assert [one["event"] for one in desk.history() if one["event"] == "interrupted"] == []


def test_children_of_a_killed_driver_are_given_back_and_not_failed(desk: Desk) -> None:
    head = f"tasks: {{t: {{inputs: {{n: {{type: integer}}}}, steps: [{delegate('c', 'sleep')}]}}}}\n"
    desk.workflow("{id: f, type: foreach, items: [1, 2, 3], task: t, output_to: f_out}", head=head)
    driver = desk.start("run", "w", "--agent", "stub")
    wait_until(lambda: len(desk.calls()) == 3, "three agents")
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    (desk.notes / "orders").write_text("say now")
    assert desk.resume().status == 0
    assert len(desk.calls()) == 6


def _two_drivers(desk: Desk) -> tuple[subprocess.Popen[str], subprocess.Popen[str]]:
    """One that is doing a step, and another one on the same run."""
    first = desk.start("run", "w", "--agent", "stub")
    wait_until(desk.calls, "the first call")
    events = desk.notes / "events"
    second = desk.start("runs", "resume", desk.run_id(), "--agent", "stub", "--events", str(events))
    wait_until(lambda: events.exists() and events.read_text(), "the second driver")
    return first, second


def test_two_drivers_never_do_the_same_step(desk: Desk) -> None:
    go = desk.notes / "go"
    desk.workflow(delegate("a", f"wait {go}"), delegate("b", "say y"))
    drivers = _two_drivers(desk)
    go.touch()
    for driver in drivers:
        driver.communicate()
        assert driver.returncode == 0
    assert len(desk.calls()) == 2


def test_another_driver_takes_over_when_the_first_is_killed(desk: Desk) -> None:
    desk.workflow(delegate("a", "sleep"))
    first, second = _two_drivers(desk)
    (desk.notes / "orders").write_text("say now")
    first.send_signal(signal.SIGKILL)
    first.communicate()
    second.communicate()
    assert second.returncode == 0
    assert len(desk.calls()) == 2


def test_an_interrupt_ends_the_agents_and_gives_their_work_back(desk: Desk) -> None:
    desk.workflow(delegate("a", "sleep"))
    driver = desk.start("run", "w", "--agent", "stub")
    wait_until(
        lambda: (desk.notes / "child").exists() and (desk.notes / "child").read_text(), "the agent's child"
    )
    driver.send_signal(signal.SIGINT)
    _, err = driver.communicate()
    assert driver.returncode == 130
    assert "continue with `wfc runs resume" in err
    for pid in (desk.calls()[0]["pid"], int(Path(desk.notes / "child").read_text())):
        assert not is_alive(pid)
    assert desk.runs()[0]["pending"] == ["a"]
    (desk.notes / "orders").write_text("say now")
    assert desk.resume().status == 0


def test_a_cancelled_run_ends_its_agents(desk: Desk) -> None:
    desk.workflow(delegate("a", "sleep"))
    driver = desk.start("run", "w", "--agent", "stub")
    wait_until(desk.calls, "the call")
    assert wfc("runs", "cancel", desk.run_id(), cwd=desk.project).status == 0
    driver.communicate()
    assert driver.returncode == 1
    assert not is_alive(desk.calls()[0]["pid"])


BLOCKS = """\
name: w
description: Blocks for an agent, and one for a person.
budget: {steps: 9}
blocks:
  - {id: ask, type: Prompt, inputs: {prompt: DO say yes}}
  - id: think
    type: LLMCall
    inputs: {prompt: 'DO give {"response": {"content": "because"}}', tools: [read], session: talk}
    condition: ${blocks.ask.response} == 'yes'
    depends_on: [ask]
  - {id: approve, type: Prompt, inputs: {human: true, prompt: DO say never}, depends_on: [think]}
outputs:
  why: ${blocks.think.response.content}
  approved: ${blocks.approve.response}
"""


def test_an_agent_answers_blocks_and_leaves_a_gate_to_a_person(desk: Desk) -> None:
    (desk.project / "workflows" / "w.yaml").write_text(BLOCKS)
    assert desk.run().status == 4
    first, second = desk.calls()
    assert "--tools" not in first["arguments"]
    assert second["arguments"][second["arguments"].index("--tools") + 1] == "Read,Glob,Grep"
    done = desk.resume("--answer", "approve=yes")
    assert done.status == 0, done.err
    assert json.loads(done.out) == {"why": "because", "approved": "yes"}
    assert len(desk.calls()) == 2
