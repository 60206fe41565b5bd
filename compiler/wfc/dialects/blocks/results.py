"""References resolved at their position.

The expression for a reference depends on what is certain there about a block: whether it has run, and how it ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from wfc.caching import cached_property
from wfc.dialects.base import Piece
from wfc.dialects.blocks.conditions import Part, Reference
from wfc.dialects.blocks.expressions import (
    ATOM,
    COMPARISON,
    Expr,
    choice,
    collected,
    combination,
    extended,
    literal,
    piped,
)
from wfc.dialects.blocks.file import INPUT_TYPES, VALUE_TYPES, BlocksFile
from wfc.dialects.blocks.graph import BlockNode, Graph, field_name
from wfc.dialects.blocks.kinds import OF_CALL
from wfc.dialects.blocks.notation import DOLLAR, Notation
from wfc.struct import replace, struct
from wfc.suggest import did_you_mean
from wfc.yaml import Mapping, Scalar, Sequence

STATES = ("succeeded", "failed", "skipped", "status", "outcome")
# Also the candidates of suggestions for a misspelt name.
_FACTS = (
    *(*STATES, "operation_succeeded", "wave", "execution_order", "execution_time_ms", "started_at"),
    *("completed_at", "message", "error"),
)
COUNTS = ("count", "count_succeeded", "count_failed", "count_skipped")
"""The numbers of items of a block with `for_each`."""
OF_ITEM = ("outputs", "metadata", "error", "succeeded", "failed", "skipped", "status", "outcome")
_UNTIMED = ("set_state", "call", "prompt", "delegate")
"""Steps without times in their results. Where a file reads these times, extra steps record them."""


class UnresolvedError(Exception):
    """Why a reference can't be resolved."""

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
    """Everything that references in a file can name, and what they have asked for so far."""

    file: BlocksFile
    graph: Graph
    facts: dict[str, str]
    """Facts recorded at the start of a run, with their state fields. Added on first use."""
    taken: set[str] = field(default_factory=set)
    """The state fields in use."""
    times: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Blocks whose start and end times are recorded, with the two state fields. Added on first use."""
    tried: dict[str, str] = field(default_factory=dict)
    """Blocks whose attempt is recorded, with the state field. Added on first use."""
    asked: dict[str, dict[str, None]] = field(default_factory=dict)
    """Blocks that call a workflow, with the facts about it that references read beside its outputs."""
    inputs: set[str] = field(default_factory=set)
    """The inputs that references name, even in a condition that is constant."""
    read: dict[str, set[str]] = field(default_factory=dict)
    """Blocks with the blocks of earlier waves that they read without waiting for them."""
    secrets: dict[str, None] = field(default_factory=dict)
    """The environment variables that the file reads as secrets."""
    printed: dict[tuple[int, int], str] = field(default_factory=dict)
    """References that become text as no other notation would print them: the filter, by text and position in it."""
    has_folder: bool = False
    """Whether the file names `{{tmp}}`."""
    notation: Notation = DOLLAR
    inline: Callable[[BlockNode, Reference, Site], Expr] | None = None

    def times_of(self, block: str) -> tuple[str, str]:
        # On first use only: most files never read times, and each recorded one costs two steps and two
        # fields.
        if block not in self.times:
            began, ended = (field_name(f"{block}_{word}", self.taken) for word in ("began", "ended"))
            self.times[block] = (began, ended)
        return self.times[block]

    def tried_of(self, block: str) -> str:
        # A block that crashed and one that was skipped both lack a result; only this field tells them apart.
        if block not in self.tried:
            self.tried[block] = field_name(f"{block}_tried", self.taken)
        return self.tried[block]

    @property
    def name(self) -> str:
        return self.file.name.text if self.file.name else ""


@struct
class Results:
    """A position in the file, and what is certain there: which blocks have run, and which have succeeded."""

    world: World
    node: BlockNode | None = None
    """The block at this position; None in the outputs of the workflow."""
    needed: tuple[str, ...] = ()
    """Blocks that are known to have succeeded."""
    tried: frozenset[str] = frozenset()
    """Blocks that are known to have been tried."""
    there: frozenset[str] = frozenset()
    """Blocks that are known to have a result."""
    reads: dict[str, None] = field(default_factory=dict)
    """The state fields that expressions here read."""
    keeps_secrets: bool = True
    """Whether a secret may be used: not in a condition, which the run itself evaluates."""
    moved: dict[str, Expr] | None = None
    """In a block with `for_each`: the values that each item gets, by name. Its run has no other access to them."""
    bare: bool = False
    """Whether a result that may be missing gets no default, because the expression around it supplies one."""

    @cached_property
    def _succeeded(self) -> set[str]:
        return self.world.graph.succeeded_with(self.needed)

    def has_succeeded(self, node: BlockNode) -> bool:
        return node.name in self.needed or node.name in self._succeeded

    def may_have_crashed(self, node: BlockNode) -> bool:
        """Whether this may be evaluated after the block has crashed. Outputs are not if that fails the run."""
        # Any other crash ends the run, so nothing that follows is evaluated.
        is_here = node.is_continued or (self.node is not None and node.is_outlived)
        return is_here and node.name not in self.there and not self.has_succeeded(node)

    def _is_tried(self, node: BlockNode) -> bool:
        """Whether the block was certainly not skipped."""
        graph = self.world.graph
        if node.name in self.tried:
            return True
        # Outputs are computed at the end, when every block has had its turn.
        if self.node is None:
            return node.name in graph.always
        return node.name in graph.surely and graph.is_upstream(node.name, self.node)

    def has_run(self, node: BlockNode) -> bool:
        """Whether the block certainly has a result."""
        if node.name in self.there or self.has_succeeded(node):
            return True
        return self._is_tried(node) and not self.may_have_crashed(node)

    def _surely_crashed(self, node: BlockNode) -> bool:
        """Whether a block without a result has certainly crashed."""
        return self.may_have_crashed(node) and self._is_tried(node)

    def _of(self, node: BlockNode, at: Part, path: str, start: int, end: int, type_: str = "any") -> Expr:
        """A property of a block's result."""
        # Every piece keeps its place in the author's text, so that findings in the translation point there.
        root = Piece("state.", max(at.start - len("blocks."), 0), at.start)
        field_ = Piece(node.field, at.start, at.end)
        return Expr((root, field_, Piece(path, start, end)), type_, reads=frozenset({node.field}))

    # -- how a block ended -----------------------------------------------------

    def _is_there(self, node: BlockNode, at: Part) -> Expr:
        if self.has_run(node):
            return literal(True, at.start, at.end)
        return self._test(node, at, " is ok" if _keeps_error(node) else " is defined")

    def _is_not_there(self, node: BlockNode, at: Part) -> Expr:
        if self.has_run(node):
            return literal(False, at.start, at.end)
        return self._test(node, at, " is not ok" if _keeps_error(node) else " is not defined")

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
        return self._test(node, at, " is ok") if node.can_fail else self._is_there(node, at)

    def _failed(self, node: BlockNode, at: Part) -> Expr:
        if not node.can_fail or not self.may_have_crashed(node):
            return combination("or", [self._crashed(node, at), self._command_failed(node, at)])
        # Without a result it has crashed, which is not ok either.
        tried = () if self._surely_crashed(node) else (self._noted_as_tried(node, at, " is defined"),)
        return combination("and", [*tried, self._test(node, at, " is not ok")])

    def _command_failed(self, node: BlockNode, at: Part) -> Expr:
        if self.has_succeeded(node) or not node.can_fail:
            return literal(False, at.start, at.end)
        return combination("and", [self._is_there(node, at), self._test(node, at, " is not ok")])

    def _test(self, node: BlockNode, at: Part, test: str) -> Expr:
        """The meaning of a test of the whole result."""
        return replace(self._of(node, at, test, at.start, at.end, "bool"), level=COMPARISON)

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
                if self.has_succeeded(node):
                    return word("success")
                return piped(self._of(node, at, "", start, end), "outcome", "str")
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
        """The duration of a block, in seconds."""
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


def _keeps_error(node: BlockNode) -> bool:
    """Whether the state has the error of a crashed block instead of its result, as for a call."""
    return node.is_continued and node.kind is not None and node.kind.step == "call"


# References as expressions of the core.

START_TIME, EXECUTION_ID = "start_time", "execution_id"
_STARTED_AT = "started_at"
OF_WORKFLOW = ("workflow_name", START_TIME, _STARTED_AT, EXECUTION_ID)
SCRATCH = "${SCRATCH}"
"""The value of `{{tmp}}`: the folder of the run. A server puts its path there before a shell sees the command."""
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
"""The value of an output of a block that did not run, by type."""


@struct
class Site(Results):
    """A position in the file at which references are resolved."""

    def resolve(self, reference: Reference) -> Expr:
        root, *rest = reference.parts
        # SECURITY. Anywhere in the path: the data of the server itself has this name.
        if "__internal__" in reference.names:
            part = next(part for part in reference.parts if part.name == "__internal__")
            raise UnresolvedError(
                "WF507",
                "`__internal__` is private to the server; workflows can't read it",
                part.start,
                part.end,
            )
        match root.name:
            case "tmp" if not rest:
                self.world.has_folder = True
                return literal(SCRATCH, root.start, root.end)
            case "each" if len(rest) > 0 and self.moved is not None:
                return self._each(rest)
            case "each":
                raise UnresolvedError(
                    "WF202",
                    "`each` is known only in the inputs of a block with `for_each`",
                    root.start,
                    root.end,
                )
            case "secrets" if len(rest) == 1:
                return self._secret(rest[0])
            case "inputs" if rest:
                return self._input(reference)
            case "metadata" if rest:
                return self._metadata(rest[0])
            case "blocks" if len(rest) > 1 or (rest and self._may_stand_alone(rest[0].name)):
                return self._block(reference, rest[0], rest[1:])
        raise self._nothing(reference)

    def _nothing(self, reference: Reference) -> UnresolvedError:
        root = reference.parts[0]
        if root.name in ("inputs", "metadata", "blocks"):
            what = "a block and an output" if root.name == "blocks" else "a name"
            return UnresolvedError(
                "WF202",
                f"incomplete reference `{reference.path}`: it needs {what}",
                root.start,
                reference.parts[-1].end,
            )
        known = self.world.file.inputs or {}
        if root.name in known:
            help_ = f"an input is read as `{self.world.notation.written(f'inputs.{root.name}')}`"
        elif root.name in self.world.graph.nodes:
            help_ = f"a block is read as `{self.world.notation.written(f'blocks.{root.name}...')}`"
        else:
            help_ = "a reference starts with `inputs`, `blocks` or `metadata`; a shell variable is written `$NAME`"
        return UnresolvedError("WF202", f"unknown reference `{root.name}`", root.start, root.end, help_)

    # -- inputs, secrets and metadata ------------------------------------------

    def _each(self, parts: list[Part]) -> Expr:
        first, *rest = parts
        kinds = {"key": "str", "index": "int", "count": "int", "value": "any"}
        if first.name not in kinds:
            message = f"`each` has no `{first.name}`"
            raise UnresolvedError("WF206", message, first.start, first.end, did_you_mean(first.name, kinds))
        return _further(Expr((Piece(f"item.{first.name}", first.start, first.end),), kinds[first.name]), rest)

    def is_repeated(self, name: str) -> bool:
        """Whether it is the name of a block with `for_each`."""
        node = self.world.graph.nodes.get(name)
        return node is not None and node.is_repeated

    def _may_stand_alone(self, name: str) -> bool:
        """Whether more than the name of the block is in the expression around it, or the name is wrong."""
        node = self.world.graph.nodes.get(name)
        return node is None or (node.is_repeated and self.world.notation is not DOLLAR)

    def _secret(self, part: Part) -> Expr:
        kind = self.node.kind if self.node else None
        # SECURITY. An agent would see the value, and an expression of the run would store it.
        if kind is None or not kind.is_served or not self.keeps_secrets:
            message = "a secret can't be used here: it would be stored or shown"
            help_ = "pass it to a block that a server executes, such as the `env` of a Shell block"
            if not self.keeps_secrets:
                help_ = (
                    "to ask whether it is there, read it in the `env` of a Shell block with `continue_on_error: true`, "
                    "and test whether that block succeeded"
                )
            raise UnresolvedError("WF507", message, part.start, part.end, help_)
        self.world.secrets.setdefault(part.name, None)
        return Expr((Piece(f"secret('{part.name}')", part.start, part.end),), "str")

    def _input(self, reference: Reference) -> Expr:
        root, name, *rest = reference.parts
        # Counted as read even if the expression around it turns out constant, so that WF309 does not suggest
        # removing it.
        self.world.inputs.add(name.name)
        declared = (self.world.file.inputs or {}).get(name.name)
        # A type is only used where the value is certainly there: `any` avoids conversions that would fail on
        # null.
        is_certain = declared is not None and not declared.may_be_missing
        kind = INPUT_TYPES.get(declared.type.text, "any") if declared and declared.type else "any"
        found = Expr(_path(root, name), _TYPES.get(kind, "any") if is_certain else "any")
        return _further(found, rest)

    def _metadata(self, part: Part) -> Expr:
        if part.name == "workflow_name":
            return literal(self.world.name, part.start, part.end)
        if part.name not in OF_WORKFLOW:
            raise UnresolvedError(
                "WF206",
                f"a workflow has no metadata `{part.name}`",
                part.start,
                part.end,
                did_you_mean(part.name, OF_WORKFLOW),
            )
        name = START_TIME if part.name == _STARTED_AT else part.name
        field_ = self.world.facts.setdefault(name, f"workflow_{name}")
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
                self._meant(name.name),
            )
        if node.kind is None:  # The type is unknown, and so are its outputs. WF007 reports it.
            return Expr((Piece("none", reference.start, reference.end),))
        if node.is_repeated:
            return self._repeated(node, name, rest)
        first, *others = rest
        if first.name == "outputs" and others:
            return self._output(node, name, others[0], others[1:])
        if first.name == "metadata" and others:
            return self.fact(node, name, others[0])
        if first.name == "inputs" and others and self.world.inline is not None:
            return self.world.inline(
                node, Reference(tuple(others), name.start, reference.parts[-1].end), self
            )
        if first.name == "outputs" and not node.kind.is_open and self.world.notation is not DOLLAR:
            return self._outputs(node, first)
        if first.name in ("outputs", "metadata", "inputs"):
            raise UnresolvedError(
                "WF202", f"incomplete reference `{reference.path}`: it needs a name", first.start, first.end
            )
        if first.name in STATES and not others:
            return self.fact(node, name, first)
        return self._output(node, name, first, others)

    def _repeated(self, node: BlockNode, at: Part, rest: list[Part]) -> Expr:
        """A property of a block with `for_each`, or the result of one item by its key."""
        if rest and rest[0].name == "blocks":
            # `blocks.b.blocks['x']` is another way to write `blocks.b['x']`.
            at, rest = Part(at.name, at.start, rest[0].end), rest[1:]
        if not rest:
            return self._of(node, at, ".results", at.end, at.end, "dict")
        first, *others = rest
        if first.name in STATES and not others:
            return self.fact(node, at, first)
        if first.name == "metadata" and others:
            [part, *_] = others
            if part.name == "mode":
                return literal(str(node.block.setting("for_each_mode")), part.start, part.end)
            if part.name in COUNTS:
                return self._part(node, at, part.name, part, "int")
            return self.fact(node, at, part)
        self._check_item(node, first, others)
        found = self._of(node, at, f".results[{first.name!r}]", first.start, first.end)
        if others and others[0].name not in OF_ITEM:
            others = [Part("outputs", others[0].start, others[0].start), *others]
        if len(others) > 1 and others[0].name == "outputs":
            outputs = extended(found, "outputs", others[0].start, others[0].end)
            found, others = self._output_of_item(node, found, outputs, others[1]), others[2:]
        found = _further(found, others)
        return found if self.bare or self.has_run(node) else piped(found, "default(none)", "any")

    def _output_of_item(self, node: BlockNode, item: Expr, outputs: Expr, part: Part) -> Expr:
        """An output of one item, also by its other names; of a call also what is known without an output."""
        kind, place = node.kind, (part.start, part.end)
        assert kind is not None
        if part.name == "content" and kind.step == "create_file":
            message = "the text that one item of a `for_each` has written is not recorded"
            raise UnresolvedError("WF206", message, *place)
        declared = kind.outputs.get(part.name) if part.name not in (node.block.outputs or {}) else None
        if declared is not None:
            for name in declared.path.split("."):
                outputs = extended(outputs, name, *place)
            return outputs
        succeeded = extended(item, "succeeded", *place)
        if part.name == "success" and not kind.is_open:
            return succeeded
        found = extended(outputs, part.name, *place)
        if not kind.is_open or part.name not in OF_CALL:
            return found
        if part.name == "execution_time_ms":
            raise UnresolvedError("WF206", "the time of one call of a `for_each` is not recorded", *place)
        self.world.asked.setdefault(node.name, {})[part.name] = None
        standing = succeeded if part.name == "success" else self._of_call(node, part, part)
        assert standing is not None
        return Expr(
            (*found.pieces, Piece(" | default(", *place), *standing.pieces, Piece(")", *place)),
            reads=found.reads,
        )

    def _check_item(self, node: BlockNode, key: Part, rest: list[Part]) -> None:
        """Report a key that no item has, such as the name of an output without an item."""
        assert node.kind is not None
        if self.bare:
            return
        keys = self._keys(node)
        is_output = key.name == "outputs" and bool(rest) and rest[0].name in node.kind.outputs
        if (keys is None and not is_output) or (keys is not None and keys(key.name)):
            return
        output = rest[0].name if is_output else key.name if key.name in node.kind.outputs else "outputs"
        example = self.world.notation.written(f"blocks.{node.name}['0'].{output}")
        raise UnresolvedError(
            "WF206",
            f"`{node.name}` runs once per item, and no item has the key `{key.name}`",
            key.start,
            key.end,
            f"a result is read by the key of its item, such as `{example}`",
        )

    def _keys(self, node: BlockNode) -> Callable[[str], bool] | None:
        """Which keys the items of a block can have, if the file says so."""
        given = node.block.node.get("for_each")
        if isinstance(given, Sequence):
            numbers = {str(number) for number in range(len(given.items))}
            return lambda key: key in numbers
        if isinstance(given, Mapping):
            names = {entry.key.text for entry in given.entries}
            return lambda key: key in names
        return None

    def _meant(self, name: str) -> str:
        """Help for an unknown block. A hyphen in an expression subtracts."""
        # `blocks.run-tests` parses as `blocks.run - tests`, which would be reported as an unknown block
        # `run`.
        near = next((one for one in self.world.graph.nodes if one.startswith(f"{name}-")), None)
        if near and self.world.notation is not DOLLAR:
            return f"a name with a hyphen is written `blocks['{near}']`"
        return did_you_mean(name, self.world.graph.nodes)

    def _outputs(self, node: BlockNode, at: Part) -> Expr:
        """All outputs of a block as an object."""
        assert node.kind is not None
        names = [*node.kind.outputs, *(node.block.outputs or {})]
        name = Part(node.name, at.start, at.end)
        values = [(f"{one!r}: ", self._output(node, name, Part(one, at.start, at.end), [])) for one in names]
        return collected("dict", values, at.start, at.end)

    def _part(self, node: BlockNode, at: Part, path: str, part: Part, type_: str) -> Expr:
        """A property of a result, with a default if the block may not have run."""
        found = self._of(node, at, f".{path}", part.start - 1, part.end, type_)
        is_safe = self.bare or self.has_run(node)
        return found if is_safe else piped(found, f"default({_DEFAULTS[type_]})", type_)

    def _output(self, node: BlockNode, at: Part, part: Part, rest: list[Part]) -> Expr:
        assert node.kind is not None
        declared = (node.block.outputs or {}).get(part.name)
        if declared is not None and node.kind.step == "shell":
            kind = VALUE_TYPES.get(declared.type.text) if declared.type else None
            kind = kind if kind and kind != "json" and declared.setting("required") else "any"
            kind = "float" if kind == "num" else kind
            return self._with_rest(node, at, f"outputs.{part.name}", part, rest, kind)
        if part.name == "content" and node.kind.step == "create_file" and self.world.inline is not None:
            return self._written(node, at, part, self.world.inline)
        output = node.kind.outputs.get(part.name)
        if output is not None:
            # A block that succeeded had exit code 0, so conditions on it can be simplified away.
            if part.name == "exit_code" and self.has_succeeded(node):
                return literal(0, part.start, part.end)
            found = self._with_rest(node, at, output.path, part, rest, output.type)
            return (
                found
                if output.is_certain or self.bare
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
            f"a block of type {node.block.type.text if node.block.type else ''} has no output `{part.name}`",
            part.start,
            part.end,
            did_you_mean(part.name, known),
        )

    def _written(
        self, node: BlockNode, at: Part, part: Part, inline: Callable[[BlockNode, Reference, Site], Expr]
    ) -> Expr:
        """The text that a block has written to its file; empty if it did not run."""
        # A default around the reference is not for the references inside the text.
        before, self.bare = self.bare, False
        try:
            text = inline(node, Reference((part,), at.start, part.end), self)
        finally:
            self.bare = before
        return choice(text, self._is_there(node, at), literal("", part.start, part.end))

    def _of_child(self, node: BlockNode, at: Part, part: Part, rest: list[Part]) -> Expr:
        """An output of the called workflow. Some names have a value even if the workflow does not return them."""
        # The called workflow may return an output of the same name, which wins.
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
        """The value of a fact about the call, unless the called workflow has an output of that name."""
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
        return found if self.bare or self.has_run(node) else piped(found, "default(none)", "any")


def _path(root: Part, *parts: Part) -> tuple[Piece, ...]:
    pieces = [Piece(root.name, root.start, root.end)]
    for part in parts:
        pieces += [Piece(".", part.start - 1, part.start), Piece(part.name, part.start, part.end)]
    return tuple(pieces)


def _further(value: Expr, parts: list[Part]) -> Expr:
    for part in parts:
        value = extended(value, part.name, part.start, part.end)
    return value
