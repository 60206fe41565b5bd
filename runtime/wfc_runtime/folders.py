"""The folder of a called workflow, in `$SCRATCH` of the run.

Workflows that one run calls at the same time may use the same names of files. Each therefore gets a folder of its own
if its module asks for one. The folder is written out in the texts of the module, not in values: a path keeps its
meaning when it is passed to another workflow or returned to the caller.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from wfc_runtime.contract import Json

OWN_FOLDER = "own_folder"
"""The fact by which a module asks for a folder."""
CALL_FOLDER = "folder of the call"
"""The name in the scope of a run, which no expression can have."""
NAMES_SCRATCH = re.compile(r"\$(?:SCRATCH\b|\{SCRATCH\})")
NAMES_CALL = re.compile(rf"{NAMES_SCRATCH.pattern}/(call-[a-z0-9]+)")


def folder_of_call(run: str) -> str:
    return f"${{SCRATCH}}/call-{run}"


def in_call(expression: Json, folder: str) -> Json:
    """An expression of a module in which the folder of the call replaces `$SCRATCH`."""
    if isinstance(expression, str):
        return NAMES_SCRATCH.sub(lambda _: folder, expression) if "SCRATCH" in expression else expression
    if isinstance(expression, Mapping):
        return {name: in_call(value, folder) for name, value in expression.items()}
    if isinstance(expression, (list, tuple)):
        return [in_call(value, folder) for value in expression]
    return expression
