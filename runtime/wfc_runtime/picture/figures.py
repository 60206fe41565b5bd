"""Figures are nodes with their size and text, before they are placed: the size of each follows from its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wfc_runtime.picture.model import Flow, Node, Shape
from wfc_runtime.picture.scene import Scene, Text
from wfc_runtime.picture.text import printable, text_width, wrap

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
_MOST_DETAILS = 3
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
    if fit(detail):
        return [detail] if detail else []
    kind, arrow, writes = detail.partition(" → ")
    return (_listed(kind, fit) + _listed(f"→ {writes}", fit)) if arrow else _listed(detail, fit)


def _listed(text: str, fit: Callable[[str], bool]) -> list[str]:
    """As many lines as the text needs, up to a few. What stands between commas stays together if it can."""
    lines: list[str] = []
    for part in text.replace(", ", ",\n").split("\n"):
        if lines and fit(f"{lines[-1]} {part}"):
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    if len(lines) <= _MOST_DETAILS and all(map(fit, lines)):
        return lines
    return wrap(text, _MOST_DETAILS * [fit])


def _pill(node: Node) -> Figure:
    lines = [("title", text) for text in wrap(printable(node.title), [fits("title", _BOX[1] - 36)])]
    lines += [("detail", node.detail)] if node.detail else []
    width = max((width_of(text, style) for style, text in lines), default=0) + 36
    return Figure(max(width, 70.0), 2 * 5.0 + _depth(lines), _stack(lines))


def _choice(node: Node) -> Figure:
    """A diamond: a line has less space the further it is from the middle, so several sizes are tried."""
    title = printable(node.title)
    # A name on one line and a condition that breaks between words are the easiest to read.
    for heads in (1, 2) if title else (0,):
        for words in (True, False):
            for tall in (1, 2, 3, 4, 5):
                # Fewer lines have more room in a diamond of the same height, and are easier to read.
                for rows in (tall - 1, tall) if tall > 2 else range(tall, 0, -1):
                    for width in _CHOICE[min(2 * tall - 2, 3) :]:
                        size = (width, _height_of(heads, tall))
                        lines = _in_diamond((title, node.detail), (heads, rows), size, words)
                        if lines is not None:
                            return Figure(*size, _stack(lines))
    size = (_CHOICE[-1], _height_of(2 * bool(title), 5))
    return Figure(*size, _stack(_cut_to_diamond(title, node.detail, size)))


def _height_of(heads: int, rows: int) -> float:
    return max((heads * _LEADING["question"] + rows * _LEADING["code"]) * 1.8 + 18, 54.0)


def _rooms(heads: int, rows: int, size: tuple[float, float]) -> list[float]:
    """The room for each line of a text in the middle of a diamond."""
    leadings = [_LEADING["question"]] * heads + [_LEADING["code"]] * rows
    rooms, y = [], -sum(leadings) / 2
    for leading in leadings:
        far = max(abs(y), abs(y + leading))
        rooms.append(size[0] * (1 - 2 * far / size[1]) - 4)
        y += leading
    return rooms


def _in_diamond(
    texts: tuple[str, str], numbers: tuple[int, int], size: tuple[float, float], words: bool
) -> list[tuple[str, str]] | None:
    """The name and the condition as so many lines each; None if one of them does not fit in them as a whole."""
    title, code = texts
    rooms = _rooms(*numbers, size)
    heads = wrap(title, [fits("question", room) for room in rooms[: numbers[0]]])
    codes = _lines_of(code, rooms[numbers[0] :], words)
    if codes is None or (len(heads), len(codes)) != numbers or not _is_whole(heads, title):
        return None
    return _styled(heads, codes)


def _cut_to_diamond(title: str, code: str, size: tuple[float, float]) -> list[tuple[str, str]]:
    """As much of the name and the condition as there is room for."""
    heads = wrap(title, [fits("question", room) for room in _rooms(2 * bool(title), 5, size)[:2]])
    codes: list[str] = []
    # The room of a line depends on the number of lines.
    for rows in (5, 4, 3, 2, 1):
        rooms = _rooms(len(heads), rows, size)[len(heads) :]
        codes = wrap(code, [fits("code", room) for room in rooms])
        if len(codes) == rows:
            break
    return _styled(heads, codes)


def _styled(heads: list[str], codes: list[str]) -> list[tuple[str, str]]:
    return [("question", text) for text in heads] + [("code", text) for text in codes]


def _is_whole(lines: list[str], text: str) -> bool:
    """Whether nothing was cut. Spaces at the ends of lines are gone."""
    return "".join(lines).replace(" ", "") == text.replace(" ", "")


def _lines_of(code: str, rooms: list[float], words: bool) -> list[str] | None:
    """A whole condition on at most that many lines; None if it does not fit. With `words`, lines break only between
    words."""
    if words:
        return _balanced(code.split(" "), rooms)
    lines = wrap(code, [fits("code", room) for room in rooms])
    return lines if _is_whole(lines, code) else None


_AWKWARD = 0.15
"""How much a break inside an operand counts: as much as a line that is fuller by this share."""


def _balanced(words: list[str], rooms: list[float]) -> list[str] | None:
    """Words on as many lines as there are rooms, none of them much fuller than the others."""
    # For each number of words, the best lines that hold them, and what they cost.
    best: dict[int, tuple[float, list[str]]] = {0: (0.0, [])}
    for number, room in enumerate(rooms, 1):
        longer: dict[int, tuple[float, list[str]]] = {}
        for begin, (cost, lines) in best.items():
            before = words[begin - 1 : begin]
            awkward = 0.0 if begin == 0 or _is_joint(before[0], words[begin]) else _AWKWARD
            for end in range(begin + 1, len(words) + 1):
                line = " ".join(words[begin:end])
                fill = width_of(line, "code") / max(room, 1.0)
                if fill > 1:
                    break
                found = (max(cost, fill + awkward), [*lines, line])
                if end not in longer or found[0] < longer[end][0]:
                    longer[end] = found
        # The last line has to end with the last word, and no other one may.
        best = {end: one for end, one in longer.items() if (end == len(words)) == (number == len(rooms))}
    return best[len(words)][1] if len(words) in best else None


def _is_joint(before: str, after: str) -> bool:
    return after in ("and", "or") or before in ("&&", "||")


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
