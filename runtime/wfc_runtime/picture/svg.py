"""Render a picture as SVG: self-contained, no scripts, and only styles that every viewer supports.

Nodes and wires have classes and the names of their states, so that a page can select them, mark the path of a run and
use colors of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from wfc_runtime.picture.figures import BOLD, MONO, SIZES, width_of
from wfc_runtime.picture.layout import Page, lay_out_page
from wfc_runtime.picture.model import (
    COLORS,
    DARK,
    DARK_LINES,
    INK,
    LINES,
    MUTED,
    PAPER,
    RULE,
    Line,
    Picture,
    Shape,
    color_of,
)
from wfc_runtime.picture.scene import Box, Point, Text, Wire
from wfc_runtime.picture.text import printable

# Bundling. Links that share the rest of their path are drawn once from there on: overlapping lines look thicker.

_Rail = tuple[str, Line, bool, float]
"""A straight line shared by links to one target: vertical or horizontal, and its position."""


def own_stretches(wires: list[Wire]) -> Iterator[tuple[Wire, int]]:
    """Each wire with the index of the point up to which it has to be drawn; the longest wires come first."""
    drawn: dict[_Rail, tuple[float, float]] = {}
    for wire in sorted(wires, key=_length, reverse=True):
        pairs = list(zip(wire.points, wire.points[1:], strict=False))
        reach = len(pairs)
        while reach > 1 and _is_drawn(drawn, wire, *pairs[reach - 1]):
            reach -= 1
        for start, end in pairs[:reach]:
            rail, low, high = _on_rail(wire, start, end)
            old = drawn.get(rail)
            drawn[rail] = (
                (min(low, old[0]), max(high, old[1]))
                if old and old[0] <= high and low <= old[1]
                else (low, high)
            )
        yield wire, reach


def _is_drawn(drawn: dict[_Rail, tuple[float, float]], wire: Wire, start: Point, end: Point) -> bool:
    rail, low, high = _on_rail(wire, start, end)
    old = drawn.get(rail)
    return old is not None and old[0] <= low and high <= old[1]


def _on_rail(wire: Wire, start: Point, end: Point) -> tuple[_Rail, float, float]:
    upright = start[0] == end[0]
    at, one, other = (start[0], start[1], end[1]) if upright else (start[1], start[0], end[0])
    return (wire.target, wire.line, upright, at), min(one, other), max(one, other)


def _length(wire: Wire) -> float:
    return sum(
        abs(x1 - x2) + abs(y1 - y2) for (x1, y1), (x2, y2) in zip(wire.points, wire.points[1:], strict=False)
    )


_FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
_MONO_FONT = "Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace"
_FILLS = {
    "title": INK,
    "question": INK,
    "heading": INK,
    "code": INK,
    "detail": MUTED,
    "badge": INK,
    "label": MUTED,
}
_RADIUS = 8.0


def render_svg(picture: Picture, *, themes: bool = True) -> str:
    """`themes`: the file follows the theme of its reader. A page that has a style sheet of its own does without."""
    page = lay_out_page(picture)
    width, height = _number(page.width), _number(page.height)
    size = f'width="{width}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" role="list" '
        f'aria-label="{_text(picture.title)}" font-family="{_FONT}">',
        f"<title>{_text(picture.title)}</title>",
        *([_DARK_THEME] if themes else []),
        f'<rect {size} rx="10" class="paper" fill="{PAPER}"/>',
        *_page(page),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _dark_theme() -> str:
    rules = [
        f".paper,.panel,.frame,.badge,.ring{{fill:{DARK['paper']}}}",
        f".panel,.rule{{stroke:{DARK['rule']}}}",
        f".ink,.dot{{fill:{DARK['ink']}}}.ring{{stroke:{DARK['ink']}}}.muted{{fill:{DARK['muted']}}}",
        *(
            f".is-{name}{{fill:{color.dark_fill};stroke:{color.dark_stroke}}}"
            for name, color in COLORS.items()
        ),
        *(
            f".line-{line}{{stroke:{color}}}.head-{line}{{fill:{color}}}"
            for line, color in DARK_LINES.items()
        ),
    ]
    # The attributes have the colors of the light theme, for viewers without support for style sheets.
    return f"<style>@media (prefers-color-scheme:dark){{{''.join(rules)}}}</style>"


_DARK_THEME = _dark_theme()


def _page(page: Page) -> Iterator[str]:
    for panel in page.panels:
        outline = _rect(panel.x, panel.y, panel.width, panel.height, 10, PAPER, RULE, "panel")
        yield f"<g>{_title(panel.tip)}{outline}"
        yield from map(_line_of_text, panel.texts)
        yield "</g>"
    # Drawing order is stacking order: frames below wires, wires below nodes, labels on top.
    frames = [box for box in page.boxes if box.node.shape is Shape.PARALLEL]
    states = {(box.chart, box.node.id): box.node.state for box in page.boxes}
    yield from map(_frame, frames)
    yield from (_wire(wire, reach, states) for wire, reach in own_stretches(page.wires))
    yield from (_figure(box) for box in page.boxes if box.node.shape is not Shape.PARALLEL)
    for wire in page.wires:
        yield from map(_label, wire.label)
    for sample, meaning in page.legend:
        drawn = _outline(sample) if isinstance(sample, Box) else _line(sample, len(sample.points) - 1)
        yield f'<g class="legend">{drawn}{_line_of_text(meaning)}</g>'


# -- nodes ---------------------------------------------------------------------


def _figure(box: Box) -> str:
    texts = "".join(map(_line_of_text, box.texts))
    return f"<g{_named(box)}>{_title(box.node.tip)}{_outline(box)}{texts}{_badge(box)}</g>"


def _named(box: Box) -> str:
    """The attributes by which a page finds a node. Only steps are read out: ends and joins have no name."""
    node = box.node
    kind = f'class="node {node.shape}" data-chart="{_text(box.chart)}" data-state="{_text(node.state)}"'
    if not (node.title or node.detail):
        return f" {kind}"
    named = node.title or ("when " + node.detail)
    return f' {kind} role="listitem" aria-label="{_text(named)}" tabindex="-1"'


def _outline(box: Box) -> str:
    color, kind = color_of(box.node.color), f"is-{box.node.color}"
    match box.node.shape:
        case Shape.CHOICE:
            corners = ((box.x, box.top), (box.right, box.y), (box.x, box.bottom), (box.left, box.y))
            points = " ".join(f"{_number(px)},{_number(py)}" for px, py in corners)
            return f'<polygon points="{points}" class="{kind}" fill="{color.fill}" stroke="{color.stroke}"/>'
        case Shape.START | Shape.JOIN:
            return _circle(box, box.width / 2, f'class="dot" fill="{INK}"')
        case Shape.END:
            look = f'class="ring" fill="{PAPER}" stroke="{INK}" stroke-width="1.5"'
            ring = _circle(box, box.width / 2 - 1, look)
            return ring + _circle(box, box.width / 2 - 5, f'class="dot" fill="{INK}"')
        case Shape.JUMP | Shape.EXIT:
            dash = ' stroke-dasharray="4 3"' if box.node.shape is Shape.EXIT else ""
            size = (box.left, box.top, box.width, box.height, box.height / 2)
            return _rect(*size, color.fill, color.stroke, kind, dash)
    size = (box.left, box.top, box.width, box.height, min(7, box.height / 4))
    return _rect(*size, color.fill, color.stroke, kind)


def _circle(box: Box, radius: float, look: str) -> str:
    return f'<circle cx="{_number(box.x)}" cy="{_number(box.y)}" r="{_number(radius)}" {look}/>'


def _frame(box: Box) -> str:
    ends = f"{_number(box.top + 34)}V{_number(box.bottom - 10)}"
    look = f'class="rule" stroke="{RULE}" stroke-dasharray="3 4"'
    rules = "".join(f'<path d="M{_number(x)} {ends}" {look}/>' for x in box.rules)
    stroke = color_of(box.node.color).stroke
    outline = _rect(box.left, box.top, box.width, box.height, 10, PAPER, stroke, "frame")
    texts = "".join(map(_line_of_text, box.texts))
    return f"<g{_named(box)}>{_title(box.node.tip)}{outline}{rules}{texts}</g>"


def _badge(box: Box) -> str:
    text = box.node.badge
    if not text:
        return ""
    width = width_of(text, "badge") + 12
    x, y = box.right - 8 - width / 2, box.top
    outline = _rect(x - width / 2, y - 8, width, 16, 8, PAPER, color_of(box.node.color).stroke, "badge")
    return outline + _line_of_text(Text(text, x, y + 3.4, "badge"))


# -- links ---------------------------------------------------------------------


def _wire(wire: Wire, reach: int, states: dict[tuple[str, str], str]) -> str:
    """A wire as it is drawn, and its whole path, which is invisible: a page shows it where a run has taken it."""
    ends = (states[wire.chart, wire.source], states[wire.chart, wire.target])
    names = f'data-chart="{_text(wire.chart)}" data-from="{_text(ends[0])}" data-to="{_text(ends[1])}"'
    whole = _path(wire.points, len(wire.points) - 1)
    return (
        f'<g class="wire" {names}>{_line(wire, reach)}'
        f'<path class="whole" d="{whole}" fill="none" stroke="none" stroke-width="2.6"/></g>'
    )


def _line(wire: Wire, reach: int) -> str:
    """Draw a wire up to its last own corner: from there on it coincides with a wire that is already drawn."""
    color = LINES[wire.line]
    dash = ' stroke-dasharray="5 3"' if wire.line is Line.ERROR else ""
    whole = reach == len(wire.points) - 1
    head = _arrow(wire.points[-2], wire.points[-1], color, f"head-{wire.line}") if whole else ""
    look = f'class="line-{wire.line}" fill="none" stroke="{color}" stroke-width="1.3"{dash}'
    return f'<path d="{_path(wire.points, reach)}" {look}/>{head}'


def _path(points: tuple[Point, ...], reach: int) -> str:
    """Straight segments with round corners; the last one stops before the tip of the arrow."""
    parts = [f"M{_pair(points[0])}"]
    for number in range(1, min(reach, len(points) - 2) + 1):
        before, corner, after = points[number - 1 : number + 2]
        radius = min(_RADIUS, _distance(before, corner) / 2, _distance(corner, after) / 2)
        bend = _towards(corner, before, radius), corner, _towards(corner, after, radius)
        parts.append("L{}Q{} {}".format(*map(_pair, bend)))
    if reach == len(points) - 1:
        parts.append(f"L{_pair(_towards(points[-1], points[-2], 5))}")
    return "".join(parts)


def _arrow(before: Point, tip: Point, color: str, kind: str) -> str:
    back = _towards(tip, before, 8)
    across = ((tip[1] - back[1]) * 0.45, (tip[0] - back[0]) * 0.45)
    one = (back[0] + across[0], back[1] + across[1])
    other = (back[0] - across[0], back[1] - across[1])
    return f'<path class="{kind}" d="M{_pair(tip)}L{_pair(one)}L{_pair(other)}Z" fill="{color}"/>'


def _label(text: Text) -> str:
    width = width_of(text.text, text.style)
    left = text.x if text.anchor == "start" else text.x - width
    place = f'x="{_number(left - 1)}" y="{_number(text.y - 9)}" width="{_number(width + 2)}"'
    # A white background keeps the label readable where a wire passes below it.
    back = f'<rect {place} height="11.5" class="paper" fill="{PAPER}"/>'
    return back + _line_of_text(text)


def _distance(one: Point, other: Point) -> float:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def _towards(point: Point, other: Point, length: float) -> Point:
    far = _distance(point, other) or 1.0
    share = min(1.0, length / far)
    return (point[0] + (other[0] - point[0]) * share, point[1] + (other[1] - point[1]) * share)


# -- writing -------------------------------------------------------------------


def _line_of_text(text: Text) -> str:
    bold = ' font-weight="bold"' if text.style in BOLD else ""
    mono = f' font-family="{_MONO_FONT}"' if text.style in MONO else ""
    anchor = f' text-anchor="{text.anchor}"' if text.anchor != "start" else ""
    place = f'x="{_number(text.x)}" y="{_number(text.y)}" font-size="{_number(SIZES[text.style])}"'
    ink = "ink" if _FILLS[text.style] == INK else "muted"
    look = f'class="{ink}" fill="{_FILLS[text.style]}"{bold}{mono}{anchor}'
    return f"<text {place} {look}>{_text(text.text)}</text>"


def _rect(
    x: float,
    y: float,
    width: float,
    height: float,
    radius: float,
    fill: str,
    stroke: str,
    kind: str,
    more: str = "",
) -> str:
    place = f'x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" height="{_number(height)}"'
    return f'<rect {place} rx="{_number(radius)}" class="{kind}" fill="{fill}" stroke="{stroke}"{more}/>'


def _title(lines: tuple[str, ...]) -> str:
    return f"<title>{chr(10).join(map(_text, lines))}</title>" if lines else ""


def _text(text: str) -> str:
    return escape(printable(text))


def _pair(point: Point) -> str:
    return f"{_number(point[0])} {_number(point[1])}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
