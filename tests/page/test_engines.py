"""The API of the page on either engine: what holds on one holds on the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.page.conftest import ASK
from tests.runtime.support import OK, Box, TemporalBox, children, steps
from tests.support import wait_until
from wfc_runtime.page.app import page_app
from wfc_runtime.page.keys import Keys

CALLER = steps("{id: sub, type: call, workflow: asks, with: {}, output_to: said}", name="caller")


class Client:
    """The application without a server around it."""

    def __init__(self, box: Box) -> None:
        keys = Keys()
        app, _ = page_app(box, keys, box.root)  # type: ignore[arg-type]  # a box has a service and a registry
        key = keys.trade(keys.new_link())
        self._http = TestClient(app, headers={"Authorization": f"Bearer {key}"})

    def get(self, path: str, status: int = 200) -> Any:
        reply = self._http.get(f"/api/{path}")
        assert reply.status_code == status, reply.text
        return reply.json()

    def post(self, path: str, body: Any, status: int = 200) -> Any:
        reply = self._http.post(f"/api/{path}", json=body)
        assert reply.status_code == status, reply.text
        return reply.json()


class _Project(Box):
    @property
    def registry(self) -> Any:
        return self.service.registry


class _TemporalProject(TemporalBox, _Project):
    pass


@pytest.fixture(params=["sqlite", "temporal"])
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made: Box
    if request.param == "sqlite":
        made = _Project(tmp_path)
    else:
        made = _TemporalProject(tmp_path, request.getfixturevalue("temporal_address"))
    made.compile(ASK, CALLER)
    yield made
    made.close()


def test_a_gate_of_a_called_workflow_is_answered_through_the_api(box: Box) -> None:
    client = Client(box)
    reply = box.service.start("caller")
    [child] = children(reply)
    box.service.submit(child, "build", OK)
    wait_until(lambda: client.get("waiting")["waiting"])
    [gate] = client.get("waiting")["waiting"]
    assert (gate["workflow_id"], gate["root"]["workflow_id"]) == (child, reply["workflow_id"])
    body = {
        "step_id": "agree",
        "shown": gate["action"]["shown"],
        "result": {"confirmed": True},
        "name": "Ada",
    }
    wrong = client.post(f"runs/{child}/answer", {**body, "result": {"confirmed": "perhaps"}}, 409)
    assert wrong["error"]["code"] == "result_misfit"
    stale = client.post(f"runs/{child}/answer", {**body, "shown": "0" * 32}, 409)
    assert stale["error"]["code"] == "not_shown"
    assert client.post(f"runs/{child}/answer", body)["status"] == "completed"
    wait_until(lambda: client.get(f"runs/{reply['workflow_id']}")["run"]["status"] == "completed")
    again = client.post(f"runs/{child}/answer", {**body, "result": {"confirmed": False}}, 409)
    assert again["error"]["code"] == "answered"


def test_every_view_of_a_run_can_be_had(box: Box) -> None:
    client = Client(box)
    run = box.service.start("asks", actor="somebody")["workflow_id"]
    box.service.submit(run, "build", OK, actor="me")
    assert client.get(f"runs/{run}")["run"]["action"]["step_id"] == "agree"
    assert client.get(f"runs/{run}")["family"]["started_by"] == "somebody"
    assert "started_by" not in client.get(f"runs/{box.service.start('asks')['workflow_id']}")["family"]
    assert client.get("nothing", 404)["error"]["code"] == "unknown_request"
    assert [one["seq"] for one in client.get(f"runs/{run}/history")["events"]] == [2, 1]
    assert [one["step_id"] for one in client.get(f"runs/{run}/visits")["visits"]] == ["build", "agree"]
    assert client.get(f"runs/{run}/path")["current"] == ["agree"]
    assert client.get(f"runs/{run}/state?at=1")["state"] == {}
    assert client.get(f"runs/{run}/state")["state"] == {"built": OK}
    assert client.get(f"runs/{run}/family")["children"] == []
    assert client.get(f"runs/{run}/picture")["chart"] == "main"
    assert client.get(f"runs/{run}/source")["gone"] is True
    assert client.get("workflows/asks")["plan"]["actions"]["least"] >= 1
    assert run in [one["workflow_id"] for one in client.get("runs?workflow=asks")["runs"]]


def test_what_each_answer_leads_to_is_shown_before_it_is_given(box: Box) -> None:
    text = steps(
        "{id: agree, type: prompt, prompt_type: confirm, message: 'Ship?', output_to: go}",
        "{id: check, type: condition, needs_state: [go], if: '{{ state.go.confirmed }}',"
        " then: [{id: ship, type: shell, command: make}], else: [{id: stop, type: fail, message: 'No.'}]}",
        "{id: where, type: prompt, prompt_type: choice, message: 'Where?', options: [a, b], output_to: w}",
        name="ship",
    )
    client = Client(box)
    run = box.compile(text).service.start("ship")["workflow_id"]
    before = box.service.history(run)
    found = client.get(f"runs/{run}/preview?step_id=agree")["answers"]
    assert found == [
        {"result": {"confirmed": True}, "status": "pending_action", "next": ["ship"]},
        {"result": {"confirmed": False}, "status": "failed", "message": "No."},
    ]
    assert client.get(f"runs/{run}/preview?step_id=ship", 409)["error"]["code"] == "not_pending"
    assert client.get(f"runs/{run}/preview", 400)["error"]["code"] == "missing"
    assert box.service.history(run) == before
    box.service.submit(run, "agree", {"confirmed": True})
    assert client.get(f"runs/{run}/preview?step_id=ship")["answers"] == []
    box.service.submit(run, "ship", OK)
    ends = client.get(f"runs/{run}/preview?step_id=where")["answers"]
    assert [(one["result"]["selected"], one["status"]) for one in ends] == [
        ("a", "completed"),
        ("b", "completed"),
    ]


def test_a_migration_is_described_before_it_is_done(box: Box) -> None:
    first = box.service.start("asks")["workflow_id"]
    client = Client(box)
    assert client.get(f"runs/{first}/migration")["is_current"] is True
    box.compile(ASK.replace("command: make", "command: make all").replace("{id: agree", "{id: approve"))
    found = client.get(f"runs/{first}/migration")
    assert (found["added"], found["removed"], found["changed"]) == (["approve"], ["agree"], ["build"])
    assert found["blocked_by"] == []
    wait_until(lambda: client.get("workflows/asks")["versions"])
    [version] = client.get("workflows/asks")["versions"]
    assert (version["digest"], version["runs"]) == (found["from"]["digest"], 1)
    assert client.get("workflows/asks")["digest"] == found["to"]["digest"]
    box.compile(ASK.replace("{id: build", "{id: compile"))
    assert client.get(f"runs/{first}/migration")["blocked_by"] == ["build"]


def test_a_failed_run_is_retried_through_the_api(box: Box) -> None:
    client = Client(box)
    run = box.service.start("asks")["workflow_id"]
    box.service.submit(run, "build", {"error": "broken"})
    reply = client.post(f"runs/{run}/retry", {"name": "Ada"})
    assert reply["action"]["step_id"] == "build@2"
    assert box.service.history(run)["events"][-1]["actor"] == "person:Ada, page"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("runs/none", 404),
        ("runs/bad%20id", 400),
        ("runs?status=odd", 400),
        ("runs?limit=x", 400),
        ("runs?q=%27", 400),
        ("waiting?after=x", 400),
        ("workflows/none", 404),
        ("runs/none/state?at=9999999999999", 400),
    ],
)
def test_what_is_not_there_or_not_valid_is_said_so(tmp_path: Path, path: str, status: int) -> None:
    box = _Project(tmp_path)
    box.compile(ASK)
    try:
        error = Client(box).get(path, status)["error"]
        assert error["code"]
        assert error["message"]
    finally:
        box.close()
