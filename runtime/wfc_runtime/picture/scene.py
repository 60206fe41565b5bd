"""A scene is a picture with coordinates: boxes, wires and texts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from wfc_runtime.picture.model import Line, Node

Point = tuple[float, float]


@dataclass(frozen=True)
class Text:
    """A line of text; x is its start, centre or end, depending on the anchor."""

    text: str
    x: float
    y: float
    style: str = "detail"
    anchor: str = "middle"

    def moved(self, dx: float, dy: float) -> Text:
        return replace(self, x=self.x + dx, y=self.y + dy)


@dataclass(frozen=True)
class Box:
    """A placed node. x and y are its centre."""

    node: Node
    x: float
    y: float
    width: float
    height: float
    texts: tuple[Text, ...] = ()
    rules: tuple[float, ...] = ()
    """The x coordinates of the vertical lines between the branches of a frame."""
    chart: str = ""
    """The chart that it belongs to: ids of nodes are unique within one."""

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height / 2

    def moved(self, dx: float, dy: float) -> Box:
        return replace(
            self,
            x=self.x + dx,
            y=self.y + dy,
            texts=tuple(text.moved(dx, dy) for text in self.texts),
            rules=tuple(rule + dx for rule in self.rules),
        )


@dataclass(frozen=True)
class Wire:
    """A link's line, corner by corner, and its label."""

    source: str
    target: str
    line: Line
    points: tuple[Point, ...]
    label: tuple[Text, ...] = ()
    chart: str = ""

    def moved(self, dx: float, dy: float) -> Wire:
        points = tuple((x + dx, y + dy) for x, y in self.points)
        return replace(self, points=points, label=tuple(text.moved(dx, dy) for text in self.label))


@dataclass
class Scene:
    """A drawing with coordinates. Frames come before their contents in `boxes`, so that they are drawn below them."""

    width: float = 0.0
    height: float = 0.0
    boxes: list[Box] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)

    def add(self, other: Scene, dx: float, dy: float) -> None:
        self.boxes += [box.moved(dx, dy) for box in other.boxes]
        self.wires += [wire.moved(dx, dy) for wire in other.wires]

    def of_chart(self, chart: str) -> Scene:
        boxes = [replace(box, chart=chart) for box in self.boxes]
        return replace(self, boxes=boxes, wires=[replace(wire, chart=chart) for wire in self.wires])
