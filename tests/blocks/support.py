"""Workflows of blocks compiled in memory and run to their end: a real service, real commands, real files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support import load
from wfc.compiler import compile_project
from wfc.findings import Severity
from wfc_runtime.execute import Grant
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite.serving import ServingService
from wfc_runtime.store import Store

Reply = dict[str, Any]


def compiled(folder: Path, *texts: str) -> Path:
    """The modules of some workflows, none of which may have an error, in a folder."""
    project = load(*texts)
    made = compile_project(project, {file: file.source.path for file in project.files})
    assert [one.message for one in made.findings if one.severity is Severity.ERROR] == []
    generated = folder / "generated"
    generated.mkdir()
    for module in made.modules:
        for name, text in module.files.items():
            (generated / name).write_text(text, encoding="utf-8")
    return generated


def run(
    folder: Path,
    *texts: str,
    inputs: dict[str, Any] | None = None,
    answers: dict[str, Any] | None = None,
    env: tuple[str, ...] = (),
) -> Reply:
    """Run the first of some workflows, commands in `folder`; people answer by step id, with text or with a
    whole result. `env` is granted."""
    generated = compiled(folder, *texts)
    file = load(texts[0]).files[0]
    work = folder / "work"
    work.mkdir(exist_ok=True)
    grant = Grant.all_commands(work).extended((), env)
    service = ServingService(Store(folder / "state.db"), Registry(generated), grant, every_kind=True)
    try:
        reply = service.start(file.name or "", inputs or {})
        run_id = str(reply["workflow_id"])
        while reply["status"] in ("pending_action", "running"):
            for action in reply.get("actions") or ([reply["action"]] if "action" in reply else []):
                if action["type"] in ("prompt", "delegate"):
                    name = "input" if action["type"] == "prompt" else "response"
                    answer = (answers or {})[action["step_id"]]
                    whole = answer if isinstance(answer, dict) else {name: answer}
                    service.submit(run_id, action["step_id"], whole)
            reply = service.next_step(run_id)
        return reply
    finally:
        service.close()


def result(folder: Path, *texts: str, **more: Any) -> Any:
    """What a workflow gives back; it must complete."""
    reply = run(folder, *texts, **more)
    assert reply["status"] == "completed", reply
    return reply["result"]


INPUTS = """
inputs:
  name: {type: str, default: world}
  count: {type: int, default: 3}
  loud: {type: bool, default: true}
"""


def workflow(blocks: str, outputs: str, inputs: str = "", name: str = "case") -> str:
    """A file of blocks, of its parts."""
    return f"name: {name}\ndescription: A case.\n{inputs}\nblocks:\n{blocks}\noutputs:\n{outputs}\n"
