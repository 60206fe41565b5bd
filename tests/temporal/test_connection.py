"""What is said when something on the way to a run is missing."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.runtime.support import OK, TWO, TemporalBox
from wfc.cli import serve
from wfc_runtime.engines import Engine
from wfc_runtime.engines.temporal_health import check_connection
from wfc_runtime.errors import RequestError, StoreError
from wfc_runtime.registry import Registry
from wfc_runtime.service.temporal.engine import TemporalService
from wfc_runtime.service.temporal.modules import Modules
from wfc_runtime.service.temporal.settings import TemporalSettings


def opened(box: TemporalBox, **settings: str) -> TemporalService:
    """A service without a worker."""
    from dataclasses import replace

    return TemporalService(replace(box.settings, **settings), box.modules())


def test_a_missing_package_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wfc_runtime.engines.find_spec", lambda name: None)
    with pytest.raises(
        StoreError, match=r"needs the package temporalio.*pip install 'wfc-compiler\[temporal\]'"
    ):
        Engine(tmp_path / "state.db", tmp_path, "temporal").open()
    [finding] = check_connection(TemporalSettings())
    assert (finding.what, finding.is_well) == ("package", False)
    assert importlib.util.find_spec("temporalio")


def test_a_server_for_temporal_says_at_its_start_that_the_package_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("wfc_runtime.engines.find_spec", lambda name: None)
    done = CliRunner().invoke(serve.command, ["--engine", "temporal"])
    assert done.exception is not None
    assert "pip install 'wfc-compiler[temporal]'" in done.output


def test_a_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    settings = TemporalSettings(address="127.0.0.1:1")
    with pytest.raises(StoreError) as caught:
        TemporalService(settings, Modules(Registry(tmp_path), tmp_path / "kept"))
    assert str(caught.value) == (
        "there is no Temporal server at 127.0.0.1:1: Connection refused. "
        "Start one (temporal server start-dev), or set WFC_TEMPORAL_ADDRESS."
    )


def test_a_missing_namespace_is_named_with_the_command_that_makes_it(temporal_box: TemporalBox) -> None:
    with pytest.raises(StoreError) as caught:
        opened(temporal_box, namespace="nowhere")
    assert "has no namespace `nowhere`" in caught.value.message
    assert "temporal operator namespace create --namespace nowhere" in caught.value.hint


def test_tls_towards_a_server_without_it_is_said(temporal_box: TemporalBox) -> None:
    with pytest.raises(StoreError, match="does not use TLS, but the settings require it"):
        opened(temporal_box, api_key="k")


def test_without_a_worker_nothing_is_started_and_the_reply_says_so(temporal_box: TemporalBox) -> None:
    temporal_box.compile(TWO)
    service = opened(temporal_box)
    with pytest.raises(StoreError) as caught:
        service.start("w")
    assert caught.value.code == "no_worker"
    assert f"no worker polls task queue `{temporal_box.settings.task_queue}`" in caught.value.message
    assert "wfc worker" in caught.value.hint
    assert service.runs("all")["runs"] == []
    service.close()


def test_the_doctor_s_look_tells_server_and_workers_apart(temporal_box: TemporalBox) -> None:
    found = {one.what: one for one in check_connection(temporal_box.settings)}
    assert found["server"].is_well
    assert not found["workers"].is_well
    assert temporal_box.compile(TWO).service.start("w")["status"] == "pending_action"
    found = {one.what: one for one in check_connection(temporal_box.settings)}
    assert found["workers"].is_well
    assert found["workers"].detail.startswith("1 seen")
    [*_, finding] = check_connection(TemporalSettings(address="127.0.0.1:1"))
    assert (finding.what, finding.is_well) == ("server", False)


def test_settings_come_from_the_project_and_the_environment_wins() -> None:
    found = TemporalSettings.of(
        {"address": "a:1", "task_queue": "q"},
        {"WFC_TEMPORAL_ADDRESS": "b:2", "WFC_TEMPORAL_TLS": "1", "WFC_TEMPORAL_API_KEY": "secret"},
    )
    assert (found.address, found.task_queue, found.namespace, found.tls) == ("b:2", "q", "default", True)
    assert "secret" not in repr(found)
    assert "secret" not in str(found)


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({"WFC_TEMPORAL_TLS": "perhaps"}, "WFC_TEMPORAL_TLS must be 1 or 0"),
        ({"WFC_TEMPORAL_TLS_CERT": "c"}, "tls_cert and tls_key go together"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(environ: dict[str, str], why: str) -> None:
    with pytest.raises(RequestError, match=why):
        TemporalSettings.of({}, environ)


def test_a_result_too_large_is_refused_before_temporal_sees_it(temporal_box: TemporalBox) -> None:
    from wfc_runtime.errors import RefusedError

    service = temporal_box.compile(TWO).service
    run = service.start("w")["workflow_id"]
    for size in (300_000, 3_000_000, 6_000_000):
        with pytest.raises(RefusedError, match=r"the limit is 262,144\. Write large data to a file"):
            service.submit(run, "build", {**OK, "stdout": "x" * size})
    assert service.submit(run, "build", OK)["action"]["step_id"] == "test"
