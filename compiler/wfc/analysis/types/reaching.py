"""Reaching definitions: which definitions of a field, and which conditions, hold at each node of the control flow.

This is the classic forward data-flow problem. A definition is a write of a field by a step, its initial value, or "not
written yet". It reaches a node if some path leads from it to the node without another write of the field; where paths
meet, the sets are united (a "may" analysis). A clause is a condition with a known outcome. It holds at a node if it
holds on every path there, so where paths meet the sets are intersected (a "must" analysis); a write of a field that the
condition reads ends it.

Both sets are bits of one integer per node, so union, intersection and the transfer function of an edge (`Move`: kill
and gen, forget and learn) are a few operations on integers. A worklist in the order of the flow computes the fixpoint,
in nearly linear time in the number of steps: a node is visited again only if the sets of a predecessor have changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import accumulate
from operator import or_
from typing import Protocol

from wfc.analysis.control_flow import Flow, FlowEdge
from wfc.analysis.types.access import FAILED_CHILD
from wfc.analysis.types.conditions import Clause, Place, StepTexts, clauses_of_edge, form_of
from wfc.analysis.types.environment import Held
from wfc.analysis.types.lattice import NOTHING, UNDEFINED, join, literal_type, present
from wfc.caching import cached_property
from wfc.ir import HANDLE, Region
from wfc.language.ast import Scope
from wfc.language.derived import Computed
from wfc.language.steps.base import Step, UnknownStep
from wfc.language.steps.protocol import PREVIOUS, Child
from wfc.language.types import ANY, INT, LIST, TEXT, ListType, Type
from wfc.language.values import state_use
from wfc.struct import struct
from wfc.yaml import Mapping, Node, Scalar, Sequence, Span

# Tasks and workflows that a scope runs.


class Children(Protocol):
    def scope_of(self, child: Child) -> Scope | None: ...
    def returned(self, child: Child) -> Type: ...


def with_failures(child: Type) -> Type:
    """The type of the result of a run that may have failed."""
    return join(child, FAILED_CHILD)


def child_names(child: Child, item: Type, children: Children) -> dict[str, Type]:
    """The types of the names that each run of a task gets from the step that starts it."""
    names: dict[str, Type] = {"item": item, "index": INT}
    if child.numbered:
        names |= {"total": INT, "task_id": TEXT}
    if child.sequential:
        result = children.returned(child)
        names[PREVIOUS] = ListType(with_failures(result)) if child.step.recovers else LIST
    return names


# Definitions: a field gets its value at the start or by a step. Each definition is one bit.


@struct(frozen=True)
class Definition:
    """A write of a field, its initial value, or the fact that it has none yet."""

    number: int
    field: str
    step: Step | None = None
    """The step that writes it; None for the start of the run."""
    span: Span | None = None
    after_failure: bool = False
    """Whether it is the value that a step with child runs leaves behind when it fails and the flow continues."""

    @property
    def bit(self) -> int:
        return 1 << self.number


class Definitions:
    """All definitions of a scope. Their types are refined while inference runs."""

    def __init__(self, scope: Scope) -> None:
        self.all: list[Definition] = []
        self.types: list[Type] = []
        self.by_field: dict[str, list[Definition]] = {}
        self.by_step: dict[Step, list[Definition]] = {}
        self.masks: dict[str, int] = {}
        """The bits of all definitions of a field."""
        self.changes: list[Definition] = []
        """The definitions whose type was refined, in order."""
        self._later: list[int] = []
        self.computed: dict[Computed, Definition] = {}
        """The definitions of derived fields. They hold in the whole run."""
        self.sources = scope.sources
        written = {step: fields_of(step) for step in scope.walk()}
        self._at_start(scope, dict.fromkeys(field for fields in written.values() for field in fields))
        self._by_steps(written)

    def _add(self, definition: Definition, kind: Type) -> None:
        self.all.append(definition)
        self.types.append(kind)
        self.by_field.setdefault(definition.field, []).append(definition)
        self.masks[definition.field] = self.masks.get(definition.field, 0) | definition.bit
        if definition.step is not None:
            self.by_step.setdefault(definition.step, []).append(definition)

    def _at_start(self, scope: Scope, written: dict[str, None]) -> None:
        node = scope.node.get("initial_state")
        keys = {entry.key.text: entry.key.span for entry in node.entries} if isinstance(node, Mapping) else {}
        for field, tree in (scope.initial_state or {}).items():
            kind = literal_type(tree.node, exactly=field in written)
            self._add(Definition(len(self.all), field, span=keys.get(field)), kind)
        for one in scope.computed:
            if one.field not in self.by_field:
                self._add(Definition(len(self.all), one.field, span=one.span), NOTHING)
                self.computed[one] = self.by_field[one.field][0]
        # An initial_state that can't be read may name any field.
        missing = UNDEFINED if node is None or isinstance(node, Mapping) else ANY
        for field in written:
            if field not in self.by_field:
                self._add(Definition(len(self.all), field), ANY if field in keys else missing)

    def _by_steps(self, written: dict[Step, dict[str, tuple[Span, Type]]]) -> None:
        for step, fields in written.items():
            for field, (span, kind) in fields.items():
                self._add(Definition(len(self.all), field, step, span), kind)
            output = step.values.get("output_to")
            child = step.child()
            if child is not None and output is not None and step.recovers:
                left = ListType(ANY) if child.is_task else FAILED_CHILD
                self._add(Definition(len(self.all), output.text, step, output.span, after_failure=True), left)

    def learn(self, definition: Definition, kind: Type) -> None:
        """Refine the type of a definition."""
        self.types[definition.number] = kind
        self.changes.append(definition)

    @property
    def moment(self) -> int:
        """The number of refinements so far, used as a version of the types."""
        return len(self.changes)

    def changed_since(self, moment: int) -> int:
        """The definitions that were refined after that version, as a mask."""
        if len(self._later) <= len(self.changes):
            bits = (definition.bit for definition in reversed(self.changes))
            self._later = list(accumulate(bits, or_, initial=0))[::-1]
        return self._later[moment]

    @cached_property
    def start(self) -> int:
        return sum(definition.bit for definition in self.all if definition.step is None)

    def unset(self, field: str) -> int:
        """The bit of the definition that says that the field has no value yet; 0 if it has an initial one."""
        first = self.by_field[field][0]
        return first.bit if self.types[first.number] == UNDEFINED else 0

    def of_mask(self, mask: int) -> Iterator[Definition]:
        while mask:
            low = mask & -mask
            yield self.all[low.bit_length() - 1]
            mask ^= low

    def type_of(self, mask: int) -> Type:
        return join(*(self.types[definition.number] for definition in self.of_mask(mask)))


def fields_of(step: Step) -> dict[str, tuple[Span, Type]]:
    """The fields that a step writes when it succeeds, with their types before inference."""
    if isinstance(step, UnknownStep):
        return dict(_guessed(step.node))
    found = step.writes()
    if step.assigns() is not None:
        return {field: (span, NOTHING) for field, (span, _) in found.items()}
    output = step.node.get("output_to") if "output_to" not in step.values else None
    if isinstance(output, Scalar):
        # The field is invalid, and another rule reports that. It still names the field that would be written.
        return {output.text: (output.span, ANY), **found}
    return found


def _guessed(node: Node) -> Iterator[tuple[str, tuple[Span, Type]]]:
    """The fields that a step of unknown type, and the steps inside it, seem to write, judging by their keys."""
    match node:
        case Sequence():
            for item in node.items:
                yield from _guessed(item)
        case Mapping():
            output, updates = node.get("output_to"), node.get("updates")
            if isinstance(output, Scalar):
                yield output.text, (output.span, ANY)
            if isinstance(updates, Mapping):
                yield from ((entry.key.text, (entry.key.span, ANY)) for entry in updates.entries)
            for entry in node.entries:
                yield from _guessed(entry.value)


# Transfer functions: the definitions and clauses that an edge ends, and those that it begins.

_FAILURES = frozenset({"recover", "retry", HANDLE})


@struct(slots=True)
class Move:
    kill: int = 0
    gen: int = 0
    forget: int = 0
    learn: int = 0


class Clauses:
    """The conditions of a scope, one bit each, and one bit per field that says that it is not null."""

    def __init__(self, sources: dict[str, set[str]]) -> None:
        self._sources = sources
        self.all: list[Clause | None] = []
        self._conditions = 0
        """The bits that stand for conditions."""
        self._bits: dict[object, int] = {}
        self.of_name: dict[str, int] = {}
        """The clauses that read a name, spelled as in `Clause.names`."""

    def bit(self, clause: Clause) -> int:
        return self._bit((clause.key, clause.positive), clause, clause.names)

    def present(self, field: str) -> int:
        return self._bit(field, None, (field,))

    def _bit(self, key: object, clause: Clause | None, names: Iterable[str]) -> int:
        if key not in self._bits:
            self._bits[key] = 1 << len(self.all)
            self._conditions |= self._bits[key] if clause is not None else 0
            self.all.append(clause)
            # A write ends also what is known about the fields that are derived from the one that is written.
            for one in {one for name in names for one in (name, *self._sources.get(name, ()))}:
                self.of_name[one] = self.of_name.get(one, 0) | self._bits[key]
        return self._bits[key]

    def known(self, held: Held) -> int:
        """The bit of a condition; 0 if no edge tests it."""
        return self._bits.get(form_of(held), 0)

    def opposite(self, clause: Clause) -> int:
        """The bit of the condition with the other outcome; 0 if no edge has that."""
        return self._bits.get((clause.key, not clause.positive), 0)

    def of_mask(self, mask: int) -> Iterator[Clause]:
        mask &= self._conditions
        while mask:
            low = mask & -mask
            clause = self.all[low.bit_length() - 1]
            if clause is not None:
                yield clause
            mask ^= low


class Transfer:
    """The transfer functions of all edges of a flow."""

    def __init__(self, flow: Flow, definitions: Definitions, texts: dict[str, list[Place]]) -> None:
        self._flow = flow
        self._definitions = definitions
        self._texts = texts
        self.clauses = Clauses(definitions.sources)
        self.learned: dict[int, tuple[Clause, ...]] = {}
        """By the identity of the edge: hashing an edge would hash the text of its guard."""
        for edge in flow.edges:
            found = clauses_of_edge(edge, flow.out[edge.source])
            if found:
                self.learned[id(edge)] = found
                for clause in found:
                    self.clauses.bit(clause)
        self._starts: dict[str, Branch] = {}
        self._asserted = {node: self._assertions(found) for node, found in texts.items()}
        self.regions: dict[str, Branch] = {}
        """The branches of parallel states, by their end nodes."""
        for state in flow.states.values():
            if state.regions:
                self.regions |= _branches(state.regions, definitions, self.clauses)
        self._of = {id(edge): self._move(edge) for edge in flow.edges}

    def of(self, edge: FlowEdge) -> Move:
        return self._of[id(edge)]

    def _assertions(self, texts: list[Place]) -> tuple[set[str], set[str]]:
        """The fields that a node always reads without a fallback, and those of which it reads a property.

        If the flow continues, the read succeeded: the field had a value, and one with a property is not null.
        """
        there: set[str] = set()
        deep: set[str] = set()
        for place in texts:
            for field, reads in state_use(place.text.template).fields.items():
                if field not in self._definitions.masks:
                    continue
                for read in reads:
                    if read.guarded or read.perhaps:
                        continue
                    there.add(field)
                    if len(read.path) > 1:
                        deep.add(field)
                        self.clauses.present(field)
        return there, deep

    def _move(self, edge: FlowEdge) -> Move:
        state = self._flow.states.get(edge.source)
        move = Move()
        if state is not None and state.step is not None and edge.join is None:
            if state.regions:
                self._fork(move, state.regions, edge.target)
            # After a failure it is unknown how far the step came, so its reads prove nothing.
            if edge.event not in _FAILURES:
                self._assert(move, edge.source)
            # A step may have several states (`when`, retry); only the one that does its work writes.
            if state.kind == state.step.kind:
                self._write(move, state.step, edge.event)
        for clause in self.learned.get(id(edge), ()):
            move.learn |= self.clauses.bit(clause)
        return move

    def _fork(self, move: Move, regions: tuple[Region, ...], target: str) -> None:
        """Branches run concurrently: a write of one may be visible to another at any time."""
        branch = self._starting_at(regions, target)
        move.gen |= branch.written_beside
        move.forget |= branch.forgotten_beside

    def _starting_at(self, regions: tuple[Region, ...], target: str) -> Branch:
        if target not in self._starts:
            self._starts |= {region.initial: self.regions[region.end] for region in regions}
        return self._starts[target]

    def _assert(self, move: Move, node: str) -> None:
        if node in self._asserted:
            there, deep = self._asserted[node]
            for field in there:
                move.kill |= self._definitions.unset(field)
            for field in deep:
                move.learn |= self.clauses.present(field)

    def _write(self, move: Move, step: Step, event: str | None) -> None:
        for definition in self._definitions.by_step.get(step, ()):
            if definition.after_failure != (event == "recover") or event in ("retry", HANDLE):
                continue
            # A step that runs one workflow may fail before that has started, and then writes nothing. A list of
            # results is always written.
            child = step.child()
            if not definition.after_failure or (child is not None and child.is_task):
                move.kill |= self._definitions.masks[definition.field]
            move.gen |= definition.bit
            names = self.clauses.of_name.get(definition.field, 0)
            # A condition that was learned from the value before the write says nothing about the new value.
            move.forget |= names
            move.learn &= ~names


@struct(slots=True)
class Branch:
    """One branch of a parallel state, and the effects of the other branches on it."""

    fields: frozenset[str]
    masks: int
    """All definitions of the fields that it writes."""
    written_beside: int = 0
    """The definitions of the other branches."""
    forgotten_beside: int = 0
    """Clauses about fields that the other branches write."""


def _branches(regions: tuple[Region, ...], definitions: Definitions, clauses: Clauses) -> dict[str, Branch]:
    found = [_branch(region, definitions) for region in regions]
    # Values from the start of the run are not written by a branch, even if it writes the field later.
    written = [branch.masks & ~definitions.start for branch in found]
    forgotten = [_clauses_of(branch.fields, clauses) for branch in found]
    # The union of all branches but one, from prefix and suffix unions: comparing all pairs would be quadratic.
    before_written = before_forgotten = 0
    for number, branch in enumerate(found):
        branch.written_beside, branch.forgotten_beside = before_written, before_forgotten
        before_written |= written[number]
        before_forgotten |= forgotten[number]
    behind_written = behind_forgotten = 0
    for number in range(len(found) - 1, -1, -1):
        found[number].written_beside |= behind_written
        found[number].forgotten_beside |= behind_forgotten
        behind_written |= written[number]
        behind_forgotten |= forgotten[number]
    return {region.end: branch for region, branch in zip(regions, found, strict=True)}


def _branch(region: Region, definitions: Definitions) -> Branch:
    steps = {state.step for state in region.walk() if state.step is not None}
    fields = frozenset(found.field for step in steps for found in definitions.by_step.get(step, ()))
    masks = 0
    for field in fields:
        masks |= definitions.masks[field]
    return Branch(fields, masks)


def _clauses_of(fields: frozenset[str], clauses: Clauses) -> int:
    found = 0
    for field in fields:
        found |= clauses.of_name.get(field, 0)
    return found


# The solution at each node.

_MOST_CLAUSES = 32


class StateFlow:
    def __init__(self, flow: Flow, definitions: Definitions, texts: dict[Step, StepTexts]) -> None:
        self.flow = flow
        self.definitions = definitions
        self.moves = Transfer(flow, definitions, _at_nodes(texts))
        self.reach: dict[str, int] = {}
        """The definitions that reach a node. A node that is missing here is unreachable."""
        self.held: dict[str, int] = {}
        """The clauses that hold at a node on every path to it."""
        self.rank: dict[str, int] = {}
        """The reachable nodes, numbered in the order of the flow."""
        self._types: dict[str, dict[int, Type]] = {}
        self._latest: dict[str, tuple[int, Type]] = {}
        self._known_at = 0
        self._solve()

    # -- solving ---------------------------------------------------------------

    def _solve(self) -> None:
        order = _order(self.flow)
        rank = self.rank = {node: number for number, node in enumerate(order)}
        # A heap of ranks: in this order most nodes are visited once, after all of their predecessors.
        todo = [0] if order else []
        waiting = set(todo)
        while todo:
            number = heappop(todo)
            waiting.discard(number)
            node = order[number]
            # Both sets only grow or only shrink from visit to visit, so a node whose sets are unchanged ends its part
            # of the work.
            found = self._before(node)
            if found is None or found == (self.reach.get(node), self.held.get(node)):
                continue
            self.reach[node], self.held[node] = found
            for edge in self.flow.out.get(node, ()):
                following = rank[edge.target]
                if following not in waiting:
                    waiting.add(following)
                    heappush(todo, following)

    def _before(self, node: str) -> tuple[int, int] | None:
        """The state before a node: over all edges to it, the union of definitions and the intersection of clauses."""
        ways = [(self.definitions.start, 0)] if node == self.flow.initial else []
        joined: dict[str, list[FlowEdge]] = {}
        for edge in self.flow.into.get(node, ()):
            if edge.join is not None:
                joined.setdefault(edge.join, []).append(edge)
            elif edge.source in self.reach:
                ways.append(self.after(edge))
        for edges in joined.values():
            # A join is reached only when every branch has ended: one that never ends makes the rest unreachable.
            if all(edge.source in self.reach for edge in edges):
                ways.append(self._joined(edges))
        if not ways:
            return None
        # The neutral elements: no definition for the union, all clauses (-1 has every bit) for the intersection.
        reach, held = 0, -1
        for definitions, clauses in ways:
            # Which path was taken is not known here: a definition of any path may apply, a clause must hold on all of
            # them.
            reach |= definitions
            held &= clauses
        return reach, held

    def after(self, edge: FlowEdge) -> tuple[int, int]:
        """The state after an edge: that of its source, changed by its transfer function."""
        move = self.moves.of(edge)
        # Kill before gen: a step that writes a field ends the old definitions and begins its own on the same edge.
        reach = self.reach[edge.source] & ~move.kill | move.gen
        return reach, self.held[edge.source] & ~move.forget | move.learn

    def _joined(self, edges: list[FlowEdge]) -> tuple[int, int]:
        """The state after a join: a field that a branch writes has the value that it has at the end of that branch."""
        regions = [self.moves.regions[edge.source] for edge in edges]
        everything = 0
        for region in regions:
            everything |= region.masks
        reach = held = 0
        for edge, region in zip(edges, regions, strict=True):
            # Fields that no branch writes are the same in all of them. All branches were taken, so what any of them has
            # shown holds, unless a concurrent branch may have changed it since.
            reach |= self.reach[edge.source] & (region.masks | ~everything)
            held |= self.held[edge.source] & ~region.forgotten_beside
        return reach, held

    # -- answers ---------------------------------------------------------------

    def mask_at(self, node: str, field: str) -> int:
        return self.reach.get(node, 0) & self.definitions.masks.get(field, 0)

    def type_at(self, node: str, field: str) -> Type:
        """The type of a field at a node."""
        mask = self.mask_at(node, field)
        kind = self._type(field, mask) if mask else ANY
        return present(kind) if self.held[node] & self.moves.clauses.present(field) else kind

    def _type(self, field: str, mask: int) -> Type:
        self._forget_changed()
        known = self._types.setdefault(field, {})
        if mask not in known:
            # Masks of successive steps mostly differ by one definition: extend the join of a cached mask.
            before, kind = self._latest.get(field, (0, NOTHING))
            if before & mask != before:
                # The cached mask has definitions that this one lacks: start over.
                before, kind = 0, NOTHING
            known[mask] = join(kind, self.definitions.type_of(mask ^ before))
            self._latest[field] = (mask, known[mask])
        return known[mask]

    def _forget_changed(self) -> None:
        """Drop cached joins that include a definition which was refined since."""
        for definition in self.definitions.changes[self._known_at :]:
            self._types.pop(definition.field, None)
            if self._latest.get(definition.field, (0, NOTHING))[0] & definition.bit:
                del self._latest[definition.field]
        self._known_at = self.definitions.moment

    def overall(self, field: str) -> Type:
        """The type of a field over the whole run."""
        mask = self.definitions.masks.get(field)
        return self._type(field, mask) if mask else ANY

    def clauses_at(self, node: str, names: frozenset[str]) -> list[Clause]:
        """The clauses that hold at a node and read one of these names."""
        clauses = self.moves.clauses
        wanted = 0
        for name in names:
            wanted |= clauses.of_name.get(name, 0)
        found = list(clauses.of_mask(self.held.get(node, 0) & wanted)) if wanted else []
        # Each clause is inferred for each template: without a limit, long chains of conditions would be quadratic.
        return found[:_MOST_CLAUSES]


def _at_nodes(texts: dict[Step, StepTexts]) -> dict[str, list[Place]]:
    found: dict[str, list[Place]] = {}
    for places in texts.values():
        for place in places.all:
            found.setdefault(place.node, []).append(place)
    return found


def _order(flow: Flow) -> list[str]:
    """The reachable nodes in reverse postorder: each after its predecessors, except for the edges that close a loop."""
    # Depth-first with an explicit stack: recursion would fail on a few hundred steps in a row.
    found: list[str] = []
    seen = {flow.initial}
    path = [(flow.initial, iter(flow.out.get(flow.initial, ())))]
    while path:
        node, edges = path[-1]
        edge = next(edges, None)
        if edge is None:
            path.pop()
            found.append(node)
        elif edge.target not in seen:
            seen.add(edge.target)
            path.append((edge.target, iter(flow.out.get(edge.target, ()))))
    return found[::-1]
