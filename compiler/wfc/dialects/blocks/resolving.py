"""What a reference means at the place where it stands, as an expression of the core."""

from __future__ import annotations

from wfc.dialects.blocks.expressions import Expr, choice, extended, literal, piped
from wfc.dialects.blocks.graph import BlockNode
from wfc.dialects.blocks.kinds import OF_CALL
from wfc.dialects.blocks.model import INPUT_TYPES, VALUE_TYPES
from wfc.dialects.blocks.pieces import Piece
from wfc.dialects.blocks.references import Part, Reference
from wfc.dialects.blocks.results import STATES, Results, UnresolvedError, World
from wfc.struct import struct
from wfc.suggest import did_you_mean
from wfc.yaml import Mapping, Scalar

START_TIME, EXECUTION_ID = "start_time", "execution_id"
OF_WORKFLOW = ("workflow_name", START_TIME, EXECUTION_ID)
_TYPES = {
    "string": "str",
    "number": "float",
    "integer": "int",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
}
_DEFAULTS = {
    "str": "''",
    "int": "0",
    "float": "0",
    "bool": "false",
    "list": "[]",
    "dict": "{}",
    "any": "none",
}
"""What stands for a result of a block that did not run, by its type."""


@struct
class Site(Results):
    """A place in the file, where references mean something."""

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
        self.world.inputs.add(name.name)
        declared = (self.world.file.inputs or {}).get(name.name)
        is_certain = declared is not None and not declared.may_be_missing
        kind = INPUT_TYPES.get(declared.type.text, "any") if declared and declared.type else "any"
        found = Expr(_path(root, name), _TYPES.get(kind, "any") if is_certain else "any")
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
                did_you_mean(part.name, OF_WORKFLOW),
            )
        field_ = self.world.facts.setdefault(part.name, f"workflow_{part.name}")
        return Expr((Piece(f"state.{field_}", part.start, part.end),), "str", reads=frozenset({field_}))

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
        if node.kind is None:  # Nobody knows what it gives.
            return Expr((Piece("none", reference.start, reference.end),))
        first, *others = rest
        if first.name == "outputs" and others:
            return self._output(node, name, others[0], others[1:])
        if first.name == "metadata" and others:
            return self.fact(node, name, others[0])
        if first.name == "inputs" and others and self.world.inline is not None:
            return self.world.inline(
                node, Reference(tuple(others), name.start, reference.parts[-1].end), self
            )
        if first.name in ("outputs", "metadata", "inputs"):
            raise UnresolvedError("WF202", f"`{reference.path}` lacks a name", first.start, first.end)
        if first.name in STATES and not others:
            return self.fact(node, name, first)
        return self._output(node, name, first, others)

    def _part(self, node: BlockNode, at: Part, path: str, part: Part, type_: str) -> Expr:
        """Something of a result, or what stands for it where the block did not run."""
        found = self._of(node, at, f".{path}", part.start - 1, part.end, type_)
        return found if self.has_run(node) else piped(found, f"default({_DEFAULTS[type_]})", type_)

    def _output(self, node: BlockNode, at: Part, part: Part, rest: list[Part]) -> Expr:
        assert node.kind is not None
        declared = (node.block.outputs or {}).get(part.name)
        if declared is not None and node.kind.step == "shell":
            kind = VALUE_TYPES.get(declared.type.text) if declared.type else None
            kind = kind if kind and kind != "json" and declared.setting("required") else "any"
            return self._with_rest(node, at, f"outputs.{part.name}", part, rest, kind)
        output = node.kind.outputs.get(part.name)
        if output is not None:
            if part.name == "exit_code" and self.has_succeeded(node):
                return literal(0, part.start, part.end)
            found = self._with_rest(node, at, output.path, part, rest, output.type)
            return (
                found
                if output.is_certain
                else piped(found, f"default({_DEFAULTS[output.type]}, true)", output.type)
            )
        if node.kind.is_open:
            return self._of_child(node, at, part, rest)
        if part.name == "execution_time_ms":
            return self.fact(node, at, part)
        if part.name == "success":
            return self.fact(node, at, Part("succeeded", part.start, part.end))
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
        standing = self._of_call(node, at, part)
        if standing is None:
            return self._with_rest(node, at, part.name, part, rest, "any")
        self.world.asked.setdefault(node.name, {})[part.name] = None
        own = self._of(node, at, f".{part.name}", part.start, part.end)
        pieces = (
            *own.pieces,
            Piece(" | default(", part.start, part.end),
            *standing.pieces,
            Piece(")", part.start, part.end),
        )
        found = Expr(pieces, reads=own.reads | standing.reads)
        unset = literal({"str": "", "bool": False}.get(OF_CALL[part.name], 0), part.start, part.end)
        return choice(found, self._is_there(node, at), unset)

    def _of_call(self, node: BlockNode, at: Part, part: Part) -> Expr | None:
        """What a block says of its call, beside what the workflow gives back."""
        match part.name:
            case "success":
                return literal(True, part.start, part.end)
            case "workflow":
                called = node.block.node.get("inputs")
                name = called.get("workflow") if isinstance(called, Mapping) else None
                text = name.text if isinstance(name, Scalar) else ""
                return literal(text, part.start, part.end)
            case "execution_time_ms":
                return self.fact(node, at, part)
            case "total_blocks" | "execution_waves":
                return literal(0, part.start, part.end)
        return None

    def _with_rest(
        self, node: BlockNode, at: Part, path: str, part: Part, rest: list[Part], type_: str
    ) -> Expr:
        if not rest:
            return self._part(node, at, path, part, type_)
        whole = self._of(node, at, f".{path}", part.start - 1, part.end)
        found = _further(whole, rest)
        return found if self.has_run(node) else piped(found, "default(none)", "any")


def _path(root: Part, *parts: Part) -> tuple[Piece, ...]:
    pieces = [Piece(root.name, root.start, root.end)]
    for part in parts:
        pieces += [Piece(".", part.start - 1, part.start), Piece(part.name, part.start, part.end)]
    return tuple(pieces)


def _further(value: Expr, parts: list[Part]) -> Expr:
    for part in parts:
        value = extended(value, part.name, part.start, part.end)
    return value


__all__ = ["EXECUTION_ID", "START_TIME", "Site", "UnresolvedError", "World"]
