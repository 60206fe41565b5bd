"""What must hold of every laid-out scene, whatever the flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wfc_runtime.picture.figures import width_of
from wfc_runtime.picture.model import Shape
from wfc_runtime.picture.scene import Box, Point, Scene, Wire

_NEAR = 0.05


def overlapping_boxes(scene: Scene) -> list[tuple[str, str]]:
    """Pairs of nodes that overlap, frames and what stands wholly inside them apart."""
    found = []
    active: list[Box] = []
    for box in sorted(scene.boxes, key=lambda box: box.top):
        active = [other for other in active if other.bottom > box.top + _NEAR]
        found += [(other.node.id, box.node.id) for other in active if _overlap(other, box)]
        active.append(box)
    return found


def _overlap(one: Box, other: Box) -> bool:
    if one.left >= other.right - _NEAR or other.left >= one.right - _NEAR:
        return False
    return not (_is_inside(one, other) or _is_inside(other, one))


def _is_inside(box: Box, frame: Box) -> bool:
    return (
        frame.node.shape is Shape.PARALLEL
        and frame.left < box.left
        and box.right < frame.right
        and frame.top < box.top
        and box.bottom < frame.bottom
    )


def wires_through_boxes(scene: Scene) -> list[tuple[str, str, str]]:
    """Wires that run through a node, their own ends included: these they may only touch."""
    boxes = sorted(scene.boxes, key=lambda box: box.top)
    found = []
    for wire in scene.wires:
        for start, end in _segments(wire):
            top, bottom = min(start[1], end[1]), max(start[1], end[1])
            for box in boxes:
                if box.top >= bottom + _NEAR:
                    break
                if box.bottom > top and _crosses(start, end, box) and not _is_around(box, wire):
                    found.append((wire.source, wire.target, box.node.id))
    return found


def _segments(wire: Wire) -> Iterator[tuple[Point, Point]]:
    return zip(wire.points, wire.points[1:], strict=False)


def _crosses(start: Point, end: Point, box: Box) -> bool:
    """Whether the stretch has a part inside the box. Diamonds and pills count by their true outlines."""
    (x1, y1), (x2, y2) = sorted((start, end))
    top, bottom = min(y1, y2), max(y1, y2)
    inner = _half_width(box, min(max(box.y, top), bottom)) - 0.5
    return (
        x2 > box.x - inner
        and x1 < box.x + inner
        and bottom > box.top + 0.5
        and top < box.bottom - 0.5
        and inner > 0
    )


def _half_width(box: Box, y: float) -> float:
    away = abs(y - box.y) / (box.height / 2)
    if away >= 1:
        return 0.0
    if box.node.shape is Shape.CHOICE:
        return box.width / 2 * (1 - away)
    if box.node.shape in (Shape.BOX, Shape.PARALLEL):
        return box.width / 2
    radius = box.height / 2
    return float(box.width / 2 - radius + radius * (1 - away**2) ** 0.5)


def _is_around(box: Box, wire: Wire) -> bool:
    """Whether a frame holds the whole wire."""
    return box.node.shape is Shape.PARALLEL and all(
        box.left < x < box.right and box.top < y < box.bottom for x, y in wire.points
    )


def loose_ends(scene: Scene) -> list[tuple[str, str]]:
    """Wires one of whose ends is not on the outline of its node."""
    boxes = {box.node.id: box for box in scene.boxes}
    return [
        (wire.source, wire.target)
        for wire in scene.wires
        if not _touches(wire.points[0], boxes[wire.source])
        or not _touches(wire.points[-1], boxes[wire.target])
    ]


def _touches(point: Point, box: Box) -> bool:
    x, y = point
    upright = abs(abs(y - box.y) - box.height / 2) < _NEAR and box.left <= x <= box.right
    level = abs(y - box.y) <= box.height / 2 and abs(abs(x - box.x) - _half_width(box, y)) < _NEAR
    return upright or level


def slanted(scene: Scene) -> list[tuple[str, str]]:
    return [
        (wire.source, wire.target)
        for wire in scene.wires
        for start, end in _segments(wire)
        if start[0] != end[0] and start[1] != end[1]
    ]


def wires_on_wires(scene: Scene) -> list[tuple[str, str]]:
    """Stretches where links between different nodes lie on each other: nobody could tell them apart."""
    rails: dict[tuple[bool, float], list[tuple[float, float, Wire]]] = {}
    for wire in scene.wires:
        for (x1, y1), (x2, y2) in _segments(wire):
            upright = x1 == x2
            low, high = sorted((y1, y2) if upright else (x1, x2))
            rails.setdefault((upright, round(x1 if upright else y1, 3)), []).append((low, high, wire))
    found = []
    for stretches in rails.values():
        stretches.sort(key=lambda item: item[:2])
        for number, (_, high, wire) in enumerate(stretches):
            for low, _, other in stretches[number + 1 :]:
                if low > high - 1:
                    break
                if other.target != wire.target and other.source != wire.source:
                    found.append((f"{wire.source}->{wire.target}", f"{other.source}->{other.target}"))
    return found


def outside(scene: Scene, margin: float = 1.0) -> list[str]:
    """What sticks out of the scene."""
    found = []
    right, bottom = scene.width + margin, scene.height + margin
    for box in scene.boxes:
        if box.left < -margin or box.right > right or box.top < -margin or box.bottom > bottom:
            found.append(box.node.id)
    for wire in scene.wires:
        if any(not (-margin <= x <= right and -margin <= y <= bottom) for x, y in wire.points):
            found.append(f"{wire.source}->{wire.target}")
        for text in wire.label:
            width = width_of(text.text, text.style)
            left = text.x if text.anchor == "start" else text.x - width
            if left < -margin or left + width > right:
                found.append(text.text)
    return found


def _label_boxes(scene: Scene) -> Iterator[tuple[str, float, float, float, float]]:
    """Left, top, right and bottom of each label, and the words."""
    for wire in scene.wires:
        for text in wire.label:
            width = width_of(text.text, text.style)
            left = text.x if text.anchor == "start" else text.x - width
            yield text.text, left, text.y - 8, left + width, text.y + 2


def covered_labels(scene: Scene) -> list[tuple[str, str]]:
    """Labels that lie on a node or on another label."""
    found: list[tuple[str, str]] = []
    labels = sorted(_label_boxes(scene), key=lambda item: item[2])
    for number, (words, left, top, right, bottom) in enumerate(labels):
        for other, left2, top2, right2, _ in labels[number + 1 :]:
            if top2 >= bottom:
                break
            if left < right2 and left2 < right:
                found.append((words, other))
        for box in scene.boxes:
            if box.node.shape is Shape.PARALLEL or box.top >= bottom or box.bottom <= top:
                continue
            half = _half_width(box, min(max(box.y, top), bottom))
            if left < box.x + half and right > box.x - half:
                found.append((words, box.node.id))
    return found


def overflowing_text(scene: Scene) -> list[str]:
    """Lines that are wider than their node is at that height."""
    found: list[str] = []
    for box in scene.boxes:
        for text in box.texts:
            if text.anchor == "middle" and box.node.shape is not Shape.PARALLEL:
                half = min(_half_width(box, text.y - 8), _half_width(box, text.y + 1))
                if width_of(text.text, text.style) / 2 > half:
                    found.append(text.text)
    return found


def faults(scene: Scene) -> dict[str, list[object]]:
    """Everything that is wrong with a scene, by what it is."""
    found: dict[str, Sequence[object]] = {
        "boxes overlap": overlapping_boxes(scene),
        "wires run through boxes": wires_through_boxes(scene),
        "ends are loose": loose_ends(scene),
        "wires are slanted": slanted(scene),
        "wires lie on each other": wires_on_wires(scene),
        "things stick out": outside(scene),
        "labels are covered": covered_labels(scene),
        "text overflows": overflowing_text(scene),
    }
    return {what: list(where) for what, where in found.items() if where}
