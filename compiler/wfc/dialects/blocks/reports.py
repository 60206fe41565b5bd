"""Findings collected during the translation of a file."""

from __future__ import annotations

from wfc.dialects.base import Reports as Collected
from wfc.dialects.blocks.braces import expression
from wfc.dialects.blocks.conditions import ConditionNode, Reference
from wfc.dialects.blocks.expressions import NO_CONDITIONS, Expr, literal
from wfc.dialects.blocks.results import Site, UnresolvedError
from wfc.findings import Severity
from wfc.yaml import Scalar


class Reports(Collected):
    def unresolved(self, error: UnresolvedError, node: Scalar, site: Site) -> None:
        step = site.node.name if site.node else None
        severity = Severity.WARNING if error.is_mild else None
        place = node.at(error.start, error.end)
        self.add(error.code, place, error.message, error.help, step=step, severity=severity)

    def resolved(self, reference: Reference, node: Scalar, site: Site, type_: str = "any") -> Expr:
        """The expression for a reference. If there is none, report why and return null."""
        try:
            return site.resolve(reference)
        except UnresolvedError as error:
            self.unresolved(error, node, site)
            return Expr(literal(None, reference.start, reference.end).pieces, type_)

    def filled(self, part: ConditionNode, node: Scalar, site: Site) -> Expr:
        """The expression for a leaf of a condition in double braces."""
        hole = next(one for one in site.world.notation.holes(node.text) if one.start == part.start)
        for reference in hole.references:
            self.unordered(reference, node, site)
        try:
            value = expression(hole, site)
        except UnresolvedError as error:
            self.unresolved(error, node, site)
            return Expr(literal(None, part.start, part.end).pieces, "bool")
        return value

    def no_condition(self, part: ConditionNode, value: Expr, node: Scalar, site: Site, is_last: bool) -> None:
        """Report an operand of a condition that is not a boolean.

        It is only a warning where another operand may decide the result, and for a text, which may be `true`.
        """
        is_text = value.type == "str" and is_last and not value.is_constant
        kind = "text" if is_text else NO_CONDITIONS.get(value.type)
        if kind is None:
            return
        shown = node.text[part.start : part.end]
        if is_text:
            help_ = f"compare it: `{shown} == 'yes'`"
        elif part.reference is None:
            help_ = "write `true`, `false` or a comparison"
        elif kind == "a number":
            help_ = f"compare it: `{shown} == 0`"
        else:
            help_ = f"test its contents: `'...' in {shown}`"
        self.add(
            "WF207",
            node.at(part.start, part.end),
            f"`{shown}` is {kind}, but a condition must be true or false",
            help_,
            step=site.node.name if site.node else None,
            severity=None if is_last and not is_text else Severity.WARNING,
        )

    def unordered(self, reference: Reference, node: Scalar, site: Site) -> None:
        """Report a read of a block that is not waited for: it may not have run yet, or may be running."""
        names, graph = reference.names, site.world.graph
        if site.node is None or len(names) < 2 or names[0] != "blocks" or names[1] not in graph.nodes:
            return
        other = graph.nodes[names[1]]
        waited_for = {wait.block for wait in site.node.waits}
        if names[2:3] == ("inputs",) or other.name in waited_for or graph.is_upstream(other.name, site.node):
            return
        part = reference.parts[1]
        by_chance = other.wave < site.node.wave and other is not site.node
        if by_chance:
            site.world.read.setdefault(site.node.name, set()).add(other.name)
        message = (
            "a block can't read its own result"
            if other is site.node
            else f"`{site.node.name}` reads `{other.name}` but does not wait for it"
        )
        help_ = "" if other is site.node else f"add `{other.name}` to its `depends_on`"
        self.add(
            "WF313",
            node.at(part.start, part.end),
            message,
            help_,
            step=site.node.name,
            severity=Severity.WARNING if by_chance else None,
        )
