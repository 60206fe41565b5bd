"""What the steps of a workflow or task make use of: its state fields, its inputs, and its state as its result."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property

from wfc.analysis.control_flow import Flow, FlowEdge, flows_of
from wfc.caching import cached_per_file
from wfc.language.ast import Scope, walk
from wfc.language.scopes import CHILD_IN_TURN, Targets, jumps
from wfc.language.steps.base import Step, UnknownStep
from wfc.language.values import Text, Tree, state_use
from wfc.project import SourceFile
from wfc.rules.shared.state_access import state_access
from wfc.struct import struct
from wfc.template import Read
from wfc.yaml import Node, Span


@struct(frozen=True)
class StateRead:
    """A place in a template that reads a field, or something in it."""

    step: Step
    text: Text
    read: Read

    @property
    def span(self) -> Span:
        """The path, `state` included."""
        return self.text.at(self.read.start, self.read.end)


@struct(eq=False)
class ScopeUse:
    scope: Scope
    flow: Flow
    is_clear: bool = True
    """Whether all of it can be told: not where a step or a template can't be made out."""
    reads: dict[str, list[StateRead]] = field(default_factory=dict)
    """The fields that templates name, each with the places, in source order."""
    inputs: dict[str, set[Step]] = field(default_factory=dict)
    """The inputs that templates name, each with the steps that they are part of."""
    as_a_whole: set[str] = field(default_factory=set)
    """The fields that are seen by a step which looks at all that it lists."""
    listed: set[str] = field(default_factory=set)
    """The fields that some step lists."""
    meant: set[str] = field(default_factory=set)
    """Names in places where they are wrong (WF004, WF202, WF204, WF303), and what they may stand for."""
    bare: set[str] = field(default_factory=set)
    """Names without `state.` that are right where they stand: `item` and its kin, and earlier keys of an update."""
    is_whole: bool = True
    """Whether all is there: not where a step lacks a field, or reads one that is nowhere, and might read more."""

    def is_read(self, name: str) -> bool:
        return name in self.reads or name in self.as_a_whole or name in self.meant or name in self.bare

    def is_read_beside(self, step: Step) -> bool:
        """Whether all that a step reads is read by other steps too."""
        reads = [read for text in step.texts() for read in text.template.reads if read.path]
        names = {(read.root, read.path[0].name) for read in reads}
        return all(len(self._readers.get(name, ())) > 1 for name in names if name[0] in ("state", "inputs"))

    def can_do_without(self, steps: list[Step]) -> bool:
        """Whether others read all that these and the steps in them read, run their tasks, and need nothing of them."""
        gone = {*steps, *walk([inner for step in steps for block in step.blocks() for inner in block])}
        others = [step for step in self.scope.walk() if step not in gone]
        kept = {*self.scope.initial, *(name for step in others for name in step.writes())}
        written = {name for step in gone for name in step.writes()} - kept
        needed = {word.text for step in others for word in step.declared}
        tasks = {step.values["task"].text for step in gone if step.values.get("task")}
        tasks -= {step.values["task"].text for step in others if step.values.get("task")}
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
        """The edges by which a run comes to its end without a `return`: then its state is its result."""
        flow = self.flow
        into = [
            edge for edge in flow.into.get(flow.end, ()) if flow.reachable.issuperset(_sources(flow, edge))
        ]
        return [edge for edge in into if not flow.returns(edge)]

    @property
    def gives_state(self) -> bool:
        return self.flow.initial == self.flow.end or bool(self.ends)


def _sources(flow: Flow, edge: FlowEdge) -> tuple[str, ...]:
    """The nodes that must be reached for an edge to be taken."""
    return flow.branch_ends[edge.join] if edge.join is not None else (edge.source,)


@cached_per_file(8)
def scope_uses(unit: SourceFile) -> list[ScopeUse]:
    """The use that is made of things in every scope of a file."""
    found = {scope: ScopeUse(scope, flow) for scope, flow in flows_of(unit)}
    # A front end that could not make out a text has left it out.
    is_clear = not any(one.code == "WF201" for one in (unit.workflow.reported if unit.workflow else ()))
    for use in found.values():
        use.is_clear, use.is_whole = is_clear, bool(use.scope.block)
        targets = Targets(use.scope)
        for step in use.scope.walk():
            _add(use, step)
            if not all(targets.can_reach(step, word.text) for _, word in jumps(step)):
                use.is_clear = False
    for access in state_access(unit):
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
    for entry in step.node.entries:
        if entry.key.text not in step.values:
            _add_unread(use, entry.value)
    if any(name not in step.values for name in step.REQUIRED):
        use.is_whole = False
    given = CHILD_IN_TURN | (step.values.get("updates") or {}).keys()
    for text in step.texts():
        template = text.template
        if template.error is not None:
            use.is_clear = False
        if template.is_literal:
            continue
        state = state_use(template)
        if state.whole:
            use.as_a_whole |= listed
        for field_name, reads in state.fields.items():
            use.reads.setdefault(field_name, []).extend(StateRead(step, text, read) for read in reads)
        for read in template.reads:
            name = read.path[0].name if read.root == "inputs" and read.path else None
            if isinstance(name, str):
                use.inputs.setdefault(name, set()).add(step)
                use.meant |= {name} - use.scope.declared_inputs.keys()
            elif read.root not in ("state", "inputs"):
                (use.bare if read.root in given else use.meant).add(read.root)


def _add_unread(use: ScopeUse, node: Node) -> None:
    """What a field that can't be read would have named, had it been right."""
    for text in Tree(node).texts:
        use.meant.add(text.node.text)
        for read in text.template.reads:
            use.meant |= {read.root, *(name for part in read.path[:1] if isinstance(name := part.name, str))}
