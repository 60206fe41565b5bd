"""What taking an edge does to what is known: definitions and clauses that end, and those that begin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wfc.core.state_use import state_use
from wfc.flow import Flow, FlowEdge
from wfc.infer.conditions import Clause, clauses_of_edge, form_of
from wfc.infer.definitions import Definitions
from wfc.infer.environment import Held
from wfc.infer.texts import Place
from wfc.ir import Region
from wfc.steps.base import Step
from wfc.steps.foreach import Foreach
from wfc.structs import struct

_FAILURES = frozenset({"recover", "retry"})


@struct(slots=True)
class Move:
    kill: int = 0
    gen: int = 0
    forget: int = 0
    learn: int = 0


class Clauses:
    """The conditions of a scope, each a bit, and for each field a bit that says that it is not null."""

    def __init__(self) -> None:
        self.all: list[Clause | None] = []
        self._conditions = 0
        """The bits that stand for conditions."""
        self._bits: dict[object, int] = {}
        self.of_name: dict[str, int] = {}
        """The clauses that look at a name: `x` for a state field, `inputs.x` for an input."""

    def bit(self, clause: Clause) -> int:
        return self._bit((clause.key, clause.positive), clause, clause.names)

    def present(self, field: str) -> int:
        return self._bit(field, None, (field,))

    def _bit(self, key: object, clause: Clause | None, names: Iterable[str]) -> int:
        if key not in self._bits:
            self._bits[key] = 1 << len(self.all)
            self._conditions |= self._bits[key] if clause is not None else 0
            self.all.append(clause)
            for name in names:
                self.of_name[name] = self.of_name.get(name, 0) | self._bits[key]
        return self._bits[key]

    def known(self, held: Held) -> int:
        """The bit of a condition; 0 where no edge has it."""
        return self._bits.get(form_of(held), 0)

    def opposite(self, clause: Clause) -> int:
        """The bit of the same condition with the other outcome; 0 where nobody learns that."""
        return self._bits.get((clause.key, not clause.positive), 0)

    def of_mask(self, mask: int) -> Iterator[Clause]:
        mask &= self._conditions
        while mask:
            low = mask & -mask
            clause = self.all[low.bit_length() - 1]
            if clause is not None:
                yield clause
            mask ^= low


class Moves:
    """The move of every edge of a flow."""

    def __init__(self, flow: Flow, definitions: Definitions, texts: dict[str, list[Place]]) -> None:
        self._flow = flow
        self._definitions = definitions
        self._texts = texts
        self.clauses = Clauses()
        self.learned: dict[int, tuple[Clause, ...]] = {}
        """By the identity of the edge, whose hash would take in all of its guard's text."""
        for edge in flow.edges:
            found = clauses_of_edge(edge, flow.out[edge.source])
            if found:
                self.learned[id(edge)] = found
                for clause in found:
                    self.clauses.bit(clause)
        self._starts: dict[str, Branch] = {}
        self._asserted = {node: self._assertions(found) for node, found in texts.items()}
        self.regions: dict[str, Branch] = {}
        """The branches of parallel steps, by their ends."""
        for state in flow.states.values():
            if state.regions:
                self.regions |= _branches(state.regions, definitions, self.clauses)
        self._of = {id(edge): self._move(edge) for edge in flow.edges}

    def of(self, edge: FlowEdge) -> Move:
        return self._of[id(edge)]

    def _assertions(self, texts: list[Place]) -> tuple[set[str], set[str]]:
        """Fields surely read without a guard: where the flow goes on, they were there. And those read into."""
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
            if edge.event not in _FAILURES:
                self._assert(move, edge.source)
            if state.kind == state.step.kind:
                self._write(move, state.step, edge.event)
        for clause in self.learned.get(id(edge), ()):
            move.learn |= self.clauses.bit(clause)
        return move

    def _fork(self, move: Move, regions: tuple[Region, ...], target: str) -> None:
        """Branches run side by side: what one writes, another may find written."""
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
            if definition.after_failure != (event == "recover") or event == "retry":
                continue
            # A call that fails may have done so before it had a child to leave anything behind.
            if not definition.after_failure or isinstance(step, Foreach):
                move.kill |= self._definitions.masks[definition.field]
            move.gen |= definition.bit
            names = self.clauses.of_name.get(definition.field, 0)
            move.forget |= names
            move.learn &= ~names


@struct(slots=True)
class Branch:
    """One branch of a parallel step, and what may happen beside it meanwhile."""

    fields: frozenset[str]
    masks: int
    """All definitions of the fields that it writes."""
    written_beside: int = 0
    """Definitions by the steps of the other branches."""
    forgotten_beside: int = 0
    """Clauses about fields that the other branches write."""


def _branches(regions: tuple[Region, ...], definitions: Definitions, clauses: Clauses) -> dict[str, Branch]:
    found = [_branch(region, definitions) for region in regions]
    written = [branch.masks & ~definitions.start for branch in found]
    forgotten = [_clauses_of(branch.fields, clauses) for branch in found]
    # Everything but one's own, without looking at every pair: what stands before it and what stands behind it.
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
