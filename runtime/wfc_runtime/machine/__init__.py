"""Generated machines and how they are driven. Everything that a generated module imports is exported here."""

from pydantic import Field
from statemachine import State

from wfc_runtime.machine.change import Change, Update
from wfc_runtime.machine.chart import Machine, Workflow, WorkflowInputs, WorkflowObject, WorkflowState
from wfc_runtime.machine.derive import Derive
from wfc_runtime.machine.effects import Ask, Assign, Begin, Delay, Effect, Fail, Fallback, Join, Retry, Return
from wfc_runtime.machine.inputs import lenient, one_of, unchecked, with_keys
from wfc_runtime.machine.interpreter import at_most, ended, faultless, next_item, ok, otherwise, when
from wfc_runtime.machine.loops import Each, Loop, Turn
from wfc_runtime.machine.redaction import Secret
from wfc_runtime.machine.say import Say
from wfc_runtime.machine.spawn import Spawn

__all__ = [
    "Ask",
    "Assign",
    "Begin",
    "Change",
    "Delay",
    "Derive",
    "Each",
    "Effect",
    "Fail",
    "Fallback",
    "Field",
    "Join",
    "Loop",
    "Machine",
    "Retry",
    "Return",
    "Say",
    "Secret",
    "Spawn",
    "State",
    "Turn",
    "Update",
    "Workflow",
    "WorkflowInputs",
    "WorkflowObject",
    "WorkflowState",
    "at_most",
    "ended",
    "faultless",
    "lenient",
    "next_item",
    "ok",
    "one_of",
    "otherwise",
    "unchecked",
    "when",
    "with_keys",
]
