"""The `shell` action: a command line, and its declared outputs, which are files read back as values."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite, nan
from pathlib import Path

from wfc_runtime.contract import Json
from wfc_runtime.execute import paths
from wfc_runtime.execute.base import ExecutionError, Executor, Job, Parameters, Result, shortened
from wfc_runtime.execute.paths import FOLDER, in_command, in_folder, in_scratch, scratch
from wfc_runtime.execute.permissions import Grant, find_program, words_of
from wfc_runtime.execute.process import Captured, Finished, NotStartedError, run_process, streams
from wfc_runtime.expr import ExpressionError, evaluate_condition

# Declared outputs: files that a command wrote, read back as values.
#
# SECURITY. The path is relative to the working directory and stays in it, or is in `$SCRATCH`; with
# `unsafe: true` it may be absolute, in the granted folders. Links are never followed, and a file may have at
# most 10 MB.

_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_IN_SCRATCH = re.compile(rf"(?:\$SCRATCH|\$\{{SCRATCH\}}|{re.escape(FOLDER)})/")
_LEADS_OUT = re.compile(r"^/|(?:^|/)\.\.(?:/|$)")
_NUMBERS = {"int": int, "integer": int, "float": float, "number": float, "num": float}
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")
_JSON: dict[str, type | tuple[type, ...]] = {
    "json": object,
    "dict": dict,
    "object": dict,
    "list": list,
    "array": list,
}


def read_outputs(
    declared: Mapping[str, Json], grant: Grant, working_dir: Path, env: Mapping[str, str]
) -> dict[str, Json]:
    """The values by name. An optional output that can't be read is null."""
    found: dict[str, Json] = {}
    for name, about in declared.items():
        if not isinstance(about, dict):
            raise ExecutionError(f"output `{name}` must be declared by an object", "output_invalid")
        output = Parameters(about)
        try:
            found[name] = _read_one(output, grant, working_dir, env)
        except ExecutionError as error:
            if output.flag("required", True):
                raise ExecutionError(f"output `{name}`: {error.message}", error.code, error.hint) from None
            found[name] = None
    return found


def outputs_refusal(declared: Mapping[str, Json], grant: Grant, working_dir: str) -> str:
    """Why a grant does not cover reading the declared files; empty if it does, or if a path is not known yet."""
    for about in declared.values():
        given = about.get("path") if isinstance(about, dict) else None
        is_there = in_scratch(working_dir) and isinstance(given, str) and not _LEADS_OUT.search(given)
        # A file in the scratch folder needs no grant: only commands of the same run can have written it.
        if not isinstance(given, str) or _IN_SCRATCH.match(given) or is_there:
            continue
        if not grant.grants_files("read"):
            return "the command declares outputs, but the server may not read files (no --allow-read pattern was given)"
        # A variable in the path is only known when the command is executed.
        if "$" not in given:
            try:
                place = paths.locate(grant, given, paths.folder(grant, working_dir))
            except ExecutionError:
                continue
            if why := grant.file_refusal("read", place.path):
                return why
    return ""


def _read_one(output: Parameters, grant: Grant, working_dir: Path, env: Mapping[str, str]) -> Json:
    given = output.path("path")
    place = _place(given, output.flag("unsafe", False), grant, working_dir, env)
    data = paths.read(place, grant.file_bytes)
    if data is None:
        raise ExecutionError(f"there is no file {given}", "output_missing")
    value = _parse(data, output.text("type", "str").lower(), given)
    _validate(output, value)
    return value


def _place(given: str, unsafe: bool, grant: Grant, working_dir: Path, env: Mapping[str, str]) -> paths.Place:
    # Unknown variables stay as they are, and the path is then not found.
    expanded = Path(_VARIABLE.sub(lambda found: env.get(found[1] or found[2], found[0]), given))
    scratch = Path(env["SCRATCH"])
    # Relative to the working directory, which is in the scratch folder itself.
    if working_dir.is_relative_to(scratch):
        expanded = working_dir / expanded
    if expanded.parts[:1] == (FOLDER,) and not (working_dir / expanded).exists():
        # A workflow written for older versions, in which all runs shared one scratch folder.
        expanded = scratch.joinpath(*expanded.parts[1:])
    in_scratch = expanded.is_relative_to(scratch) and ".." not in expanded.parts
    if expanded.is_absolute() and not (unsafe or in_scratch):
        raise ExecutionError(
            f"{given} is absolute", "refused", "`unsafe: true` allows absolute paths in the granted folders."
        )
    within = (scratch,) if in_scratch else () if unsafe else (working_dir,)
    place = paths.locate(grant, str(expanded), working_dir, within)
    # Files that the command wrote into the run's scratch folder need no grant. Other files do.
    if not in_scratch and (why := grant.file_refusal("read", place.path)):
        raise ExecutionError(why, "refused", "The operator of the server grants files with --allow-read.")
    return place


def _parse(data: bytes, kind: str, path: str) -> Json:
    try:
        text = data.decode("utf-8").strip()
        if kind in ("str", "string"):
            return text
        if kind in _NUMBERS:
            return _parse_number(text, kind)
        if kind in ("bool", "boolean"):
            return _parse_flag(text)
        if kind in _JSON:
            return _parse_json(text, kind)
    except UnicodeDecodeError:
        raise ExecutionError(f"{path} is not UTF-8 text", "output_invalid") from None
    except (ValueError, RecursionError) as error:
        raise ExecutionError(f"{path} is not {kind}: {shortened(error)}", "output_invalid") from None
    raise ExecutionError(f"unknown output type `{kind}`", "output_invalid")


def _parse_number(text: str, kind: str) -> float:
    try:
        number: float = _NUMBERS[kind](text)
    except ValueError:
        number = nan
    # An integer is never infinite, but `float` accepts "nan" and "inf".
    if isinstance(number, float) and not isfinite(number):
        raise ValueError(f"it holds {shortened(text, 40)!r}")
    return int(text) if kind in ("number", "num") and text.lstrip("+-").isdecimal() else number


def _parse_flag(text: str) -> bool:
    said = text.lower()
    if said not in (*_TRUE, *_FALSE):
        raise ValueError(f"{shortened(text, 40)!r} is not one of true, 1, yes, false, 0, no")
    return said in _TRUE


def _parse_json(text: str, kind: str) -> Json:
    def no_constant(name: str) -> Json:
        raise ValueError(f"{name} is not JSON")

    value = json.loads(text, parse_constant=no_constant)
    if not isinstance(value, _JSON[kind]):
        raise ValueError(f"it holds {type(value).__name__}")
    return value


def _validate(output: Parameters, value: Json) -> None:
    """`validation` is an expression over `value`, or a JSON Schema."""
    if "validation" not in output:
        return
    demand = output.value("validation")
    if isinstance(demand, dict):
        # Imported here: importing the schema checker is slow, and few outputs use it.
        from wfc_runtime.results import UnusableSchemaError, problems

        try:
            wrong = problems(value, demand)
        except UnusableSchemaError as error:
            raise ExecutionError(str(error), "output_invalid") from None
        if wrong:
            raise ExecutionError(f"it is not valid: {'; '.join(wrong)}", "output_invalid")
        return
    expression = str(demand)
    # Authors write the bare expression, and some write it with braces.
    text = expression if "{{" in expression else "{{ " + expression + " }}"
    try:
        holds = evaluate_condition(text, {"value": value}, now=datetime.now(UTC), uuid_seed="output")
    except ExpressionError as error:
        raise ExecutionError(f"its validation can't be evaluated: {error}", "output_invalid") from None
    if not holds:
        raise ExecutionError(f"it is not valid: {shortened(expression)} does not hold", "output_invalid")


# Running the command.

_SECONDS = 120.0
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Syntax that dash, the /bin/sh of Debian, does not have. A false match only means that bash runs the command.
_BASH_ONLY = re.compile(
    r"\[\[|<<<|[<>]\(|\bpipefail\b|^\s*(?:function|declare|typeset|shopt|mapfile|readarray)\b|^\s*source\s"
    r"|\$\{\w+(?:\[|\^|,|/|:[0-9 -])|(?<![\w'^])\$'|\b\w+=\(|\{\d+\.\.\d+\}|(?<!\$)\(\(|&>|\$RANDOM"
    r"|\bread\s+-[a-zA-Z]*[apd]|\$\{!|\|&|^\s*(?:pushd|popd|let)\b"
    r"|(?:^|[\s;&|(!])(?:\[|test)\s(?:[^\s\]\n]+\s+|\"[^\"\n]*\"\s+|'[^'\n]*'\s+)==\s",
    re.M,
)
_SHOWN = 4_000


def _shell(job: Job) -> Result:
    parameters, grant = job.parameters, job.grant
    # Checked again here: the action may be executed through another path than the one that checked it.
    refused = refusal(parameters, grant)
    if refused:
        raise ExecutionError(
            refused, "refused", "The operator of the server grants commands with --allow-exec."
        )
    command = parameters.text("command")
    seconds = min(parameters.number("timeout", _SECONDS), grant.seconds)
    # The folder exists while the outputs are read, and is removed afterwards if it is empty.
    named = [command, parameters.text("working_dir", ""), parameters.mapping("env")]
    with scratch(grant.root, job.run, named) as place:
        working_dir = paths.folder(grant, in_folder(parameters.text("working_dir", ""), place))
        own = own_environment(parameters)
        env = {
            **grant.environment({name: in_folder(value, place) for name, value in own.items()}),
            "SCRATCH": str(place),
            "PWD": str(working_dir),
        }
        finished = _run(job, in_command(command, place), working_dir, env, seconds)
        result: Result = {
            **streams(finished.stdout, finished.stderr),
            "exit_code": finished.exit_code,
            "success": finished.exit_code == 0,
            "command_executed": command if len(command) <= _SHOWN else f"{command[:_SHOWN]}...",
        }
        if finished.stopped:
            raise ExecutionError("the command was stopped before it ended", "interrupted")
        if finished.timed_out:
            return {**result, "timed_out": True, "success": False}
        declared = parameters.mapping("outputs")
        try:
            outputs = read_outputs(declared, grant, working_dir, env)
        except ExecutionError as error:
            code = finished.exit_code
            why = f"; the command failed with exit code {code}" if code else ""
            # The exit code explains a missing output better than the missing file itself.
            raise ExecutionError(f"{error.message}{why}", error.code, error.hint) from None
        return {**result, "outputs": outputs} if declared else result


def own_environment(parameters: Parameters) -> dict[str, str]:
    """The environment variables that the action itself sets."""
    found = {}
    for name, value in parameters.mapping("env").items():
        if not _NAME.fullmatch(name) or isinstance(value, (dict, list)) or "\0" in str(value):
            raise ExecutionError(f"`env` can't set {shortened(name, 60)} to {shortened(value, 60)}")
        # As YAML writes them: `true`, not `True`.
        found[name] = _text(value)
    return found


def _text(value: Json) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _run(job: Job, command: str, working_dir: Path, env: dict[str, str], seconds: float) -> Finished:
    grant, in_shell = job.grant, job.parameters.flag("shell", True)
    capture = job.parameters.flag("capture_output", True)
    # With command patterns, a command never reaches a shell.
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
            # The step's own PATH must not decide which program a granted pattern runs.
            path=os.environ.get("PATH", "") if is_plain else None,
        )
    except NotStartedError as error:
        if not (is_plain and in_shell):
            raise
        # A shell reports these exit codes. The result must not depend on whether a pattern or a shell runs the step.
        stderr = Captured(grant.stderr_bytes)
        stderr.add(f"{error.message}\n".encode() if capture else b"")
        return Finished(127 if error.is_missing else 126, Captured(0), stderr)


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
        return "the command contains a NUL character"
    why = grant.refusal(command)
    if not why and grant.commands is not None:
        # Without this, a workflow could change what a granted command does.
        foreign = [name for name in parameters.mapping("env") if name not in grant.env]
        if foreign:
            return f"it sets environment variables that the operator did not grant: {', '.join(foreign)}"
    return why or outputs_refusal(parameters.mapping("outputs"), grant, parameters.text("working_dir", ""))


SHELL = Executor("shell", _shell, refusal)
