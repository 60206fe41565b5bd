"""A command line.

SECURITY. `grant.py` decides which commands run at all, and `process.py` runs them. A command granted by a pattern is
executed as the words that were compared with the pattern (`commands.py`), without a shell. If any command is granted,
`/bin/sh` runs the text; bash if the text has what only bash knows, for workflows that were written where `sh` is bash.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from wfc_runtime.contract import Json
from wfc_runtime.execute import paths
from wfc_runtime.execute.base import ExecutionError, Executor, Job, Parameters, Result, shortened
from wfc_runtime.execute.capture import Captured, streams
from wfc_runtime.execute.commands import find_program, words_of
from wfc_runtime.execute.grant import Grant
from wfc_runtime.execute.outputs import outputs_refusal, read_outputs
from wfc_runtime.execute.process import Finished, NotStartedError, run_process
from wfc_runtime.execute.scratch import scratch

_SECONDS = 120.0
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BASH_ONLY = re.compile(
    r"\[\[|<<<|[<>]\(|\bpipefail\b|^\s*(?:function|declare|typeset|shopt|mapfile|readarray)\b|^\s*source\s"
    r"|\$\{\w+(?:\[|\^|,|/|:[0-9 -])|(?<![\w'^])\$'|\b\w+=\(|\{\d+\.\.\d+\}|(?<!\$)\(\(|&>|\$RANDOM"
    r"|\bread\s+-[a-zA-Z]*[apd]|\$\{!|\|&|^\s*(?:pushd|popd|let)\b"
    r"|(?:^|[\s;&|(!])(?:\[|test)\s(?:[^\s\]\n]+\s+|\"[^\"\n]*\"\s+|'[^'\n]*'\s+)==\s",
    re.M,
)
_SHOWN = 4_000


def work(job: Job) -> Result:
    parameters, grant = job.parameters, job.grant
    refused = refusal(parameters, grant)
    if refused:
        raise ExecutionError(
            refused, "refused", "The operator of the server says with --allow-exec what it may run."
        )
    command = parameters.text("command")
    working_dir = paths.folder(grant, parameters.text("working_dir", ""))
    seconds = min(parameters.number("timeout", _SECONDS), grant.seconds)
    with scratch(working_dir, job.run) as place:
        env = {
            **grant.environment(own_environment(parameters)),
            "SCRATCH": str(place),
            "PWD": str(working_dir),
        }
        finished = _run(job, command, working_dir, env, seconds)
        result: Result = {
            **streams(finished.stdout, finished.stderr),
            "exit_code": finished.exit_code,
            "success": finished.exit_code == 0,
            "command_executed": command if len(command) <= _SHOWN else f"{command[:_SHOWN]}...",
        }
        if finished.stopped:
            raise ExecutionError("the command was stopped before it had ended", "interrupted")
        if finished.timed_out:
            return {**result, "timed_out": True, "success": False}
        declared = parameters.mapping("outputs")
        try:
            outputs = read_outputs(declared, grant, working_dir, env)
        except ExecutionError as error:
            code = finished.exit_code
            why = f"; the command ended with exit code {code}" if code else ""
            raise ExecutionError(f"{error.message}{why}", error.code, error.hint) from None
        return {**result, "outputs": outputs} if declared else result


def own_environment(parameters: Parameters) -> dict[str, str]:
    """The variables that the action itself sets."""
    found = {}
    for name, value in parameters.mapping("env").items():
        if not _NAME.fullmatch(name) or isinstance(value, (dict, list)) or "\0" in str(value):
            raise ExecutionError(f"`env` can't set {shortened(name, 60)} to {shortened(value, 60)}")
        found[name] = _text(value)
    return found


def _text(value: Json) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _run(job: Job, command: str, working_dir: Path, env: dict[str, str], seconds: float) -> Finished:
    grant, in_shell = job.grant, job.parameters.flag("shell", True)
    capture = job.parameters.flag("capture_output", True)
    is_plain = grant.commands is not None
    try:
        return run_process(
            words_of(command) if is_plain else _arguments(command, in_shell),
            cwd=working_dir,
            env=env,
            seconds=seconds,
            limits=(grant.stdout_bytes, grant.stderr_bytes),
            stop=job.stop,
            capture=capture,
            # A variable of the step must not decide which program a pattern means.
            path=os.environ.get("PATH", "") if is_plain else None,
        )
    except NotStartedError as error:
        if not (is_plain and in_shell):
            raise
        # The exit codes that a shell gives: whether a pattern or a shell runs a step makes no difference to its result.
        said = Captured(grant.stderr_bytes)
        said.add(f"{error.message}\n".encode() if capture else b"")
        return Finished(127 if error.is_missing else 126, Captured(0), said)


def _arguments(command: str, in_shell: bool) -> list[str]:
    if in_shell:
        bash = find_program("bash", None, os.environ.get("PATH")) if _BASH_ONLY.search(command) else None
        return [bash or "/bin/sh", "-c", command]
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ExecutionError(f"the command can't be split into words: {error}") from None
    if not words:
        raise ExecutionError("the command is empty")
    return words


def refusal(parameters: Parameters, grant: Grant) -> str:
    command = parameters.text("command")
    if "\0" in command:
        return "the command has a NUL character in it"
    why = grant.refusal(command)
    if not why and grant.commands is not None:
        foreign = [name for name in parameters.mapping("env") if name not in grant.env]
        if foreign:
            return f"it sets {', '.join(foreign)} in the environment, which the operator did not name"
    return why or outputs_refusal(parameters.mapping("outputs"), grant, parameters.text("working_dir", ""))


EXECUTOR = Executor("shell", work, refusal)
