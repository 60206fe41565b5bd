"""The hooks of Claude Code: open runs at the start of a conversation, and no stop in the middle of a run.

A client waits for its hooks, so this module imports little: no click, no server, and the settings only where they
can matter. It reads the store and never writes or creates one.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
import time

# Like `typing.TYPE_CHECKING`: importing `typing` would cost a sixth of the hook's time.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

SESSION_START, STOP, SUBAGENT_STOP = "session-start", "stop", "subagent-stop"
_SHOWN = 5
_INPUT_BYTES = 4 * 1024 * 1024
_TRANSCRIPT_BYTES = 32 * 1024 * 1024
_CHUNK_BYTES = 4 * 1024 * 1024
_ID_BYTES = 256
"""More than the id of a tool use can have: chunks overlap by this much."""
_PROMPT_BYTES = 256 * 1024
"""The part of a sub-agent's transcript that contains its prompt."""
_TOOL_USE = re.compile(rb"toolu_[A-Za-z0-9_-]+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:-]{0,127}")
"""Ids and names as wfc writes them. The text of a hook reaches the model, and a store can come with a cloned
repository: nothing else of it is repeated."""


class HookError(Exception):
    """The client's input or the store can't be read."""


class OpenRun:
    """A run in progress. A plain class: importing `dataclasses` would cost a third of the hook's time."""

    def __init__(self, row: tuple[Any, ...], for_agent: list[str], for_person: list[str]) -> None:
        self.key, self.id, self.root, self.is_child, self.workflow, self.updated = row
        self.for_agent = for_agent
        """Pending visits that the agent has to answer."""
        self.for_person = for_person


def run(event: str) -> int:
    """Answer one hook: the input is JSON on stdin, the answer JSON on stdout. Returns the exit code.

    Exit code 2 would block the client, so a failure is 1, which the client shows and ignores.
    """
    try:
        given = _read_input()
        store = _store_of(given)
        reply = HOOKS[event](given, store) if store else None
    except HookError as error:
        print(f"wfc hook {event}: {error}", file=sys.stderr)
        return 1
    if reply is not None:
        print(json.dumps(reply))
    return 0


def _read_input() -> dict[str, Any]:
    # One byte more than allowed, to tell a long input from one of exactly this length.
    data = sys.stdin.buffer.read(_INPUT_BYTES + 1)
    if len(data) > _INPUT_BYTES:
        raise HookError(f"the input is larger than {_INPUT_BYTES} bytes")
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise HookError("the input must be a JSON object, as Claude Code sends it")
    return given


def _store_of(given: dict[str, Any]) -> str | None:
    """The project's store, if it has one and its settings do not turn hooks off."""
    # The project's folder as the client knows it: the current folder may be anywhere inside it.
    folder = os.environ.get("CLAUDE_PROJECT_DIR") or _text(given, "cwd") or os.getcwd()
    root = _root_of(folder)
    path = os.environ.get("WFC_STATE") or os.path.join(root, ".wfc", "state.db")
    return path if os.path.isfile(path) and not _turned_off(root) else None


def _root_of(folder: str) -> str:
    """Like `wfc.config.find_root`, which would import five times as much."""
    folder = os.path.realpath(folder)
    current = folder
    while True:
        if os.path.isfile(os.path.join(current, "pyproject.toml")) or os.path.exists(
            os.path.join(current, ".git")
        ):
            return current
        parent = os.path.dirname(current)
        if parent == current:
            return folder
        current = parent


def _turned_off(root: str) -> bool:
    try:
        with open(os.path.join(root, "pyproject.toml"), "rb") as file:
            text = file.read()
    except OSError:
        return False
    # A search in the text first: loading the settings imports much more.
    if b"hooks" not in text:
        return False
    from pathlib import Path

    from wfc.config import ConfigError, load_config

    try:
        return not load_config(Path(root)).hooks
    except ConfigError as error:
        raise HookError(str(error)) from error


def _text(given: dict[str, Any], key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""


# The store.

_OPEN = """
SELECT key, id, root, parent IS NOT NULL, workflow, updated, snapshot FROM runs WHERE status = 'running' ORDER BY key
"""


def _open_runs(store: str) -> Iterator[OpenRun]:
    with _Reading(store) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'gates'").fetchone():
            return  # An older wfc wrote this store. The next server that opens it adds the table.
        gates = {*connection.execute("SELECT run, visit FROM gates")}
        claims = {*connection.execute("SELECT run, visit FROM claims")}
        for key, run_id, root, is_child, workflow, updated, snapshot in connection.execute(_OPEN):
            # Names that wfc would not write are not repeated to the model.
            if not (_is_name(run_id) and _is_name(workflow)):
                continue
            # Only the snapshot is read: the state of a run is never part of a hook's answer.
            known = json.loads(snapshot)
            visits = [
                visit
                for visit, pending in known.get("pending", {}).items()
                if _is_name(visit) and (key, visit) not in claims and _needs_an_answer(pending)
            ]
            # With an open blocker in its journal, a run continues only when a person has decided.
            asked = {visit for visit in visits if known.get("blockers") or (key, visit) in gates}
            yield OpenRun(
                (key, run_id, root, bool(is_child), workflow, updated),
                [visit for visit in visits if visit not in asked],
                [visit for visit in visits if visit in asked],
            )


def _needs_an_answer(pending: dict[str, Any]) -> bool:
    """Whether somebody has to answer it: neither the clock nor child runs end it."""
    return "resume_at" not in pending and "children" not in pending


_ACTORS = """
SELECT DISTINCT actor FROM history JOIN runs ON runs.key = history.run WHERE runs.root = ? AND kind <> 'journal'
"""


def _driven(store: str, roots: set[int], transcript: str) -> set[int]:
    """The families of runs that a conversation drove: one of their actors is among the tool uses in its transcript."""
    with _Reading(store) as connection:
        actors = {
            root: {
                actor.encode() for (actor,) in connection.execute(_ACTORS, (root,)) if isinstance(actor, str)
            }
            for root in roots
        }
    found: set[int] = set()
    for chunk in _from_the_end(transcript):
        seen = {*_TOOL_USE.findall(chunk)}
        found |= {root for root in roots if not seen.isdisjoint(actors[root])}
        if found == roots:
            break
    return found


def _from_the_end(path: str) -> Iterator[bytes]:
    """The parts of a transcript, the last one first: there is what a conversation has just done. Nothing if there is no
    transcript, as in a conversation that is not kept."""
    try:
        with open(path, "rb") as file:
            end = file.seek(0, os.SEEK_END)
            first = max(0, end - _TRANSCRIPT_BYTES)
            while end > first:
                begin = max(first, end - _CHUNK_BYTES)
                file.seek(begin)
                yield file.read(end - begin + _ID_BYTES)
                end = begin
    except (OSError, ValueError):
        return


class _Reading:
    """A read-only connection; a store that can't be read is a `HookError`."""

    def __init__(self, store: str) -> None:
        self._store = store

    def __enter__(self) -> sqlite3.Connection:
        path = os.path.abspath(self._store)
        # Like `urllib.parse.quote`, which would import much more.
        for char in "%?#":
            path = path.replace(char, f"%{ord(char):02x}")
        address = f"file:{path}?mode=ro"
        try:
            self._connection = sqlite3.connect(address, uri=True, timeout=1)
            # The store may come with a cloned repository.
            self._connection.execute("PRAGMA trusted_schema = 0")
        except sqlite3.Error as error:
            raise HookError(f"{self._store} can't be read: {error}") from error
        return self._connection

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._connection.close()
        # A damaged store must not look like one without runs.
        if isinstance(error, sqlite3.Error | ValueError | AttributeError | TypeError):
            raise HookError(f"{self._store} can't be read: {error}") from error


def _is_name(text: object) -> bool:
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


# The three hooks. Each returns the text for the client, or None.


def _session_start(given: dict[str, Any], store: str) -> dict[str, Any] | None:
    runs = [*_open_runs(store)]
    roots = sorted((one for one in runs if not one.is_child), key=lambda one: one.updated, reverse=True)
    if not roots:
        return None
    lines = [
        f"- {one.id} ({one.workflow}), {_state(one, runs)}, last changed {_ago(one.updated)}"
        for one in roots[:_SHOWN]
    ]
    if len(roots) > _SHOWN:
        lines.append(f"- and {len(roots) - _SHOWN} more: list_runs() of the wfc tools shows them")
    text = (
        "This project has open wfc workflow runs:\n"
        + "\n".join(lines)
        + "\nContinue one only if the person asks for it: call get_workflow_status(workflow_id) of the wfc tools and "
        "do what the reply says. Otherwise do not touch them."
    )
    return {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}


def _state(root: OpenRun, runs: list[OpenRun]) -> str:
    family = [one for one in runs if one.root == root.root]
    for who, visits in (
        ("the person", [visit for one in family for visit in one.for_person]),
        ("the agent", [visit for one in family for visit in one.for_agent]),
    ):
        if visits:
            more = f" and {len(visits) - 1} more" if len(visits) > 1 else ""
            return f"waits for {who} at `{visits[0]}`{more}"
    return "waits for the clock or for a command that a server executes"


def _ago(at: float) -> str:
    seconds = max(time.time() - at, 0)
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return "less than a minute ago"


def _stop(given: dict[str, Any], store: str) -> dict[str, Any] | None:
    # The client sets stop_hook_active when this hook has already blocked this stop. With background tasks, sub-agents
    # are at work, and their end wakes the model.
    # Otherwise the client could never stop.
    if given.get("stop_hook_active") or given.get("background_tasks"):
        return None
    runs = [one for one in _open_runs(store) if one.for_agent]
    if not runs:
        return None
    # A conversation is only asked to continue runs that it has driven itself.
    driven = _driven(store, {one.root for one in runs}, _text(given, "transcript_path"))
    return _block([one for one in runs if one.root in driven])


def _subagent_stop(given: dict[str, Any], store: str) -> dict[str, Any] | None:
    if given.get("stop_hook_active"):
        return None
    runs = [one for one in _open_runs(store) if one.is_child and one.for_agent]
    if not runs:
        return None
    # A sub-agent is recognised by its prompt, which names the child run, and that is in the first line of its
    # transcript.
    prompt = _beginning(_text(given, "agent_transcript_path")).split(b"\n", 1)[0]
    return _block([one for one in runs if one.id.encode() in prompt])


def _beginning(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_PROMPT_BYTES)
    except (OSError, ValueError):
        return b""


def _block(runs: list[OpenRun]) -> dict[str, Any] | None:
    if not runs:
        return None
    one = runs[0]
    more = f" ({len(runs) - 1} more runs wait too)" if len(runs) > 1 else ""
    reason = (
        f"The wfc run {one.id} ({one.workflow}) is not finished: it waits for you at `{one.for_agent[0]}`{more}. Call "
        f'get_workflow_status(workflow_id="{one.id}") of the wfc tools and do what the reply says until its status is '
        "completed, failed or cancelled. If you cannot continue, tell the person why."
    )
    return {"decision": "block", "reason": reason}


HOOKS: dict[str, Callable[[dict[str, Any], str], dict[str, Any] | None]] = {
    SESSION_START: _session_start,
    STOP: _stop,
    SUBAGENT_STOP: _subagent_stop,
}
