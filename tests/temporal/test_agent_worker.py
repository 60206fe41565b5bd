"""`wfc worker --agent`: a team's runs are worked by agents' command lines, each action under a lease."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents.support import SCHEMA, Desk, delegate
from tests.e2e.command import wfc
from tests.execute.conftest import is_alive
from tests.runtime.support import TemporalBox, step_ids, steps
from tests.support import wait_until
from tests.temporal.processes import WorkerProcess
from wfc_runtime.errors import StoreError
from wfc_runtime.service.temporal.engine import TemporalService

GATE = "{id: ok, type: prompt, prompt_type: confirm, message: Deploy?, output_to: ok_out}"


class Team:
    """A project on Temporal with the stand-in for an agent, a client, and workers."""

    def __init__(self, box: TemporalBox, folder: Path) -> None:
        self.box = box
        self.desk = Desk(folder)
        self.service = TemporalService(box.settings, box.modules())
        self._workers: list[WorkerProcess] = []

    def worker(self, *options: str) -> WorkerProcess:
        made = WorkerProcess(self.box, self.box.root, "--agent", "stub", *options, env=self.desk.env)
        self._workers.append(made)
        return made

    def start(self) -> str:
        """A run. On a busy machine, a worker that has begun polls the server only some seconds later."""

        def started() -> str:
            try:
                return str(self.service.start("w")["workflow_id"])
            except StoreError as error:
                if error.code != "no_worker":
                    raise
                return ""

        return wait_until(started, "a worker that polls")

    def until(self, run: str, *visits: str, status: str = "pending_action") -> dict[str, Any]:
        """The reply once a run waits for these visits, or has ended."""

        def there() -> dict[str, Any] | None:
            found = self.service.status(run)
            waits = step_ids(found) if "action" in found or "actions" in found else []
            return found if found["status"] == status and (not visits or waits == list(visits)) else None

        return wait_until(there, lambda: f"{visits or status}: {self.service.status(run)}") or {}

    def close(self) -> None:
        for one in self._workers:
            one.kill()
        self.service.close()


@pytest.fixture
def team(temporal_box: TemporalBox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    made = Team(temporal_box, tmp_path_factory.mktemp("desk"))
    yield made
    made.close()


def test_two_workers_work_a_teams_runs_up_to_the_people_and_never_do_a_step_twice(team: Team) -> None:
    head = f"tasks: {{t: {{inputs: {{n: {{type: integer}}}}, steps: [{delegate('c', 'say x')}]}}}}"
    misfit = delegate("a", 'give {"n": "five"}; give {"n": 5}', SCHEMA)
    loop = "{id: f, type: foreach, items: [1, 2], task: t, model: fast, tools: [read]}"
    team.box.compile(steps(misfit, loop, GATE, delegate("z", "say end"), head=head))
    first, second = team.worker(), team.worker()
    runs = [team.start() for _ in range(3)]
    for run in runs:
        team.until(run, "ok")
    # Two calls for the result that did not fit, one for each child; no prompt was answered.
    assert len(team.desk.calls()) == 4 * len(runs)
    for run in runs:
        team.service.submit(run, "ok", {"confirmed": True}, actor="a person")
        team.until(run, status="completed")
    calls = team.desk.calls()
    assert len(calls) == 5 * len(runs)
    # The wishes of the foreach hold for its children, and a misfit is asked again in the same conversation.
    children = [one["arguments"] for one in calls if "--model" in one["arguments"]]
    assert len(children) == 2 * len(runs)
    assert {one[one.index("--model") + 1] for one in children} == {"fast"}
    assert sum("--resume" in one["arguments"] for one in calls) == len(runs)
    events = team.service.history(runs[0])["events"]
    by_agent = [one for one in events if "agent" in one]
    assert [one["event"] for one in by_agent] == ["refused", "submitted", "submitted"]
    assert all(one["actor"].startswith("stub ") and one["actor"].endswith(", wfc worker") for one in by_agent)
    assert [one["agent"]["usd"] for one in by_agent] == [0.01] * 3
    log = team.box.root / ".wfc" / by_agent[0]["agent"]["log"]
    assert log.read_text(encoding="utf-8")
    assert "stub, attempt 1" in first.said.read_text() + second.said.read_text()


def test_after_kill_9_no_agent_lives_on_and_another_worker_does_the_step(team: Team) -> None:
    team.box.compile(steps(delegate("a", "say x"), delegate("b", "sleep"), GATE))
    first = team.worker("--lease", "4")
    run = team.start()
    wait_until(lambda: len(team.desk.calls()) == 2, "the second call")
    second = team.worker("--lease", "4")
    agent = team.desk.calls()[1]["pid"]
    (team.desk.notes / "orders").write_text("say now")
    # While the first one lives, it renews its lease.
    assert [one["step_id"] for one in team.service.status(run)["running"]] == ["b"]
    first.kill()
    wait_until(lambda: not is_alive(agent), "the end of the agent")
    team.until(run, "ok")
    # What was done is not done again.
    assert len(team.desk.calls()) == 3
    assert second.stop() == 0


def test_a_worker_that_is_asked_to_end_gives_its_work_back_at_once(team: Team) -> None:
    team.box.compile(steps(delegate("a", "spend"), GATE, head="budget: {tokens: 1000}"))
    first = team.worker("--lease", "3600")
    run = team.start()
    wait_until((team.desk.notes / "spending").exists, "the call")
    agent = team.desk.calls()[0]["pid"]
    assert first.stop(signal.SIGINT) == 130
    assert not is_alive(agent)
    (team.desk.notes / "orders").write_text("say now")
    team.worker("--lease", "3600")
    team.until(run, "ok")
    events = [one for one in team.service.history(run)["events"] if "agent" in one]
    # The call that was ended has cost something, which is recorded and counted.
    assert [(one["event"], one["agent"]["tokens"]) for one in events] == [
        ("agent_call", 10),
        ("submitted", 100),
    ]
    budget = team.service.definition(run)[2].budget[""]
    assert budget["spent"]["tokens"] == 110


def test_a_worker_that_was_frozen_beyond_its_lease_cannot_submit_what_another_one_does(team: Team) -> None:
    gate = team.desk.notes / "go"
    team.box.compile(steps(delegate("a", f"wait {gate}"), GATE))
    first = team.worker("--lease", "2")
    run = team.start()
    wait_until(lambda: len(team.desk.calls()) == 1, "the first call")
    first.process.send_signal(signal.SIGSTOP)
    team.worker("--lease", "60")
    wait_until(lambda: len(team.desk.calls()) == 2, "the call of the other one")
    first.process.send_signal(signal.SIGCONT)
    agent = team.desk.calls()[0]["pid"]
    wait_until(lambda: not is_alive(agent), "the end of the agent without a lease")
    gate.touch()
    team.until(run, "ok")
    submitted = [one for one in team.service.history(run)["events"] if one["event"] == "submitted"]
    assert len(submitted) == 1


def test_a_cancelled_run_stops_its_agent(team: Team) -> None:
    team.box.compile(steps(delegate("a", "sleep"), GATE))
    team.worker("--lease", "2")
    run = team.start()
    wait_until(lambda: len(team.desk.calls()) == 1, "the call")
    agent = team.desk.calls()[0]["pid"]
    team.service.cancel(run, "no longer wanted")
    wait_until(lambda: not is_alive(agent), "the end of the agent")


def test_a_used_up_budget_is_a_gate_that_no_restart_resets(team: Team) -> None:
    head = f"tasks: {{t: {{inputs: {{n: {{type: integer}}}}, steps: [{delegate('c', 'say x')}]}}}}"
    loop = "{id: f, type: foreach, items: [1, 2, 3, 4], task: t, sequential: true}"
    team.box.compile(steps(loop, GATE, head=head))
    first = team.worker("--budget", "usd=0.02")
    run = team.start()
    team.until(run, "budget@gate")
    assert len(team.desk.calls()) == 2
    limit = team.desk.calls()[0]["arguments"]
    assert limit[limit.index("--max-budget-usd") + 1] == "0.0200"
    first.kill()
    team.worker("--budget", "usd=0.02")
    other = team.start()
    team.until(other, "budget@gate")
    # The second worker has looked at both runs, and done only what the other one still could pay.
    assert len(team.desk.calls()) == 4
    team.service.submit(run, "budget@gate", {"confirmed": True}, actor="a person")
    team.until(run, "budget@gate2")
    assert len(team.desk.calls()) == 6


def test_without_an_account_the_run_waits_and_no_step_fails(team: Team) -> None:
    login = 'result {"is_error": true, "terminal_reason": "api_error", "code": 1, "result": "Not logged in"}'
    team.box.compile(steps(delegate("a", login), GATE))
    worker = team.worker()
    run = team.start()
    worker.wait_for("no agent is available (login): Not logged in")
    team.until(run, "a")
    assert len(team.desk.calls()) == 1


def test_rights_come_from_the_operators_file_only(team: Team) -> None:
    def said(*options: str, env: dict[str, str] | None = None) -> str:
        given = {**team.desk.env, "WFC_TEMPORAL_ADDRESS": team.box.settings.address, **(env or {})}
        done = wfc("worker", *options, cwd=team.desk.project, env=given)
        assert done.status == 2, done.err
        return done.err

    inside = team.desk.project / "agents.toml"
    inside.write_text(team.desk.settings.read_text())
    assert "is inside the project" in said("--agent", "stub", env={"WFC_AGENTS": str(inside)})
    assert "there is no agent `stubb`" in said("--agent", "stubb")
    assert "--parallel goes with --agent" in said("--parallel", "2")
    assert "--lease goes with --agent" in said("--lease", "5")
    assert "--budget usd must be a number above 0" in said("--agent", "stub", "--budget", "usd=x")
    assert "on Temporal the agent executes every step" in said("--agent", "stub", "--allow-exec")
    (team.desk.project / "pyproject.toml").write_text('[tool.wfc.agents]\nstub = {command = ["sh"]}\n')
    assert "has no setting" in said("--agent", "stub")
    assert os.listdir(team.desk.notes) == []
