"""State fields: those that a scope has, and those that its steps list, read and write."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field

from wfc.analysis.control_flow import Flow, FlowEdge, flows_of
from wfc.caching import cached_per_file, cached_property, pattern
from wfc.language.ast import Scope, walk
from wfc.language.scopes import EVERYWHERE, NamesInScope, Targets
from wfc.language.shape import Shape
from wfc.language.steps.base import Step, UnknownStep
from wfc.language.steps.protocol import CHILD_IN_TURN
from wfc.language.values import Text, Tree, Word, state_use
from wfc.project import SourceFile
from wfc.struct import struct
from wfc.suggest import Nearest, did_you_mean
from wfc.template import Read
from wfc.yaml import Mapping, Node, Scalar, Sequence, Span
from wfc.yaml.nodes import nodes_of


class ScopeNames:
    """The state fields and inputs of one scope, and the steps that store a result."""

    def __init__(self, scope: Scope) -> None:
        steps = list(scope.walk())
        written = [name for step in steps for name in step.writes()]
        written += [one.field for one in scope.computed]
        self.fields = dict.fromkeys([*(keys_of(scope, "initial_state") or ()), *written])
        self.inputs = dict.fromkeys(keys_of(scope, "inputs") or ())
        self.results: dict[str, str] = {
            step.name: step.values["output_to"].text for step in steps if "output_to" in step.values
        }
        self._nearest = Nearest([*self.fields, *self.inputs, *EVERYWHERE, *CHILD_IN_TURN])

    def nearest_path(self, name: str, names: NamesInScope) -> str | None:
        """The expression that a bare name most likely means."""
        # The exact name with the wrong root is more likely than a similar one.
        near = name if name in self.fields or name in self.inputs else self._nearest.to(name)
        # It may already be usable as it is, such as `item`.
        if near is None or near in names:
            return near
        if near in self.fields:
            return f"state.{near}"
        return f"inputs.{near}" if near in self.inputs else None


@cached_per_file(8)
def names_of(scope: Scope) -> ScopeNames:
    return ScopeNames(scope)


def keys_of(shape: Shape, field: str) -> list[str] | None:
    """The keys of a field's mapping, even if it has mistakes; None if it is not a mapping."""
    node = shape.node.get(field)
    if node is None:
        return []
    return [entry.key.text for entry in node.entries] if isinstance(node, Mapping) else None


class ScopeFields:
    """The fields, each with the first span that sets it."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.places: dict[str, Span] = {}
        start = scope.node.get("initial_state")
        # Otherwise every read would seem to be of an unknown field.
        self.is_complete = start is None or isinstance(start, Mapping)
        """Whether all fields are known; false if `initial_state` can't be read."""
        computed = [*_keys(scope.node.get("start_values")), *_keys(scope.node.get("derived"))]
        written = (found for step in scope.walk() for found in _written(step))
        for name, span in [*_keys(start), *computed, *written]:
            self.places.setdefault(name, span)
        self.nearest = Nearest(self.places)

    @cached_property
    def choices(self) -> str:
        """A help line that lists the fields."""
        return did_you_mean("", self.places)

    def __contains__(self, name: str) -> bool:
        return name in self.places


def _written(step: Step) -> Iterator[tuple[str, Span]]:
    """The fields that a step writes, or would write without its mistakes, which other rules report."""
    for name, (span, _) in step.writes().items():
        yield name, span
    if isinstance(step, UnknownStep):
        yield from _named(step.node)
    elif "output_to" not in step.values:
        # A field that can't be read as a name is still meant as one.
        yield from _text(step.node.get("output_to"))


def _named(node: Node) -> Iterator[tuple[str, Span]]:
    """The output fields of a step of unknown type and of the steps inside it."""
    match node:
        case Sequence():
            for item in node.items:
                yield from _named(item)
        case Mapping():
            yield from _text(node.get("output_to"))
            yield from _keys(node.get("updates"))
            for entry in node.entries:
                yield from _named(entry.value)


_NO_WORD = pattern(r"\W")
_MENTIONED = pattern(r"\b(?:inputs|state)\.([A-Za-z_]\w*)")


def _text(node: Node | None) -> Iterator[tuple[str, Span]]:
    if isinstance(node, Scalar):
        # WF006 corrects `built-out` to `built_out`, so a reader of `built_out` is not a second mistake.
        yield _NO_WORD.sub("_", node.text), node.span


def _keys(node: Node | None) -> list[tuple[str, Span]]:
    return [(entry.key.text, entry.key.span) for entry in node.entries] if isinstance(node, Mapping) else []


@struct(frozen=True)
class FieldRead:
    """A place in a template that reads a field."""

    text: Text
    read: Read

    @property
    def span(self) -> Span:
        """The field's name."""
        return self.text.at(self.read.path[0].start, self.read.path[0].end)


@struct(frozen=True)
class Stranger:
    """A name that is not a field of the step's scope, with every place where the step uses it."""

    name: str
    listed: list[Word]
    reads: list[FieldRead]
    owner: ScopeFields | None
    """Another scope that has such a field."""
    meant: str | None
    """The most similar field of this scope."""

    @property
    def span(self) -> Span:
        return (self.listed or self.reads)[0].span


@struct
class StepAccess:
    """The mistakes of one step in its use of the state."""

    step: Step
    fields: ScopeFields
    missing: dict[str, FieldRead] = field(default_factory=dict)
    """Fields that are read and not listed, each with its first read."""
    unused: list[Word] = field(default_factory=list)
    """Entries of `needs_state` that no template of the step reads."""
    repeated: list[Word] = field(default_factory=list)
    """Repeated entries of `needs_state`."""
    strangers: list[Stranger] = field(default_factory=list)


@cached_per_file(8)
def state_access(file: SourceFile) -> list[StepAccess]:
    """How every step of a file uses the state, in source order.

    One mistake is one finding. A field of the scope can be missing from the list (WF301) or not read (WF302). A name
    that is not a field of the scope belongs to another scope (WF312) or to none (WF303), and other findings that it
    causes are left out.
    """
    scopes = [ScopeFields(scope) for scope in file.scopes]
    steps = [(step, fields) for fields in scopes for step in (*fields.scope.computed, *fields.scope.walk())]
    return [_judge(step, fields, scopes) for step, fields in steps if not isinstance(step, UnknownStep)]


def _judge(step: Step, fields: ScopeFields, scopes: list[ScopeFields]) -> StepAccess:
    reads: dict[str, list[FieldRead]] = {}
    for found in _reads(step):
        reads.setdefault(str(found.read.path[0].name), []).append(found)
    listed: dict[str, list[Word]] = {}
    for word in step.declared:
        listed.setdefault(word.text, []).append(word)
    access = StepAccess(step, fields)
    strange = [name for name in {**listed, **reads} if name not in fields] if fields.is_complete else []
    for name in strange:
        owner = next((other for other in scopes if name in other), None)
        # A name that exists elsewhere was not misspelt.
        is_elsewhere = owner is not None or name in fields.scope.declared_inputs
        meant = None if is_elsewhere else fields.nearest.to(name)
        access.strangers.append(Stranger(name, listed.get(name, []), reads.get(name, []), owner, meant))
    explained = {*strange, *(stranger.meant for stranger in access.strangers)}
    # WF006 reports a value that is not a list. Until that is fixed, nothing can be missing from it.
    # A field that the scope computes lists nothing: what it reads is what it depends on.
    if step.is_step and (
        "needs_state" in step.values or isinstance(step.node.get("needs_state"), Sequence | None)
    ):
        known = {*listed, *explained}
        access.missing = {name: found[0] for name, found in reads.items() if name not in known}
    if listed:
        # A step that reads the whole state uses all that it lists.
        _sort_out(access, listed, used={*listed} if _sees_all(step) else {*reads, *explained})
    return access


def _sort_out(access: StepAccess, listed: dict[str, list[Word]], used: set[str | None]) -> None:
    for name, words in listed.items():
        if name in used:
            # The first entry is the one that counts.
            access.repeated += words[1:]
        else:
            access.unused += words


def _reads(step: Step) -> Iterator[FieldRead]:
    for text in step.texts():
        if not text.template.is_literal:
            for reads in state_use(text.template).fields.values():
                yield from (FieldRead(text, read) for read in reads)


def _sees_all(step: Step) -> bool:
    """Whether some template may read any field, because it reads the whole state or can't be parsed."""
    templates = [text.template for text in step.texts()]
    return any(template.error is not None or state_use(template).whole for template in templates)


@struct(frozen=True)
class StateRead:
    """A place in a template that reads a field or a part of it."""

    step: Step
    text: Text
    read: Read

    @property
    def span(self) -> Span:
        """The span of the path, including `state`."""
        return self.text.at(self.read.start, self.read.end)


@struct(eq=False)
class ScopeUse:
    scope: Scope
    flow: Flow
    is_clear: bool = True
    """Whether everything is known; false if a step or a template can't be parsed."""
    reads: dict[str, list[StateRead]] = field(default_factory=dict)
    """The fields that templates read, each with its reads in source order."""
    inputs: dict[str, set[Step]] = field(default_factory=dict)
    """The inputs that templates read, each with the reading steps."""
    as_a_whole: set[str] = field(default_factory=set)
    """The fields listed by steps that read the state as a whole."""
    listed: set[str] = field(default_factory=set)
    """The fields that some step lists."""
    meant: set[str] = field(default_factory=set)
    """Names in wrong places (WF004, WF202, WF204, WF303), and the names that they may stand for."""
    bare: set[str] = field(default_factory=set)
    """Valid names without `state.`: `item` and similar names, and earlier keys of an update."""
    is_whole: bool = True
    """Whether the steps are complete; false if a step lacks a required field or reads an unknown one, since the
    corrected step might read more."""

    def is_read(self, name: str) -> bool:
        return name in self.reads or name in self.as_a_whole or name in self.meant or name in self.bare

    def is_read_beside(self, step: Step) -> bool:
        """Whether other steps read everything that a step reads."""
        reads = [read for text in step.texts() for read in text.template.reads if read.path]
        names = {(read.root, read.path[0].name) for read in reads}
        return all(len(self._readers.get(name, ())) > 1 for name in names if name[0] in ("state", "inputs"))

    def can_do_without(self, steps: list[Step]) -> bool:
        """Whether other steps read everything that these steps and the steps in them read, run their tasks, and use
        nothing that they write."""
        gone = {*steps, *walk([inner for step in steps for block in step.blocks() for inner in block])}
        others = [step for step in self.scope.walk() if step not in gone]
        # What other steps write as well stays available without these.
        kept = {*self.scope.initial, *(name for step in others for name in step.writes())}
        written = {name for step in gone for name in step.writes()} - kept
        needed = {word.text for step in others for word in step.declared}
        tasks = set(_tasks_run_by(gone)) - set(_tasks_run_by(others))
        return not (written & needed or tasks or any(readers <= gone for readers in self._readers.values()))

    @cached_property
    def _readers(self) -> dict[tuple[str, str | int | None], set[Step]]:
        """The steps that read each state field and each input."""
        found: dict[tuple[str, str | int | None], set[Step]] = {}
        for name, reads in self.reads.items():
            found["state", name] = {read.step for read in reads}
        for name, steps in self.inputs.items():
            found["inputs", name] = steps
        return found

    @property
    def ends(self) -> list[FlowEdge]:
        """The edges on which a run ends without a `return`, so that its state is its result."""
        flow = self.flow
        into = [
            edge for edge in flow.into.get(flow.end, ()) if flow.reachable.issuperset(_sources(flow, edge))
        ]
        return [edge for edge in into if not flow.returns(edge)]

    @property
    def gives_state(self) -> bool:
        return self.flow.initial == self.flow.end or bool(self.ends)


def _tasks_run_by(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        child = step.child()
        if child is not None and child.is_task and child.name is not None:
            yield child.name.text


def _sources(flow: Flow, edge: FlowEdge) -> tuple[str, ...]:
    """The nodes that must be reached for an edge to be taken."""
    return flow.branch_ends[edge.join] if edge.join is not None else (edge.source,)


@cached_per_file(8)
def scope_uses(file: SourceFile) -> list[ScopeUse]:
    """The reads and writes of every scope of a file."""
    found = {scope: ScopeUse(scope, flow) for scope, flow in flows_of(file)}
    # A dialect leaves out a text that it can't parse.
    is_clear = not any(one.code == "WF201" for one in file.reports)
    in_keys = set(_named_in_keys(file))
    as_text: dict[Step, list[str]] = {}
    for step, _, reference in foreign_references(file):
        as_text.setdefault(step, []).append(reference[1].split(".")[1])
    for use in found.values():
        use.is_clear, use.is_whole = is_clear, bool(use.scope.block)
        use.meant |= in_keys
        targets = Targets(use.scope)
        for computed in use.scope.computed:
            _add(use, computed)
        for step in use.scope.walk():
            _add(use, step)
            use.meant.update(as_text.get(step, ()))
            # A jump to nowhere: the flow that the analyses see is not the author's.
            if not all(targets.can_reach(step, word.text) for _, word in step.jumps()):
                use.is_clear = False
    for access in state_access(file):
        use = found[access.fields.scope]
        for stranger in access.strangers:
            use.is_whole = False
            use.meant |= {stranger.name, stranger.meant or stranger.name}
    return list(found.values())


def _add(use: ScopeUse, step: Step) -> None:
    listed = {word.text for word in step.declared}
    use.listed |= listed
    if isinstance(step, UnknownStep):
        use.is_clear = False
    for entry in step.node.entries if step.is_step else ():
        if entry.key.text not in step.values:
            _add_unread(use, entry.value)
    if any(name not in step.values for name in step.REQUIRED):
        use.is_whole = False
    bindings = step.bindings()
    given = CHILD_IN_TURN | (bindings.values.keys() if bindings is not None and bindings.in_order else set())
    for text in step.texts():
        template = text.template
        if template.error is not None:
            use.is_clear = False
        if template.is_literal:
            continue
        state = state_use(template)
        # Reading `state` as a whole reads every field that the step lists.
        if state.whole:
            use.as_a_whole |= listed
        for field_name, reads in state.fields.items():
            use.reads.setdefault(field_name, []).extend(StateRead(step, text, read) for read in reads)
        for read in template.reads:
            name = read.path[0].name if read.root == "inputs" and read.path else None
            if isinstance(name, str):
                use.inputs.setdefault(name, set()).add(step)
                # An unknown input may be a misspelt field.
                use.meant |= {name} - use.scope.declared_inputs.keys()
            elif read.root not in ("state", "inputs"):
                (use.bare if read.root in given else use.meant).add(read.root)


def _named_in_keys(file: SourceFile) -> Iterator[str]:
    """The names in keys that are templates (WF013)."""
    for mapping in nodes_of(file.document.root).mappings:
        for entry in mapping.entries:
            if file.language.is_template(entry.key.text):
                yield from _MENTIONED.findall(entry.key.text)


@cached_per_file(2)
def foreign_references(file: SourceFile) -> list[tuple[Step, Text, re.Match[str]]]:
    """The references that are only text, because they are in the notation of another language."""
    foreign = file.language.foreign_reference
    # A dialect without a pattern reports such references itself.
    if foreign is None:
        return []
    return [
        (step, text, found)
        for step in file.steps
        for text in step.texts()
        if text.is_text
        for found in foreign.finditer(text.node.text)
    ]


def _add_unread(use: ScopeUse, node: Node) -> None:
    """The names in a field that can't be read."""
    for text in Tree(node).texts:
        use.meant.add(text.node.text)
        for read in text.template.reads:
            use.meant |= {read.root, *(name for part in read.path[:1] if isinstance(name := part.name, str))}
