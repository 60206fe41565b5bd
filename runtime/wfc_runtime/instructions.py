"""The instruction that an agent gets with an action, by kind and parameters.

Generated modules contain an instruction only if it differs from the one here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wfc_runtime.folders import NAMES_CALL
from wfc_runtime.git_proof import SNAPSHOT_COMMANDS, changes_commands

PROMPTS = {
    "info": "Show this message to the person.",
    "confirm": "Ask the person; submit their answer, never your own.",
    "text": "Ask the person; submit what they type, word for word.",
    "choice": "Let the person pick an option; submit the one they picked.",
    "questions": "Ask the person these questions; submit an object with their answers by `id`, never your own.",
}
REPORTED = (
    "The result is a report: unless the agent has submitted it itself, submit it as an object, or as the agent's own "
    "text, unchanged."
)
GENERAL = "general-purpose"
"""The type of sub-agent that every client has."""
_OUTPUTS = (
    "Then read the file of each declared output and submit the values by name as `outputs`, each with its "
    "declared type (null for an optional output whose file does not exist)."
)
_SCRATCH = "`$SCRATCH` is a folder for this run: create it and set the variable for every command."
_SECRETS = (
    " In the place of each text in `secrets` put that environment variable; never print or submit its value."
)
_ISOLATED = (
    " The work is done in a git worktree on a new branch. If it has changes, keep it and submit its `path` and "
    "`branch` as `worktree`; otherwise remove it."
)
_BY_KIND = {
    # A model that lacks the tool tends to invent its result.
    "mcp_call": (
        "Call this tool and submit what it returns. If you don't have it, submit "
        '{"error": "<tool> is missing"}; never make up a result.'
    ),
    "wait": "Nothing to do: ask again once resume_at has passed.",
    "check_files": (
        "Look which of these files exist, relative to the project or else to `folder`; a pattern needs one file that "
        "matches. Submit the paths as found and missing, as they are written here."
    ),
    "create_file": "Write the content to the file and submit its path, its size in bytes and whether it is new.",
    "edit_file": (
        "Apply the operations to the file, all or none, and submit its path, the numbers of operations and lines, "
        "and the diff."
    ),
    "read_files": (
        "Read the text files that match, and submit each with its path, content and size_bytes, and all contents "
        "in one text."
    ),
    "sql": (
        "Execute the statements on the SQLite file in one transaction, and submit the rows of the last one as objects, "
        "the names of their columns, and row_count (rows returned, or changed if it returns none)."
    ),
    "run_block": "Do what `about` says with the inputs, and submit the result.",
    "http_call": (
        "Make the HTTP request and submit its status_code, response_body, success (whether the status is 2xx) and, "
        "if the body is JSON, response_json."
    ),
    "read_file": "Read the file and submit its content, its path, its size in bytes and whether it was found.",
    "render_template": (
        "Render the template with the variables, write it to output_path if given, and submit its content."
    ),
    "read_json_state": (
        "Read the JSON object in the file; submit it as data, with the path and whether the file was found."
    ),
    "write_json_state": "Write the data to the file as JSON and submit its path and its size in bytes.",
    "merge_json_state": (
        "Merge the updates into the JSON object in the file; submit the new object as merged_data."
    ),
    "create_worktree": (
        "Add a git working tree for the branch; submit its absolute path as worktree_path, and the branch."
    ),
}


def instruction_for(kind: str, parameters: Mapping[str, Any]) -> str:
    """The instruction for a kind of action; empty for an unknown kind."""
    text = _instruction(kind, parameters)
    return f"{text}{_SECRETS}" if text and parameters.get("secrets") else text


def _expanded(parameters: Mapping[str, Any]) -> str:
    calls = "".join(f" Create `{name}` in it." for name in dict.fromkeys(NAMES_CALL.findall(str(parameters))))
    # A shell leaves it as it is between single quotes.
    path = " Write its path for `${SCRATCH}`." if "${SCRATCH}" in str(parameters.get("command")) else ""
    return calls + path


def _instruction(kind: str, parameters: Mapping[str, Any]) -> str:
    match kind:
        case "shell":
            run = f"Run this command{_surroundings(parameters)}; submit the result."
            if parameters.get("outputs"):
                return f"{run} {_OUTPUTS} {_SCRATCH}{_expanded(parameters)}"
            in_scratch = "SCRATCH" in f"{parameters.get('command')} {parameters.get('working_dir')}"
            return f"{run} {_SCRATCH}{_expanded(parameters)}" if in_scratch else run
        case "git_snapshot":
            return _printed(SNAPSHOT_COMMANDS, "head and status")
        case "git_changes":
            return _printed(changes_commands(parameters.get("since")), "diff and status")
        case "prompt":
            options = parameters.get("options")
            if isinstance(options, (list, tuple)) and any(isinstance(one, dict) for one in options):
                return "Show the person the labels and descriptions; submit the `value` of the option they picked."
            return PROMPTS.get(str(parameters.get("prompt_type")), PROMPTS["info"])
        case "delegate":
            told = _delegation(parameters.get("agent"), parameters.get("subagent_type"))
            return f"{told}{_ISOLATED}" if parameters.get("isolation") else told
    return _BY_KIND.get(kind, "")


def agent_of(parameters: Mapping[str, Any]) -> Any:
    """The agent of the client that an action needs, as `@name`; None for the main agent."""
    kind = parameters.get("subagent_type")
    return f"@{kind}" if kind else parameters.get("agent")


def _delegation(agent: Any, kind: Any) -> str:
    if kind:
        role = f" as {agent}" if agent else ""
        other = "" if kind == GENERAL else f"; if there is no such type, use {GENERAL}"
        return f"Give this to a sub-agent of type {kind}{role} and submit its result{other}."
    if agent:
        return (
            f"Give this to the agent {agent} and submit its result; if there is no such agent, to a "
            f"{GENERAL} one."
        )
    return "Do this yourself and submit the result."


def _printed(commands: tuple[str, str], names: str) -> str:
    return (
        f"Run `{commands[0]}` and `{commands[1]}` and submit what they print, unchanged, as {names}. If there is no "
        'git, submit {"skipped": "<why>"}.'
    )


def _surroundings(parameters: Mapping[str, Any]) -> str:
    """Where to run a command and with which variables. Without this, a model runs it in its current folder."""
    folder = " in the folder `working_dir`" if parameters.get("working_dir") else ""
    return f"{folder} with the variables in `env` set" if parameters.get("env") else folder
