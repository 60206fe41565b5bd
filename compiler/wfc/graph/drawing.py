"""A picture with every place settled: what is left is to write it down."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from wfc.graph.model import Line, Node

Point = tuple[float, float]


@dataclass(frozen=True)
class Text:
    """A line of text; x is where it begins, is centred or ends."""

    text: str
    x: float
    y: float
    style: str = "detail"
    anchor: str = "middle"

    def moved(self, dx: float, dy: float) -> Text:
        return replace(self, x=self.x + dx, y=self.y + dy)


@dataclass(frozen=True)
class Box:
    """A node's figure. x and y are its centre."""

    node: Node
    x: float
    y: float
    width: float
    height: float
    texts: tuple[Text, ...] = ()
    rules: tuple[float, ...] = ()
    """Where upright lines part the branches of a frame."""

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

    def moved(self, dx: float, dy: float) -> Wire:
        points = tuple((x + dx, y + dy) for x, y in self.points)
        return replace(self, points=points, label=tuple(text.moved(dx, dy) for text in self.label))


@dataclass
class Drawing:
    """Frames come before what is in them."""

    width: float = 0.0
    height: float = 0.0
    boxes: list[Box] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)

    def add(self, other: Drawing, dx: float, dy: float) -> None:
        self.boxes += [box.moved(dx, dy) for box in other.boxes]
        self.wires += [wire.moved(dx, dy) for wire in other.wires]
