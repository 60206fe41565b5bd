"""The figures of the peers, drawn: an SVG and a table, always the same for the same figures."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from tests.bench.contest import Figures
from tests.bench.seat import ROOT

RECORDED = ROOT / "docs" / "peers.json"
CHART = ROOT / "docs" / "peers.svg"
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- peers: made by `python -m tests.bench peers --write` -->", "<!-- /peers -->"

_WIDTH, _LEFT, _RIGHT = 720, 190, 70
_BAR, _GAP, _TOP = 14, 34, 46
_SERIES = (
    ("one", "#4c78a8", "one run of {steps} steps"),
    ("many", "#f58518", "{runs} runs of {steps_at_once} steps at once"),
)


def write(figures: Figures) -> list[Path]:
    """Keep the figures and draw all that is made of them."""
    RECORDED.parent.mkdir(exist_ok=True)
    RECORDED.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    CHART.write_text(render_svg(figures), encoding="utf-8")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), figures), encoding="utf-8")
    return [RECORDED, CHART, PAGE]


def with_table(text: str, figures: Figures) -> str:
    """A page with the table between its marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"there is no place between {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{render_table(figures)}{END}{after}"


def render_table(figures: Figures) -> str:
    one, many = (label.format_map(figures) for _, _, label in _SERIES)
    head = f"| | {one} | {many} | a step, to the bare transaction: one run | {figures['runs']} runs |"
    lines = [head, "|---|---:|---:|---:|---:|"]
    for engine in _slowest_last(figures):
        cells = [_pace(engine[key]) for key in ("one", "many")]
        cells += [f"{engine[key]['to_floor']:.1f}x" for key in ("one", "many")]
        lines.append(f"| {engine['title']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def render_svg(figures: Figures) -> str:
    """Steps per second as bars, with wfc as 1."""
    engines = _slowest_last(figures)
    most = max(1 / engine[key]["to_wfc"] for engine in engines for key, *_ in _SERIES)
    scale = (_WIDTH - _LEFT - _RIGHT) / most
    height = _TOP + len(engines) * (2 * _BAR + _GAP - 14) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'font-family="sans-serif" font-size="12">',
        "<title>Durable steps per second, wfc = 1</title>",
        # A ground of its own: pages may be dark.
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for number, (_, colour, label) in enumerate(_SERIES):
        left = _LEFT + number * 190
        parts.append(f'<rect x="{left}" y="14" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{left + 18}" y="24">{escape(label.format_map(figures))}</text>')
    for row, engine in enumerate(engines):
        top = _TOP + row * (2 * _BAR + _GAP - 14)
        weight = ' font-weight="bold"' if engine["name"] == "wfc" else ""
        title = escape(engine["title"])
        parts.append(f'<text x="{_LEFT - 10}" y="{top + _BAR + 4}" text-anchor="end"{weight}>{title}</text>')
        for number, (key, colour, _) in enumerate(_SERIES):
            width, y = scale / engine[key]["to_wfc"], top + number * _BAR
            parts.append(
                f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_BAR - 2}" fill="{colour}"/>'
            )
            x = _LEFT + width + 6
            parts.append(f'<text x="{x:.1f}" y="{y + 10}" font-size="11">{_pace(engine[key])}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _slowest_last(figures: Figures) -> list[dict[str, Any]]:
    return sorted(figures["engines"], key=lambda engine: engine["one"]["to_wfc"])


def _pace(figure: dict[str, float]) -> str:
    """Steps per second, with wfc as 1."""
    return f"{1 / figure['to_wfc']:.2f}x"
