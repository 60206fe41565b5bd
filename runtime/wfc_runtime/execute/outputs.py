"""Declared outputs of a command: files that it wrote, read as values.

SECURITY. The path is relative to the working directory and stays in it, or is in `$SCRATCH`; with `unsafe: true` it
may be absolute, in the granted folders. Links are never followed, and a file has at most 10 MB.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite, nan
from pathlib import Path

from wfc_runtime.contract import Json
from wfc_runtime.execute import paths
from wfc_runtime.execute.base import ExecutionError, Parameters, shortened
from wfc_runtime.execute.grant import Grant
from wfc_runtime.execute.scratch import FOLDER
from wfc_runtime.expr import ExpressionError, evaluate_condition

_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_IN_SCRATCH = re.compile(rf"(?:\$SCRATCH|\$\{{SCRATCH\}}|{re.escape(FOLDER)})/")
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
    """The values by name. One that is not required and can't be had is null."""
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
    """Why a grant does not cover reading the declared files; empty where it does, or a path is not known yet."""
    for about in declared.values():
        given = about.get("path") if isinstance(about, dict) else None
        if not isinstance(given, str) or _IN_SCRATCH.match(given):
            continue
        if not grant.grants_files("read"):
            return "the server was not granted to read files (--allow-read), and the command declares outputs"
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
    expanded = Path(_VARIABLE.sub(lambda found: env.get(found[1] or found[2], found[0]), given))
    scratch = Path(env["SCRATCH"])
    if expanded.parts[:1] == (FOLDER,) and not (working_dir / expanded).exists():
        # Written against a scratch folder that all runs shared.
        expanded = scratch.joinpath(*expanded.parts[1:])
    in_scratch = expanded.is_relative_to(scratch) and ".." not in expanded.parts
    if expanded.is_absolute() and not (unsafe or in_scratch):
        raise ExecutionError(
            f"{given} is absolute", "refused", "`unsafe: true` allows absolute paths in the granted folders."
        )
    within = (scratch,) if in_scratch else () if unsafe else (working_dir,)
    place = paths.locate(grant, str(expanded), working_dir, within)
    # What the command put into the run's own folder was written to be read. Other files need a grant.
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
        raise ExecutionError(f"{path} is not text in UTF-8", "output_invalid") from None
    except (ValueError, RecursionError) as error:
        raise ExecutionError(f"{path} is not {kind}: {shortened(error)}", "output_invalid") from None
    raise ExecutionError(f"there is no output type `{kind}`", "output_invalid")


def _parse_number(text: str, kind: str) -> float:
    try:
        number: float = _NUMBERS[kind](text)
    except ValueError:
        number = nan
    if isinstance(number, float) and not isfinite(number):
        raise ValueError(f"it holds {shortened(text, 40)!r}")
    return int(text) if kind == "num" and text.lstrip("+-").isdigit() else number


def _parse_flag(text: str) -> bool:
    said = text.lower()
    if said not in (*_TRUE, *_FALSE):
        raise ValueError(f"{shortened(text, 40)!r} is neither of true, 1, yes and false, 0, no")
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
        from wfc_runtime.machine.results import UnusableSchemaError, problems

        try:
            wrong = problems(value, demand)
        except UnusableSchemaError as error:
            raise ExecutionError(str(error), "output_invalid") from None
        if wrong:
            raise ExecutionError(f"it is not valid: {'; '.join(wrong)}", "output_invalid")
        return
    expression = str(demand)
    text = expression if "{{" in expression else "{{ " + expression + " }}"
    try:
        holds = evaluate_condition(text, {"value": value}, now=datetime.now(UTC), uuid_seed="output")
    except ExpressionError as error:
        raise ExecutionError(f"its validation can't be evaluated: {error}", "output_invalid") from None
    if not holds:
        raise ExecutionError(f"it is not valid: {shortened(expression)} does not hold", "output_invalid")
