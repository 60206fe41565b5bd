"""A scene is a picture with coordinates: boxes, wires and texts.

Figures are nodes with their size and text, before they are placed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from wfc_runtime.picture.model import Flow, Line, Node, Shape
from wfc_runtime.picture.text import printable, text_width, wrap

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


# Figures: the size of each node follows from the text in it.

# In points. `text_width` measures with the same sizes, so text never leaves its figure.
SIZES = {
    "title": 12.0,
    "detail": 10.5,
    "code": 10.5,
    "label": 10.5,
    "badge": 9.5,
    "heading": 16.0,
    "question": 11.0,
}
BOLD = ("title", "question", "heading")
MONO = ("code",)
LABEL_LEADING = 12.0

_BOX = (116.0, 212.0)
_ONE_LINE = 150.0
# A few fixed widths, so that the diamonds of one chart look alike.
_CHOICE = (150.0, 178.0, 206.0, 232.0, 262.0)
_LEADING = {"title": 15.0, "detail": 13.0, "code": 13.0, "question": 14.0}
_PAD = 11.0
_ROUND = {Shape.START: 18.0, Shape.END: 20.0, Shape.JOIN: 12.0}
_FRAME_PAD, _FRAME_HEAD, _BRANCH_HEAD, _BRANCH_MIN = 18.0, 30.0, 26.0, 110.0


@dataclass(frozen=True)
class Figure:
    width: float
    height: float
    texts: tuple[Text, ...] = ()
    """Relative to a centre at 0, 0."""
    rules: tuple[float, ...] = ()
    inside: Scene | None = None
    """A frame's content, relative to its top left corner."""


def width_of(text: str, style: str) -> float:
    return text_width(text, SIZES[style], bold=style in BOLD, mono=style in MONO)


def fits(style: str, room: float) -> Callable[[str], bool]:
    """A test whether a line of text fits. The tolerance absorbs rounding errors of sums."""
    return lambda text: width_of(text, style) <= room + 0.01


def label_lines(label: str) -> list[str]:
    return label.split(", ") if label else []


def figures_of(flow: Flow, lay_out: Callable[[Flow], Scene]) -> list[Figure]:
    boxes = [node for node in flow.nodes if node.shape is Shape.BOX]
    # All boxes of a chart have one width: columns then line up without further work.
    width = _clamp(max((_wanted(node) for node in boxes), default=0), *_BOX)
    return [_figure(node, width, lay_out) for node in flow.nodes]


def _figure(node: Node, width: float, lay_out: Callable[[Flow], Scene]) -> Figure:
    match node.shape:
        case Shape.BOX:
            return _box(node, width)
        case Shape.CHOICE:
            return _choice(node)
        case Shape.JUMP | Shape.EXIT:
            return _pill(node)
        case Shape.PARALLEL:
            return _frame(node, [(branch.title, lay_out(branch)) for branch in node.branches])
    return Figure(_ROUND[node.shape], _ROUND[node.shape])


def _wanted(node: Node) -> float:
    kind, _, writes = node.detail.partition(" → ")
    detail = width_of(node.detail, "detail")
    if node.condition:
        condition = min(width_of(f"if {node.condition}", "detail"), _BOX[1])
        detail = max(detail, condition)
    elif detail > _ONE_LINE:
        detail = max(width_of(kind, "detail"), width_of(f"→ {writes}", "detail"))
    return max(width_of(printable(node.title), "title"), detail) + 2 * _PAD


def _box(node: Node, width: float) -> Figure:
    room = width - 2 * _PAD
    title = wrap(printable(node.title), 2 * [fits("title", room)])
    details = _details(node.detail, room)
    if node.condition:
        # Below it there is always room, and a condition that is cut may look like another one.
        details += wrap(f"if {node.condition}", 4 * [fits("detail", room)])
    lines = [("title", text) for text in title] + [("detail", text) for text in details]
    return Figure(width, 2 * 8.0 + _depth(lines), _stack(lines))


def _details(detail: str, room: float) -> list[str]:
    """The details on one line, or the kind of step and what it writes on separate lines."""
    fit = fits("detail", room)
    kind, arrow, writes = detail.partition(" → ")
    if fit(detail) or not arrow:
        return wrap(detail, [fit, fit])
    return wrap(kind, [fit]) + wrap(f"→ {writes}", [fit, fit])


def _pill(node: Node) -> Figure:
    lines = [("title", text) for text in wrap(printable(node.title), [fits("title", _BOX[1] - 36)])]
    lines += [("detail", node.detail)] if node.detail else []
    width = max((width_of(text, style) for style, text in lines), default=0) + 36
    return Figure(max(width, 70.0), 2 * 5.0 + _depth(lines), _stack(lines))


def _choice(node: Node) -> Figure:
    """A diamond: a line has less space the further it is from the middle, so several sizes are tried."""
    title = printable(node.title)
    for rows in (1, 2, 3, 4):
        for width in _CHOICE[min(2 * rows - 2, 3) :]:
            lines, height = _in_diamond(title, node.detail, rows, width)
            if lines is not None:
                return Figure(width, height, _stack(lines))
    lines, height = _in_diamond(title, node.detail, 4, _CHOICE[-1], cut=True)
    return Figure(_CHOICE[-1], height, _stack(lines or []))


def _in_diamond(
    title: str, code: str, rows: int, width: float, cut: bool = False
) -> tuple[list[tuple[str, str]] | None, float]:
    styles = ["question"] * bool(title) + ["code"] * rows
    depth = sum(_LEADING[style] for style in styles)
    height = max(depth * 1.8 + 18, 54.0)
    rooms: list[float] = []
    y = -depth / 2
    for style in styles:
        far = max(abs(y), abs(y + _LEADING[style]))
        rooms.append(width * (1 - 2 * far / height) - 4)
        y += _LEADING[style]
    heads = wrap(title, [fits("question", rooms[0])]) if title else []
    rooms = rooms[len(heads) :]
    codes = _halves(code, rooms)
    if cut and codes is None:
        codes = wrap(code, [fits("code", room) for room in rooms])
    if codes is None or (heads != [title] * bool(title) and not cut):
        return None, height
    # An empty line keeps its place: the width of the others was computed for their positions.
    codes += [""] * (rows - len(codes))
    return [("question", text) for text in heads] + [("code", text) for text in codes], height


def _halves(code: str, rooms: list[float]) -> list[str] | None:
    """A whole condition on one line, on two lines of about the same length, or on more; None if it does not fit."""
    if len(rooms) == 1:
        return [code] if width_of(code, "code") <= rooms[0] else None
    if len(rooms) > 2:
        lines = wrap(code, [fits("code", room) for room in rooms])
        return lines if " ".join(lines) == code else None
    words = code.split(" ")
    best: tuple[float, list[str]] | None = None
    for number in range(1, len(words)):
        lines = [" ".join(words[:number]), " ".join(words[number:])]
        fill = max(width_of(line, "code") / max(room, 1.0) for line, room in zip(lines, rooms, strict=True))
        if fill <= 1 and (best is None or fill < best[0]):
            best = (fill, lines)
    return best[1] if best else None


def _frame(node: Node, branches: list[tuple[str, Scene]]) -> Figure:
    inside = Scene()
    head = [
        Text(text, 0, 20.0, "title", "start") for text in wrap(printable(node.title), [fits("title", 200)])
    ]
    rules: list[float] = []
    tallest = max((scene.height for _, scene in branches), default=0.0)
    x, captions = _FRAME_PAD, []
    for number, (title, scene) in enumerate(branches):
        room = max(scene.width, _BRANCH_MIN)
        if number:
            rules.append(x - _FRAME_PAD / 2)
        text = wrap(printable(title), [fits("detail", room)])
        captions.append((x + room / 2, text[0] if text else ""))
        inside.add(scene, x + (room - scene.width) / 2, _FRAME_HEAD + _BRANCH_HEAD)
        x += room + _FRAME_PAD
    width, height = max(x, 160.0), _FRAME_HEAD + _BRANCH_HEAD + tallest + _FRAME_PAD
    texts = [Text(text, at - width / 2, _FRAME_HEAD + 15 - height / 2, "detail") for at, text in captions]
    texts += [Text(line.text, 14 - width / 2, line.y - height / 2, line.style, line.anchor) for line in head]
    return Figure(width, height, tuple(texts), tuple(rule - width / 2 for rule in rules), inside)


# -- text in a figure ----------------------------------------------------------


def _depth(lines: list[tuple[str, str]]) -> float:
    return sum(_LEADING[style] for style, _ in lines)


def _stack(lines: list[tuple[str, str]]) -> tuple[Text, ...]:
    y = -_depth(lines) / 2
    texts: list[Text] = []
    for style, text in lines:
        leading = _LEADING[style]
        if text:
            texts.append(Text(text, 0, y + leading / 2 + SIZES[style] * 0.35, style))
        y += leading
    return tuple(texts)


def _clamp(value: float, least: float, most: float) -> float:
    return max(least, min(most, value))
