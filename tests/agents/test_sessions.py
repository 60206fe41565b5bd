"""Sessions that several steps continue, and worktrees of their own."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

from tests.agents.support import Desk, delegate
from tests.support import wait_until

TASK = """
tasks:
  look:
    inputs: {name: {type: string, required: true}}
    steps:
      - {id: see, type: delegate, instructions: "DO say {{ inputs.name }}"}
"""


def sessions(desk: Desk) -> list[tuple[str, str]]:
    """How each call named its session: the option and the id."""
    found = []
    for call in desk.calls():
        words = call["arguments"]
        option = "--resume" if "--resume" in words else "--session-id"
        found.append((option, words[words.index(option) + 1]))
    return found


def test_steps_with_a_session_continue_one_conversation_and_its_cost_counts_once(desk: Desk) -> None:
    desk.workflow(
        delegate("a", "say x", ", session: author"),
        delegate("b", "say y"),
        delegate("c", "say z", ", session: author"),
        "{id: each, type: foreach, items: [m, n], task: look, session: author, sequential: true}",
        head=TASK.lstrip(),
    )
    assert desk.run("--budget", "usd=1").status == 0
    (first, one), (alone, other), *rest = sessions(desk)
    assert (first, alone) == ("--session-id", "--session-id")
    assert one != other
    assert rest == [("--resume", one)] * 3
    # Each call costs 0.01; the program reports the sum of the session.
    spent = [event["agent"]["usd"] for event in desk.history() if "agent" in event]
    assert spent == [0.01] * 5


def test_what_a_cancelled_call_has_cost_counts(desk: Desk) -> None:
    items = json.dumps([f"wait {desk.notes / 'spending'}", "spend"])
    desk.workflow(
        f"{{id: each, type: foreach, items: {items}, task: look, join: any}}",
        delegate("last", "say x"),
        head=TASK.lstrip().replace("DO say", "DO"),
    )
    done = desk.run()
    assert done.status == 0
    # 100 each for those that ended, and 10 in the messages of the one that was cancelled.
    wait_until(lambda: sum(one["agent"]["tokens"] for one in desk.history() if "agent" in one) == 210)


def test_the_session_is_known_before_the_first_call_ends(desk: Desk) -> None:
    desk.workflow(
        delegate("a", "sleep; say x", ", session: author"), delegate("b", "say y", ", session: author")
    )
    driver = desk.start("run", "w", "--agent", "stub")
    wait_until(lambda: (desk.notes / "child").exists())
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    assert desk.resume().status == 0
    (_, one), *rest = sessions(desk)
    assert rest == [("--resume", one)] * 2


def test_a_session_that_the_program_has_forgotten_begins_again(desk: Desk) -> None:
    gate = "{id: ok, type: prompt, prompt_type: confirm, message: Go?, output_to: ok_out}"
    desk.workflow(
        delegate("a", "say x", ", session: author"),
        gate,
        delegate("b", "say y", ", session: author"),
        delegate("c", "say z", ", session: author"),
    )
    assert desk.run().status == 4
    for memory in desk.notes.glob("session-*.json"):
        memory.unlink()
    done = desk.resume("--answer", "ok=yes")
    assert done.status == 0
    assert "forgotten the session" in done.err
    (_, old), (option, new), (again, same) = sessions(desk)
    assert (option, again) == ("--session-id", "--resume")
    assert old != new == same


def git(desk: Desk, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=desk.project, check=True, capture_output=True, text=True)
    return done.stdout


def repository(desk: Desk) -> None:
    git(desk, "init", "-q", "-b", "main")
    git(desk, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "Begin")


def test_an_isolated_step_works_in_a_worktree_that_is_kept_while_it_has_changes(desk: Desk) -> None:
    desk.workflow(
        delegate("a", "write new.txt", ", isolation: worktree"),
        delegate("b", "say nothing to do", ", isolation: worktree"),
        "{id: end, type: return, needs_state: [a_out, b_out],"
        " value: {a: '{{ state.a_out.worktree | default({}) }}', b: '{{ state.b_out.worktree | default({}) }}'}}",
    )
    repository(desk)
    done = desk.run()
    assert done.status == 0
    result = json.loads(done.out)
    assert result["b"] == {}
    assert (desk.project / result["a"]["path"] / "new.txt").read_text() == "written\n"
    assert not (desk.project / "new.txt").exists()
    branches = [line.strip("*+ ") for line in git(desk, "branch").splitlines()]
    assert sorted(branches) == ["main", result["a"]["branch"]]
    one, two = (call["cwd"] for call in desk.calls())
    assert one == result["a"]["path"]
    assert desk.project not in (one, two)


def test_an_agent_that_rewrites_git_in_its_worktree_gets_nothing_executed(desk: Desk) -> None:
    desk.workflow(delegate("a", "hijack", ", isolation: worktree"))
    repository(desk)
    done = desk.run()
    assert done.status == 0, done.err
    worktree = Path(json.loads(done.out)["a_out"]["worktree"]["path"])
    assert not (desk.notes / "owned").exists()
    # The trap works: git in that folder would have run the command.
    subprocess.run(["git", "status"], cwd=worktree, capture_output=True, check=False)
    assert (desk.notes / "owned").exists()


def test_without_a_repository_an_isolated_step_fails_and_nothing_is_begun(desk: Desk) -> None:
    desk.workflow(delegate("a", "say x", ", isolation: worktree"))
    done = desk.run()
    assert done.status == 1
    assert "a git worktree can't be made" in done.err
    assert desk.calls() == []
