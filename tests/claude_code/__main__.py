"""`make claude`: what the plugin, the command and the hooks do in the real client.

The client is the program that `CLAUDE_BIN` names, else `claude` on the PATH, else one that npm installs into a
temporary folder. Where there is none, one line says so. The model is a script on loopback: nothing leaves the machine,
and nothing of the user's own configuration is read.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.claude_code.mission import MISSION, orchestrator
from tests.claude_code.model import Block, Request, Script, say, serve, use

ROOT = Path(__file__).parents[2]
PACKAGE = "@anthropic-ai/claude-code@2.1.325"
_SECONDS = 300
RUN_ID = re.compile(r'"workflow_id\\*":\\*"(\w{26})')


class FailedError(Exception):
    """The client did something else than the scenario expects."""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="wfc-claude-") as folder:
        work = Path(folder)
        program = find_client(work)
        if program is None:
            print("skipped: no Claude Code here (set CLAUDE_BIN, or install it; npm could not)")
            return 0
        failed = 0
        for scenario in SCENARIOS:
            place = work / scenario.__name__
            (place / "home").mkdir(parents=True)
            try:
                scenario(Client(program, place))
                print(f"ok      {scenario.__doc__}")
            except FailedError as error:
                failed += 1
                print(f"FAILED  {scenario.__doc__}\n        {error}")
    print(f"{len(SCENARIOS) - failed} passed, {failed} failed")
    return 1 if failed else 0


def find_client(work: Path) -> str | None:
    named = os.environ.get("CLAUDE_BIN") or shutil.which("claude")
    if named or not shutil.which("npm"):
        return named
    print(f"installing {PACKAGE} into a temporary folder", flush=True)
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(work / "npm"), PACKAGE]
    subprocess.run(command, capture_output=True, check=False)
    # The package's own script would link the program of this platform; packages of platforms have it ready.
    found = sorted((work / "npm").glob("node_modules/@anthropic-ai/claude-code-*/claude"))
    return str(found[0]) if found else None


class Client:
    """One user with an empty configuration, and a project."""

    def __init__(self, program: str, place: Path) -> None:
        self.program = program
        self.home = place / "home"
        self.project = place / "project"
        self.project.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=self.project, check=True)
        trusted = {str(self.project): {"hasTrustDialogAccepted": True}}
        (self.home / ".claude.json").write_text(
            json.dumps({"hasCompletedOnboarding": True, "projects": trusted})
        )

    def wfc(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "wfc", *words],
            cwd=self.project,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise FailedError(f"wfc {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def run(self, *words: str, address: str = "") -> subprocess.CompletedProcess[str]:
        env = {
            "HOME": str(self.home),
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "TERM": "dumb",
            "ANTHROPIC_BASE_URL": address or "http://127.0.0.1:9",
            "ANTHROPIC_API_KEY": "sk-ant-none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        return subprocess.run(
            [self.program, *words],
            cwd=self.project,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )

    def converse(self, script: Script, prompt: str, *options: str) -> list[Request]:
        """A headless conversation. Returns what the model was asked."""
        with serve(script) as (address, seen):
            try:
                done = self.run("-p", prompt, *options, address=address)
            except subprocess.TimeoutExpired as error:
                last = seen[-1].results[-1:] if seen else []
                raise FailedError(f"no end after {_SECONDS} s and {len(seen)} requests: {last}") from error
        if done.returncode:
            raise FailedError(f"exit {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
        return seen


def expect(condition: Any, what: str) -> None:
    if not condition:
        raise FailedError(what)


# Scenarios. The docstring of each is printed.


def manifests_are_valid(client: Client) -> None:
    """the plugin and the marketplace pass the client's own validation"""
    for words in (["plugin", "--strict", "--profile", "directory"], [".", "--strict"]):
        done = client.run("plugin", "validate", str(ROOT / words[0]), *words[1:])
        expect(done.returncode == 0, done.stdout + done.stderr)


def the_plugin_drives_a_run(client: Client) -> None:
    """with the plugin, an agent that stops in the middle of a run is told once, and may stop at a prompt"""
    client.wfc("init")
    # The plugin brings the server: with .mcp.json beside it, every tool would exist twice.
    (client.project / ".mcp.json").unlink()
    seen = client.converse(
        worker("mcp__plugin_wfc_wfc__"),
        "/wfc:workflow summarise-changes start",
        *("--plugin-dir", str(ROOT / "plugin"), "--allowedTools", "mcp__plugin_wfc_wfc__*,Bash"),
    )
    expect(any("NAME start" in one.text for one in seen), "the command did not reach the model")
    expect("is not finished: it waits for you" in seen[-1].text, "the stop was not held back")
    [run] = runs(client)
    expect("approve" in json.dumps(run), f"the run did not reach its prompt: {run}")


def the_project_side_offers_open_runs(client: Client) -> None:
    """after wfc init --claude, /workflow works without a prefix and a new conversation hears of the open run"""
    client.wfc("init", "--claude")

    def start_only(request: Request) -> list[Block]:
        if not request.results:
            return [use("Bash", command="sleep 3", description="Wait for the server")]
        if len(request.results) == 1:
            return [use("mcp__plugin_wfc_wfc__start_workflow", workflow="summarise-changes", inputs={})]
        return [say("I stop here.")]

    validated = client.run("plugin", "validate", ".claude")
    expect(validated.returncode == 0, validated.stdout + validated.stderr)
    client.converse(start_only, "/workflow summarise-changes start", "--allowedTools", "Bash")
    [run] = runs(client)
    seen = client.converse(lambda request: [say("hello")], "/workflow list")
    expect(run["workflow_id"] in seen[0].text, "the open run was not mentioned")
    expect("list_workflows" in seen[0].text, "the command did not reach the model")


EACH = """\
name: each-file
version: "1.0.0"
description: Look at each file.
steps:
  - {id: each, type: foreach, items: [a.md], task: look-at, agent: "@task"}
tasks:
  look-at:
    steps:
      - {id: look, type: delegate, instructions: Look at the file., output_to: seen}
"""


def a_sub_agent_finishes_its_child(client: Client) -> None:
    """a sub-agent that stops before its child run has ended is told once, and what it logs is in the journal"""
    client.wfc("init")
    (client.project / ".mcp.json").unlink()
    (client.project / "workflows" / "each-file.yaml").write_text(EACH)
    client.wfc("compile")
    options = ("--plugin-dir", str(ROOT / "plugin"), "--allowedTools", "mcp__plugin_wfc_wfc__*,Bash,Agent")
    seen = client.converse(family("mcp__plugin_wfc_wfc__"), "/wfc:workflow each-file start", *options)
    held = [one for one in seen if is_sub_agent(one) and "is not finished: it waits for you" in one.text]
    expect(held, "the sub-agent was not held back")
    [run] = json.loads(client.wfc("runs", "list", "--status", "all", "--json"))["runs"]
    expect(run["status"] == "completed", f"the run has not ended: {run}")
    child = json.loads(client.wfc("runs", "history", run["workflow_id"], "--json"))["events"][0]["children"][
        0
    ]
    [decision] = json.loads(client.wfc("runs", "journal", child, "--format", "json"))["decisions"]
    expect(decision["by"] == "subagent" and decision["actor"].startswith("toolu_"), f"{decision}")

    def reader(request: Request) -> list[Block]:
        if not request.results:
            return [use("Bash", command="sleep 3", description="Wait for the server")]
        if len(request.results) == 1:
            return [use("mcp__plugin_wfc_wfc__get_context", workflow_id=child)]
        return [say("That is the journal.")]

    seen = client.converse(reader, f"/wfc:workflow journal {child}", *options)
    expect("Show open blockers first" in seen[0].text, "the command did not reach the model")
    expect(
        "Which way?" in seen[-1].results[-1], f"the journal did not reach the model: {seen[-1].results[-1]}"
    )


def a_mission_reads_the_texts_of_its_sub_agents(client: Client) -> None:
    """the texts of a mission's sub-agents are its reports as the client frames them, in a second round too"""
    client.wfc("init")
    (client.project / ".mcp.json").unlink()
    (client.project / "workflows" / "two-pages.yaml").write_text(MISSION)
    client.wfc("compile")
    options = ("--plugin-dir", str(ROOT / "plugin"), "--allowedTools", "mcp__plugin_wfc_wfc__*,Bash,Agent")
    client.converse(orchestrator("mcp__plugin_wfc_wfc__"), "/wfc:workflow two-pages start", *options)
    [run] = runs(client)
    expect("write-checkpoint" in json.dumps(run), f"the run did not reach its checkpoint: {run}")
    journal = json.loads(client.wfc("runs", "journal", run["workflow_id"], "--format", "json"))
    tasks = [(one["task"].partition("/")[2], one["status"]) for one in journal["tasks"]]
    expected = [("write-guide", "success"), ("write-notes", "partial"), ("write-notes@2", "success")]
    expect(tasks == expected, f"tasks: {tasks}")
    chosen = [one["chosen"] for one in journal["decisions"]]
    expect(chosen == ["No"] * 3, f"decisions: {journal['decisions']}")


def family(prefix: str) -> Script:
    """Starts a run, gives its child to a sub-agent, which stops too early and then works it when it is told to."""

    def script(request: Request) -> list[Block]:
        child = re.findall(r'get_workflow_status\(workflow_id=\\*"([\w.:-]+)', request.text)
        if is_sub_agent(request):
            return sub_agent(request, child[0])
        if not request.results:
            return [use("Bash", command="sleep 3", description="Wait for the server")]
        if len(request.results) == 1:
            return [use(f"{prefix}start_workflow", workflow="each-file", inputs={})]
        if len(request.results) == 2:
            prompt = re.findall(r'"prompt":"(.*?[^\\\\])"', request.results[-1])
            words = json.loads(f'"{prompt[0]}"')
            about = {
                "description": "Look at a file",
                "subagent_type": "wfc:runner",
                "run_in_background": False,
            }
            return [use("Agent", prompt=words, **about)]
        return [say("All is done.")]

    def sub_agent(request: Request, child: str) -> list[Block]:
        if "is not finished: it waits for you" not in request.text:
            return [say("I stop here.")]
        calls = (
            use(f"{prefix}get_workflow_status", workflow_id=child),
            use(
                f"{prefix}log_decision",
                task_id=f"{child}/look",
                question="Which way?",
                chosen="Left",
                reasoning="It is shorter.",
            ),
            use(f"{prefix}submit_result", workflow_id=child, step_id="look", result={"response": "Seen."}),
        )
        done = len(request.results)
        return [calls[done]] if done < len(calls) else [say("completed")]

    return script


def is_sub_agent(request: Request) -> bool:
    first = json.dumps(request.body["messages"][0], ensure_ascii=False)
    return "of wfc and do what the replies say" in first


def worker(prefix: str) -> Script:
    """Starts a run, stops too early, and works it to its prompt when it is told to."""

    def script(request: Request) -> list[Block]:
        last = request.results[-1] if request.results else ""
        found = RUN_ID.findall(request.text)
        if not request.results:
            return [use("Bash", command="sleep 3", description="Wait for the server")]
        if not found:
            return [use(f"{prefix}start_workflow", workflow="summarise-changes", inputs={})]
        if "is not finished: it waits for you" not in request.text or not waits_for_agent(last):
            return [say("I stop here.")]
        step = re.findall(r'"step_id":"([\w@-]+)"', last)
        if not step:
            return [use(f"{prefix}get_workflow_status", workflow_id=found[0])]
        shell = '"type":"shell"' in last
        result: Any = (
            {"stdout": "abc Add", "stderr": "", "exit_code": 0} if shell else {"response": "It adds."}
        )
        return [use(f"{prefix}submit_result", workflow_id=found[0], step_id=step[0], result=result)]

    return script


def waits_for_agent(reply: str) -> bool:
    return '"type":"prompt"' not in reply and not re.search(r'"status":"(completed|failed|cancelled)"', reply)


def runs(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(client.wfc("runs", "list", "--json"))["runs"]
    return found


SCENARIOS: tuple[Callable[[Client], None], ...] = (
    manifests_are_valid,
    the_plugin_drives_a_run,
    the_project_side_offers_open_runs,
    a_sub_agent_finishes_its_child,
    a_mission_reads_the_texts_of_its_sub_agents,
)

if __name__ == "__main__":
    sys.exit(main())
