"""Types that a machine and its driver share: the shapes of results, and the terminal statuses of a run.

Results are plain JSON, so they are TypedDicts: an expression reads exactly what an agent sent. Annotations are not
postponed in this module, because TypedDict has to see which keys are NotRequired.
"""

from fnmatch import fnmatchcase
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

__all__ = [
    "CheckFilesResult",
    "ChoiceAnswer",
    "CommandResult",
    "ConfirmAnswer",
    "CreateFileResult",
    "CreateWorktreeResult",
    "DelegateResult",
    "EditFileResult",
    "FailedChild",
    "GitChangesResult",
    "GitSnapshotResult",
    "HttpCallResult",
    "InfoAnswer",
    "IsolatedResult",
    "Json",
    "MergeJsonStateResult",
    "NotRequired",
    "Number",
    "ReadFileResult",
    "ReadFilesResult",
    "ReadJsonStateResult",
    "RenderTemplateResult",
    "Report",
    "ShellResult",
    "SqlResult",
    "TextAnswer",
    "TypedDict",
    "WaitResult",
    "Worktree",
    "WriteJsonStateResult",
    "is_named",
]

Json = Any
"""Any JSON value: its shape is not declared."""

Number = int | float

HUMAN_KINDS = frozenset({"prompt"})
"""The actions that a person answers. An agent only passes the question and the answer on."""

ENDED = ("completed", "failed", "cancelled")
"""The terminal statuses of a run."""


BOOKKEEPING = frozenset({"duration", "timed_out", "started_at", "completed_at", "agent_used", "tokens_used"})
"""Optional parts of results that an agent is not asked for unless the workflow reads them."""


ERROR_CODE = "[A-Za-z][A-Za-z0-9_-]{0,39}"
"""The pattern of the codes with which a workflow can fail its run."""

UNNAMED_ERROR = "failed"
"""The code of a failure to which the workflow gives none."""


class Timed(TypedDict):
    """When an action was executed and how many seconds it took, if its executor reports that."""

    duration: NotRequired[Number]
    started_at: NotRequired[str]
    completed_at: NotRequired[str]


class ShellResult(TypedDict):
    """The result of a command. A non-zero exit code is data, not a failure."""

    stdout: str
    stderr: str
    exit_code: int
    duration: NotRequired[Number]
    timed_out: NotRequired[bool]


class CommandResult(ShellResult):
    """The result of a command that the server may run: with its declared outputs, and when it ran."""

    outputs: NotRequired[dict[str, Json]]
    started_at: NotRequired[str]
    completed_at: NotRequired[str]


class CheckFilesResult(Timed):
    """Which of some files exist."""

    found: list[str]
    missing: list[str]


class CreateFileResult(Timed):
    """The file that was written."""

    path: str
    size_bytes: int
    created: bool


class ReadFileResult(Timed):
    """The content of a file."""

    content: str
    path: str
    size_bytes: int
    found: bool


class ReadFilesResult(Timed):
    """Some files, and their contents in one text. The exit code is 1 if no file matches."""

    files: list[dict[str, Json]]
    content: str
    total_files: int
    total_size_kb: int
    skipped_files: list[dict[str, Json]]
    patterns_matched: int
    exit_code: NotRequired[int]


class SqlResult(Timed):
    """The result of a statement."""

    rows: list[dict[str, Json]]
    columns: list[str]
    row_count: int
    affected_rows: NotRequired[int]
    last_insert_id: NotRequired[int | None]


class HttpCallResult(Timed):
    """The response to a request. Any status is data."""

    status_code: int
    response_body: str
    response_json: NotRequired[Json]
    headers: NotRequired[dict[str, str]]
    url: NotRequired[str]
    success: bool


class EditFileResult(Timed):
    """The result of an edit of a file."""

    path: str
    operations_applied: int
    lines_added: int
    lines_removed: int
    lines_modified: int
    diff: str
    backup_path: NotRequired[str | None]
    errors: list[str]


class RenderTemplateResult(Timed):
    """The rendered template, and the file that it was written to."""

    content: str
    output_path: NotRequired[str | None]
    size_bytes: NotRequired[int | None]


class ReadJsonStateResult(Timed):
    """The content of a JSON file."""

    data: dict[str, Json]
    path: str
    found: bool


class WriteJsonStateResult(Timed):
    """The JSON file that was written."""

    path: str
    size_bytes: int


class MergeJsonStateResult(Timed):
    """The content of a JSON file after the merge."""

    path: str
    created: bool
    merged_data: dict[str, Json]


class CreateWorktreeResult(Timed):
    """The working tree and its branch."""

    worktree_path: str
    branch: str
    base_branch: NotRequired[str]
    created: bool


class GitSnapshotResult(Timed):
    """The commit, and the content of each file that differs from it. `proved`: a server checked it, not an agent."""

    head: str | None
    files: dict[str, str | None]
    total: int
    proved: bool
    skipped: NotRequired[str]
    modules: NotRequired[dict[str, str | None]]


class GitChangesResult(Timed):
    """The files that have changed since a snapshot. `proved`: a server checked it, not an agent."""

    changed: list[str]
    by_agent: dict[str, list[str]]
    outside_scope: list[str]
    total: int
    outside_total: int
    proved: bool
    skipped: NotRequired[str]


class InfoAnswer(TypedDict):
    """The user has seen the message."""

    acknowledged: bool


class ConfirmAnswer(TypedDict):
    """Yes or no."""

    confirmed: bool


class TextAnswer(TypedDict):
    """The text that the user typed."""

    input: str


class ChoiceAnswer(TypedDict):
    """The option that the user picked."""

    selected: str


class WaitResult(TypedDict):
    """The pause is over."""

    resumed: bool
    duration: Number
    duration_seconds: Number


class DelegateResult(TypedDict):
    """The report of the agent that did the work."""

    response: str
    agent_used: NotRequired[str]
    tokens_used: NotRequired[int]


class ReportedDecision(TypedDict):
    """A choice that an agent made."""

    question: str
    chosen: str
    reasoning: str
    category: NotRequired[str]
    options_considered: NotRequired[list[str]]
    trade_offs: NotRequired[str]


class ReportedIssue(TypedDict):
    """A problem that an agent met. One that requires a human and has no resolution is a blocker."""

    description: str
    requires_human: bool
    type: NotRequired[str]
    resolution: NotRequired[str]


class ReportedMilestone(TypedDict):
    """Progress that an agent made."""

    message: str
    progress: NotRequired[Number]


class Report(TypedDict):
    """The report of an agent about its work. It may be submitted as the agent's own text (`wfc_runtime.reports`)."""

    status: Literal["success", "partial", "failed"]
    summary: str
    achievements: list[str]
    limitations: list[str]
    next_steps: list[str]
    decisions: list[ReportedDecision]
    issues: list[ReportedIssue]
    milestones: list[ReportedMilestone]
    files: list[str]
    evidence: dict[str, str]
    packages_added: list[str]
    commands_executed: list[str]
    progress: NotRequired[Number]
    tests_status: NotRequired[str]
    tokens_input: NotRequired[Number]
    tokens_output: NotRequired[Number]


class Worktree(TypedDict):
    """Where an agent worked, and the branch with its commits."""

    path: str
    branch: str


class IsolatedResult(DelegateResult):
    """The report of an agent that worked in its own git worktree, which is kept if it has changes."""

    worktree: NotRequired[Worktree]


DEFAULTS: dict[Any, dict[str, Json]] = {
    ShellResult: {"stderr": ""},
    CommandResult: {"stderr": ""},
    Report: {
        "achievements": [],
        "limitations": [],
        "next_steps": [],
        "decisions": [],
        "issues": [],
        "milestones": [],
        "files": [],
        "evidence": {},
        "packages_added": [],
        "commands_executed": [],
    },
    ReportedDecision: {"reasoning": ""},
    GitSnapshotResult: {"head": None, "files": {}, "total": 0, "proved": False},
    GitChangesResult: {
        "changed": [],
        "by_agent": {},
        "outside_scope": [],
        "total": 0,
        "outside_total": 0,
        "proved": False,
    },
    ReportedIssue: {"requires_human": False},
}
"""Parts that a result may lack, and the values that it then gets: many tools merge stderr into stdout."""


class FailedChild(TypedDict):
    """The entry of a failed child in the result list of a foreach."""

    error: Json


def is_named(name: str, pattern: str) -> bool:
    """Whether a name is one that a pattern stands for: `*` matches any characters."""
    return fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]"))
