"""Sessions that several steps continue, and worktrees of their own."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

from tests.agents.support import SCHEMA, Desk, delegate
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
    assert "can't continue the session" in done.err
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


def test_each_child_of_an_isolated_foreach_has_a_worktree_that_its_steps_share(desk: Desk) -> None:
    both = f"{{id: p, type: parallel, branches: {{x: [{delegate('b', 'say x')}], y: [{delegate('c', 'say y')}]}}}}"
    write = delegate("a", "say nothing").replace("DO say nothing", "DO {{ inputs.do }}")
    head = f"tasks: {{t: {{inputs: {{do: {{type: string}}}}, steps: [{write}, {both}]}}}}\n"
    items = "[write new.txt, say nothing, write other.txt]"
    desk.workflow(f"{{id: f, type: foreach, items: {items}, task: t, isolation: worktree}}", head=head)
    repository(desk)
    done = desk.run("--parallel", "6")
    assert done.status == 0, done.err
    run, folder = desk.run_id(), desk.project / ".wfc" / "worktrees"
    # One folder for all steps of a child; that of the child without changes is gone.
    assert {call["cwd"] for call in desk.calls()} == {str(folder / run / f"f-{index}") for index in range(3)}
    assert len(desk.calls()) == 9
    assert sorted(one.name for one in (folder / run).iterdir() if one.is_dir()) == ["f-0", "f-2"]
    assert (folder / run / "f-0" / "new.txt").exists()
    assert not (desk.project / "new.txt").exists()
    branches = [line.strip("*+ ") for line in git(desk, "branch").splitlines()]
    assert sorted(branches) == ["main", f"wfc/{run}/f-0", f"wfc/{run}/f-2"]
    assert f"changes on branch wfc/{run}/f-0 in {folder / run / 'f-0'}" in done.err
    assert git(desk, "status", "--porcelain", "--untracked-files=no") == ""


def test_the_results_of_isolated_children_have_their_worktrees(desk: Desk) -> None:
    """Those of the children, of their delegate steps and of a whole task, but none whose schema the author wrote
    without it."""
    write = delegate("a", "x").replace("DO x", "DO {{ inputs.do }}")
    strict = delegate("b", 'give {"n": 1}', SCHEMA)
    tree_of = "tree: '{{ state.a_out.worktree | default({}) }}', b: '{{ state.b_out }}'"
    response = "a: '{{ state.a_out.response }}'"
    back = f"{{id: r, type: return, needs_state: [a_out, b_out], value: {{{response}, {tree_of}}}}}"
    about = """description: 'DO make new.txt {"a": "done"}'"""
    inputs = "inputs: {do: {type: string}}"
    whole = f"{{id: r, type: return, needs_state: [a_out], value: {{{response}}}}}"
    guided = f"t: {{{inputs}, steps: [{write}, {strict}, {back}]}}"
    head = f"tasks: {{{guided}, u: {{{about}, {inputs}, steps: [{write}, {whole}]}}}}\n"
    desk.workflow(
        "{id: f, type: foreach, items: [write new.txt, say nothing], task: t, isolation: worktree, output_to: f_out}",
        "{id: g, type: foreach, items: [x], task: u, agent: '@coder', isolation: worktree, output_to: g_out}",
        head=head,
    )
    repository(desk)
    done = desk.run()
    assert done.status == 0, done.err
    found, run = json.loads(done.out), desk.run_id()

    def tree(name: str) -> dict[str, str]:
        path = desk.project / ".wfc" / "worktrees" / run / name
        return {"path": str(path), "branch": f"wfc/{run}/{name}"}

    one = {"tree": tree("f-0"), "a": "wrote new.txt", "b": {"n": 1}, "worktree": tree("f-0")}
    assert found["f_out"] == [one, {"tree": {}, "a": "nothing", "b": {"n": 1}}]
    assert found["g_out"] == [{"a": "done", "worktree": tree("g-0")}]


def test_what_an_isolated_child_returns_carries_its_worktree_whatever_the_task_returns(desk: Desk) -> None:
    """Also where a schema keeps it out of the steps and where a called workflow did the work; not once the changes are
    taken back, and never over a field of the author's."""
    strict = delegate("a", "x", SCHEMA).replace("DO x", "DO {{ inputs.do }}")
    inputs = "inputs: {do: {type: string}}"
    plain = "{id: r, type: return, needs_state: [a_out], value: {n: '{{ state.a_out.n }}'}}"
    undo = delegate("b", "remove new.txt", ", session: other")
    back = "{id: r, type: return, needs_state: [b_out], value: {b: '{{ state.b_out.response }}'}}"
    own = "{id: r, type: return, value: {worktree: mine}}"
    text = "{id: r, type: return, value: just text}"
    call = "{id: c, type: call, workflow: inner, with: {do: '{{ inputs.do }}'}, output_to: c_out}"
    after = "{id: r, type: return, needs_state: [c_out], value: {inner: '{{ state.c_out.a_out.n }}'}}"
    tasks = {
        "strict": [strict, plain],
        "undone": [strict, undo, back],
        "own": [strict, own],
        "text": [strict, text],
        "deep": [call, after],
    }
    written = ", ".join(f"{name}: {{{inputs}, steps: [{', '.join(steps)}]}}" for name, steps in tasks.items())
    head = f"tasks: {{{written}}}\n"
    order = json.dumps('make new.txt {"n": 1}')
    desk.workflow(
        *(
            f"{{id: {name}, type: foreach, items: [{order}], task: {name}, isolation: worktree, output_to: {name}_out}}"
            for name in tasks
        ),
        head=head,
    )
    desk.workflow(strict, head=f"{inputs}\n", name="inner")
    repository(desk)
    done = desk.run()
    assert done.status == 0, done.err
    found, run = json.loads(done.out), desk.run_id()

    def tree(name: str) -> dict[str, str]:
        path = desk.project / ".wfc" / "worktrees" / run / f"{name}-0"
        return {"path": str(path), "branch": f"wfc/{run}/{name}-0"}

    assert found["strict_out"] == [{"n": 1, "worktree": tree("strict")}]
    assert found["undone_out"] == [{"b": "removed new.txt"}]
    assert found["own_out"] == [{"worktree": "mine"}]
    assert found["text_out"] == ["just text"]
    assert found["deep_out"] == [{"inner": 1, "worktree": tree("deep")}]


def test_after_a_kill_a_child_continues_in_its_worktree(desk: Desk) -> None:
    steps = f"{delegate('a', 'write new.txt')}, {delegate('b', 'sleep')}, {delegate('c', 'say z')}"
    head = f"tasks: {{t: {{inputs: {{n: {{type: integer}}}}, steps: [{steps}]}}}}\n"
    desk.workflow("{id: f, type: foreach, items: [1], task: t, isolation: worktree}", head=head)
    repository(desk)
    driver = desk.start("run", "w", "--agent", "stub")
    wait_until(lambda: len(desk.calls()) == 2, "the second call")
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    (desk.notes / "orders").write_text("say now")
    assert desk.resume().status == 0
    calls = desk.calls()
    assert len(calls) == 4
    assert len({call["cwd"] for call in calls}) == 1
    assert (Path(calls[0]["cwd"]) / "new.txt").exists()


def test_a_failed_call_leaves_no_empty_worktree(desk: Desk) -> None:
    desk.workflow(delegate("a", "exit 3", ", isolation: worktree"))
    repository(desk)
    assert desk.run().status == 1
    assert not any((desk.project / ".wfc" / "worktrees" / desk.run_id()).iterdir())
