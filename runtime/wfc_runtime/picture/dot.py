"""Render a picture in the DOT language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from wfc_runtime.picture.model import (
    INK,
    LINES,
    MUTED,
    RULE,
    Flow,
    Line,
    Link,
    Node,
    Panel,
    Picture,
    Shape,
    color_of,
)
from wfc_runtime.picture.text import printable, shorten, wrap

_TITLE, _DETAIL = 60, 30
_SHAPES = {
    Shape.BOX: 'shape=box style="rounded,filled"',
    Shape.CHOICE: 'shape=diamond style="filled" margin="0.02,0.02"',
    Shape.JUMP: 'shape=box style="rounded,filled" height=0.35',
    Shape.EXIT: 'shape=box style="rounded,filled,dashed" height=0.35',
    Shape.START: "shape=circle width=0.2 fixedsize=true style=filled",
    Shape.END: "shape=doublecircle width=0.16 fixedsize=true style=filled",
    Shape.JOIN: "shape=circle width=0.14 fixedsize=true style=filled",
}


def render_dot(picture: Picture) -> str:
    lines = [
        f"digraph {_quote(picture.title)} {{",
        # `compound` lets a link end at a cluster, `newrank` ranks nodes across clusters.
        "  rankdir=TB; compound=true; newrank=true; nodesep=0.35; ranksep=0.35;",
        f'  fontname="Helvetica"; fontcolor="{INK}"; bgcolor="white";',
        f'  node [fontname="Helvetica" fontsize=11 fontcolor="{INK}"];',
        f'  edge [fontname="Helvetica" fontsize=10 fontcolor="{MUTED}" arrowsize=0.7];',
    ]
    for number, panel in enumerate(picture.panels):
        lines += _panel(panel, f"c{number}")
    return "\n".join([*lines, "}"]) + "\n"


def _panel(panel: Panel, prefix: str) -> Iterator[str]:
    yield f"  subgraph cluster_{prefix} {{"
    yield f'    label={_quote(panel.caption)}; labeljust=l; style=rounded; color="{RULE}";'
    yield from _flow(panel.flow, prefix, "    ")
    yield "  }"


def _flow(flow: Flow, prefix: str, indent: str) -> Iterator[str]:
    nodes = {node.id: node for node in flow.nodes}
    for node in flow.nodes:
        yield from (
            _frame(node, prefix, indent) if node.shape is Shape.PARALLEL else [_node(node, prefix, indent)]
        )
    for link in flow.links:
        yield _link(link, nodes, prefix, indent)


def _node(node: Node, prefix: str, indent: str) -> str:
    color = color_of(node.color)
    # Start, end and join have no text and are filled dots.
    blank = not (node.title or node.detail)
    fill, stroke = (INK, INK) if blank else (color.fill, color.stroke)
    texts = [shorten(node.title, _TITLE), *wrap(printable(node.detail), 2 * [_is_short])]
    if node.condition:
        texts += wrap(f"if {node.condition}", 2 * [_is_short])
    texts.append(node.badge)
    label = "\\n".join(_escape(text) for text in texts if text)
    tip = f" tooltip={_quote(*node.tip)}" if node.tip else ""
    look = f'{_SHAPES[node.shape]} fillcolor="{fill}" color="{stroke}"{tip}'
    return f'{indent}{prefix}_{node.id} [label="{label}" {look}];'


def _is_short(text: str) -> bool:
    return len(text) <= _DETAIL


def _frame(node: Node, prefix: str, indent: str) -> Iterator[str]:
    """A cluster with an invisible point at its top and one at its bottom: DOT can't link clusters, only nodes."""
    stroke, title = color_of(node.color).stroke, _quote(shorten(node.title, _TITLE))
    yield f"{indent}subgraph cluster_{prefix}_{node.id} {{"
    yield f'{indent}  label={title}; style=rounded; color="{stroke}"; tooltip={_quote(*node.tip)};'
    yield f"{indent}  {_enter(node, prefix)} [shape=point style=invis];"
    yield f"{indent}  {_leave(node, prefix)} [shape=point style=invis];"
    for number, branch in enumerate(node.branches):
        title = _quote(shorten(branch.title, _TITLE))
        yield f"{indent}  subgraph cluster_{prefix}b_{node.id}_{number} {{"
        yield f'{indent}    label={title}; style=dashed; color="{RULE}"; fontsize=11;'
        yield from _flow(branch, prefix, f"{indent}    ")
        yield f"{indent}  }}"
        if branch.nodes:
            # Invisible links keep the first node of a branch below the entry, and the last one above the
            # exit.
            first, last = branch.nodes[0], branch.nodes[-1]
            yield f"{indent}  {_enter(node, prefix)} -> {_enter(first, prefix)} [style=invis];"
            yield f"{indent}  {_leave(last, prefix)} -> {_leave(node, prefix)} [style=invis];"
    yield f"{indent}}}"


def _enter(node: Node, prefix: str) -> str:
    return f"{prefix}i_{node.id}" if node.shape is Shape.PARALLEL else f"{prefix}_{node.id}"


def _leave(node: Node, prefix: str) -> str:
    return f"{prefix}o_{node.id}" if node.shape is Shape.PARALLEL else f"{prefix}_{node.id}"


def _link(link: Link, nodes: dict[str, Node], prefix: str, indent: str) -> str:
    source, target = nodes[link.source], nodes[link.target]
    looks = [f"label={_quote(link.label)}"] if link.label else []
    # `ltail` and `lhead` cut the line at the frame.
    if source.shape is Shape.PARALLEL:
        looks.append(f"ltail=cluster_{prefix}_{source.id}")
    if target.shape is Shape.PARALLEL:
        looks.append(f"lhead=cluster_{prefix}_{target.id}")
    looks.append(f'color="{LINES[link.line]}"')
    if link.line is Line.ERROR:
        looks.append("style=dashed")
    return f"{indent}{_leave(source, prefix)} -> {_enter(target, prefix)} [{' '.join(looks)}];"


def _quote(*lines: str) -> str:
    text = "\\n".join(map(_escape, lines))
    return f'"{text}"'


def _escape(text: str) -> str:
    """Escape text for a quoted string: Graphviz interprets entities in labels, and escapes such as \\N."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
