"""What an agent is told to do with an action, by its kind and parameters.

Generated modules name an instruction only where it differs from the one here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PROMPTS = {
    "info": "Show this message to the person.",
    "confirm": "Ask the person; submit their answer, never your own.",
    "text": "Ask the person; submit what they type, word for word.",
    "choice": "Let the person pick an option; submit the one they picked.",
}
_RUN = "Run this command and submit its stdout, stderr and exit_code"
_RUN_WITH_OUTPUTS = (
    f"{_RUN}, and as `outputs` what is then in the file of each of its outputs, by name and of its type "
    "(null for one that need not be there and is not). "
    "`$SCRATCH` is a folder for this run that you make and set for every command."
)
_BY_KIND = {
    "mcp_call": "Call this tool and submit what it returns.",
    "wait": "Nothing to do: ask again once resume_at has passed.",
    "create_file": "Write the content to the file and submit its path, its size in bytes and whether it is new.",
    "read_file": "Read the file and submit its content, its path, its size in bytes and whether it was found.",
    "render_template": (
        "Fill in the template with the variables, write it to output_path if given, submit its content."
    ),
    "read_json_state": (
        "Read the JSON object in the file; submit it as data, with the path and whether the file was found."
    ),
    "write_json_state": "Write the data to the file as JSON and submit its path and its size in bytes.",
    "merge_json_state": (
        "Merge the updates into the JSON object in the file; submit what it holds now as merged_data."
    ),
    "create_worktree": (
        "Add a git working tree for the branch; submit its absolute path as worktree_path, and the branch."
    ),
}


def instruction_for(kind: str, parameters: Mapping[str, Any]) -> str:
    """The instruction of a kind of action; empty for a kind that has none of its own."""
    match kind:
        case "shell":
            return _RUN_WITH_OUTPUTS if parameters.get("outputs") else f"{_RUN}."
        case "prompt":
            return PROMPTS.get(str(parameters.get("prompt_type")), PROMPTS["info"])
        case "delegate":
            agent = parameters.get("agent")
            return (
                f"Give this to {agent} and submit its result."
                if agent
                else "Do this yourself and submit the result."
            )
    return _BY_KIND.get(kind, "")
