"""Own block types: Python classes of installed distributions, which a server runs if its operator names them.

A distribution registers a class in the entry point group `wfc.blocks`; the name there is the name of the type.
The class has pydantic models `input_type` and `output_type`, and a method `execute(self, inputs)`, which may be async.

SECURITY. Only the name of an entry point is ever looked up: no path or module in a workflow or in the project's
settings leads to code. The class runs in its own process, which gets the inputs and the environment of a command,
and ends with the step. That is not a sandbox: the code has the rights of the server's user.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from pydantic import BaseModel, ValidationError

from wfc_runtime.contract import Json
from wfc_runtime.execute.base import ExecutionError, Executor, Job, Parameters, Result, shortened
from wfc_runtime.execute.permissions import Grant
from wfc_runtime.execute.process import run_process

GROUP = "wfc.blocks"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")
_LONGEST = 3_600.0


class NoBlockError(ValueError):
    """There is no such block type, or its class can't be used. The message says why."""


@dataclass(frozen=True)
class OwnBlock:
    """A block type with its class."""

    name: str
    made_by: type[Any]
    inputs: type[BaseModel]
    outputs: type[BaseModel]

    @property
    def doc(self) -> str:
        return inspect.getdoc(self.made_by) or f"A block of type {self.name}."


def check_name(name: str) -> None:
    """Raise `NoBlockError` unless a text can be the name of a block type: not a path, not a module."""
    if not _NAME.fullmatch(name):
        raise NoBlockError(f"{name[:80]!r} is not the name of a block type: letters, digits and `_`")


def check_installed(names: Iterable[str]) -> None:
    """Raise `NoBlockError` for a type that no installed distribution registers. Nothing is imported."""
    known = {one.name for one in entry_points(group=GROUP)}
    for name in names:
        check_name(name)
        if name not in known:
            listed = f"; available: {', '.join(sorted(known))}" if known else ""
            raise NoBlockError(f"no installed distribution has the block type `{name}`{listed}")


def load(name: str) -> OwnBlock:
    """Import the class of a type. Raises `NoBlockError`."""
    check_installed((name,))
    found = list(entry_points(group=GROUP, name=name))
    # Two distributions with the same name: which one is meant is not for wfc to decide.
    if len({one.value for one in found}) > 1:
        makers = " and ".join(sorted({one.dist.name for one in found if one.dist}))
        raise NoBlockError(f"{makers} both have the block type `{name}`")
    try:
        made_by = found[0].load()
    except Exception as error:
        raise NoBlockError(f"the block type `{name}` can't be imported: {shortened(error)}") from None
    models = [getattr(made_by, word, None) for word in ("input_type", "output_type")]
    if not isinstance(made_by, type) or not callable(getattr(made_by, "execute", None)):
        raise NoBlockError(f"the block type `{name}` is not a class with a method `execute`")
    for model in models:
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            raise NoBlockError(f"`input_type` and `output_type` of `{name}` must be pydantic models")
    inputs, outputs = models
    assert inputs is not None
    assert outputs is not None
    return OwnBlock(name, made_by, inputs, outputs)


# In the server.


def _run_block(job: Job) -> Result:
    parameters, grant = job.parameters, job.grant
    name = parameters.text("block")
    given = json.dumps(parameters.mapping("inputs")).encode()
    seconds = min(parameters.number("timeout", 60), grant.seconds, _LONGEST)
    # A file instead of a pipe: the process may read its input late or never, and must not block the server.
    with tempfile.TemporaryFile() as file:
        file.write(given)
        file.seek(0)
        finished = run_process(
            # With -P nothing is imported from the folder that it runs in.
            [sys.executable, "-P", "-m", __name__, name],
            cwd=grant.root,
            env=grant.environment({}),
            seconds=seconds,
            limits=(grant.result_bytes * 2, grant.stderr_bytes),
            stop=job.stop,
            given=file,
        )
    if finished.stopped:
        raise ExecutionError("the block was stopped before it ended", "interrupted")
    if finished.timed_out:
        raise ExecutionError(f"the block took longer than {seconds:g} seconds", "timeout")
    said, is_cut = finished.stdout.text()
    try:
        answer = json.loads(said) if not is_cut else {}
    except ValueError:
        answer = {}
    if "result" in answer:
        result: Result = answer["result"]
        return result
    if "error" in answer:
        raise ExecutionError(str(answer["error"]), "block")
    why = shortened(finished.stderr.text()[0][-300:]) or f"exit code {finished.exit_code}"
    raise ExecutionError(f"the block {name} gave no result: {why}", "block")


def _refusal(parameters: Parameters, grant: Grant) -> str:
    name = parameters.text("block")
    if name not in grant.blocks:
        return f"the block type {name[:80]} is not one that --allow-block of the server names"
    return ""


RUN_BLOCK = Executor("run_block", _run_block, _refusal)


# In the process of the block.


def answer_of(name: str, given: Json) -> dict[str, Json]:
    """The outcome of a block type: a result, or the reason why there is none."""
    try:
        block = load(name)
        found = block.made_by().execute(block.inputs.model_validate(given))
        value = asyncio.run(found) if inspect.iscoroutine(found) else found
        if not isinstance(value, BaseModel):
            value = block.outputs.model_validate(value)
        # Through the declared model, so that the result has the documented form even if the class returns a
        # subclass.
        return {"result": block.outputs.model_validate(value.model_dump()).model_dump(mode="json")}
    except ValidationError as error:
        return {"error": shortened(f"{name}: {_mistakes(error)}", 500)}
    except NoBlockError as error:
        return {"error": str(error)}
    except Exception as error:
        # The block's code may raise anything; the reason belongs into the error of the step.
        return {"error": shortened(f"{type(error).__name__}: {error}", 500)}


def _mistakes(error: ValidationError) -> str:
    # Without the values: an input may be a secret.
    return "; ".join(f"`{'.'.join(map(str, one['loc']))}`: {one['msg']}" for one in error.errors()[:5])


def main() -> None:
    # The output of the block belongs to the log, not to the answer.
    out = os.dup(1)
    os.dup2(2, 1)
    answer = answer_of(sys.argv[1], json.load(sys.stdin))
    with os.fdopen(out, "w", encoding="utf-8") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    main()
