"""What crosses the line between a machine and whoever drives it: result shapes, and the bases of Inputs and Fields.

Results are plain JSON, so they are TypedDicts: what an agent sends is what an expression reads. Annotations are not
postponed here: TypedDict has to see which keys are NotRequired.
"""

from typing import Any, NotRequired

from typing_extensions import TypedDict

__all__ = [
    "ChoiceAnswer",
    "ConfirmAnswer",
    "DelegateResult",
    "FailedChild",
    "InfoAnswer",
    "Json",
    "NotRequired",
    "Number",
    "ShellResult",
    "TextAnswer",
    "TypedDict",
    "WaitResult",
]

Json = Any
"""A value whose shape nobody declared: anything JSON can say."""

Number = int | float


class ShellResult(TypedDict):
    """What a command gave. A non-zero exit code is data, not a failure."""

    stdout: str
    stderr: str
    exit_code: int
    duration: NotRequired[Number]
    timed_out: NotRequired[bool]


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
    duration_seconds: Number


class DelegateResult(TypedDict):
    """What the agent that did the work reports."""

    response: str
    agent_used: NotRequired[str]
    tokens_used: NotRequired[int]


class FailedChild(TypedDict):
    """What stands in the list of a foreach in the place of a child that failed."""

    error: Json
