"""The holes of commands that hold what can't be trusted, and the edits that make them harmless."""

from __future__ import annotations

from wfc.analysis.taint.analysis import taint_of
from wfc.analysis.taint.shell import Spot, spots_of
from wfc.analysis.taint.values import Flow, Level
from wfc.analysis.types.environment import Change
from wfc.caching import cached_per_file
from wfc.findings import Edit, Fix, Severity
from wfc.language.steps.base import Step
from wfc.language.steps.shell import Shell
from wfc.language.values import Text
from wfc.project import SourceFile
from wfc.rules.shared.arguments import may_be_option
from wfc.rules.shared.holes import shown_in
from wfc.rules.shared.typed import edit_in
from wfc.struct import struct
from wfc.yaml import Span
from wfc_runtime.expr import nodes

_TIGHT = (nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Call, nodes.Filter, nodes.Const)
"""Expressions that a filter behind them takes as a whole."""


@struct(frozen=True)
class CommandHole:
    """A value in a command that comes from outside, or from whoever starts the run."""

    step: Step
    text: Text
    spot: Spot
    flow: Flow
    needs_dashes: bool
    """Whether it would be an option if it began with a dash, and no value before it would."""

    @property
    def is_quoted(self) -> bool:
        return self.spot.hole.quoted is not None

    @property
    def severity(self) -> Severity:
        return Severity.ERROR if self.flow.level is Level.OUTSIDE else Severity.WARNING

    @property
    def span(self) -> Span:
        return self.text.at(*self.place)

    @property
    def place(self) -> tuple[int, int]:
        return self.text.template.span(self.spot.hole.node)

    @property
    def shown(self) -> str:
        return shown_in(self.text, self.spot.hole.node)

    @property
    def braces(self) -> tuple[int, int]:
        """Where the hole begins and ends, with its braces."""
        text = self.text.template.text
        return text.rfind("{{", 0, self.place[0]), text.find("}}", self.place[1]) + 2

    @property
    def is_loose(self) -> bool:
        """Whether a filter needs brackets around the expression."""
        return not isinstance(self.spot.hole.node, _TIGHT)

    def quoting(self) -> list[Change]:
        """Adds `| shquote`."""
        start, end = self.place
        if self.is_quoted:
            return []
        if self.is_loose:
            return [Change(start, start, "("), Change(end, end, ") | shquote")]
        return [Change(end, end, " | shquote")]

    def dashes(self) -> list[Change]:
        """Adds `--`, before the loop or branch that the hole is in."""
        if not self.needs_dashes:
            return []
        at = self.braces[0]
        if self.spot.hole.within is not None:
            text, head = self.text.template.text, self.text.template.span(self.spot.hole.within)[0]
            at = text.rfind("{%", 0, head + 1)
        return [Change(at, at, "-- ")]

    def fix(self, description: str, changes: list[Change]) -> Fix | None:
        """Those changes of the template as a fix of the file, if all can be made."""
        edits: list[Edit] = []
        for change in changes:
            edit = edit_in(self.text, change) if change.start >= 0 else None
            if edit is None:
                return None
            edits.append(edit)
        return Fix(description, tuple(edits), safe=False)


@cached_per_file(8)
def command_holes(unit: SourceFile) -> list[CommandHole]:
    """In source order."""
    taint = taint_of(unit)
    found: list[CommandHole] = []
    for step in unit.steps if taint else ():
        if taint is None or not isinstance(step, Shell) or step.command is None:
            continue
        text = step.command
        dashed: set[int] = set()
        for spot in spots_of(taint.pieces(step, text)) if text.template.ast is not None else ():
            quoted = spot.hole.quoted
            flow = quoted.whole if quoted is not None else spot.hole.flow
            if flow is not None:
                needs_dashes = spot.command not in dashed and may_be_option(spot)
                dashed |= {spot.command} if needs_dashes else set()
                found.append(CommandHole(step, text, spot, flow, needs_dashes))
    return found
