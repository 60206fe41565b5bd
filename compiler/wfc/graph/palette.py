"""Soft fills under dark text, and what each colour means."""

from __future__ import annotations

from dataclasses import dataclass

from wfc.graph.model import Line

INK = "#1f2933"
MUTED = "#52606d"
PAPER = "#ffffff"
RULE = "#cbd2d9"

LINES = {Line.FLOW: "#52606d", Line.ERROR: "#b42318", Line.AGAIN: "#6941c6"}
MEANINGS = {Line.ERROR: "after a failure", Line.AGAIN: "back to an earlier step"}


@dataclass(frozen=True)
class Color:
    fill: str
    stroke: str
    meaning: str


COLORS = {
    "control": Color("#eef1f5", "#7b8794", "control flow"),
    "state": Color("#fdf2cc", "#b7860b", "writes state"),
    "agent": Color("#dcebfd", "#2f6fc4", "agent acts"),
    "person": Color("#fde4d6", "#c5602a", "person is asked"),
    "time": Color("#ece4fb", "#7a57c7", "waits"),
    "child": Color("#d9f2e2", "#2c8a57", "task or workflow"),
    "end": Color("#e1e6eb", "#3e4c59", "returns"),
}


def color_of(name: str) -> Color:
    return COLORS.get(name, COLORS["control"])
