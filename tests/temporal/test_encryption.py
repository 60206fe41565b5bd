"""With a key the Temporal server never sees what runs are about, and every run goes on. A real server."""

from __future__ import annotations

import json
import secrets
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionStatus, WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from tests.runtime.support import OK, TWO, Box, TemporalBox, children, step_ids, steps
from tests.support import wait_until
from tests.temporal.keys import NEW, OLD, OTHER, id_of, ring, text_of
from tests.temporal.processes import WFC, environment, worker
from tests.temporal.stored import appears, events_of, payloads_in, stored
from tests.temporal_server import free_port, temporal_binary, wait_for
from wfc_runtime.engines.temporal_import import move_run
from wfc_runtime.errors import RefusedError, StoreError
from wfc_runtime.service.temporal.codec import ENCODING, KEY_ID, RUN, converter_of
from wfc_runtime.service.temporal.encryption import Keyring
from wfc_runtime.service.temporal.host import Host
from wfc_runtime.service.temporal.messages import Ended
from wfc_runtime.service.temporal.modules import register_worker
from wfc_runtime.service.temporal.workflow import RunWorkflow

MARKER = "Zebra7Quartz9Marker"
SECRET = "walrus3Basalt8Token"
LONG = """
name: w
version: 1.0.0
inputs:
  token: {type: string, secret: true, required: true}
  text: {type: string, required: true}
steps:
  - {id: build, type: shell, command: "echo {{ inputs.text }} {{ inputs.token }}", output_to: built,
     retry: {max_attempts: 2}}
  - {id: keep, type: set_state, updates: {copy: "{{ inputs.text }}"}}
  - {id: ask, type: prompt, prompt_type: text, message: "{{ inputs.text }}?", output_to: answer}
  - {id: each, type: foreach, items: ["{{ inputs.text }} 1", "{{ inputs.text }} 2"], task: audit, output_to: out}
  - {id: c, type: call, workflow: called, with: {text: "{{ inputs.text }}"}, output_to: o}
  - {id: end, type: return, needs_state: [out, o], value: ["{{ state.out }}", "{{ state.o }}"]}
tasks:
  audit:
    inputs: {name: {type: string, required: true}}
    steps:
      - {id: look, type: shell, command: "audit {{ inputs.name }}", output_to: found}
      - {id: r, type: return, needs_state: [found], value: "{{ state.found.stdout }}"}
"""
CALLED = steps(
    "{id: work, type: shell, command: 'do {{ inputs.text }}', output_to: done}",
    "{id: r, type: return, needs_state: [done], value: '{{ state.done.stdout }}'}",
    name="called",
    head="inputs: {text: {type: string, required: true}}",
)
INPUTS = {"token": SECRET, "text": MARKER}
RESULT = {**OK, "stdout": MARKER}
ERROR = {"error": {"code": MARKER, "message": f"failed: {MARKER}"}}


@pytest.fixture
def make_box(tmp_path: Path, temporal_address: str) -> Iterator[Callable[..., TemporalBox]]:
    made: list[TemporalBox] = []

    def make(*keys: bytes, **more: Any) -> TemporalBox:
        key = text_of(*keys) if keys else None
        made.append(TemporalBox(tmp_path / "box", temporal_address, key=key, **more))
        made[-1].root.mkdir(exist_ok=True)
        return made[-1]

    yield make
    for box in made:
        box.close()


def with_keys(box: TemporalBox, *keys: bytes, **more: Any) -> Any:
    """The same project, whose processes were started again with other keys."""
    box.close()
    box.settings = replace(box.settings, key=text_of(*keys) if keys else None, **more)
    return box.service


# -- what the server stores ----------------------------------------------------


def completed(box: TemporalBox) -> list[str]:
    """Inputs, a failed attempt, results, prompts, state, children of a foreach and of a call, a result."""
    service = box.compile(LONG, CALLED).service
    run = service.start("w", INPUTS, actor=MARKER)["workflow_id"]
    service.submit(run, "build", ERROR)
    service.submit(run, "build@2", RESULT, actor=MARKER)
    family = [run, *children(service.submit(run, "ask", {"input": MARKER}))]
    for child in family[1:]:
        service.submit(child, "look", RESULT)
    [called] = children(service.status(run))
    reply = service.submit(called, "work", RESULT)
    assert reply["status"] == "completed"
    assert MARKER in json.dumps(service.status(run)["result"])
    assert MARKER in json.dumps(service.state(run, ["copy"]))
    return [*family, called]


def failed(box: TemporalBox) -> list[str]:
    """With an agent's own code and message, in a child and in its parent."""
    service = box.compile(LONG, CALLED).service
    run = service.start("w", INPUTS)["workflow_id"]
    service.submit(run, "build", RESULT)
    family = [run, *children(service.submit(run, "ask", {"input": MARKER}))]
    service.submit(family[1], "look", ERROR)
    assert service.status(family[1])["error"]["code"] == MARKER
    service.submit(family[2], "look", RESULT)
    assert service.status(run)["status"] == "failed"
    return family


def cancelled(box: TemporalBox) -> list[str]:
    service = box.compile(LONG, CALLED).service
    run = service.start("w", INPUTS)["workflow_id"]
    service.submit(run, "build", RESULT)
    family = [run, *children(service.submit(run, "ask", {"input": MARKER}))]
    reply = service.cancel(run, f"no more {MARKER}", actor=MARKER)
    assert reply["reason"] == f"no more {MARKER}"
    assert service.status(family[1])["status"] == "cancelled"
    return family


def renewed(box: TemporalBox) -> list[str]:
    """In several executions, with children that tell a later one."""
    service = box.compile(LONG, CALLED).another(renew_after=20)
    run = service.start("w", INPUTS)["workflow_id"]
    service.submit(run, "build", ERROR)
    service.submit(run, "build@2", RESULT)
    family = [run, *children(service.submit(run, "ask", {"input": MARKER}))]
    for child in family[1:]:
        service.submit(child, "look", RESULT)
    [called] = children(service.status(run))
    assert service.submit(called, "work", RESULT)["status"] == "completed"
    assert service.status(run)["status"] == "completed"
    started = [
        event
        for event in events_of(box, run)
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED
    ]
    assert len(started) > 1
    return [*family, called]


def moved(box: TemporalBox) -> list[str]:
    """From the file, with its history. Secrets are moved only to where they are encrypted."""
    old = Box(box.root)
    service = old.compile(LONG if box.settings.key else LONG.replace("secret: true, ", ""), CALLED).service
    run = service.start("w", INPUTS, actor=MARKER)["workflow_id"]
    service.submit(run, "build", RESULT)
    service.submit(run, "ask", {"input": MARKER})
    family = [run, *children(move_run(service, box.service, run, "mover"))]
    box.service.submit(family[1], "look", RESULT)
    old.close()
    return family


def stuck(box: TemporalBox) -> list[str]:
    """A workflow task that fails with a message and a stack trace."""
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    handle = service.client.get_workflow_handle(run)
    with patch.object(Host, "child_ended", side_effect=RuntimeError(MARKER)):
        service._run(handle.signal("child_ended", Ended("nobody")))
        failed_task = EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
        wait_until(lambda: failed_task in {one.event_type for one in events_of(box, run)}, "the failed task")
    return [run]


SCENARIOS = (completed, failed, cancelled, renewed, moved, stuck)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_with_a_key_the_server_stores_no_content(
    make_box: Callable[..., TemporalBox], scenario: Callable[[TemporalBox], list[str]]
) -> None:
    box = make_box(OLD, encrypted_only=True)
    runs = scenario(box)
    data = stored(box, runs)
    assert not appears(MARKER, data)
    assert not appears(SECRET, data)
    found = [payload for run in runs for event in events_of(box, run) for payload in payloads_in(event)]
    assert found
    for payload in found:
        # Core's own record of a local activity has times and ids only.
        if payload.metadata.get("encoding") != ENCODING:
            assert b'"activity_type":"wfc_find"' in payload.data
            continue
        assert payload.metadata[KEY_ID] == id_of(OLD).encode()
        assert payload.metadata[RUN].decode() in runs


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_without_a_key_the_same_search_finds_the_content(
    make_box: Callable[..., TemporalBox], scenario: Callable[[TemporalBox], list[str]]
) -> None:
    box = make_box()
    data = stored(box, scenario(box))
    assert appears(MARKER, data)
    assert appears(SECRET, data) is (scenario is not stuck)


@pytest.mark.parametrize("keys", [(), (OLD,)], ids=["clear", "encrypted"])
def test_the_database_of_the_server_has_the_content_only_without_a_key(
    keys: tuple[bytes, ...], tmp_path: Path
) -> None:
    """Also what no call shows: queues, timers, the visibility tables."""
    port, file = free_port(), tmp_path / "temporal.db"
    address = f"127.0.0.1:{port}"
    server = subprocess.Popen(
        [
            temporal_binary(),
            "server",
            "start-dev",
            "--headless",
            "--port",
            str(port),
            "--db-filename",
            str(file),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(port, server)
        box = TemporalBox(tmp_path, address, key=text_of(*keys) if keys else None)
        for scenario in (completed, failed, cancelled):
            scenario(box)
        box.close()
    finally:
        server.terminate()
        server.wait()
    data = b"".join(one.read_bytes() for one in tmp_path.glob("temporal.db*"))
    assert b"WfcWorkflow" in data
    assert appears(MARKER, data) is not bool(keys)
    assert appears(SECRET, data) is not bool(keys)


def test_a_run_with_secrets_is_not_moved_to_a_server_that_would_store_them_in_clear(
    make_box: Callable[..., TemporalBox], file_box: Box
) -> None:
    run = file_box.compile(LONG, CALLED).service.start("w", INPUTS)["workflow_id"]
    box = make_box()
    with pytest.raises(RefusedError, match=r"store unencrypted\. Set an encryption key first"):
        move_run(file_box.service, box.service, run, "mover")
    assert step_ids(file_box.service.status(run)) == ["build"]
    assert box.service.runs("all")["runs"] == []


# -- changing keys ---------------------------------------------------------------


def test_a_run_begun_without_a_key_goes_on_with_one(make_box: Callable[..., TemporalBox]) -> None:
    box = make_box()
    run = box.compile(TWO).service.start("w")["workflow_id"]
    before = len(events_of(box, run))
    service = with_keys(box, OLD)
    assert step_ids(service.submit(run, "build", RESULT)) == ["test"]
    assert service.submit(run, "test", OK)["status"] == "completed"
    assert [event["event"] for event in service.history(run)["events"]] == [
        "started",
        "submitted",
        "submitted",
    ]
    later = b"".join(event.SerializeToString() for event in events_of(box, run)[before:])
    assert not appears(MARKER, later)


def test_keys_are_changed_while_runs_are_in_progress(make_box: Callable[..., TemporalBox]) -> None:
    box = make_box(OLD)
    service = box.compile(LONG, CALLED).service
    run = service.start("w", INPUTS)["workflow_id"]
    service = with_keys(box, OLD, NEW)
    service.submit(run, "build", RESULT)
    service = with_keys(box, NEW, OLD)
    one, two = children(service.submit(run, "ask", {"input": MARKER}))
    service.submit(one, "look", RESULT)
    fresh = service.start("w", INPUTS)["workflow_id"]
    used = {payload.metadata[KEY_ID] for event in events_of(box, run) for payload in payloads_in(event)}
    assert used == {id_of(OLD).encode(), id_of(NEW).encode()}
    # Without the old key the new run goes on, and the old one says which key it needs.
    service = with_keys(box, NEW)
    assert step_ids(service.submit(fresh, "build", RESULT)) == ["ask"]
    with pytest.raises(StoreError, match=f"encrypted with key `{id_of(OLD)}`, which is not among"):
        service.status(run)
    service = with_keys(box, NEW, OLD)
    service.submit(two, "look", RESULT)
    [called] = children(service.status(run))
    assert service.submit(called, "work", RESULT)["status"] == "completed"
    assert service.status(run)["status"] == "completed"


def test_runs_of_another_key_do_not_hide_the_others_from_lists(make_box: Callable[..., TemporalBox]) -> None:
    box = make_box(OLD)
    old = box.compile(TWO).service.start("w")["workflow_id"]
    service = with_keys(box, NEW)
    new = service.start("w")["workflow_id"]
    rows = wait_until(lambda: len(found := service.runs()["runs"]) >= 2 and found, "both runs")
    assert {(one["workflow_id"], one["workflow"]) for one in rows} == {(new, "w"), (old, "w")}


# -- missing keys ------------------------------------------------------------------


def test_a_run_that_no_worker_can_read_waits_says_which_key_is_missing_and_goes_on(
    make_box: Callable[..., TemporalBox], caplog: pytest.LogCaptureFixture
) -> None:
    box = make_box(OLD)
    service = box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    with_keys(box, OTHER)
    client = replace(box.settings, key=text_of(OLD))
    with opened(box, client) as service:
        with pytest.raises(StoreError) as caught:
            service.submit(run, "build", OK)
        assert caught.value.code == "temporal_worker_key"
        assert f"with key `{id_of(OLD)}`, which is not among the keys here (`{id_of(OTHER)}`)" in str(
            caught.value
        )
        found = service._run(service.client.get_workflow_handle(run).describe())
        assert found.status == WorkflowExecutionStatus.RUNNING
    said = [one.getMessage() for one in caplog.records if id_of(OLD) in one.getMessage()]
    assert len(said) == 1
    assert not any(one.exc_info for one in caplog.records)
    service = with_keys(box, OLD)
    assert step_ids(once_it_goes_on(lambda: service.submit(run, "build", OK))) == ["test"]


def once_it_goes_on(call: Callable[[], Any]) -> Any:
    """Temporal tries a task again after a pause; until then the run still says what it lacked."""

    def reply() -> Any:
        try:
            return call()
        except StoreError as error:
            if error.code != "temporal_worker_key":
                raise
        return None

    return wait_until(reply, "another attempt")


def opened(box: TemporalBox, settings: Any) -> Any:
    """A service without a worker of its own."""
    from contextlib import closing

    from wfc_runtime.service.temporal.engine import TemporalService

    return closing(TemporalService(settings, box.modules(), clock=box.clock))


def test_a_run_that_no_worker_can_read_can_be_cancelled(make_box: Callable[..., TemporalBox]) -> None:
    box = make_box(OLD)
    run = box.compile(TWO).service.start("w")["workflow_id"]
    with_keys(box, OTHER)
    with opened(box, replace(box.settings, key=text_of(OLD))) as service:
        assert service.cancel(run, MARKER)["status"] == "cancelled"
        assert service.status(run)["reason"] == MARKER
    assert not appears(MARKER, stored(box, [run]))


@pytest.mark.parametrize("keys", [(), (OTHER,)], ids=["no key", "another key"])
def test_a_client_without_the_key_is_told_which_one_it_needs(
    make_box: Callable[..., TemporalBox], keys: tuple[bytes, ...]
) -> None:
    box = make_box(OLD)
    run = box.compile(TWO).service.start("w")["workflow_id"]
    lacking = replace(box.settings, key=text_of(*keys) if keys else None)
    with opened(box, lacking) as service:
        for call in (service.status, service.state, service.history):
            with pytest.raises(StoreError, match=f"with key `{id_of(OLD if not keys else OTHER)}`"):
                call(run)
    assert step_ids(box.service.status(run)) == ["build"]


def test_an_answer_that_the_workers_cannot_read_does_not_stop_the_run(
    make_box: Callable[..., TemporalBox],
) -> None:
    box = make_box(OLD)
    run = box.compile(TWO).service.start("w")["workflow_id"]
    lacking = opened(box, replace(box.settings, key=text_of(OTHER)))
    with lacking as service, pytest.raises(StoreError, match=f"with key `{id_of(OTHER)}`"):
        service.submit(run, "build", OK)
    assert step_ids(once_it_goes_on(lambda: box.service.submit(run, "build", OK))) == ["test"]


def test_with_encrypted_only_payloads_in_clear_are_refused_and_the_run_waits(
    make_box: Callable[..., TemporalBox],
) -> None:
    box = make_box()
    run = box.compile(TWO).service.start("w")["workflow_id"]
    service = with_keys(box, OLD, encrypted_only=True)
    with pytest.raises(StoreError, match="is not encrypted, and encrypted_only is set"):
        service.submit(run, "build", OK)
    fresh = service.start("w")["workflow_id"]
    assert step_ids(service.submit(fresh, "build", OK)) == ["test"]
    service = with_keys(box, OLD, encrypted_only=False)
    assert step_ids(once_it_goes_on(lambda: service.submit(run, "build", OK))) == ["test"]


# -- replay ------------------------------------------------------------------------


def replay(history: WorkflowHistory, box: TemporalBox, keys: Keyring) -> Exception | None:
    replayer = Replayer(
        workflows=[RunWorkflow],
        workflow_runner=UnsandboxedWorkflowRunner(),
        data_converter=converter_of(keys),
        build_id="encrypted",
        debug_mode=True,
    )
    register_worker("replay-encrypted", box.modules(), keys)

    async def run() -> Exception | None:
        return (await replayer.replay_workflow(history, raise_on_replay_failure=False)).replay_failure

    return box.service._run(run())


def test_an_encrypted_history_replays_with_its_key_and_with_no_other_payloads(
    make_box: Callable[..., TemporalBox],
) -> None:
    box = make_box(OLD)
    [run, *_] = cancelled(box)
    fetch = box.service.client.get_workflow_handle
    history = box.service._run(fetch(run).fetch_history())
    assert replay(history, box, ring(OLD)) is None
    assert replay(history, box, ring(NEW, OLD)) is None
    failure = replay(history, box, ring(NEW))
    assert f"encrypted with key `{id_of(OLD)}`" in str(failure)
    # Inputs of another run, encrypted with the same key.
    other = box.service.start("w", {**INPUTS, "text": "other"})["workflow_id"]
    [theirs, *_] = events_of(box, other)
    ours = history.events[0].workflow_execution_started_event_attributes
    ours.input.CopyFrom(theirs.workflow_execution_started_event_attributes.input)
    assert f"belongs to run {other}" in str(replay(history, box, ring(OLD)))


# -- what is said --------------------------------------------------------------------


def test_a_worker_without_a_key_says_that_payloads_are_in_clear(
    make_box: Callable[..., TemporalBox],
) -> None:
    box = make_box()
    box.compile(TWO)
    with worker(box, box.root) as one:
        assert (
            "wfc worker: no encryption key is set: the Temporal server stores inputs, results and secrets unencrypted"
            in one.said.read_text(encoding="utf-8")
        )
    box = make_box(OLD)
    box.compile(TWO)
    with worker(box, box.root) as one:
        assert "clear" not in one.said.read_text(encoding="utf-8")


def test_doctor_says_whether_payloads_are_encrypted(make_box: Callable[..., TemporalBox]) -> None:
    def said(*keys: bytes, **more: str) -> dict[str, str]:
        box = make_box(*keys)
        done = subprocess.run(
            [*WFC, "doctor", "--json"],
            cwd=box.root,
            env={**environment(box), **more},
            capture_output=True,
            text=True,
        )
        results = json.loads(done.stdout)["results"]
        [found] = [one for one in results if "ncrypt" in one["message"] or "the key in" in one["message"]]
        assert not any(text_of(key) in done.stdout + done.stderr for key in keys)
        return found

    clear = said()
    assert clear["status"] == "note"
    assert "encryption: no encryption key is set: the Temporal server stores" in clear["message"]
    assert "WFC_TEMPORAL_KEY" in clear["help"]
    kept = said(NEW, OLD)
    assert kept["status"] == "ok"
    assert kept["message"] == f"encryption: payloads are encrypted with key `{id_of(NEW)}`; 1 more to decrypt"
    assert "unencrypted payloads are refused" in said(OLD, WFC_TEMPORAL_ENCRYPTED_ONLY="1")["message"]
    bad = said(OLD[:31])
    assert bad["status"] == "problem"
    assert "has 31 bytes" in bad["message"]


def test_run_ids_and_search_attributes_are_all_that_is_readable(make_box: Callable[..., TemporalBox]) -> None:
    """The list in docs/temporal.md: whoever adds to it has to change the page."""
    box = make_box(OLD)
    name = f"w-{secrets.token_hex(4)}"
    service = box.compile(TWO.replace("name: w", f"name: {name}")).service
    run = service.start(name, actor=MARKER)["workflow_id"]
    found = service._run(service.client.get_workflow_handle(run).describe())
    attributes = found.typed_search_attributes.search_attributes
    ours = {pair.key.name: pair.value for pair in attributes if pair.key.name.startswith("Wfc")}
    assert ours == {
        "WfcWorkflow": name,
        "WfcVersion": "1.0.0",
        "WfcStatus": "pending_action",
        "WfcPending": ["build"],
        "WfcChild": False,
    }
    memo = found.raw_description.workflow_execution_info.memo.fields
    assert {one.metadata["encoding"] for one in memo.values()} == {ENCODING}
