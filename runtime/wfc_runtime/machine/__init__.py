"""Generated machines and how they are driven. Everything that a generated module imports is exported here."""

from pydantic import Field
from statemachine import State

from wfc_runtime.machine.chart import Machine, Workflow, WorkflowInputs, WorkflowObject, WorkflowState
from wfc_runtime.machine.derive import Derive
from wfc_runtime.machine.effects import Ask, Assign, Begin, Delay, Effect, Fail, Join, Retry, Return
from wfc_runtime.machine.inputs import lenient, one_of, unchecked, with_keys
from wfc_runtime.machine.interpreter import at_most, ended, faultless, ok, otherwise, when
from wfc_runtime.machine.redaction import Secret
from wfc_runtime.machine.spawn import Spawn

__all__ = [
    "Ask",
    "Assign",
    "Begin",
    "Delay",
    "Derive",
    "Effect",
    "Fail",
    "Field",
    "Join",
    "Machine",
    "Retry",
    "Return",
    "Secret",
    "Spawn",
    "State",
    "Workflow",
    "WorkflowInputs",
    "WorkflowObject",
    "WorkflowState",
    "at_most",
    "ended",
    "faultless",
    "lenient",
    "ok",
    "one_of",
    "otherwise",
    "unchecked",
    "when",
    "with_keys",
]
