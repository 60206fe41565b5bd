"""What a model reads, in tokens: the characters of compact JSON, divided by four."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.measure import Row
from tests.bench.rows.server import write_modules
from tests.bench.servers import Server, our_command, started
from tests.support import ROOT

_RESULT = {"stdout": "", "exit_code": 0}
_TRIVIAL = "name: trivial\nversion: 1.0.0\nsteps: [{id: build, type: shell, command: make}]\n"
_PARALLEL = """
name: parallel
version: 1.0.0
steps:
  - id: all
    type: parallel
    branches:
      a: [{id: lint, type: shell, command: make lint}, {id: types, type: shell, command: make types}]
      b: [{id: test, type: shell, command: make test}]
      c: [{id: docs, type: shell, command: make docs}]
"""
_EACH = """
name: each
version: 1.0.0
inputs: {items: {type: array, required: true}}
steps:
  - {id: audit, type: foreach, items: "{{ inputs.items }}", task: audit, agent: "@task", max_items: 100}
tasks:
  audit:
    inputs: {path: {type: string, required: true}}
    steps: [{id: read, type: shell, command: "cat {{ inputs.path | shquote }}"}]
"""
_FOREACH = {3: 400, 10: 800, 40: 2_500, 100: 6_000}
"""The children of a foreach, and the most tokens of the reply that lists them first."""


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_modules(folder / "generated", [_TRIVIAL, _PARALLEL, _EACH])
        with started(our_command(folder / "tokens.db"), folder) as server:
            server.hello()
            server.ready()
            yield _row("a trivial step", server.call("start_workflow", workflow="trivial"), 120)
            run = server.call("start_workflow", workflow="parallel")["workflow_id"]
            reply = server.call("submit_result", workflow_id=run, step_id="lint", result=_RESULT)
            yield _row("a step beside two others", reply, 150)
            yield from (_foreach(server, count, most) for count, most in _FOREACH.items())
    with tempfile.TemporaryDirectory() as name, started(our_command(Path(name) / "db"), ROOT) as server:
        greeting = server.hello()
        server.ready()
        found = server.call("list_workflows")
        count = len(found["workflows"])
        # Each has a description that says what it does and when to use it.
        yield _row(f"the list of {count} workflows", found, 80 * count)
        tools = server.ask("tools/list")["tools"]
        first = [tool for tool in tools if "anthropic/alwaysLoad" in tool.get("_meta", {})]
        shown = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in first]
        upfront = [greeting["instructions"], shown, [tool["name"] for tool in tools if tool not in first]]
        yield _row("instructions and tools, before anything is called", upfront, 1_600)


def _foreach(server: Server, count: int, most: int) -> Row:
    items = [f"src/package/module_{number}.py" for number in range(count)]
    return _row(
        f"a foreach of {count}", server.call("start_workflow", workflow="each", inputs={"items": items}), most
    )


def _row(name: str, shown: Any, most: int) -> Row:
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return Row(f"tokens of {name}", len(text) / 4, most, "", digits=0)
