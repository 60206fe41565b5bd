"""When a block runs: where all that it needs has succeeded, and its own condition holds."""

from __future__ import annotations

from wfc.dialects.blocks.conditions import (
    Node,
    conjuncts,
    contradicts_itself,
    references,
    to_expression,
)
from wfc.dialects.blocks.expressions import NO_CONDITIONS, Expr, as_bool, combination, literal
from wfc.dialects.blocks.graph import BlockNode
from wfc.dialects.blocks.pieces import made, translated
from wfc.dialects.blocks.references import Part, Reference
from wfc.dialects.blocks.reports import Reports
from wfc.dialects.blocks.resolving import Site, World
from wfc.dialects.blocks.texts import hole
from wfc.dialects.blocks.unseen import check_unseen
from wfc.yaml import Scalar, Span

_SUCCESS = ("succeeded",)
_TRIED = ("succeeded", "failed")


def site_of(node: BlockNode, world: World) -> Site:
    """The inside of a block: what it needed has succeeded, and its condition has held."""
    tried, there = (frozenset(_shown_by(node.condition, words)) for words in (_TRIED, _SUCCESS))
    return Site(world, node, tuple(world.graph.required(node)), tried, there)


def _shown_by(condition: Node | None, words: tuple[str, ...]) -> set[str]:
    """The blocks that must have ended in one of these ways for a condition to hold."""
    parts = [part.reference for part in conjuncts(condition) if part.reference] if condition else []
    return {one.names[1] for one in parts if len(one.names) == 3 and one.names[2] in words}


class Skipping:
    def __init__(self, world: World, reports: Reports) -> None:
        self._world = world
        self._graph = world.graph
        self._reports = reports
        self._unseen: dict[BlockNode, Span] = {}
        """Blocks whose condition asks for what they never see, and where."""

    def when(self, node: BlockNode, inside: Site) -> Scalar | None:
        """The `when` of a block's step; None for one that always runs."""
        needed = self._needed(node)
        origin = node.block.condition.node if node.block.condition else None
        own = self._condition(node, origin, inside) if origin else None
        parts = [*needed, own] if own else needed
        whole = combination("and", parts) if parts else literal(True, 0, 0)
        if whole.is_constant:
            place = self._unseen.get(node) or (origin.span if origin else node.block.span)
            return None if whole.constant else made(False, place)
        inside.reads |= dict.fromkeys(sorted(whole.reads))
        if origin is not None and node.condition is not None:
            return translated(origin, hole(whole))
        wait = next(wait for wait in node.waits if wait.required)
        return made("".join(piece.text for piece in hole(whole)), wait.span)

    def _needed(self, node: BlockNode) -> list[Expr]:
        """That each block which must have succeeded has, less what others of them already show."""
        required = list(dict.fromkeys(self._graph.required(node)))
        shown = self._graph.shown_by_others(required)
        found: list[Expr] = []
        for number, name in enumerate(required):
            if self._graph.nodes[name].kind is None or name in shown:
                continue  # Of the first nobody knows anything, of the second others say it.
            site = Site(self._world, node, tuple(required[:number]))
            expression = site.succeeded(self._graph.nodes[name], Part(name, 0, 0))
            if not expression.is_constant:
                found.append(expression)
        return found

    def _condition(self, node: BlockNode, origin: Scalar, inside: Site) -> Expr | None:
        if node.condition is None:
            return literal(False, 0, 0) if origin.value is False else None
        site = Site(self._world, node, inside.needed)

        def resolve(reference: Reference) -> Expr:
            self._reports.unordered(reference, origin, site)
            return self._reports.resolved(reference, origin, site, "bool")

        def ask(part: Node, value: Expr, is_last: bool) -> None:
            self._reports.no_condition(part, value, origin, site, is_last)

        said = to_expression(node.condition, resolve, ask)
        found = as_bool(said, strict=True)
        is_never = found.is_constant and not found.constant
        place = check_unseen(node, origin, site, self._reports, is_never)
        if place is not None:
            self._unseen[node] = place
            return found
        if said.type not in NO_CONDITIONS and (found.is_constant or contradicts_itself(node.condition)):
            self._report(node, origin, found.is_constant and bool(found.constant))
        return found

    def _report(self, node: BlockNode, origin: Scalar, value: bool) -> None:
        has_references = node.condition is not None and any(references(node.condition))
        if value and has_references:
            return  # It says again what `depends_on` says: no harm in that.
        needed = ", ".join(f"`{name}`" for name in self._graph.required(node))
        if value:
            message, help_ = "the condition is always true", "take it out"
        else:
            message = "the condition is always false: the block never runs"
            help_ = (
                f"it runs only where {needed} succeeded; `required: false` in `depends_on` only orders"
                if needed and has_references
                else "take the block out, or mend the condition"
            )
        self._reports.add("WF210", origin.span, message, help_, step=node.name)
