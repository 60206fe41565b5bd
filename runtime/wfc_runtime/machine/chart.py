"""The base class of generated machines, and the registration of a generated module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer
from statemachine import State, StateChart
from statemachine.callbacks import CallbackPriority

from wfc_runtime.contract import Json
from wfc_runtime.machine.budget import Steps
from wfc_runtime.machine.derive import Derive
from wfc_runtime.machine.effects import Effect
from wfc_runtime.machine.failing import Failing
from wfc_runtime.machine.interpreter import ok
from wfc_runtime.machine.loops import LoopNames
from wfc_runtime.machine.run import Run

if TYPE_CHECKING:
    from wfc_runtime.machine.interpreter import Condition
    from wfc_runtime.machine.simulation import Simulation


# Walking a chart by hand, without a run.


class Walk:
    """The model of a machine that is walked by hand, with the calls of the state machine library.

    Effects are not performed. `decide` is called with the text of each condition; without it every condition is false,
    so that the `otherwise` edges are taken.
    """

    def __init__(self, decide: Callable[[str], bool] = lambda text: False) -> None:
        self.decide = decide
        self.state: Any = None
        """Where the library keeps the active states."""
        self.path: list[str] = []
        """The states entered so far, in order."""
        self._turns: Counter[str] = Counter()

    def entered(self, state: str) -> None:
        self.path.append(state)

    def left(self, state: str) -> None:
        """A walk stores nothing for a state."""

    def ending(self, configuration: list[str]) -> None:
        """A walk can't be retried."""

    def may_leave(self, state: str) -> bool:
        return True

    def is_faultless(self) -> bool:
        return True

    def has_item(self, state: str) -> bool:
        return self.decide("next item")

    def are_active(self, states: tuple[str, ...]) -> bool:
        return all(state in self.state for state in states)

    def holds(self, state: str, condition: Condition) -> bool:
        holds = condition.text is True or self.decide(str(condition.text))
        if holds and condition.most is not None:
            # The library evaluates each guard twice; a walk needs no exact count, only an end.
            self._turns[state] += 1
            holds = self._turns[state] <= 2 * condition.most
        return holds


# The machine.


class WorkflowInputs(BaseModel):
    """The inputs of a run. Strict, complete and read-only."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, defer_build=True, validate_by_name=True
    )


class WorkflowObject(BaseModel):
    """An object inside the inputs: its declared keys are checked, others are kept.

    A declared key that was not given and has no default is missing from the value and not null, so that `default` and
    `is defined` work on it as they do on any other object.
    """

    model_config = ConfigDict(strict=True, extra="allow", frozen=True, defer_build=True)

    @model_serializer(mode="wrap")
    def leave_out_missing(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found: dict[str, Any] = serialize(self)
        for name, declared in type(self).model_fields.items():
            # `model_fields_set` also has keys that were given as null, which must stay null.
            if name not in self.model_fields_set and declared.default is None:
                found.pop(declared.alias or name, None)
        return found


class WorkflowState(BaseModel):
    """A typed view of a machine's state fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


InputsT = TypeVar("InputsT", bound=WorkflowInputs)
FieldsT = TypeVar("FieldsT", bound=WorkflowState)


class Machine(StateChart[Run], Generic[InputsT, FieldsT]):
    """One scope of a workflow (its main steps, or a task) as a statechart.

    The compiler has already checked what the library's validations look for. Time, children and answers arrive as
    events, so the library's own error events, delays and invocations are switched off.
    """

    validate_disconnected_states = False
    validate_trap_states = False
    validate_final_reachability = False
    catch_errors_as_events = False
    allow_event_without_transition = False
    enable_self_transition_entries = False

    inputs: ClassVar[type[WorkflowInputs]]
    fields: ClassVar[type[WorkflowState]]
    initial: ClassVar[Mapping[str, Json]] = {}
    at_start: ClassVar[Mapping[str, Json]] = {}
    """Fields that are computed once, when a run starts: expressions over the inputs."""
    derived: ClassVar[Mapping[str, Derive]] = {}
    """Fields that are computed from others whenever these change, in the order of their dependencies."""
    failing: ClassVar[Failing] = Failing()
    """The handling of a failure, before the run ends."""
    time_limit: ClassVar[float | None] = None
    """Seconds after which a run fails if it has not ended."""
    internal: ClassVar[tuple[str, ...]] = ()
    """Fields that are left out of the result and of what is shown as the state."""
    loops: ClassVar[Mapping[str, LoopNames]] = {}
    """Loops with variables, by the state at which their turns begin, outer ones first."""
    secrets: ClassVar[tuple[str, ...]] = ()
    """Fields whose values are redacted wherever a run is shown."""
    facts: ClassVar[Mapping[str, Json]] = {}
    """Metadata that a calling workflow can ask for."""
    deferred: ClassVar[tuple[str, ...]] = ()
    """States whose failure does not end the run immediately: it continues, and fails at its end."""
    caught: ClassVar[Mapping[str, str]] = {}
    """States in branches whose failure fails the parallel step around them, each with the state that joins it."""
    added: ClassVar[Mapping[str, str]] = {}
    """States that belong to no step of the author's, each with the step that it is part of, or ""."""
    budget: ClassVar[Mapping[str, float]] = {}
    """The budget of a run: usd, tokens, steps, seconds."""
    expressions: ClassVar[str] = "jinja"
    """The language of the expressions in conditions and effects: `jinja` or `javascript`."""
    steps: ClassVar[Mapping[str, Effect]] = {}

    def __init_subclass__(cls, **more: Any) -> None:
        # Only for a class that defines steps itself, so that a subclass without them does not wrap the table
        # again.
        if "steps" in vars(cls):
            cls.steps = Steps(cls.steps)
        super().__init_subclass__(**more)

    def __init__(self, model: Run | Walk | None = None, *more: Any, **options: Any) -> None:
        """Without a run the chart is walked by hand: effects are not performed; for conditions see `Walk`."""
        # A walk has no failures, so its plain edges need no guard.
        if isinstance(model, Run):
            _guard_plain_edges(type(self))
        super().__init__(cast(Run, Walk() if model is None else model), *more, **options)

    @classmethod
    def simulate(cls, inputs: InputsT | Mapping[str, Json] | None = None, at: float = 0.0) -> Simulation:
        """Start a run in memory. Raises `RequestError` if the inputs are invalid."""
        # Imported here, since that module imports this one.
        from wfc_runtime.machine.simulation import Simulation

        values = cls.start_values(inputs) if isinstance(inputs, WorkflowInputs) else inputs or {}
        return Simulation(cls, values, at)

    def before_transition(self, source: State, event: str) -> None:
        # The top-level frame is left when the run ends, starts over or begins its handler.
        if source.parent is None and event != "__initial__":
            self.model.ending([str(name) for name in self.configuration_values])

    def on_enter_state(self, target: State) -> None:
        if target.is_atomic and not target.final:
            self.model.entered(target.id)

    def on_exit_state(self, source: State) -> None:
        if source.is_atomic and not source.final:
            self.model.left(source.id)

    def addressed(self, source: State, at: str = "") -> bool:
        """With parallel branches, an event is for one branch only, unless it names none."""
        return not at or source.id == at

    @classmethod
    def start_values(cls, inputs: InputsT) -> dict[str, Json]:
        """Typed inputs as the plain values of a Start event."""
        return inputs.model_dump(by_alias=True)

    @classmethod
    def view(cls, state: Mapping[str, Json]) -> FieldsT:
        """A snapshot's state as typed fields; a field that no step has written yet is None."""
        return cast(FieldsT, cls.fields.model_validate(state))


AnyMachine = type[Machine[Any, Any]]


# Cached as a marker: the edges belong to the class, and adding the guard twice would evaluate it twice.
@cache
def _guard_plain_edges(machine: AnyMachine) -> None:
    """Add the default guard to edges without an event or a condition: the library has no such default."""
    for state in machine.states_map.values():
        for edge in state.transitions:
            if not (edge.initial or list(edge.events) or list(edge.cond)):
                edge.cond.add(ok, priority=CallbackPriority.INLINE, expected_value=True)


# The registration of a generated module.


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """The machines of one workflow, and its metadata."""

    name: str
    version: str
    machine: AnyMachine
    tasks: Mapping[str, AnyMachine] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    """Keywords for searching."""
    author: str = ""
    on_failure: str = ""
    """Advice for a failed step, if that of the core does not fit the workflow's language."""
    lines: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The YAML line of each state, by machine. The registry reads it from the line map; up to format 2 the module
    itself contained it."""
