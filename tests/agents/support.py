"""Projects whose runs the stand-in for an agent works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.e2e.command import Result, wfc

STUB = Path(__file__).with_name("stub.py")


class Desk:
    """A project, the operator's file, and the notes of the agent."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.notes = folder / "notes"
        self.settings = folder / "config" / "wfc" / "agents.toml"
        for one in (self.project / "workflows", self.notes, self.settings.parent):
            one.mkdir(parents=True)
        (self.project / "pyproject.toml").write_text("[tool.wfc]\n")
        self.operator()

    def operator(self, more: str = "", name: str = "stub", text: str | None = None) -> None:
        """Write the operator's file: one agent, and further settings of it."""
        words = json.dumps([sys.executable, str(STUB)])
        made = f'[{name}]\nadapter = "claude"\ncommand = {words}\nenv = ["STUB_NOTES"]\n{more}\n'
        self.settings.write_text(made if text is None else text)

    @property
    def env(self) -> dict[str, str]:
        return {"XDG_CONFIG_HOME": str(self.settings.parents[1]), "STUB_NOTES": str(self.notes)}

    def workflow(self, *steps: str, head: str = "", name: str = "w") -> None:
        text = f'name: {name}\nversion: "1.0.0"\n{head}steps:\n' + "".join(f"  - {one}\n" for one in steps)
        (self.project / "workflows" / f"{name}.yaml").write_text(text)

    def run(self, *options: str, agent: str = "stub", stdin: str = "") -> Result:
        return wfc("run", "w", "--agent", agent, *options, cwd=self.project, env=self.env, stdin=stdin)

    def resume(self, *options: str) -> Result:
        return wfc(
            "runs", "resume", self.run_id(), "--agent", "stub", *options, cwd=self.project, env=self.env
        )

    def start(self, *options: str) -> subprocess.Popen[str]:
        """The command as a process that a test can kill."""
        return subprocess.Popen(
            [sys.executable, "-m", "wfc", *options],
            cwd=self.project,
            env={**os.environ, **self.env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def calls(self) -> list[dict[str, Any]]:
        path = self.notes / "calls.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def runs(self) -> list[dict[str, Any]]:
        found = wfc("runs", "list", "--status", "all", "--json", cwd=self.project)
        return list(json.loads(found.out)["runs"])

    def run_id(self) -> str:
        return str(self.runs()[0]["workflow_id"])

    def history(self) -> list[dict[str, Any]]:
        found = wfc("runs", "history", self.run_id(), "--children", "--json", cwd=self.project)
        return list(json.loads(found.out)["events"])


def delegate(step: str, orders: str, more: str = "") -> str:
    text = json.dumps("\n".join(f"DO {one}" for one in orders.split("; ")))
    return f"{{id: {step}, type: delegate, instructions: {text}, output_to: {step}_out{more}}}"


SCHEMA = ", result_schema: {type: object, properties: {n: {type: integer}}, required: [n], additionalProperties: false}"
