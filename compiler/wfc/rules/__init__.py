"""The checks, one file each. A new one is a file here and a line in this list."""

from __future__ import annotations

from importlib import import_module

from wfc.rules.base import Rule

_MODULES = (
    "yaml_syntax",
    "duplicate_key",
    "ambiguous_scalar",
    "unknown_field",
    "missing_field",
    "wrong_type",
    "unknown_step_type",
    "prompt_kind",
    "field_not_allowed",
    "limit_exceeded",
    "invalid_default",
    "duplicate_id",
    "unknown_task",
    "unused_task",
    "unknown_goto_target",
    "goto_into_scope",
    "bad_agent",
    "unknown_tool",
    "recursive_call",
    "unbound_task_input",
    "identifier_clash",
    "unknown_workflow",
    "template_syntax",
    "undefined_name",
    "unknown_filter",
    "undeclared_input",
    "item_outside_foreach",
    "no_such_property",
    "type_mismatch",
    "items_not_a_list",
    "always_true",
    "constant_condition",
    "dead_default",
    "later_sibling_read",
    "stringified_value",
    "possible_zero_division",
    "split_of_empty",
    "nullable_access",
    "unchecked_parse",
    "needs_state_missing",
    "needs_state_unused",
    "needs_state_unknown",
    "read_before_write",
    "maybe_unset",
    "parallel_write",
    "type_conflict",
    "parent_state_in_task",
    "unreachable_step",
    "unbounded_loop",
    "no_path_to_end",
    "prompt_in_delegated_task",
    "dependency_cycle",
    "dynamic_dispatch",
    "stale_output",
    "edited_output",
    "unused_suppression",
)

RULES: tuple[Rule, ...] = tuple(import_module(f"wfc.rules.{name}").check for name in _MODULES)
"""Every rule, in the order of its code."""

BY_CODE: dict[str, Rule] = {rule.code: rule for rule in RULES}
