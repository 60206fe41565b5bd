"""Render a picture as a Mermaid flowchart, for viewers that draw it themselves: pull requests, wikis, editors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wfc_runtime.picture.model import (
    INK,
    LINES,
    PAPER,
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
from wfc_runtime.picture.text import printable, shorten

_TITLE, _DETAIL = 60, 48
_OUTLINES = {
    Shape.BOX: ("[", "]"),
    Shape.CHOICE: ("{", "}"),
    Shape.JUMP: ("([", "])"),
    Shape.EXIT: ("([", "])"),
    Shape.START: ("((", "))"),
    Shape.END: ("(((", ")))"),
    Shape.JOIN: ("((", "))"),
}
# Everything else is replaced, instead of listing what Mermaid could interpret.
_UNSAFE = re.compile(r"""[^\w\s.,:/()='!?@→…+-]""")
_LISTLIKE = re.compile(r"^([-+])|^(\d+)\.")
# Markdown reads an underscore at the edge of a word as emphasis; inside a name it is harmless.
_EMPHASIS = re.compile(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def render_mermaid(picture: Picture) -> str:
    writer = _Writer()
    lines = ["flowchart TD"]
    for number, panel in enumerate(picture.panels):
        lines += writer.panel(panel, f"c{number}", alone=len(picture.panels) == 1)
    for name in picture.colors():
        color = color_of(name)
        lines.append(f"  classDef {name}Step fill:{color.fill},stroke:{color.stroke},color:{INK}")
    lines.append(f"  classDef dot fill:{INK},stroke:{INK},color:{INK}")
    lines.append(f"  classDef stop fill:{INK},stroke:{PAPER},stroke-width:2px,color:{INK}")
    if writer.frames:
        lines.append(f"  classDef frame fill:{PAPER},stroke:{RULE},color:{INK}")
        lines.append(f"  class {','.join(writer.frames)} frame")
    for line, numbers in writer.numbers.items():
        dash = ",stroke-dasharray:5 3" if line is Line.ERROR else ""
        lines.append(f"  linkStyle {','.join(map(str, numbers))} stroke:{LINES[line]}{dash}")
    return "\n".join(lines) + "\n"


class _Writer:
    def __init__(self) -> None:
        self._links = 0
        self.numbers: dict[Line, list[int]] = {}
        """Mermaid styles links by their position in the whole text, so they are counted."""
        self.frames: list[str] = []

    def panel(self, panel: Panel, prefix: str, alone: bool) -> Iterator[str]:
        # A frame around a single chart would only repeat its title.
        if alone:
            yield from self._flow(panel.flow, prefix, "  ")
            return
        yield self._subgraph(prefix, panel.caption, "  ")
        yield "    direction TB"
        yield from self._flow(panel.flow, prefix, "    ")
        yield "  end"

    def _flow(self, flow: Flow, prefix: str, indent: str) -> Iterator[str]:
        for node in flow.nodes:
            if node.shape is Shape.PARALLEL:
                yield from self._frame(node, prefix, indent)
            else:
                yield f"{indent}{prefix}_{node.id}{_outline(node)}:::{_class(node)}"
        for link in flow.links:
            yield f"{indent}{self._link(link, prefix)}"

    def _frame(self, node: Node, prefix: str, indent: str) -> Iterator[str]:
        yield self._subgraph(f"{prefix}_{node.id}", node.title, indent)
        yield f"{indent}  direction TB"
        for number, branch in enumerate(node.branches):
            yield self._subgraph(f"{prefix}b_{node.id}_{number}", branch.title, f"{indent}  ")
            yield f"{indent}    direction TB"
            yield from self._flow(branch, prefix, f"{indent}    ")
            yield f"{indent}  end"
        yield f"{indent}end"

    def _subgraph(self, name: str, title: str, indent: str) -> str:
        self.frames.append(name)
        return f'{indent}subgraph {name}["{_escape(shorten(title, _TITLE))}"]'

    def _link(self, link: Link, prefix: str) -> str:
        if link.line is not Line.FLOW:
            self.numbers.setdefault(link.line, []).append(self._links)
        self._links += 1
        arrow = "-.->" if link.line is Line.ERROR else "-->"
        label = f'|"{_escape(link.label)}"|' if link.label else ""
        return f"{prefix}_{link.source} {arrow}{label} {prefix}_{link.target}"


def _outline(node: Node) -> str:
    opening, closing = _OUTLINES[node.shape]
    lines = [shorten(node.title, _TITLE), shorten(node.detail, _DETAIL)]
    if node.condition:
        lines.append(shorten(f"if {node.condition}", _DETAIL))
    if node.badge:
        lines.append(node.badge)
    text = "<br/>".join(_escape(line) for line in lines if line)
    return f'{opening}"{text or " "}"{closing}'


def _class(node: Node) -> str:
    if node.title or node.detail:
        return f"{node.color}Step"
    return "stop" if node.shape is Shape.END else "dot"


def _escape(text: str) -> str:
    """Replace characters that Mermaid, its Markdown or its HTML could interpret with character codes."""
    shown = _UNSAFE.sub(lambda found: f"#{ord(found[0])};", printable(text))
    shown = _EMPHASIS.sub("#95;", shown)
    return _LISTLIKE.sub(lambda found: f"#{ord(found[1])};" if found[1] else f"{found[2]}#46;", shown)
