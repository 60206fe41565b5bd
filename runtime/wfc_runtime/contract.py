"""What crosses the line between a machine and whoever drives it: the shapes of results, and how a run can end.

Results are plain JSON, so they are TypedDicts: what an agent sends is what an expression reads. Annotations are not
postponed here: TypedDict has to see which keys are NotRequired.
"""

from typing import Any, NotRequired

from typing_extensions import TypedDict

__all__ = [
    "ChoiceAnswer",
    "CommandResult",
    "ConfirmAnswer",
    "CreateFileResult",
    "CreateWorktreeResult",
    "DelegateResult",
    "FailedChild",
    "InfoAnswer",
    "Json",
    "MergeJsonStateResult",
    "NotRequired",
    "Number",
    "ReadFileResult",
    "ReadJsonStateResult",
    "RenderTemplateResult",
    "ShellResult",
    "TextAnswer",
    "TypedDict",
    "WaitResult",
    "WriteJsonStateResult",
]

Json = Any
"""A value whose shape nobody declared: anything JSON can say."""

Number = int | float

HUMAN_KINDS = frozenset({"prompt"})
"""The actions that a person answers. An agent only passes the question and the answer on."""

ENDED = ("completed", "failed", "cancelled")
"""What a run that is over can be."""


class Timed(TypedDict):
    """When it was done and how many seconds it took, where whoever did it says so."""

    duration: NotRequired[Number]
    started_at: NotRequired[str]
    completed_at: NotRequired[str]


class ShellResult(TypedDict):
    """What a command gave. A non-zero exit code is data, not a failure."""

    stdout: str
    stderr: str
    exit_code: int
    duration: NotRequired[Number]
    timed_out: NotRequired[bool]


class CommandResult(ShellResult):
    """What a command gave that the server may run: with the files that it was to write, and when it ran."""

    outputs: NotRequired[dict[str, Json]]
    started_at: NotRequired[str]
    completed_at: NotRequired[str]


class CreateFileResult(Timed):
    """The file that was written."""

    path: str
    size_bytes: int
    created: bool


class ReadFileResult(Timed):
    """What stands in a file."""

    content: str
    path: str
    size_bytes: int
    found: bool


class RenderTemplateResult(Timed):
    """What a template became, and the file that holds it."""

    content: str
    output_path: NotRequired[str | None]
    size_bytes: NotRequired[int | None]


class ReadJsonStateResult(Timed):
    """What a JSON file holds."""

    data: dict[str, Json]
    path: str
    found: bool


class WriteJsonStateResult(Timed):
    """The JSON file that was written."""

    path: str
    size_bytes: int


class MergeJsonStateResult(Timed):
    """What a JSON file holds after the merge."""

    path: str
    created: bool
    merged_data: dict[str, Json]


class CreateWorktreeResult(Timed):
    """The working tree and its branch."""

    worktree_path: str
    branch: str
    base_branch: NotRequired[str]
    created: bool


class InfoAnswer(TypedDict):
    """The person has seen the message."""

    acknowledged: bool


class ConfirmAnswer(TypedDict):
    """Yes or no."""

    confirmed: bool


class TextAnswer(TypedDict):
    """What the person typed."""

    input: str


class ChoiceAnswer(TypedDict):
    """The option the person picked."""

    selected: str


class WaitResult(TypedDict):
    """The pause is over."""

    resumed: bool
    duration: Number
    duration_seconds: Number


class DelegateResult(TypedDict):
    """What the agent that did the work reports."""

    response: str
    agent_used: NotRequired[str]
    tokens_used: NotRequired[int]


class FailedChild(TypedDict):
    """What stands in the list of a foreach in the place of a child that failed."""

    error: Json
