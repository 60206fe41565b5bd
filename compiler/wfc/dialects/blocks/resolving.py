"""What a reference means at the place where it stands, as an expression of the core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from wfc.dialects.blocks.expressions import (
    COMPARISON,
    Expr,
    choice,
    combination,
    comparison,
    extended,
    literal,
    piped,
)
from wfc.dialects.blocks.graph import BlockNode, Graph
from wfc.dialects.blocks.kinds import Output
from wfc.dialects.blocks.model import INPUT_TYPES, VALUE_TYPES, BlocksFile
from wfc.dialects.blocks.pieces import Piece
from wfc.dialects.blocks.references import Part, Reference
from wfc.suggest import did_you_mean

_DEFAULTS = {
    "str": "''",
    "int": "0",
    "float": "0",
    "bool": "false",
    "list": "[]",
    "dict": "{}",
    "any": "none",
}
_STATES = ("succeeded", "failed", "skipped", "status", "outcome")
_OF_WORKFLOW = ("workflow_name", "start_time", "execution_id")
_OF_BLOCK = (
    *_STATES,
    "wave",
    "execution_order",
    "execution_time_ms",
    "started_at",
    "completed_at",
    "message",
)
START_TIME, EXECUTION_ID = "start_time", "execution_id"


class UnresolvedError(Exception):
    """Why a reference means nothing here."""

    def __init__(self, code: str, message: str, start: int, end: int, help: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.start = start
        self.end = end
        self.help = help


@dataclass
class World:
    """What there is to refer to in a file."""

    file: BlocksFile
    graph: Graph
    facts: dict[str, str]
    """What is noted at the start of a run, with the state fields that keep it: made when first asked for."""
    used: set[str] = field(default_factory=set)
    """The blocks whose results something reads."""
    inline: Callable[[BlockNode, Reference, Site], Expr] | None = None

    @property
    def name(self) -> str:
        return self.file.name.text if self.file.name else ""


@dataclass
class Site:
    """A place in the file, and what is known there: which blocks have run, which have succeeded."""

    world: World
    node: BlockNode | None = None
    """The block that it belongs to; None for the outputs of the workflow."""
    needed: tuple[str, ...] = ()
    """Blocks that are known to have succeeded."""
    ended: frozenset[str] = frozenset()
    """Blocks that are known to have run."""
    reads: dict[str, None] = field(default_factory=dict)
    """The state fields that expressions here read."""

    @cached_property
    def _succeeded(self) -> set[str]:
        return self.world.graph.succeeded_with(self.needed)

    def has_succeeded(self, node: BlockNode) -> bool:
        return node.name in self.needed or node.name in self._succeeded

    def has_run(self, node: BlockNode) -> bool:
        return node.name in self.world.graph.always or node.name in self.ended or self.has_succeeded(node)

    def resolve(self, reference: Reference) -> Expr:
        root, *rest = reference.parts
        if "__internal__" in reference.names:
            part = next(part for part in reference.parts if part.name == "__internal__")
            raise UnresolvedError(
                "WF507", "`__internal__` belongs to the server, no workflow can read it", part.start, part.end
            )
        match root.name:
            case "inputs" if rest:
                return self._input(reference)
            case "metadata" if rest:
                return self._metadata(rest[0])
            case "blocks" if len(rest) > 1:
                return self._block(reference, rest[0], rest[1:])
        raise self._nothing(reference)

    def _nothing(self, reference: Reference) -> UnresolvedError:
        root = reference.parts[0]
        if root.name in ("inputs", "metadata", "blocks"):
            what = "a block and what of it" if root.name == "blocks" else "a name"
            return UnresolvedError(
                "WF202", f"`{reference.path}` lacks {what}", root.start, reference.parts[-1].end
            )
        known = self.world.file.inputs or {}
        if root.name in known:
            help_ = f"an input is read as `${{inputs.{root.name}}}`"
        elif root.name in self.world.graph.nodes:
            help_ = f"a block is read as `${{blocks.{root.name}...}}`"
        else:
            help_ = (
                "a reference begins with `inputs`, `blocks` or `metadata`; a variable of the shell is `$NAME`"
            )
        return UnresolvedError("WF202", f"there is no `{root.name}` to refer to", root.start, root.end, help_)

    # -- inputs and metadata ---------------------------------------------------

    def _input(self, reference: Reference) -> Expr:
        root, name, *rest = reference.parts
        declared = (self.world.file.inputs or {}).get(name.name)
        kind = INPUT_TYPES.get(declared.type.text, "any") if declared and declared.type else "any"
        types = {"string": "str", "number": "float", "boolean": "bool", "array": "list", "object": "dict"}
        found = Expr(_path(root, name), types.get(kind, "any"))
        return _further(found, rest)

    def _metadata(self, part: Part) -> Expr:
        if part.name == "workflow_name":
            return literal(self.world.name, part.start, part.end)
        if part.name not in (START_TIME, EXECUTION_ID):
            raise UnresolvedError(
                "WF206",
                f"a workflow has no metadata `{part.name}`",
                part.start,
                part.end,
                did_you_mean(part.name, _OF_WORKFLOW),
            )
        field_ = self.world.facts.setdefault(part.name, f"workflow_{part.name}")
        self.reads[field_] = None
        return Expr((Piece(f"state.{field_}", part.start, part.end),), "str")

    # -- blocks ----------------------------------------------------------------

    def _block(self, reference: Reference, name: Part, rest: list[Part]) -> Expr:
        node = self.world.graph.nodes.get(name.name)
        if node is None:
            raise UnresolvedError(
                "WF202",
                f"there is no block `{name.name}`",
                name.start,
                name.end,
                did_you_mean(name.name, self.world.graph.nodes),
            )
        first, *others = rest
        if first.name == "outputs" and others:
            return self._output(node, name, others[0], others[1:])
        if first.name == "metadata" and others:
            return self._fact(node, name, others[0])
        if first.name == "inputs" and others and self.world.inline is not None:
            return self.world.inline(
                node, Reference(tuple(others), name.start, reference.parts[-1].end), self
            )
        if first.name in ("outputs", "metadata", "inputs"):
            raise UnresolvedError("WF202", f"`{reference.path}` lacks a name", first.start, first.end)
        if first.name in _STATES and not others:
            return self._fact(node, name, first)
        return self._output(node, name, first, others)

    def _field(self, node: BlockNode, at: Part) -> tuple[Piece, ...]:
        self.reads[node.field] = None
        self.world.used.add(node.name)
        return Piece("state.", at.start, at.start), Piece(node.field, at.start, at.end)

    def _part(self, node: BlockNode, at: Part, path: str, part: Part, type_: str) -> Expr:
        """Something of a result, or what stands for it where the block did not run."""
        dot, word = Piece(".", part.start, part.start), Piece(path, part.start, part.end)
        found = Expr((*self._field(node, at), dot, word), type_)
        return found if self.has_run(node) else piped(found, f"default({_DEFAULTS[type_]})", type_)

    def _output(self, node: BlockNode, at: Part, part: Part, rest: list[Part]) -> Expr:
        if node.kind is None:
            return Expr((Piece("none", at.start, part.end),))
        declared = (node.block.outputs or {}).get(part.name)
        if declared is not None and node.kind.step == "shell":
            kind = VALUE_TYPES.get(declared.type.text, "any") if declared.type else "any"
            return self._with_rest(node, at, f"outputs.{part.name}", part, rest, kind)
        output = node.kind.outputs.get(part.name)
        if output is not None:
            if part.name == "exit_code" and self.has_succeeded(node):
                return literal(0, part.start, part.end)
            return self._with_rest(node, at, output.path, part, rest, output.type)
        if part.name == "execution_time_ms":
            return self._fact(node, at, part)
        if node.kind.is_open:
            return self._of_child(node, at, part, rest)
        if part.name == "success":
            return self._fact(node, at, Part("succeeded", part.start, part.end))
        if part.name == "command_executed" and node.kind.step == "shell" and self.world.inline is not None:
            return self.world.inline(
                node, Reference((Part("command", part.start, part.end),), at.start, part.end), self
            )
        known = [*node.kind.outputs, "success", *(node.block.outputs or {})]
        raise UnresolvedError(
            "WF206",
            f"a block of type {node.block.type.text if node.block.type else ''} gives no `{part.name}`",
            part.start,
            part.end,
            did_you_mean(part.name, known),
        )

    def _of_child(self, node: BlockNode, at: Part, part: Part, rest: list[Part]) -> Expr:
        """An output of a workflow that was called. Some names are there even where it does not give them."""
        if part.name == "success":
            return piped(
                Expr((*self._field(node, at), Piece(".success", part.start, part.end))),
                "default(true)",
                "any",
            )
        return self._with_rest(node, at, part.name, part, rest, "any")

    def _with_rest(
        self, node: BlockNode, at: Part, path: str, part: Part, rest: list[Part], type_: str
    ) -> Expr:
        if not rest:
            return self._part(node, at, path, part, type_)
        whole = Expr(
            (*self._field(node, at), Piece(".", part.start, part.start), Piece(path, part.start, part.end))
        )
        found = _further(whole, rest)
        return found if self.has_run(node) else piped(found, "default(none)", "any")

    # -- how a block ended -----------------------------------------------------

    def _is_there(self, node: BlockNode, at: Part) -> Expr:
        if self.has_run(node):
            return literal(True, at.start, at.end)
        return Expr((*self._field(node, at), Piece(" is defined", at.start, at.end)), "bool", COMPARISON)

    def _is_not_there(self, node: BlockNode, at: Part) -> Expr:
        if self.has_run(node):
            return literal(False, at.start, at.end)
        return Expr((*self._field(node, at), Piece(" is not defined", at.start, at.end)), "bool", COMPARISON)

    def succeeded(self, node: BlockNode, at: Part) -> Expr:
        if self.has_succeeded(node):
            return literal(True, at.start, at.end)
        there = self._is_there(node, at)
        if not node.can_fail:
            return there
        return combination("and", [there, self._exit(node, at, "==")])

    def _failed(self, node: BlockNode, at: Part) -> Expr:
        if self.has_succeeded(node) or not node.can_fail:
            return literal(False, at.start, at.end)
        return combination("and", [self._is_there(node, at), self._exit(node, at, "!=")])

    def _exit(self, node: BlockNode, at: Part, word: str) -> Expr:
        code = Expr((*self._field(node, at), Piece(".exit_code", at.start, at.end)), "int")
        return comparison(code, word, literal(0, at.start, at.end), at.start, at.end)

    def _fact(self, node: BlockNode, at: Part, part: Part) -> Expr:
        start, end = part.start, part.end

        def word(value: object) -> Expr:
            return literal(value, start, end)

        match part.name:
            case "succeeded":
                return self.succeeded(node, at)
            case "failed":
                return self._failed(node, at)
            case "skipped":
                return self._is_not_there(node, at)
            case "status":
                return choice(word("completed"), self._is_there(node, at), word("skipped"))
            case "outcome":
                return choice(
                    word("success"),
                    self.succeeded(node, at),
                    choice(word("failure"), self._failed(node, at), word("n/a")),
                )
            case "message":
                return choice(word("the command failed"), self._failed(node, at), word(None))
            case "wave":
                return word(node.wave)
            case "execution_order":
                return word(node.order)
            case "execution_time_ms":
                if node.kind and node.kind.step in ("set_state", "call", "prompt"):
                    return word(0)
                seconds = Expr((*self._field(node, at), Piece(".duration", start, end)), "float")
                return Expr(
                    (Piece("(", start, start), *seconds.pieces, Piece(" | default(0)) * 1000", start, end)),
                    "float",
                    3,
                )
            case "started_at" | "completed_at":
                if node.kind and node.kind.step in ("set_state", "call", "prompt"):
                    return word("")
                moment = Expr((*self._field(node, at), Piece(f".{part.name}", start, end)), "str")
                return piped(moment, "default('')", "str")
        raise UnresolvedError(
            "WF206", f"a block has no metadata `{part.name}`", start, end, did_you_mean(part.name, _OF_BLOCK)
        )


def _path(root: Part, *parts: Part) -> tuple[Piece, ...]:
    pieces = [Piece(root.name, root.start, root.end)]
    for part in parts:
        pieces += [Piece(".", part.start - 1, part.start), Piece(part.name, part.start, part.end)]
    return tuple(pieces)


def _further(value: Expr, parts: list[Part]) -> Expr:
    for part in parts:
        value = extended(value, part.name, part.start, part.end)
    return value


__all__ = ["EXECUTION_ID", "START_TIME", "Output", "Site", "UnresolvedError", "World"]
