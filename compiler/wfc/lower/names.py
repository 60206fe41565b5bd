"""Python names in generated modules for names of the YAML file.

A name is kept where it is valid in Python. Otherwise it is changed as little as possible, always in the same way, so
that a module does not change when unrelated steps do.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from wfc.caching import cached
from wfc.language.steps.base import Step


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MACHINE_NAMES = _words("""
    TransitionNotAllowed activate_initial_state active_listeners add_listener added addressed
    allow_event_without_transition allowed_events at_start atomic_configuration_update bind_events_to budget
    cancel_event catch_errors_as_events caught configuration configuration_values current_state current_state_value
    deferred derived enable_self_transition_entries enabled_events events expressions facts failing fields
    final_states history_values id initial initial_state inputs internal is_terminated loops model name
    on_enter_state on_exit_state prepare raise_ secrets send simulate start_configuration_values start_values
    state_field states states_map steps time_limit validate_disconnected_states validate_final_reachability
    validate_trap_states view
""")
"""Attributes of the runtime's Machine and of its instances, where every state becomes an attribute too."""

STATE_NAMES = _words("""
    Compound Parallel ancestors document_order enter exit final from_ history id initial invoke is_active
    is_atomic is_compound is_descendant is_history name parallel parent states to transitions value
""")
"""Attributes of the library's State: a state becomes an attribute of the one around it."""

CHART_NAMES = _words("""
    State at_most cancel cancelled completed due fail failed faultless finished handle_failure joined next_item ok
    otherwise recover retry running start_over submit when
""")
"""Names that every chart has: its events, its final states, and the functions that its edges use."""

CALLBACK_NAMES = _words("after_transition before_transition on_transition prepare_event state")
"""Names that the library takes for callbacks: for a state called `state`, it would call `on_enter_state` twice."""

RESERVED = MACHINE_NAMES | STATE_NAMES | CHART_NAMES | CALLBACK_NAMES
"""Names that no state may have."""

CLASS_NAMES = _words("""
    Annotated Answering Any Ask Assign Begin ChangeFields CheckFilesResult ChoiceAnswer CommandResult
    ConfirmAnswer CreateFileResult CreateWorktreeResult Delay DelegateResult Derive EachItem EditFileResult Fail
    FailedChild Failing Field FieldUpdate Fields GitChangesResult GitSnapshotResult Handled HttpCallResult
    InfoAnswer Inputs IsolatedResult Join Literal LoopNames LoopTurn Machine MergeJsonStateResult NotRequired
    ReadFileResult ReadFilesResult ReadJsonStateResult RenderTemplateResult Report Retry Return Say Secret
    ShellResult Spawn SqlResult StartOver State TextAnswer TypedDict UseFallback WORKFLOW WaitResult Workflow
    WorkflowInputs WorkflowObject WorkflowState Worktree WriteJsonStateResult
""")
"""Names that no machine may have: a generated module imports or defines them."""


_NOT_NAME = re.compile(r"[^A-Za-z0-9_]")
_DONE = "done_state_"
"""The prefix of the event that ends a parallel state."""


@cached(4096)
def identifier(name: str) -> str:
    """A Python identifier for a step, task or workflow name."""
    made = _NOT_NAME.sub("_", name)
    # A name that begins with this prefix would be taken for the event that ends a state.
    if not made[:1].isalpha() or made.startswith(_DONE):
        made = f"step_{made}"
    # One underscore, as PEP 8 advises for names that clash with keywords.
    if keyword.iskeyword(made) or keyword.issoftkeyword(made) or made in RESERVED:
        made = f"{made}_"
    return made


class Names:
    """Unique names for the states of one chart. Those of steps are assigned first, so that parts never take them.

    Two steps with the same Python name are an error (WF110), but the file is lowered for the other checks.
    """

    def __init__(self, steps: Iterable[Step]) -> None:
        # A state is an attribute of the class, so its names are taken from the start.
        self._taken: set[str] = set(RESERVED)
        self._counts: dict[str, int] = {}
        self._steps = {step: self.free(identifier(step.name)) for step in steps}
        self._parts: dict[tuple[Step, str], str] = {}

    def of(self, step: Step) -> str:
        return self._steps[step]

    def part(self, step: Step, part: str) -> str:
        """The name of a state that is part of a step."""
        key = (step, part)
        if key not in self._parts:
            self._parts[key] = self.branch(step, part)
        return self._parts[key]

    def branch(self, step: Step, title: str) -> str:
        """The name of a branch or part of a step."""
        return self.free(f"{self.of(step)}_{_NOT_NAME.sub('_', title)}")

    def free(self, name: str) -> str:
        """The name itself, or with the next free number."""
        made = name
        while made in self._taken:
            # Counted by name: `build_2` stays the same when an unrelated step is added.
            self._counts[name] = self._counts.get(name, 1) + 1
            made = f"{name}_{self._counts[name]}"
        self._taken.add(made)
        return made


def class_name(name: str) -> str:
    """A class name in CamelCase."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", name) if word]
    made = "".join(word[:1].upper() + word[1:] for word in words)
    # A class of that name could not be defined.
    if keyword.iskeyword(made):  # None, True, False
        return f"{made}_"
    return f"_{made}" if made[:1].isdigit() else made or "_"


def machine_name(name: str) -> str:
    """The name of the machine class of a workflow or task."""
    made = class_name(name)
    return f"{made}Machine" if made in CLASS_NAMES else made


def task_machine_name(task: str, workflow: str) -> str:
    """The name of the machine class of a task. A task may have the name of its workflow, two classes can't."""
    made = machine_name(task)
    return f"{made}Task" if task == workflow else made


def module_name(workflow: str) -> str:
    made = _NOT_NAME.sub("_", workflow)
    return f"_{made}" if made[:1].isdigit() else f"{made}_" if keyword.iskeyword(made) else made


# Names of inputs, state fields and keys of objects.

MODEL_NAMES = frozenset(
    (
        "construct",
        "copy",
        "dict",
        "from_orm",
        "json",
        "model_computed_fields",
        "model_config",
        "model_construct",
        "model_copy",
        "model_dump",
        "model_dump_json",
        "model_extra",
        "model_fields",
        "model_fields_set",
        "model_json_schema",
        "model_parametrized_name",
        "model_post_init",
        "model_rebuild",
        "model_validate",
        "model_validate_json",
        "model_validate_strings",
        "parse_file",
        "parse_obj",
        "parse_raw",
        "schema",
        "schema_json",
        "update_forward_refs",
        "validate",
    )
)
"""Attributes of pydantic's BaseModel, which no field may have as a name. A test compares them with pydantic."""

PROTECTED = ("model_dump", "model_validate")
"""Prefixes that pydantic reserves."""

ANNOTATION_NAMES = frozenset(("bool", "dict", "float", "int", "list", "str"))
"""A field with the name of a type would hide that type from the annotations after it."""

HELPER_NAMES = frozenset(("lenient", "one_of", "unchecked", "with_keys"))
"""A field with the name of a function would hide that function from the fields after it."""

_NOT_FIELD_NAME = re.compile(r"[^A-Za-z0-9_]")


@cached(4096)
def field_name(name: str) -> str:
    """The attribute for a field: its own name, or a similar one that Python and pydantic accept.

    A name that is taken gets an underscore, and so does one that already ends with underscores: `dict` and `dict_`
    remain different.
    """
    made = _NOT_FIELD_NAME.sub("_", name)
    bare = made.rstrip("_")
    if not made[:1].isalpha() or made.startswith(PROTECTED):
        return f"field_{made}"
    # A name in upper case might be that of a class in the module.
    return f"{made}_" if bare[:1].isupper() or _is_taken(bare) else made


def field_names(names: Iterable[str]) -> dict[str, str]:
    """The attributes of one model. Keys of objects can be any text, so a number keeps equal names apart."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        made, number = field_name(name), 2
        while made in taken:
            made, number = f"{field_name(name)}_{number}", number + 1
        taken.add(made)
        found[name] = made
    return found


def _is_taken(name: str) -> bool:
    return name in MODEL_NAMES | ANNOTATION_NAMES | HELPER_NAMES or keyword.iskeyword(name)
