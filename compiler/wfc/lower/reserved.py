"""Names that a generated module has already given away.

The compiler does not import the state machine library, which takes 0.1 s, so the library's names are written
down here; a test holds them against the real thing.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MACHINE_NAMES = _words("""
    TransitionNotAllowed activate_initial_state active_listeners add_listener addressed
    allow_event_without_transition allowed_events atomic_configuration_update bind_events_to
    cancel_event catch_errors_as_events configuration configuration_values current_state current_state_value deferred
    enable_self_transition_entries enabled_events events facts fields final_states history_values id initial
    initial_state inputs is_terminated model name on_enter_state on_exit_state prepare raise_ secrets send simulate
    start_configuration_values start_values state_field states states_map steps validate_disconnected_states
    validate_final_reachability validate_trap_states view
""")
"""Attributes of the runtime's Machine and of its instances, where every state becomes an attribute too."""

STATE_NAMES = _words("""
    Compound Parallel ancestors document_order enter exit final from_ history id initial invoke is_active
    is_atomic is_compound is_descendant is_history name parallel parent states to transitions value
""")
"""Attributes of the library's State: a state becomes an attribute of the one around it."""

CHART_NAMES = _words("""
    State at_most cancel cancelled completed due fail failed faultless finished joined ok otherwise recover retry
    running submit when
""")
"""What stands in every chart: its events and endings, and the names that its edges are written with."""

CALLBACK_NAMES = _words("after_transition before_transition on_transition prepare_event state")
"""Names that the library takes for callbacks: `on_enter_state` would be called twice for `state`."""

RESERVED = MACHINE_NAMES | STATE_NAMES | CHART_NAMES | CALLBACK_NAMES
"""What a state may not be called."""

CLASS_NAMES = _words("""
    Annotated Any Ask Assign Begin ChoiceAnswer CommandResult ConfirmAnswer CreateFileResult
    CreateWorktreeResult Delay DelegateResult FailedChild Field Fields InfoAnswer Inputs Literal Machine
    MergeJsonStateResult NotRequired ReadFileResult ReadJsonStateResult RenderTemplateResult Retry Return Secret
    ShellResult Spawn State TextAnswer TypedDict WORKFLOW WaitResult Workflow WorkflowInputs WorkflowObject
    WorkflowState WriteJsonStateResult
""")
"""What a machine may not be called: names that a generated module imports or defines itself."""
