"""Guards of a machine, its states and edges as tables, and the interpreter that executes them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from statemachine import State

from wfc_runtime.errors import SnapshotError
from wfc_runtime.machine.derive import Derivations
from wfc_runtime.machine.effects import Fail

if TYPE_CHECKING:
    from statemachine.transition import Transition

    from wfc_runtime.machine.chart import AnyMachine, Machine
    from wfc_runtime.machine.effects import Effect
    from wfc_runtime.machine.run import Run


# Guards. A guard is evaluated while edges are selected, possibly twice, so it must not change anything. A guard that
# fails reports the failure once and blocks all edges of its state until the failure is handled.

Guard = Callable[..., bool]


class Guarding:
    """Base class of guards; the runtime calls `allows`."""

    def allows(self, run: Run, state: str) -> bool:
        raise NotImplementedError(type(self).__name__)


def as_guard(guarding: Guarding, name: str) -> Guard:
    """The guard as a function for the library. Its diagrams show a guard by the function's name."""

    def guard(machine: Machine[Any, Any], source: State) -> bool:
        return guarding.allows(machine.model, source.id)

    guard.__name__ = name
    # The library treats a function without `__self__` as a method of the machine and looks it up by name.
    guard.__self__ = guarding  # type: ignore[attr-defined]
    return guard


@dataclass(frozen=True)
class Condition(Guarding):
    """An expression of the workflow, the fields that it may read, and the number of iterations that it may allow."""

    # Not only text: a condition that is always true, as of `at_most`, is True itself.
    text: Any
    reads: tuple[str, ...]
    most: int | None
    leaves: bool = False
    """Whether it is false after that many iterations; otherwise the step fails."""

    def allows(self, run: Run, state: str) -> bool:
        return run.holds(state, self)


def when(text: Any, *reads: str, at_most: int | None = None, up_to: int | None = None) -> Guard:
    """The expression is true. With `at_most`, being true more often than that fails the step; with `up_to`, the guard
    is false then."""
    # The name is a label in diagrams, where the braces of a template are noise.
    shown = text.strip().removeprefix("{{").removesuffix("}}").strip() if isinstance(text, str) else str(text)
    if up_to is not None:
        return as_guard(Condition(text, reads, up_to, True), f"{shown} (up to {up_to} times)")
    name = shown if at_most is None else f"{shown} (at most {at_most} times)"
    return as_guard(Condition(text, reads, at_most), name)


def at_most(turns: int) -> Guard:
    """The state has been entered at most this often; once more fails the step."""
    return as_guard(Condition(True, (), turns), f"at most {turns} times")


@dataclass(frozen=True)
class NextItem(Guarding):
    """The loop that begins its turns in this state has another item."""

    most: int | None = None
    """The maximum number of items, if the loop has one."""

    def allows(self, run: Run, state: str) -> bool:
        return run.may_leave(state) and run.has_item(state)


def next_item(at_most: int | None = None) -> Guard:
    """There is another item."""
    return as_guard(NextItem(at_most), "next item")


@dataclass(frozen=True)
class Ended(Guarding):
    """Other branches have ended. A state with such an edge waits for them, and for nothing from outside."""

    ends: tuple[str, ...]

    def allows(self, run: Run, state: str) -> bool:
        return run.may_leave(state) and run.are_active(self.ends)


def ended(*ends: str) -> Guard:
    """The branches with these final states have ended."""
    return as_guard(Ended(ends), f"ended: {', '.join(end.removesuffix('_end') for end in ends)}")


class Unfailed(Guarding):
    def allows(self, run: Run, state: str) -> bool:
        return run.may_leave(state)


OK = Unfailed()
ok: Guard = as_guard(OK, "ok")
"""The state's effect has succeeded. An edge without an event or a condition has this guard."""


class Faultless(Guarding):
    def allows(self, run: Run, state: str) -> bool:
        return run.is_faultless()


faultless: Guard = as_guard(Faultless(), "no failure")
"""No failure has been deferred to the end of the run."""

otherwise: Guard = as_guard(OK, "otherwise")
"""No earlier edge was taken, and none of their conditions failed."""


# The states and edges of a machine as plain tables, read from its class once.


# Identity is enough and faster: nodes refer to each other, so comparing by value would walk the chart.
@dataclass(slots=True, eq=False, repr=False)
class Node:
    """A state."""

    id: str
    name: str
    """The step's id in the YAML."""
    order: int
    """Its position in the document: parents before their children, branches one after the other."""
    parent: Node | None
    is_final: bool
    is_parallel: bool
    ancestors: tuple[Node, ...] = ()
    """From the innermost outward."""
    path: tuple[Node, ...] = ()
    """Itself and its ancestors."""
    children: list[Node] = field(default_factory=list)
    initial: list[Node] = field(default_factory=list)
    # Filled from the library's own initial transitions, which also cover parallel states.
    """The nodes that are entered with it: one child, or every branch."""
    eventless: list[Edge] = field(default_factory=list)
    on: dict[str, list[Edge]] = field(default_factory=dict)

    is_gate: bool = False
    """Whether it waits for other branches. A run does not count such a state as a visit."""

    owner: str | None = None
    """For a state of a step that a dialect has added: the step that it is part of, or ""."""

    @property
    # Dialects add frames and helper states that the author never wrote; messages must not name them.
    def title(self) -> str:
        """The author's name for it. A frame that a dialect has added is named after its branches."""
        if self.owner is None:
            return self.name
        return self.owner or " and ".join(child.name for child in self.children) or self.name

    def __repr__(self) -> str:
        # The default would print everything it is connected to, which is the whole chart.
        return f"Node({self.id!r})"

    @property
    def is_atomic(self) -> bool:
        return not self.children

    @property
    def is_step(self) -> bool:
        """Whether it is a step: neither a frame around other states nor an end."""
        return not self.children and not self.is_final


@dataclass(slots=True, eq=False)
class Edge:
    source: Node
    target: Node
    guards: tuple[Guarding, ...]
    is_addressed: bool
    """Whether only an event that names the source takes it."""
    domain: Node | None
    """The state that stays active while the edge is taken: the innermost one around both ends. None: there is none."""
    entering: tuple[Node, ...]
    """The target, the states entered by default inside it, and those between it and the domain; in order."""


class Structure:
    """The tables that drive a machine: its states in document order, their edges, and their effects."""

    def __init__(self, machine: AnyMachine) -> None:
        self.steps: Mapping[str, Effect] = machine.steps
        self.initial_values = machine.initial
        self.inputs = machine.inputs
        self.secrets = machine.secrets
        self.facts = machine.facts
        self.expressions = machine.expressions
        # Decides whether runs record their answered steps, so workflows without a `fail` step store nothing.
        self.fails_by_intent = any(isinstance(effect, Fail) for effect in machine.steps.values())
        self.caught = machine.caught
        self.derived = Derivations(machine.derived)
        self.at_start = machine.at_start
        self.failing = machine.failing
        self.time_limit = machine.time_limit
        self.internal = frozenset(machine.internal)
        self.loops = machine.loops
        self.loops_around: dict[str, list[str]] = {}
        """The loops around a state, from the outermost inward: a module lists outer loops first."""
        for turn, loop in machine.loops.items():
            for name in loop.inside:
                self.loops_around.setdefault(name, []).append(turn)
        self.nodes: dict[str, Node] = {}
        # The library lists states in document order, a parent before its children, so a parent is in the table
        # already.
        for order, state in enumerate(machine.states_map.values()):
            parent = self.nodes[state.parent.id] if state.parent else None
            node = Node(state.id, str(state.name), order, parent, bool(state.final), bool(state.parallel))
            node.owner = machine.added.get(state.id)
            if parent is not None:
                parent.children.append(node)
                node.ancestors = parent.path
            node.path = (node, *node.ancestors)
            self.nodes[state.id] = node
        # A step and its parts, such as the test of its condition, have one name.
        names = {self.nodes[state].name for state in machine.deferred}
        self.deferred = frozenset(node.id for node in self.nodes.values() if node.name in names)
        transitions = [one for state in machine.states_map.values() for one in state.transitions]
        for transition in transitions:
            if transition.initial:
                source, target = self._ends(transition)
                source.initial.append(target)
        # After all initial edges are known: the states that an edge enters include those entered by default.
        for transition in transitions:
            if not transition.initial:
                self._add(transition)
        assert machine.initial_state is not None
        self.root = self.nodes[machine.initial_state.id]
        self.first = in_order(with_defaults(self.root))
        """The states that are active at the start."""

    def _ends(self, transition: Transition) -> tuple[Node, Node]:
        assert transition.target is not None
        return self.nodes[transition.source.id], self.nodes[transition.target.id]

    def _add(self, transition: Transition) -> None:
        source, target = self._ends(transition)
        # The library wraps a guard; the object that `as_guard` attached as `__self__` is what this
        # interpreter calls.
        guards = [getattr(spec.func, "__self__", spec.func) for spec in transition.cond]
        known = tuple(guard for guard in guards if isinstance(guard, Guarding))
        is_addressed = "addressed" in guards
        # A guard from elsewhere would be ignored here and evaluated by the library: the two would disagree.
        assert len(known) + is_addressed == len(guards), f"{source.id} has a guard that is not ours: {guards}"
        events = [str(event) for event in transition.events]
        if not guards and not events:
            # An edge without event and guard must not be taken while its state has an unhandled failure.
            known = (OK,)
        source.is_gate = source.is_gate or any(isinstance(guard, Ended) for guard in known)
        domain = _domain(source, target)
        edge = Edge(source, target, known, is_addressed, domain, in_order(_entered(target, domain)))
        if not events:
            source.eventless.append(edge)
        for event in events:
            source.on.setdefault(event, []).append(edge)

    @cached_property
    def joined(self) -> dict[str, Node]:
        """The parallel state that each joining state belongs to. Both are beside each other."""
        found: dict[str, Node] = {}
        # The join is a sibling of the parallel state, so the innermost parallel ancestor is not always the
        # right one.
        for state, join in self.caught.items():
            beside = self.nodes[join].parent
            around = self.nodes[state].ancestors
            found[join] = next(node for node in around if node.is_parallel and node.parent is beside)
        return found

    @cached_property
    def failing_fast(self) -> frozenset[str]:
        """The joining states that the first failure of a branch leads to, while other branches are at work."""
        recovery = [
            (join, edge) for state, join in self.caught.items() for edge in self.nodes[state].on["recover"]
        ]
        return frozenset(join for join, edge in recovery if edge.target.id == join)

    def branch_of(self, state: str) -> str:
        """The branch whose failure the failure of a state is."""
        frame = self.joined[self.caught[state]]
        return next(node.id for node in self.nodes[state].path if node.parent is frame)

    def can_recover(self, state: str) -> bool:
        return "recover" in self.nodes[state].on

    def is_handled(self, state: str) -> bool:
        """Whether the author has defined what follows a failure of the state, or of the parallel step around it."""
        return self.can_recover(self.caught.get(state, state))


def _domain(source: Node, target: Node) -> Node | None:
    # SCXML: a parallel state can't be the domain, since an edge between two of its branches leaves all of them.
    around = [node for node in source.ancestors if not node.is_parallel and node in target.ancestors]
    return around[0] if around else None


def _entered(target: Node, domain: Node | None) -> dict[str, Node]:
    entered = with_defaults(target)
    for node in target.ancestors:
        if node is domain:
            # The domain stays active and is not entered again.
            break
        entered[node.id] = node
        if node.is_parallel:
            # Entering one branch of a parallel state enters all the others at their initial states.
            for branch in node.children:
                if branch.id not in entered:
                    entered.update(with_defaults(branch))
    return entered


def with_defaults(node: Node) -> dict[str, Node]:
    found = {node.id: node}
    for child in node.initial:
        found.update(with_defaults(child))
    return found


def in_order(nodes: Mapping[str, Node]) -> tuple[Node, ...]:
    return tuple(sorted(nodes.values(), key=lambda node: node.order))


# By class: a module that is evicted and loaded again is a new class with new tables.
@lru_cache(maxsize=256)
def structure_of(machine: AnyMachine) -> Structure:
    return Structure(machine)


# The interpreter implements the part of the SCXML algorithm that generated machines use. The state machine library
# could drive a machine too, and tests compare the two. This one keeps no state between two events, so threads can
# share the tables, and it takes a tenth of the time.


class Interpreter:
    """The active states, and how events change them."""

    def __init__(self, structure: Structure, run: Run, active: list[str]) -> None:
        self._run = run
        self._first = structure.first
        self._active: dict[str, Node] = {name: structure.nodes[name] for name in active}
        # Events raised by effects, as SCXML's internal queue.
        self._raised: deque[tuple[str, str]] = deque()
        self._busy = False
        self._has_ended = False

    @property
    def configuration(self) -> list[str]:
        return [node.id for node in in_order(self._active)]

    def is_active(self, state: str) -> bool:
        # Called by guards while edges are selected, so it reflects the configuration before the move.
        return state in self._active

    def start(self) -> None:
        # Effects may raise events while their state is being entered; these wait until the entry is complete.
        self._busy = True
        self._enter(self._first)
        self._settle()
        self._busy = False

    def resume(self, entering: Set[str]) -> None:
        """Continue a run that had ended: perform the effects of some active states, then continue."""
        self._busy = True
        for node in in_order(self._active):
            if node.is_final:
                # The end of the run came before the event that this raised, or after it. Then nothing listens to it.
                self._reach_end(node)
            elif node.id in entering:
                self._run.entered(node.id)
        self._settle()
        self._busy = False

    def raise_(self, event: str, at: str = "") -> None:
        """Process an event for the state `at`, or for any state. An event raised during another one is queued."""
        if self._busy:
            self._raised.append((event, at))
            return
        # An external event that nothing listens to means that snapshot and module disagree: reported, not
        # ignored.
        edges = self._enabled(event, at)
        if not edges:
            where = ", ".join(self.configuration)
            raise SnapshotError("snapshot_illegal", f"no transition from {where} for the event `{event}`")
        self._busy = True
        self._take(edges)
        self._settle()
        self._busy = False

    def _settle(self) -> None:
        """Take edges until none is enabled without an external event."""
        # A final top-level state ends the loop even if events are queued: they belong to a run that is over.
        while not self._has_ended:
            # As in SCXML, eventless edges come before queued events: a machine first reaches a stable configuration.
            edges = self._enabled(None, "")
            if not edges:
                if not self._raised:
                    return
                edges = self._enabled(*self._raised.popleft())
            # A queued event that no edge takes is dropped, as SCXML does: its step may have been left in the
            # meantime.
            if edges:
                self._take(edges)

    # -- which edges -----------------------------------------------------------

    def _enabled(self, event: str | None, at: str) -> list[Edge]:
        # Selection starts at the innermost states and goes outward, so an inner edge takes precedence over an outer
        # one.
        # Parents are found through the path of each atomic state, so they need not be candidates themselves.
        atomic = [node for node in self._active.values() if not node.children]
        if len(atomic) > 1:
            atomic.sort(key=lambda node: node.order)
        found: list[Edge] = []
        for node in atomic:
            edge = self._first_edge(node, event, at)
            # Two branches may select the same edge of a state around both of them.
            if edge is not None and edge not in found:
                found.append(edge)
        return found if len(found) < 2 else self._without_conflicts(found)

    def _first_edge(self, node: Node, event: str | None, at: str) -> Edge | None:
        for state in node.path:
            for edge in state.eventless if event is None else state.on.get(event, ()):
                if (not edge.is_addressed or state.id == at) and self._is_open(edge, state.id):
                    return edge
        return None

    def _is_open(self, edge: Edge, state: str) -> bool:
        return not edge.guards or all(guard.allows(self._run, state) for guard in edge.guards)

    def _without_conflicts(self, edges: list[Edge]) -> list[Edge]:
        """Of two edges that leave the same state, keep the one from further inside, else the earlier one."""
        kept: list[Edge] = []
        for edge in edges:
            leaves = self._left_by(edge)
            rivals = [other for other in kept if not leaves.keys().isdisjoint(self._left_by(other))]
            # An edge loses against an earlier one unless it comes from further inside (SCXML:
            # removeConflictingTransitions).
            if all(other.source in edge.source.ancestors for other in rivals):
                kept = [*(other for other in kept if other not in rivals), edge]
        return kept

    def _left_by(self, edge: Edge) -> dict[str, Node]:
        domain = edge.domain
        return {
            name: node for name, node in self._active.items() if domain is None or domain in node.ancestors
        }

    # -- moving ----------------------------------------------------------------

    def _take(self, edges: list[Edge]) -> None:
        self._run.outcome.taken += edges
        # Leaving the root means that the run ends or starts over. The states that were active then are needed for a
        # retry.
        if edges[0].domain is None:
            self._run.ending(self.configuration)
        leaving = {name: node for edge in edges for name, node in self._left_by(edge).items()}
        # Children are left before their parents, and entered after them.
        for node in reversed(in_order(leaving)):
            if node.is_step:
                self._run.left(node.id)
            del self._active[node.id]
        if len(edges) == 1:
            self._enter(edges[0].entering)
        else:
            # Entries of several edges are merged and sorted: each state is entered once, in document order.
            self._enter(in_order({node.id: node for edge in edges for node in edge.entering}))

    def _enter(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            self._active[node.id] = node
            # Before anything else happens, so that `done` events are queued behind the entries of the same
            # move.
            if node.is_final:
                self._reach_end(node)
            elif not node.children:
                self._run.entered(node.id)

    def _reach_end(self, node: Node) -> None:
        if node.parent is None:
            # A final state at the top level: nothing may move the machine any more.
            self._has_ended = True
            return
        self._raised.append((f"done.state.{node.parent.id}", ""))
        around = node.parent.parent
        # A parallel state is done only when every branch is, whichever ends last.
        if around is not None and around.is_parallel and all(map(self._is_done, around.children)):
            self._raised.append((f"done.state.{around.id}", ""))

    def _is_done(self, branch: Node) -> bool:
        return any(child.is_final and child.id in self._active for child in branch.children)
