"""The picture of a loaded module. A run is drawn as the version that it started with, whose YAML may be gone."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from threading import Lock
from typing import Any

from wfc_runtime.contract import HUMAN_KINDS
from wfc_runtime.machine.change import ChangeFields
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.effects import Ask, Assign, Effect, Fail, Return
from wfc_runtime.machine.failing import HANDLE
from wfc_runtime.machine.interpreter import Condition, Ended, NextItem, structure_of
from wfc_runtime.machine.say import Say
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.picture.build import Builder, fields_flow
from wfc_runtime.picture.model import Panel, Picture
from wfc_runtime.picture.svg import render_svg
from wfc_runtime.picture.text import shorten
from wfc_runtime.registry import Module
from wfc_runtime.service.interface import Reply
from wfc_runtime.service.path import aliases_of

# A machine in the form that pictures are built from.

# The text of a module is matched, because kinds are only in its comments.
_CLASS = re.compile(r"class (\w+)\(Machine\[")
_STATE = re.compile(r"\s+(\w+) = State\(")
_BESIDE, _ABOVE = re.compile(r"\)  # (\w+)"), re.compile(r"\s+# (\w+)")
_AGENT_KINDS = ("shell", "mcp_call", "delegate")
_COMMON = ("reads", "writes", "retry")


def kinds_of(text: str) -> dict[str, dict[str, str]]:
    """The kind of step that each state of each machine of a module is made of. It is in the comment beside or above the
    state: data only describes the effect of a step, and a `break` has the same effect as a `goto`."""
    found: dict[str, dict[str, str]] = {}
    states: dict[str, str] = {}
    above = ""
    for line in text.splitlines():
        if begun := _CLASS.match(line):
            states = found[begun[1]] = {}
        if named := _STATE.match(line):
            beside = _BESIDE.search(line)
            kind = beside[1] if beside else above
            if kind:
                states[named[1]] = kind
        said = _ABOVE.match(line)
        above = said[1] if said else ""
    return found


@dataclass(frozen=True)
class _Work:
    name: str
    arguments: Mapping[str, Any]
    reads: tuple[str, ...]
    writes: str | None
    retry: Mapping[str, Any] | None


@dataclass(frozen=True)
class _Guard:
    name: str
    text: Any = None
    reads: tuple[str, ...] = ()
    at_most: int | None = None


@dataclass(frozen=True)
class _Edge:
    source: str
    target: str
    event: str | None
    guard: _Guard | None


@dataclass(frozen=True)
class _Region:
    title: str
    states: list[_State]
    edges: list[_Edge]
    initial: str
    end: str


@dataclass(frozen=True)
class _State:
    id: str
    title: str
    kind: str
    color: str
    effect: _Work | None
    line: int
    regions: list[_Region] = field(default_factory=list)
    note: str = ""

    @property
    def word(self) -> str:
        """The type of the step in its author's language: the comment in a module has that."""
        return self.kind


class _Chart:
    """The chart of one machine."""

    def __init__(self, machine: AnyMachine, kinds: Mapping[str, str], lines: Mapping[str, int]) -> None:
        self._machine, self._kinds, self._lines = machine, kinds, lines
        # The final states beside it are the same in every chart and are not drawn.
        running = next(state for state in machine.states_map.values() if state.id == "running")
        self.root = self._region(running)
        self.caught = machine.caught
        self.handler = next((edge.target for edge in _edges(running) if edge.event == HANDLE), "")

    def states(self) -> Iterator[_State]:
        return _walk(self.root)

    def _region(self, region: Any) -> _Region:
        inner = [state for state in region.states if not state.final]
        first = next((state.id for state in inner if state.initial), inner[0].id if inner else "")
        end = next((state.id for state in region.states if state.final), "finished")
        edges = [edge for state in inner for edge in _edges(state)]
        return _Region(str(region.name), [self._state(state) for state in inner], edges, first, end)

    def _state(self, state: Any) -> _State:
        effect = self._machine.steps.get(state.id)
        usual = "parallel" if state.parallel else ""
        return _State(
            state.id,
            str(state.name),
            self._kinds.get(state.id) or usual,
            _color(effect),
            _work(effect) if effect is not None else None,
            self._lines.get(state.id, 0),
            [self._region(branch) for branch in state.states] if state.parallel else [],
        )


def _walk(region: _Region) -> Iterator[_State]:
    for state in region.states:
        yield state
        for inner in state.regions:
            yield from _walk(inner)


def _color(effect: Effect | None) -> str:
    match effect:
        case Ask() if effect.kind in HUMAN_KINDS:
            return "person"
        case Ask() if effect.kind == "wait":
            return "time"
        case Ask() if effect.runner == "server":
            return "server"
        case Ask():
            return "agent" if effect.kind in _AGENT_KINDS else "server"
        case Spawn():
            return "child"
        case Assign() | ChangeFields():
            return "state"
        case Say():
            return "message"
        case Return():
            return "end"
        case Fail():
            return "failure"
    return "control"


def _work(effect: Effect) -> _Work:
    # The data that the builder shows elsewhere, for every effect.
    own = [one for one in fields(effect) if one.name not in _COMMON]
    # Only what differs from the default, as the compiler writes it into a module.
    given = {one.name: getattr(effect, one.name) for one in own if getattr(effect, one.name) != _default(one)}
    retry = None
    if effect.retry is not None:
        retry = {
            one.name: getattr(effect.retry, one.name)
            for one in fields(effect.retry)
            if getattr(effect.retry, one.name) != _default(one)
        }
    return _Work(type(effect).__name__, given, effect.reads, effect.writes, retry)


def _default(one: Any) -> Any:
    return one.default_factory() if one.default_factory is not MISSING else one.default


def _edges(state: Any) -> Iterator[_Edge]:
    for transition in state.transitions:
        if not transition.initial and transition.target is not None:
            events = [str(event) for event in transition.events]
            event = events[0].replace("done.state.", "done_state_") if events else None
            yield _Edge(state.id, transition.target.id, event, _guard(transition, event))


def _guard(transition: Any, event: str | None) -> _Guard | None:
    for spec in transition.cond:
        guarding = getattr(spec.func, "__self__", None)
        if isinstance(guarding, Condition):
            if guarding.text is True:
                return _Guard("at_most", at_most=guarding.most)
            return _Guard("when", guarding.text, guarding.reads, guarding.most)
        if isinstance(guarding, Ended):
            return _Guard("ended")
        if isinstance(guarding, NextItem):
            return _Guard("next_item", at_most=guarding.most)
        name = getattr(spec.func, "__name__", "")
        if name in ("ok", "otherwise"):
            return _Guard(name)
    # As the machine does it: an edge without event and guard has the guard `ok`.
    return None if event else _Guard("ok")


# The picture.


_MOST_DRAWN = 64
_drawn: OrderedDict[tuple[str, str | None], str] = OrderedDict()
"""SVGs by digest and line map. Drawing a large workflow takes a second."""
_lock = Lock()


def picture_of(module: Module) -> Picture:
    """All charts of a module: that of the workflow, then those of its tasks."""
    workflow, kinds = module.workflow, kinds_of(module.text)
    panels = []
    for name, machine in {workflow.name: workflow.machine, **workflow.tasks}.items():
        is_main = machine is workflow.machine
        chart = _Chart(machine, kinds.get(machine.__name__, {}), workflow.lines.get(name, {}))
        caption = f"{workflow.name} {workflow.version}".strip() if is_main else f"task {name}"
        about = " ".join((machine.__doc__ or "").split())
        inputs = tuple(one.alias or name for name, one in machine.inputs.model_fields.items())
        drawn_as = "main" if is_main else name
        panels.append(Panel(shorten(caption, 120), inputs, about, Builder(chart).root(), drawn_as))
        if machine.derived:
            derived = {field: (one.reads, one.value) for field, one in machine.derived.items()}
            flow, beside = fields_flow(name, derived), "fields" if is_main else f"{name} fields"
            panels.append(Panel(shorten(f"computed fields of {name}", 120), (), "", flow, beside))
    return Picture(workflow.name, tuple(panels))


def svg_of(module: Module) -> str:
    key = (module.digest, module.line_map)
    with _lock:
        found = _drawn.get(key)
    # Drawn outside the lock. Two threads may draw the same picture, which is harmless.
    if found is None:
        found = render_svg(picture_of(module), themes=False)
        with _lock:
            _drawn[key] = found
            while len(_drawn) > _MOST_DRAWN:
                _drawn.popitem(last=False)
    return found


def is_served(machine: AnyMachine, state: str) -> bool:
    """Whether a step is for a server to do, if one does such steps."""
    effect = machine.steps[state]
    return isinstance(effect, Ask) and effect.runner == "server"


def picture_reply(module: Module, task: str | None, machine: AnyMachine) -> Reply:
    """The picture, and the data of the chart that a page needs. A task that a named agent executes as
    one brief has no place in it."""
    structure = structure_of(machine)
    is_drawn = machine in (module.workflow.machine, *module.workflow.tasks.values())
    names = {node.id: node.title for node in structure.nodes.values() if node.is_step or node.is_parallel}
    return {
        "digest": module.digest,
        "source": module.source,
        "version": module.workflow.version,
        "chart": (task or "main") if is_drawn else "",
        "svg": svg_of(module),
        "names": names,
        "aliases": aliases_of(structure),
        "served": [structure.nodes[state].title for state in machine.steps if is_served(machine, state)],
        "lines": dict(module.workflow.lines.get(task or module.workflow.name, {})),
    }
