"""What is known of blocks at a place of the file: whether they have run, and how they ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from wfc.dialects.blocks.expressions import (
    ATOM,
    COMPARISON,
    Expr,
    choice,
    combination,
    comparison,
    literal,
    piped,
)
from wfc.dialects.blocks.graph import BlockNode, Graph, field_name
from wfc.dialects.blocks.model import BlocksFile
from wfc.dialects.blocks.pieces import Piece
from wfc.dialects.blocks.references import Part, Reference
from wfc.struct import replace, struct
from wfc.suggest import did_you_mean

if TYPE_CHECKING:
    from wfc.dialects.blocks.resolving import Site

STATES = ("succeeded", "failed", "skipped", "status", "outcome")
_FACTS = (
    *(*STATES, "operation_succeeded", "wave", "execution_order", "execution_time_ms", "started_at"),
    *("completed_at", "message", "error"),
)
_UNTIMED = ("set_state", "call", "prompt")
"""Steps whose results do not say when they began and ended: that is noted beside them, where somebody asks."""


class UnresolvedError(Exception):
    """Why a reference means nothing here."""

    def __init__(
        self, code: str, message: str, start: int, end: int, help: str = "", is_mild: bool = False
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.start = start
        self.end = end
        self.help = help
        self.is_mild = is_mild


@struct
class World:
    """What there is to refer to in a file."""

    file: BlocksFile
    graph: Graph
    facts: dict[str, str]
    """What is noted at the start of a run, with the state fields that keep it: made when first asked for."""
    taken: set[str] = field(default_factory=set)
    """The names of state fields that are in use."""
    times: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Blocks whose begin and end are noted, with the two state fields for that: made when first asked for."""
    tried: dict[str, str] = field(default_factory=dict)
    """Blocks of which it is noted that they are tried, with the state field for that: made when first asked for."""
    asked: dict[str, dict[str, None]] = field(default_factory=dict)
    """Blocks that call a workflow, with what somebody wants to know of it beside its outputs."""
    inputs: set[str] = field(default_factory=set)
    """The inputs that somebody asks for, whether anything comes of it or not."""
    inline: Callable[[BlockNode, Reference, Site], Expr] | None = None

    def times_of(self, block: str) -> tuple[str, str]:
        if block not in self.times:
            began, ended = (field_name(f"{block}_{word}", self.taken) for word in ("began", "ended"))
            self.times[block] = (began, ended)
        return self.times[block]

    def tried_of(self, block: str) -> str:
        if block not in self.tried:
            self.tried[block] = field_name(f"{block}_tried", self.taken)
        return self.tried[block]

    @property
    def name(self) -> str:
        return self.file.name.text if self.file.name else ""


@struct
class Results:
    """A place in the file, and what is known there: which blocks have run, which have succeeded."""

    world: World
    node: BlockNode | None = None
    """The block that it belongs to; None for the outputs of the workflow."""
    needed: tuple[str, ...] = ()
    """Blocks that are known to have succeeded."""
    tried: frozenset[str] = frozenset()
    """Blocks that are known to have been tried."""
    there: frozenset[str] = frozenset()
    """Blocks that are known to have a result."""
    reads: dict[str, None] = field(default_factory=dict)
    """The state fields that expressions here read."""

    @cached_property
    def _succeeded(self) -> set[str]:
        return self.world.graph.succeeded_with(self.needed)

    def has_succeeded(self, node: BlockNode) -> bool:
        return node.name in self.needed or node.name in self._succeeded

    def may_have_crashed(self, node: BlockNode) -> bool:
        """Whether this is worked out though the block has crashed. The outputs of a run that fails nobody sees."""
        is_here = self.node is not None and node.is_outlived
        return is_here and node.name not in self.there and not self.has_succeeded(node)

    def _is_tried(self, node: BlockNode) -> bool:
        """Whether it is certain here that the block was not skipped."""
        graph = self.world.graph
        if node.name in self.tried:
            return True
        if self.node is None:
            return node.name in graph.always
        return node.name in graph.surely and graph.is_upstream(node.name, self.node)

    def has_run(self, node: BlockNode) -> bool:
        """Whether it is certain here that there is a result of the block."""
        if node.name in self.there or self.has_succeeded(node):
            return True
        return self._is_tried(node) and not self.may_have_crashed(node)

    def _surely_crashed(self, node: BlockNode) -> bool:
        """Whether a block without a result has crashed."""
        return self.may_have_crashed(node) and self._is_tried(node)

    def _of(self, node: BlockNode, at: Part, path: str, start: int, end: int, type_: str = "any") -> Expr:
        """A part of a block's result."""
        root = Piece("state.", max(at.start - len("blocks."), 0), at.start)
        field_ = Piece(node.field, at.start, at.end)
        return Expr((root, field_, Piece(path, start, end)), type_, reads=frozenset({node.field}))

    # -- how a block ended -----------------------------------------------------

    def _is_there(self, node: BlockNode, at: Part) -> Expr:
        if self.has_run(node):
            return literal(True, at.start, at.end)
        return replace(self._of(node, at, " is defined", at.start, at.end, "bool"), level=COMPARISON)

    def _is_not_there(self, node: BlockNode, at: Part) -> Expr:
        if self.has_run(node):
            return literal(False, at.start, at.end)
        return replace(self._of(node, at, " is not defined", at.start, at.end, "bool"), level=COMPARISON)

    def _skipped(self, node: BlockNode, at: Part) -> Expr:
        if not self.may_have_crashed(node):
            return self._is_not_there(node, at)
        if self._surely_crashed(node):
            return literal(False, at.start, at.end)
        return self._noted_as_tried(node, at, " is not defined")

    def _crashed(self, node: BlockNode, at: Part) -> Expr:
        if not self.may_have_crashed(node):
            return literal(False, at.start, at.end)
        gone = self._is_not_there(node, at)
        if self._surely_crashed(node):
            return gone
        return combination("and", [self._noted_as_tried(node, at, " is defined"), gone])

    def _noted_as_tried(self, node: BlockNode, at: Part, test: str) -> Expr:
        name = self.world.tried_of(node.name)
        piece = Piece(f"state.{name}{test}", at.start, at.end)
        return Expr((piece,), "bool", COMPARISON, reads=frozenset({name}))

    def succeeded(self, node: BlockNode, at: Part) -> Expr:
        if self.has_succeeded(node):
            return literal(True, at.start, at.end)
        there = self._is_there(node, at)
        if not node.can_fail:
            return there
        return combination("and", [there, self._exit(node, at, "==")])

    def _failed(self, node: BlockNode, at: Part) -> Expr:
        return combination("or", [self._crashed(node, at), self._command_failed(node, at)])

    def _command_failed(self, node: BlockNode, at: Part) -> Expr:
        if self.has_succeeded(node) or not node.can_fail:
            return literal(False, at.start, at.end)
        return combination("and", [self._is_there(node, at), self._exit(node, at, "!=")])

    def _exit(self, node: BlockNode, at: Part, word: str) -> Expr:
        code = self._of(node, at, ".exit_code", at.start, at.end, "int")
        return comparison(code, word, literal(0, at.start, at.end), at.start, at.end)

    def fact(self, node: BlockNode, at: Part, part: Part) -> Expr:
        start, end = part.start, part.end

        def word(value: object) -> Expr:
            return literal(value, start, end)

        match part.name:
            case "succeeded" | "operation_succeeded":
                return self.succeeded(node, at)
            case "failed":
                return self._failed(node, at)
            case "skipped":
                return self._skipped(node, at)
            case "status":
                otherwise = (
                    word("failed")
                    if self._surely_crashed(node)
                    else choice(word("failed"), self._crashed(node, at), word("skipped"))
                )
                return choice(word("completed"), self._is_there(node, at), otherwise)
            case "outcome":
                otherwise = choice(word("failure"), self._command_failed(node, at), word("n/a"))
                return choice(word("success"), self.succeeded(node, at), otherwise)
            case "message" | "error":
                otherwise = choice(word("the block crashed"), self._crashed(node, at), word(None))
                return choice(word("the command failed"), self._command_failed(node, at), otherwise)
            case "wave":
                return word(node.wave)
            case "execution_order":
                return word(node.order)
            case "execution_time_ms":
                seconds = self._seconds(node, at, start, end)
                product = (*seconds.within(ATOM), Piece(" * 1000", start, end))
                return piped(replace(seconds, pieces=product, level=COMPARISON), "round(3)", "float")
            case "started_at" | "completed_at":
                if node.kind and node.kind.step in _UNTIMED:
                    which = self.world.times_of(node.name)[part.name == "completed_at"]
                    return self._noted(which, "at", "''", start, end)
                moment = self._of(node, at, f".{part.name}", start, end)
                return piped(moment, "default('')", "str")
        raise UnresolvedError(
            "WF206", f"a block has no metadata `{part.name}`", start, end, did_you_mean(part.name, _FACTS)
        )

    def _seconds(self, node: BlockNode, at: Part, start: int, end: int) -> Expr:
        """How long a block took."""
        if not node.kind or node.kind.step not in _UNTIMED:
            return piped(self._of(node, at, ".duration", start, end), "default(0)", "float")
        began, ended = (
            self._noted(which, "seconds", "0", start, end) for which in self.world.times_of(node.name)
        )
        pieces = (*ended.pieces, Piece(" - ", start, end), *began.pieces)
        return Expr(pieces, "float", COMPARISON, reads=began.reads | ended.reads)

    def _noted(self, which: str, part: str, default: str, start: int, end: int) -> Expr:
        found = Expr((Piece(f"state.{which}.{part}", start, end),), reads=frozenset({which}))
        return piped(found, f"default({default})", "str" if part == "at" else "float")
