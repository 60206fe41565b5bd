"""Python names for what the YAML calls things."""

from __future__ import annotations

import keyword
import re

RESERVED = frozenset(
    """
    activate_initial_state active_listeners add_from_attributes add_inherited add_listener addressed
    """.split()
)
"""What a state may not be called: attributes of the runtime's Machine and its instances. The compiler does not import
the state machine library (0.1 s), so the names stand here; a test compares them with the real thing."""

CLASS_NAMES = frozenset(
    """
    Annotated Any Ask Assign Begin ChoiceAnswer ConfirmAnswer Delay DelegateResult Field Fields InfoAnswer Inputs Literal
    Machine NotRequired Retry Return ShellResult Spawn State TextAnswer TypedDict WORKFLOW WaitResult Workflow
    WorkflowInputs WorkflowObject WorkflowState
    """.split()
)
"""Names that a generated module imports or defines itself."""

_NOT_NAME = re.compile(r"[^A-Za-z0-9_]")


def identifier(name: str) -> str:
    """A Python identifier for a step, task or workflow name."""
    made = _NOT_NAME.sub("_", name)
    if made[:1].isdigit():
        made = f"_{made}"
    if keyword.iskeyword(made) or keyword.issoftkeyword(made) or made in RESERVED or made.startswith("error_"):
        made = f"{made}_"
    return made


def class_name(name: str) -> str:
    """A class name: words run together, each with a capital."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", name) if word]
    made = "".join(word[:1].upper() + word[1:] for word in words)
    return f"_{made}" if made[:1].isdigit() else made or "_"


def machine_name(name: str) -> str:
    """The class of a workflow's or task's machine."""
    made = class_name(name)
    return f"{made}Machine" if made in CLASS_NAMES else made


def module_name(workflow: str) -> str:
    made = _NOT_NAME.sub("_", workflow)
    return f"_{made}" if made[:1].isdigit() else f"{made}_" if keyword.iskeyword(made) else made


