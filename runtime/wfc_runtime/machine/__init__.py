"""Generated machines and how they are driven. Everything that a generated module imports is exported here."""

from pydantic import Field
from statemachine import State

from wfc_runtime.machine.answering import Answering
from wfc_runtime.machine.change import ChangeFields, FieldUpdate
from wfc_runtime.machine.chart import Machine, Workflow, WorkflowInputs, WorkflowObject, WorkflowState
from wfc_runtime.machine.derive import Derive
from wfc_runtime.machine.effects import (
    Ask,
    Assign,
    Begin,
    Delay,
    Effect,
    Fail,
    Join,
    Retry,
    Return,
    UseFallback,
)
from wfc_runtime.machine.failing import Failing, Handled, StartOver
from wfc_runtime.machine.inputs import lenient, one_of, unchecked, with_keys
from wfc_runtime.machine.interpreter import at_most, ended, faultless, next_item, ok, otherwise, when
from wfc_runtime.machine.loops import EachItem, LoopNames, LoopTurn
from wfc_runtime.machine.redaction import Secret
from wfc_runtime.machine.say import Say
from wfc_runtime.machine.spawn import Spawn

__all__ = [
    "Answering",
    "Ask",
    "Assign",
    "Begin",
    "ChangeFields",
    "Delay",
    "Derive",
    "EachItem",
    "Effect",
    "Fail",
    "Failing",
    "Field",
    "FieldUpdate",
    "Handled",
    "Join",
    "LoopNames",
    "LoopTurn",
    "Machine",
    "Retry",
    "Return",
    "Say",
    "Secret",
    "Spawn",
    "StartOver",
    "State",
    "UseFallback",
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
