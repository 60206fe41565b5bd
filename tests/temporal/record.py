"""Records histories for the replay tests: `python -m tests.temporal.record`.

Needed only when the way in which runs become Temporal commands is changed on purpose. Runs under way on older versions
then fail to replay too: see CONTRIBUTING.md.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.runtime.support import OK, TWO, TemporalBox, children, steps
from tests.runtime.test_history import EVERYTHING
from tests.temporal_server import start_server
from wfc_runtime.service.temporal.engine import TemporalService

FOLDER = Path(__file__).parent / "histories"
RUNS = FOLDER / "runs.json"
"""The id of each recorded run: ids of children are made from it."""
MODULES = FOLDER / "modules"
CALLER = steps("{id: c, type: call, workflow: w, with: {}, output_to: o}", name="caller")
WAIT = steps(
    "{id: settle, type: wait, duration_seconds: 1}", "{id: r, type: return, value: 7}", name="waiting"
)


def everything(box: TemporalBox) -> dict[str, str]:
    """Branches, a retry with a pause, a wait, children one after the other, a question."""
    service = box.compile(EVERYTHING).service
    run = service.start("w", {"items": [1, 2]})["workflow_id"]
    service.submit(run, "a", {"error": "not yet"})
    box.clock.pass_(5)
    service.submit(run, "a@2", OK)
    worked = []
    for _ in range(2):
        actions = service.status(run)["actions"]
        [child] = next(one for one in actions if one["type"] == "foreach")["parameters"]["children"]
        worked.append(child["workflow_id"])
        service.submit(child["workflow_id"], "s", OK)
    box.clock.pass_(20)
    service.submit(run, "ask", {"confirmed": True})
    return {"everything": run, "child": worked[0]}


def cancelled_call(box: TemporalBox) -> dict[str, str]:
    service = box.compile(TWO, CALLER).service
    reply = service.start("caller")
    [child] = children(reply)
    service.submit(child, "build", OK)
    service.cancel(reply["workflow_id"], "enough")
    return {"cancelled-call": reply["workflow_id"], "cancelled-child": child}


def timer(box: TemporalBox) -> dict[str, str]:
    """On the server's own time."""
    box.compile(WAIT)
    box.clock = None
    service: TemporalService = box.service
    run = service.start("waiting")["workflow_id"]
    service._run(service.client.get_workflow_handle(run).result())
    return {"timer": run}


SCENARIOS: tuple[Callable[[TemporalBox], dict[str, str]], ...] = (everything, cancelled_call, timer)


def record(address: str) -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    MODULES.mkdir(parents=True)
    runs: dict[str, str] = {}
    for scenario in SCENARIOS:
        with tempfile.TemporaryDirectory() as folder:
            box = TemporalBox(Path(folder), address)
            recorded = scenario(box)
            runs.update(recorded)
            for name, run in recorded.items():
                handle = box.service.client.get_workflow_handle(run)
                history = box.service._run(handle.fetch_history())
                # Which process and machine it was is nobody's business.
                text = re.sub(r'"identity": "[^"]*"', '"identity": "somebody"', history.to_json())
                (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
            for kept in (Path(folder) / ".wfc" / "modules").glob("*.py"):
                shutil.copy(kept, MODULES)
            box.close()
    RUNS.write_text(json.dumps(runs, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record(start_server(os.getpid()))
