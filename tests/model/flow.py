"""What flows of control are made of: what they wait for, how they part, and the ways in which they leave off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.model.interpreter import Run

Step = dict[str, Any]
Tree = dict[str, Any]
MISFITS = 3
FOREVER = 1_000_000
DEPTH = 6
SERVED = ("create_file", "read_file", "render_template", "create_worktree")
SERVED += ("read_json_state", "write_json_state", "merge_json_state", "edit_file", "http_call", "sql")
TIMEOUTS = {"shell": 30, "mcp_call": 30, "delegate": 300}
"""Seconds, where the step does not say."""


NOTHING = object()
CANCELLED = {"error": {"code": "cancelled", "message": "the step ended before this child did"}}


class FailError(Exception):
    """A step fails. `kept`: what its output_to gets all the same; `final`: trying again is no use."""

    def __init__(
        self, code: str, visit: str = "", kept: Any = NOTHING, final: bool = False, message: str = ""
    ) -> None:
        super().__init__(code)
        self.children: Wait | None = None
        self.branches: list[Thread] = []
        """Those of a parallel step that failed."""
        self.code, self.visit, self.kept, self.final, self.message = code, visit, kept, final, message
        self.ran: dict[str, Any] | None = None
        """The result of a command that ran, and failed by its exit code."""


class UnclearError(Exception):
    """Branches that begin at the same moment, of which one leaves at once: what the others have done by then is not
    for anybody to rely on."""


class DeadError(Exception):
    """Nothing takes care of a failure: the run fails."""

    def __init__(self, code: str, visit: str) -> None:
        super().__init__(code, visit)
        self.code, self.visit = code, visit


class WayError(Exception):
    """The flow goes on elsewhere: at a target, after the loop (break), or with its next turn (continue)."""

    def __init__(self, kind: str, target: str = "") -> None:
        super().__init__(kind, target)
        self.kind, self.target = kind, target


class ReturnedError(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


@dataclass(eq=False)
class Wait:
    """Something pending."""

    visit: str
    type: str
    parameters: dict[str, Any]
    due: float | None = None
    ends_by_itself: bool = False
    until_answer: bool = False
    """Whether any answer ends it."""
    deadline: float | None = None
    """Seconds, which start again when the run is retried."""
    misfits_allowed: int = MISFITS
    fails_on_exit: bool = False
    overdue_code: str = "timeout"
    """Why it fails when its time is up."""
    misfits: int = 0
    thread: Thread | None = None
    is_secret: bool = False
    is_served: bool = False
    """Whether a server may do it itself."""
    items: list[Any] | None = None
    children: list[Run | None] = field(default_factory=list)
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    begin: Callable[[Wait, int], Run | Tree] | None = None
    """A child, or the error of one that can't begin."""
    sequential: bool = False
    at_once: int | None = None
    """How many children at the same time."""
    join: str = "all"
    restarts: int = 0
    """How often a child that failed is started again."""
    restarted: Counter[int] = field(default_factory=Counter)

    def is_decided(self) -> bool:
        """Whether nothing that other children bring can matter any more."""
        ending = {"fail_fast": "error", "any": "value"}.get(self.join)
        assert self.items is not None
        return len(self.results) == len(self.items) or any(ending in one for one in self.results.values())

    def queued(self) -> list[int]:
        return [
            index for index, child in enumerate(self.children) if child is None and index not in self.results
        ]

    def at_work(self) -> int:
        return sum(
            child is not None and index not in self.results for index, child in enumerate(self.children)
        )


@dataclass(eq=False)
class Fork:
    branches: dict[str, Flow]
    join: str = "all"
    after: dict[str, list[str]] = field(default_factory=dict)
    """The branches that one waits for."""
    again: list[Thread] = field(default_factory=list)
    """In a retry: the branches that failed, which go on where they stopped."""


@dataclass(eq=False)
class Stop:
    """The run fails here. A retry resumes the flow, which does again what failed."""

    code: str
    visit: str
    step_id: str = ""
    is_unclear: bool = False
    """Whether a retry is not modelled: children or branches were stopped with it, or it goes back further."""
    children: Wait | None = None
    """What had the children that failed with it."""


Flow = Generator["Wait | Fork | Stop", Any, Any]


@dataclass(eq=False)
class Thread:
    """A flow of control; a branch of a parallel step has the one that it came from."""

    flow: Flow
    parent: Thread | None = None
    branches: list[Thread] = field(default_factory=list)
    name: str = ""
    after: list[str] = field(default_factory=list)
    is_begun: bool = False
    is_done: bool = False
    join: str = "fail_fast"
    """When its branches are done."""
    has_failed: bool = False
    """Whether it failed while the others go on."""
    stopped: tuple[Thread, Stop] | None = None
    """Where it failed."""
    loops: int = 0
    """How many loops with names it is in: a retry leaves them, and begins the branch again."""
