"""A service that does work by itself: how far a run is led, by one server or several, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.execute.conftest import is_alive
from tests.execute.serving import LONG, RETURN_A, Site, sh, until
from tests.runtime.support import compile_to, steps
from tests.support import PATIENCE
from wfc_runtime.errors import RefusedError
from wfc_runtime.execute import Grant
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store


def test_a_run_goes_on_to_its_end_without_the_agent(site: Site) -> None:
    site.compile(steps(sh("a", "echo one"), sh("b", "echo two >&2; exit 1"), RETURN_A))
    service = site.server()
    reply = service.start("w")
    assert (reply["status"], reply["result"]) == ("completed", "one\n")
    events = service.history(reply["workflow_id"])["events"]
    answered = [event for event in events if event["event"] == "submitted"]
    assert [(one["step_id"], one["actor"]) for one in answered] == [("a", "server"), ("b", "server")]
    assert answered[1]["result"]["exit_code"] == 1


def test_it_stops_where_a_person_is_needed_and_goes_on_after_the_answer(site: Site) -> None:
    ask = "{id: ask, type: prompt, prompt_type: confirm, message: 'Sure?'}"
    site.compile(steps(sh("a", "echo one"), ask, sh("b", "echo two >> after"), RETURN_A))
    service = site.server()
    reply = service.start("w")
    assert reply["action"]["step_id"] == "ask"
    assert not (site.place / "after").exists()
    reply = service.submit(reply["workflow_id"], "ask", {"confirmed": True})
    assert reply["status"] == "completed"
    again = service.submit(reply["workflow_id"], "ask", {"confirmed": True})
    assert again["status"] == "completed"
    assert (site.place / "after").read_text() == "two\n"


def test_without_a_grant_the_agent_gets_the_same_command(site: Site) -> None:
    site.compile(steps(sh("a", "echo one"), RETURN_A))
    for grant in (Grant(site.place), Grant(site.place, commands=("pytest *",))):
        reply = site.server(grant).start("w")
        assert reply["action"]["parameters"] == {"command": "echo one", "timeout": 1000}
    plain = SqliteService(Store(site.state), Registry(site.generated))
    run = plain.start("w")["workflow_id"]
    result = {"stdout": "mine", "stderr": "", "exit_code": 0}
    assert plain.submit(run, "a", result)["result"] == "mine"
    plain.close()


def test_what_the_steps_language_leaves_to_the_agent_is_not_done_unasked(site: Site, tmp_path: Path) -> None:
    compile_to(site.generated, steps(sh("a", "echo one"), RETURN_A))
    site.place.mkdir()
    assert site.server().start("w")["action"]["step_id"] == "a"
    assert site.server(every_kind=True).start("w")["result"] == "one\n"


def test_branches_really_run_side_by_side(site: Site) -> None:
    wait = "touch {0}; until [ -f {1} ]; do sleep 0.02; done; echo {0}"
    branches = ", ".join(f"{me}: [{sh(me, wait.format(me, other))}]" for me, other in ("xy", "yx"))
    site.compile(steps(f"{{id: both, type: parallel, branches: {{{branches}}}}}"))
    reply = site.server().start("w")
    assert reply["status"] == "completed", reply
    assert [reply["result"][name]["stdout"] for name in ("x_out", "y_out")] == ["x\n", "y\n"]


def test_no_more_run_at_once_than_granted(site: Site) -> None:
    busy = "mkdir busy || echo clash; sleep 0.1; rmdir busy"
    branches = ", ".join(f"b{n}: [{sh(f's{n}', busy)}]" for n in range(4))
    site.compile(steps(f"{{id: all, type: parallel, branches: {{{branches}}}}}"))
    reply = site.server(Grant(site.place, commands=None, parallel=1)).start("w")
    assert reply["status"] == "completed"
    assert all(out["stdout"] == "" for out in reply["result"].values())


def test_children_are_worked_too(site: Site) -> None:
    child = steps(
        sh("c", "echo child {{ inputs.n }}"),
        "{id: r, type: return, needs_state: [c_out], value: '{{ state.c_out.stdout }}'}",
        name="child",
        head="inputs: {n: {type: number, required: true}}",
    )
    parent = steps(
        "{id: call, type: call, workflow: child, with: {n: 7}, output_to: got}",
        "{id: r, type: return, needs_state: [got], value: '{{ state.got }}'}",
    )
    site.compile(parent, child)
    assert site.server().start("w")["result"] == "child 7\n"


def test_a_reply_comes_in_time_and_the_work_goes_on(site: Site) -> None:
    site.compile(steps(sh("a", "until [ -f go ]; do sleep 0.02; done; echo went"), RETURN_A))
    service = site.server(reply_seconds=0.3)
    reply = service.start("w")
    run = reply["workflow_id"]
    assert reply["status"] == "running"
    assert reply["running"][0]["step_id"] == "a"
    assert reply["next"] == f'get_workflow_status(workflow_id="{run}")'
    assert service.workers.at_work()
    (site.place / "go").touch()
    assert until(lambda: service.status(run).get("result")) == "went\n"


def test_nobody_else_can_answer_what_the_server_is_doing(site: Site) -> None:
    site.compile(steps(sh("a", LONG)))
    reply = site.server(reply_seconds=0.2).start("w")
    plain = SqliteService(Store(site.state), Registry(site.generated))
    with pytest.raises(RefusedError, match="the server is executing"):
        plain.submit(reply["workflow_id"], "a", {"stdout": "", "stderr": "", "exit_code": 0})
    assert plain.status(reply["workflow_id"])["running"][0]["step_id"] == "a"
    plain.close()


def test_a_list_says_that_a_run_waits_for_a_server_as_long_as_that_lives(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = "{id: ask, type: prompt, prompt_type: confirm, message: Go on}"
    site.compile(steps(f"{{id: both, type: parallel, branches: {{x: [{sh('a', LONG)}], y: [{ask}]}}}}"))
    site.server(reply_seconds=0.2).start("w")
    plain = SqliteService(Store(site.state), Registry(site.generated))
    assert plain.runs()["runs"][0]["waits_for"] == ["server", "person"]
    monkeypatch.setattr(plain.owners, "is_alive", lambda owner: False)
    assert plain.runs()["runs"][0]["waits_for"] == ["agent", "person"]
    plain.close()


def test_cancelling_a_run_kills_its_commands(site: Site) -> None:
    site.compile(steps(sh("a", "echo $$ > pid; exec sleep 1000")))
    service = site.server(reply_seconds=0.2)
    run = service.start("w")["workflow_id"]
    pid = int(until(lambda: (site.place / "pid").exists() and (site.place / "pid").read_text()))
    assert service.cancel(run, "enough")["status"] == "cancelled"
    assert until(lambda: not is_alive(pid))
    assert until(lambda: not service.workers.at_work())
    assert service.store.queries.claims(1) == []


def test_cancelling_it_elsewhere_kills_them_too(site: Site) -> None:
    site.compile(steps(sh("a", "echo $$ > pid; exec sleep 1000")))
    run = site.server(reply_seconds=0.2).start("w")["workflow_id"]
    pid = int(until(lambda: (site.place / "pid").exists() and (site.place / "pid").read_text()))
    other = SqliteService(Store(site.state), Registry(site.generated))
    other.cancel(run)
    assert until(lambda: not is_alive(pid))
    other.close()


def test_a_failing_branch_ends_the_commands_of_the_others(site: Site) -> None:
    slow = sh("slow", "echo $$ > pid; exec sleep 1000")
    bad = sh("bad", "until [ -s pid ]; do sleep 0.02; done; sleep 1000", ", timeout: 1")
    site.compile(
        steps(f"{{id: both, type: parallel, join: fail_fast, branches: {{x: [{slow}], y: [{bad}]}}}}")
    )
    reply = site.server().start("w")
    assert (reply["status"], reply["error"]["code"]) == ("failed", "timeout")
    assert until(lambda: not is_alive(int((site.place / "pid").read_text())))


def test_a_failed_command_is_tried_again_by_the_steps_own_rule(site: Site) -> None:
    command = "echo x >> tries; [ $(wc -l < tries) -ge 2 ] || sleep 1000"
    retry = ", timeout: 1, retry: {max_attempts: 2, delay_seconds: 1}"
    site.compile(steps(sh("a", command, retry)))
    reply = site.server().start("w")
    assert reply["status"] == "completed", reply
    assert (site.place / "tries").read_text() == "x\nx\n"


def test_two_servers_share_the_work_and_do_nothing_twice(site: Site) -> None:
    branches = ", ".join(f"b{n}: [{sh(f's{n}', 'echo x >> did; sleep 0.1')}]" for n in range(8))
    site.compile(steps(f"{{id: all, type: parallel, branches: {{{branches}}}}}"))
    grant = Grant(site.place, commands=None, parallel=3)
    one, other = site.server(grant, reply_seconds=0.01), site.server(grant)
    run = one.start("w")["workflow_id"]
    assert other.status(run)["status"] == "completed"
    assert (site.place / "did").read_text() == "x\n" * 8


def test_many_callers_wait_for_one_run(site: Site) -> None:
    site.compile(steps(sh("a", "until [ -f go ]; do sleep 0.02; done; echo went"), RETURN_A))
    service = site.server(reply_seconds=20)
    replies: list[dict[str, Any]] = []
    first = Thread(target=lambda: replies.append(service.start("w")))
    first.start()
    listed = until(lambda: service.runs("all")["runs"])
    others = [
        Thread(target=lambda: replies.append(service.status(listed[0]["workflow_id"]))) for _ in range(4)
    ]
    for one in others:
        one.start()
    (site.place / "go").touch()
    for one in (first, *others):
        one.join(PATIENCE)
    assert [reply["result"] for reply in replies] == ["went\n"] * 5


def test_a_reply_never_shows_as_the_agents_what_the_server_is_about_to_do(site: Site) -> None:
    branches = ", ".join(f"b{n}: [{sh(f's{n}', 'sleep 0.3')}]" for n in range(4))
    ask = "c: [{id: ask, type: prompt, prompt_type: confirm, message: 'Sure?'}]"
    site.compile(steps(f"{{id: all, type: parallel, branches: {{{branches}, {ask}}}}}"))
    reply = site.server(Grant(site.place, commands=None, parallel=1)).start("w")
    assert reply["action"]["step_id"] == "ask"
    assert {one["step_id"] for one in reply["running"]} <= {"s0", "s1", "s2", "s3"}
    assert 'step_id="ask"' in reply["next"]


def test_a_chain_of_quick_steps_is_never_handed_back_half_way(site: Site) -> None:
    site.compile(steps(*(sh(f"s{n}", "true") for n in range(12))))
    service = site.server()
    for _ in range(4):
        assert service.start("w")["status"] == "completed"


def test_a_failure_of_ours_quotes_nothing_in_the_log(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(action: dict[str, Any], *rest: Any) -> None:
        raise LookupError(action["parameters"]["command"])

    token = "tk-9f8e7d6c5b4a"
    head = "inputs: {token: {type: string, required: true, secret: true}}"
    site.compile(steps(sh("a", "echo {{ inputs.token | shquote }}"), head=head))
    monkeypatch.setattr("wfc_runtime.service.sqlite.serving.execute", breaks)
    reply = site.server().start("w", {"token": token})
    assert (reply["status"], reply["error"]["message"]) == ("failed", "internal error of wfc: LookupError")
    assert "a failed: LookupError" in caplog.text
    assert "in breaks" in caplog.text
    assert token not in caplog.text + json.dumps(reply)


def test_secrets_and_the_environment_of_commands_are_kept_nowhere(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    token, ours, granted = "tk-9f8e7d6c5b4a", "sk-of-the-server", "sk-of-the-command"
    monkeypatch.setenv("SERVER_KEY", ours)
    monkeypatch.setenv("COMMAND_KEY", granted)
    head = "inputs: {token: {type: string, required: true, secret: true}}"
    use = "echo $COMMAND_KEY | wc -c; echo $SERVER_KEY | wc -c; echo {{ inputs.token | shquote }} >&2; exit 3"
    fail = "echo {{ inputs.token | shquote }}; sleep 1000"
    site.compile(steps(sh("a", use), sh("b", fail, ", timeout: 1"), head=head))
    service = site.server(Grant(site.place, commands=None, env=("COMMAND_KEY",)))
    caplog.set_level("DEBUG")
    reply = service.start("w", {"token": token})
    run = reply["workflow_id"]
    assert (reply["status"], reply["error"]["code"]) == ("failed", "timeout")
    [done] = [event for event in service.history(run)["events"] if event.get("step_id") == "a"]
    assert done["result"]["stdout"].split() == [str(len(granted) + 1), "1"]
    assert done["result"]["stderr"] == "***\n"
    shown = json.dumps([reply, service.history(run), service.state(run, ["a_out"]), service.export(run)])
    service.close()
    kept = [path.read_bytes() for path in site.state.parent.rglob("*") if path.is_file()]
    for secret in (token, ours, granted):
        assert secret not in shown + caplog.text
        assert not any(secret.encode() in data for data in kept)
