"""Workflows of blocks compiled in memory and run to their end: a real service, real commands, real files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support import load
from wfc.diagnostics import Severity
from wfc.pipeline import compile_project
from wfc_runtime.execute import Grant, execute
from wfc_runtime.service.sqlite import SqliteService

Reply = dict[str, Any]
Answer = Callable[[dict[str, Any]], Any]


def compiled(folder: Path, *texts: str) -> Path:
    """The modules of some workflows, none of which may have an error, in a folder."""
    project = load(*texts)
    made = compile_project(project, {unit: unit.source.path for unit in project.units})
    assert [one.message for one in made.findings if one.severity is Severity.ERROR] == []
    generated = folder / "generated"
    generated.mkdir()
    for module in made.modules:
        (generated / module.file_name).write_text(module.text, encoding="utf-8")
    return generated


def run(
    folder: Path, *texts: str, inputs: dict[str, Any] | None = None, answers: dict[str, str] | None = None
) -> Reply:
    """Run the first of some workflows, commands in `folder`; people answer by step id."""
    generated = compiled(folder, *texts)
    unit = load(texts[0]).units[0]
    work = folder / "work"
    work.mkdir(exist_ok=True)
    grant = Grant.all_commands(work)
    service = SqliteService.open(folder / "state.db", generated)

    def answer(action: dict[str, Any]) -> Any:
        if action["type"] == "prompt":
            return {"input": (answers or {})[action["step_id"]]}
        return execute(action, grant, run="test")

    try:
        reply = service.start(unit.name or "", inputs or {})
        return drive(service, str(reply["workflow_id"]), answer)
    finally:
        service.close()


def drive(service: SqliteService, run_id: str, answer: Answer) -> Reply:
    """Answer whatever a run and its children ask for, until it has ended."""
    while (reply := service.next_step(run_id))["status"] in ("pending_action", "running"):
        for action in reply.get("actions") or [reply["action"]]:
            if action["type"] == "call":
                for child in action["parameters"]["children"]:
                    drive(service, child["workflow_id"], answer)
            else:
                service.submit(run_id, action["step_id"], answer(action))
    return reply


def result(folder: Path, *texts: str, **more: Any) -> Any:
    """What a workflow gives back; it must complete."""
    reply = run(folder, *texts, **more)
    assert reply["status"] == "completed", reply
    return reply["result"]
