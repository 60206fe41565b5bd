"""An agent that works a run to its end, whatever becomes of the server, and gives the same answers each time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.property.answers import answer
from tests.torture.servers import Died, Reply, Server
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store

INPUTS: dict[str, dict[str, Any]] = {
    "build-feature": {"feature": "Search the notes by tag.", "slug": "tag-search"},
    "deploy-service": {
        "service_name": "shop",
        "version": "1.2.3",
        "registry": "registry.example/shop",
        "health_url": "https://shop.example/health",
    },
    "incident-triage": {
        "service": "shop",
        "alert": "it is down",
        "tracker": {"owner": "acme", "repo": "shop"},
    },
    "pr-automation": {"owner": "acme", "repo": "shop", "pr_number": 7},
    "release-checks": {"version": "1.2.3"},
    "release-notes": {"version": "1.2.3"},
    "worktree-build": {"branch": "main"},
    "ship-release": {
        "service_name": "shop",
        "version": "1.2.3",
        "registry": "registry.example/shop",
        "targets": {
            "staging": {"namespace": "shop", "health_url": "https://staging.example"},
            "production": {"namespace": "shop", "health_url": "https://shop.example"},
        },
    },
}
"""What the shipped workflows can't start without."""

_MOST_CALLS = 3000
_GOOD = {"exit_code": 0, "confirmed": True, "acknowledged": True, "timed_out": False}
_OUTPUTS = (
    "",
    "v1.2.2\n",
    "a.py\nb.py\n",
    "TOTAL 120 30 75%\n",
    "TOTAL 120 2 98%\n",
    '[{"name": "left", "version": "1.0", "latest_version": "2.0", "state": "SUCCESS"}]',
    '{"title": "Add", "body": null, "state": "OPEN", "isDraft": false, "changedFiles": 3, "headRefOid": "abc"}',
)
"""What the commands of the shipped workflows print, more or less."""


class Direct:
    """The service itself in the place of a server."""

    def __init__(self, service: SqliteService) -> None:
        self._service = service
        self._tools: dict[str, Callable[..., Reply]] = {
            "list_runs": service.runs,
            "start_workflow": service.start,
            "get_workflow_status": lambda workflow_id: service.status(workflow_id),
            "get_next_step": lambda workflow_id: service.next_step(workflow_id),
            "submit_result": lambda workflow_id, step_id, result: service.submit(
                workflow_id, step_id, result
            ),
            "retry_workflow": lambda workflow_id, step_id: service.retry(workflow_id, step_id),
        }

    def call(self, tool: str, **arguments: Any) -> Reply:
        # There is no server here whose ticker could do it.
        self._service.tick()
        return self._tools[tool](**arguments)


@dataclass
class Agent:
    """Works one run. `connect` gives a server, a new one each time that the last has died."""

    folder: Path
    workflow: str
    connect: Callable[[], Any]
    seed: str = ""
    coin: Random = field(default_factory=lambda: Random(0))
    """Whether a call that got no answer is made again, or the run asked where it is."""
    around: Callable[[Server], None] = lambda server: None
    """Called before each call: somebody may kill the server then."""
    inputs: Reply | None = None
    """What the run is started with, if not with `INPUTS`."""
    run: str = ""
    acknowledged: dict[tuple[str, str], Any] = field(default_factory=dict)
    deaths: int = 0
    calls: int = 0

    def work(self) -> Reply:
        server: Any = None
        last: tuple[str, str, Any] | None = None
        while True:
            try:
                if server is None:
                    server = self.connect()
                if last is not None and self.coin.random() < 0.5:
                    self._submit(server, *last)
                last = None
                reply = self._continued(server, self._find(server))
                while reply["status"] == "pending_action":
                    last = self._next(server, reply, self.run, self.workflow)
                    if last is not None:
                        self._submit(server, *last)
                    last = None
                    reply = self._call(server, "get_workflow_status", workflow_id=self.run)
                    reply = self._continued(server, reply)
                return reply
            except Died:
                self.deaths += 1
                if server is not None:
                    server.gone()
                server = None
            finally:
                self.server = server

    def _continued(self, server: Server, reply: Reply) -> Reply:
        """A run that has failed stays so."""
        return reply

    def _call(self, server: Server, tool: str, **arguments: Any) -> Reply:
        self.calls += 1
        assert self.calls < _MOST_CALLS, "it never ends"
        self.around(server)
        return server.call(tool, **arguments)

    def _submit(self, server: Server, run: str, step_id: str, result: Any) -> None:
        self._call(server, "submit_result", workflow_id=run, step_id=step_id, result=result)
        self.acknowledged[run, step_id] = result

    def _find(self, server: Server) -> Reply:
        """The run that is there, or a new one."""
        runs = self._call(server, "list_runs", status="all")["runs"]
        if self.run:
            assert [run["workflow_id"] for run in runs] == [self.run], "an acknowledged run is lost"
        if not runs:
            inputs = INPUTS.get(self.workflow, {}) if self.inputs is None else self.inputs
            reply = self._call(server, "start_workflow", workflow=self.workflow, inputs=inputs)
            self.run = reply["workflow_id"]
            return reply
        # Started, but not acknowledged.
        self.run = runs[0]["workflow_id"]
        return self._call(server, "get_workflow_status", workflow_id=self.run)

    def _next(self, server: Server, reply: Reply, path: str, scope: str) -> tuple[str, str, Any] | None:
        """What to submit next; None where only time has to pass. `scope` is the task or workflow of the run."""
        action = reply.get("action") or reply["actions"][0]
        run, step_id, parameters = reply["workflow_id"], action["step_id"], action["parameters"]
        if action["type"] in ("foreach", "call"):
            child = parameters["children"][0]
            below = self._call(server, "get_next_step", workflow_id=child["workflow_id"])
            inner = parameters.get("task") or parameters["workflow"]
            return self._next(server, below, f"{path}/{step_id}[{child['index']}]", inner)
        if parameters.get("due"):
            # The server's ticker ends the wait within a second; asking does not count until then.
            time.sleep(0.02)
            self.calls -= 1
            return None
        if "resume_at" in parameters:
            with (self.folder / "clock").open("ab") as clock:
                clock.write(b"." * (parameters["seconds_left"] + 1))
            return None
        return run, step_id, self._result(f"{path.removeprefix(self.run)}/{step_id}", scope, action)

    def _result(self, place: str, scope: str, action: Reply) -> Any:
        """The same each time that it is asked for the same visit of the same run."""
        return self._answer(f"{self.seed}{place}", action.get("result_schema"))

    def _answer(self, key: str, schema: Any) -> Any:
        """Mostly what the workflow hopes for, so that it goes a long way."""
        random = Random(f"{self.workflow}:{key}")
        found = answer(schema, random)
        if isinstance(found, dict):
            good = {name: one for name, one in _GOOD.items() if name in found and random.random() < 0.9}
            found = {**found, **good, **({"stdout": random.choice(_OUTPUTS)} if "stdout" in found else {})}
        return found


def story(folder: Path, generated: Path, run: str) -> list[Any]:
    """All that happened in a family of runs, in words that are the same whatever the ids."""
    service = SqliteService(Store(folder / "state.db"), Registry(generated))
    try:
        names = {run: "run"}
        told: list[Any] = []
        for one in list_family(service, run, names):
            events = service.history(one, limit=500)["events"]
            assert [event["seq"] for event in events] == list(range(1, len(events) + 1)), "history has a gap"
            answered = [event["step_id"] for event in events if event["event"] == "submitted"]
            assert len(answered) == len(set(answered)), "a step has taken effect twice"
            for event in events:
                event.pop("actor", None)
                event.pop("shown", None)
                event["children"] = [names[child] for child in event.get("children", [])]
                event.get("inputs", {}).pop("instructions", None)
            told.append([names[one], events])
        end = service.status(run)
        told.append([end["status"], end.get("result"), end.get("error")])
        connection = service.store._read_connection
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    finally:
        service.close()
    return json.loads(_without_ids(json.dumps(told), names))


def list_family(service: SqliteService, run: str, names: dict[str, str]) -> list[str]:
    family = [run]
    for one in family:
        for event in service.history(one, limit=500)["events"]:
            for child in event.get("children", []):
                names[child] = f"{names[one]}/{len(names)}"
                family.append(child)
    return family


def _without_ids(text: str, names: dict[str, str]) -> str:
    for run, name in names.items():
        text = text.replace(run, name)
    return text
