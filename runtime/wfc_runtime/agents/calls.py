"""Run one call of an agent program: below the guard, within its time, with a log of what it printed."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event

from wfc_runtime.agents.base import Call, Outcome
from wfc_runtime.agents.logs import CallLog
from wfc_runtime.agents.settings import Program
from wfc_runtime.execute.base import ExecutionError
from wfc_runtime.execute.permissions import DEFAULT_ENV
from wfc_runtime.execute.process import Captured, NotStartedError, run_process

# Only the two ends of a longer output are kept: the first line names the session, the last one the result.
_OUTPUT = 8 * 1024 * 1024
_ERRORS = 48 * 1024
_GRACE = 10.0
"""Claude Code takes 1.7 seconds after SIGTERM to end its own commands."""
_INHERITED = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")
"""Older versions of Claude Code hang if they think that they run inside another one."""


def run_call(
    program: Program,
    call: Call,
    *,
    folder: Path,
    seconds: float,
    stop: Event,
    log: CallLog,
    on_progress: Callable[[str], None],
    is_secret: bool = False,
) -> Outcome:
    """Run a call to its end. `is_secret`: the result must not be written to the log."""
    # The operator's arguments come last, so that they override those of the adapter.
    words = [*program.command, *program.adapter.arguments(call), *program.args]
    log.add(json.dumps({"type": "wfc", "command": words, "prompt": call.prompt}, ensure_ascii=False))
    reader = Lines(program, log, on_progress, is_secret)
    try:
        # A file and not a pipe: a prompt can be larger than the buffer of a pipe, and a program that never
        # reads its input would block the writer.
        with tempfile.TemporaryFile() as given:
            given.write(call.prompt.encode("utf-8", "replace"))
            given.seek(0)
            finished = run_process(
                words,
                cwd=folder,
                env=_environment(program),
                seconds=seconds,
                limits=(_OUTPUT, _ERRORS),
                stop=stop,
                given=given,
                on_output=reader.add,
                idle=program.idle,
                grace=_GRACE,
            )
    except NotStartedError as error:
        kind = "missing" if error.is_missing else "crash"
        return Outcome(kind, message=error.message)  # type: ignore[arg-type]  # both are kinds
    except ExecutionError as error:
        return Outcome("crash", message=error.message)
    reader.close()
    errors = finished.stderr.text()[0]
    # Written before the outcome is known, so that the log also explains a call that could not be read.
    if errors and not is_secret:
        log.add(json.dumps({"type": "wfc", "stderr": errors, "exit_code": finished.exit_code}))
    outcome = program.adapter.outcome(call, _lines(finished.stdout), errors, finished.exit_code)
    # The outcome is still read for a stopped call, because what it has cost so far counts.
    if finished.stopped:
        return replace(outcome, kind="stopped", message="the call was stopped")
    if finished.timed_out:
        why = f"took more than {seconds:g} seconds"
        if finished.was_idle:
            why = f"printed nothing for {program.idle:g} seconds"
        return replace(outcome, kind="timeout", message=f"the agent {why}")
    return outcome


def _environment(program: Program) -> dict[str, str]:
    names = (*DEFAULT_ENV, *program.adapter.env, *program.env)
    return {name: os.environ[name] for name in names if name in os.environ and name not in _INHERITED}


def _lines(stream: Captured) -> list[str]:
    # The line break keeps two halves of different lines from being read as one JSON object.
    head, tail = stream.ends
    found = (head + tail) if stream.total <= len(head) + len(tail) else head + b"\n" + tail
    return found.decode("utf-8", "replace").split("\n")


class Lines:
    """Splits output into lines, for the log and for progress messages."""

    def __init__(
        self, program: Program, log: CallLog, on_progress: Callable[[str], None], is_secret: bool
    ) -> None:
        self._program = program
        self._log = log
        self._on_progress = on_progress
        self._is_secret = is_secret
        self._rest = bytearray()

    def add(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._take(bytes(self._rest) + line)
            self._rest.clear()
        self._rest += rest
        # A line without an end must not fill the memory. Trimmed only at twice the limit, so that each byte is moved
        # at most once on average.
        if len(self._rest) > 2 * _OUTPUT:
            del self._rest[:-_OUTPUT]

    def close(self) -> None:
        if self._rest:
            self._take(bytes(self._rest))

    def _take(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace")
        # Progress messages quote the output, so they are suppressed together with the log.
        if self._is_secret:
            return
        self._log.add(text)
        words = self._program.adapter.progress(text)
        if words:
            self._on_progress(words)
