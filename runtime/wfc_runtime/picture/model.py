"""The contents of a picture, independent of its format: nodes, links, one flow per task, and colors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum


class Shape(StrEnum):
    BOX = "box"
    CHOICE = "choice"
    """A condition, a `when` or a loop head: a diamond with its exits."""
    JUMP = "jump"
    """A step that only jumps to another one."""
    PARALLEL = "parallel"
    """A frame around branches."""
    START = "start"
    END = "end"
    """The end of the machine."""
    JOIN = "join"
    """The end of a branch, which waits for the others."""
    EXIT = "exit"
    """Represents a step outside the branch that is jumped to."""


class Line(StrEnum):
    FLOW = "flow"
    ERROR = "error"
    AGAIN = "again"


@dataclass(frozen=True)
class Node:
    id: str
    """Unique in its chart; a plain identifier."""
    shape: Shape
    title: str = ""
    detail: str = ""
    """The second line: the kind of step and what it writes, or the condition."""
    color: str = "control"
    badge: str = ""
    tip: tuple[str, ...] = ()
    """Lines for a tooltip: what the step reads, writes and does."""
    loop: bool = False
    """Whether a choice is the head of a loop: its first exit leads to the body."""
    branches: tuple[Flow, ...] = ()
    condition: str = ""
    """The condition of a step that may be skipped, if it has no node of its own."""
    stands_for: str | None = None
    """The state that a node of its own represents: the end after a return, a step outside; "" for the start."""

    @property
    def state(self) -> str:
        """The state that it shows."""
        return self.id if self.stands_for is None else self.stands_for


@dataclass(frozen=True)
class Link:
    source: str
    target: str
    label: str = ""
    line: Line = Line.FLOW


@dataclass
class Flow:
    """Nodes in source order, starting with the initial one, and the links between them."""

    title: str
    nodes: list[Node] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """Every node, including those of branches."""
        for node in self.nodes:
            yield node
            for branch in node.branches:
                yield from branch.walk()


@dataclass(frozen=True)
class Panel:
    """One chart of the picture: the workflow itself, or a task."""

    caption: str
    """The heading, such as "workflow deploy-service 1.0.0" or "task review_file"."""
    inputs: tuple[str, ...]
    note: str
    flow: Flow
    chart: str = "main"
    """The name of the chart: "main", or that of the task."""


@dataclass(frozen=True)
class Picture:
    title: str
    panels: tuple[Panel, ...]

    def colors(self) -> list[str]:
        """The colors in use, in the order of their first appearance."""
        nodes = (node for panel in self.panels for node in panel.flow.walk())
        filled = (node for node in nodes if node.shape is not Shape.PARALLEL and (node.title or node.detail))
        return list(dict.fromkeys(node.color for node in filled))


# Fills are light under dark text in the light theme, and the reverse in the dark one. The page has the same colors in
# its style sheet (a test compares them).

INK = "#1f2933"
MUTED = "#52606d"
PAPER = "#ffffff"
RULE = "#cbd2d9"
DARK = {"ink": "#e6eaf0", "muted": "#a3aebd", "paper": "#181e27", "rule": "#2c3542"}

LINES = {Line.FLOW: "#52606d", Line.ERROR: "#b42318", Line.AGAIN: "#6941c6"}
DARK_LINES = {Line.FLOW: "#9aa6b4", Line.ERROR: "#ff9a8f", Line.AGAIN: "#b79cff"}
MEANINGS = {Line.ERROR: "after a failure", Line.AGAIN: "back to an earlier step"}


@dataclass(frozen=True)
class Color:
    fill: str
    stroke: str
    dark_fill: str
    dark_stroke: str
    meaning: str


COLORS = {
    "control": Color("#eef1f5", "#7b8794", "#262f3b", "#8b97a6", "control flow"),
    "state": Color("#fdf2cc", "#b7860b", "#3a3218", "#d9ad3a", "writes state"),
    "agent": Color("#dcebfd", "#2f6fc4", "#1d324f", "#6ea8f5", "agent acts"),
    "server": Color("#d5f0f2", "#1f7a85", "#17383c", "#5cc2cd", "server acts"),
    "person": Color("#fde4d6", "#c5602a", "#45291b", "#f0955f", "person is asked"),
    "message": Color("#fbe3f0", "#b03a7c", "#42203a", "#ea8fc4", "shows a message"),
    "time": Color("#ece4fb", "#7a57c7", "#322850", "#b296f5", "waits"),
    "child": Color("#d9f2e2", "#2c8a57", "#1c3b2a", "#62c48f", "task or workflow"),
    "end": Color("#e1e6eb", "#3e4c59", "#2d3643", "#aab4c1", "returns"),
    "failure": Color("#fdecea", "#b42318", "#43201d", "#ff9a8f", "fails"),
}


def color_of(name: str) -> Color:
    return COLORS.get(name, COLORS["control"])
