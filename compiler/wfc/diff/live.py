"""What a run that waits in a step will still need: fields and inputs that later steps read."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from wfc.analysis.control_flow import Flow, FlowEdge
from wfc.analysis.types.workflow import ScopeTypes
from wfc.core.types import Type
from wfc.ir import State


class Needs:
    """One scope of one version. Liveness, solved once for all of its nodes."""

    def __init__(self, flow: Flow, types: ScopeTypes) -> None:
        self.flow = flow
        self.types = types
        self._live: dict[str, frozenset[str]] = dict.fromkeys([*flow.states, *_ends(flow)], frozenset())
        todo = list(self._live)
        while todo:
            node = todo.pop()
            found = self._reads(node) | (self._onward(node) - self._writes(node))
            if found != self._live[node]:
                self._live[node] = found
                todo += [edge.source for edge in flow.into.get(node, ())]

    @cached_property
    def kinds(self) -> dict[str, Type]:
        """The type of each field."""
        return self.types.field_types()

    def after(self, node: str) -> frozenset[str]:
        """The fields that are read, once a step has its result, before anything writes them."""
        return self._onward(node) - self._writes(node)

    def is_set(self, node: str, field: str) -> bool:
        """Whether a run that comes to a node has surely written a field."""
        definitions = self.types.inference.definitions
        if field not in definitions.by_field:
            return False
        mask = self.types.states.mask_at(node, field)
        return bool(mask) and not mask & definitions.unset(field)

    def inputs_after(self, node: str, names: Iterable[str]) -> dict[str, str]:
        """Which of some inputs are read by steps that can come after a node, each with one such step."""
        wanted = set(names)
        found: dict[str, str] = {}
        if not wanted:
            return found
        for later in self.flow.reach([edge.target for edge in self.flow.out.get(node, ())]):
            step = self.flow.step(later)
            for text in step.texts() if step else ():
                for read in text.template.reads:
                    name = read.path[0].name if read.root == "inputs" and read.path else None
                    if isinstance(name, str) and name in wanted and step is not None:
                        found.setdefault(name, step.name)
        return found

    def reader(self, node: str, field: str) -> str | None:
        """A step that reads a field after a node."""
        for later in self.flow.reach([edge.target for edge in self.flow.out.get(node, ())]):
            step = self.flow.step(later)
            if step is not None and field in self._reads(later):
                return step.name
        return None

    def _onward(self, node: str) -> frozenset[str]:
        return frozenset().union(*(self._live[edge.target] for edge in self.flow.out.get(node, ())))

    def _reads(self, node: str) -> frozenset[str]:
        state = self.flow.states.get(node)
        effect = frozenset(state.effect.reads) if state and state.effect else frozenset()
        return effect.union(*(_guard_reads(edge) for edge in self.flow.out.get(node, ())))

    def _writes(self, node: str) -> frozenset[str]:
        state = self.flow.states.get(node)
        return _written(state) if state else frozenset()


def _ends(flow: Flow) -> list[str]:
    return [flow.end, *(end for ends in flow.branch_ends.values() for end in ends)]


def _guard_reads(edge: FlowEdge) -> tuple[str, ...]:
    return edge.guard.reads if edge.guard else ()


def _written(state: State) -> frozenset[str]:
    if state.effect is None:
        return frozenset()
    updates = state.effect.arguments.get("updates") or {}
    return frozenset([*updates, *([state.effect.writes] if state.effect.writes else [])])
