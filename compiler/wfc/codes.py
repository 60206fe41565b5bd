"""The checks by code, with the module of `wfc.rules` of each. This module imports no check."""

from __future__ import annotations

import re

CODES = {
    "WF001": "yaml_syntax",
    "WF002": "duplicate_key",
    "WF003": "ambiguous_scalar",
    "WF004": "unknown_field",
    "WF005": "missing_field",
    "WF006": "wrong_type",
    "WF007": "unknown_step_type",
    "WF008": "prompt_kind",
    "WF009": "field_not_allowed",
    "WF010": "limit_exceeded",
    "WF011": "invalid_default",
    "WF012": "old_spelling",
    "WF013": "template_key",
    "WF101": "duplicate_id",
    "WF102": "unknown_task",
    "WF103": "unused_task",
    "WF104": "unknown_goto_target",
    "WF105": "goto_into_scope",
    "WF106": "bad_agent",
    "WF107": "unknown_tool",
    "WF108": "recursive_call",
    "WF109": "unbound_task_input",
    "WF110": "identifier_clash",
    "WF111": "unknown_workflow",
    "WF112": "unknown_dependency",
    "WF113": "unknown_agent",
    "WF114": "phase_order",
    "WF115": "agent_cannot_write",
    "WF116": "split_phase",
    "WF117": "missing_file",
    "WF118": "unknown_model",
    "WF119": "test_reference",
    "WF120": "test_mismatch",
    "WF121": "unassigned_prompt",
    "WF201": "template_syntax",
    "WF202": "undefined_name",
    "WF203": "unknown_filter",
    "WF204": "undeclared_input",
    "WF205": "item_outside_foreach",
    "WF206": "no_such_property",
    "WF207": "type_mismatch",
    "WF208": "items_not_a_list",
    "WF209": "always_true",
    "WF210": "constant_condition",
    "WF211": "dead_default",
    "WF212": "later_sibling_read",
    "WF213": "stringified_value",
    "WF215": "possible_zero_division",
    "WF216": "split_of_empty",
    "WF217": "nullable_access",
    "WF218": "unchecked_parse",
    "WF219": "foreign_reference",
    "WF220": "impure_transform",
    "WF221": "unparenthesised_object",
    "WF222": "loose_equality",
    "WF223": "optional_property",
    "WF224": "possibly_empty",
    "WF301": "needs_state_missing",
    "WF302": "needs_state_unused",
    "WF303": "needs_state_unknown",
    "WF304": "read_before_write",
    "WF305": "maybe_unset",
    "WF306": "dead_output",
    "WF307": "unused_initial",
    "WF309": "unused_input",
    "WF310": "parallel_write",
    "WF311": "type_conflict",
    "WF312": "parent_state_in_task",
    "WF313": "unordered_read",
    "WF314": "shadowed_field",
    "WF315": "not_writable",
    "WF316": "unused_computed",
    "WF317": "silent_null",
    "WF318": "undeclared_field",
    "WF401": "unreachable_step",
    "WF402": "unbounded_loop",
    "WF403": "no_path_to_end",
    "WF404": "inconsistent_return",
    "WF405": "no_progress_loop",
    "WF406": "unchecked_exit_code",
    "WF407": "unhandled_choice",
    "WF408": "prompt_in_delegated_task",
    "WF409": "dependency_cycle",
    "WF410": "identical_branches",
    "WF411": "ignored_answer",
    "WF412": "retry_never_happens",
    "WF413": "overlapping_scopes",
    "WF414": "unprovable_scope",
    "WF415": "no_completion",
    "WF416": "gate_in_fanout",
    "WF501": "shell_injection",
    "WF502": "quoted_injection",
    "WF503": "argument_injection",
    "WF504": "hardcoded_secret",
    "WF505": "prompt_injection",
    "WF506": "dynamic_dispatch",
    "WF507": "sandbox_escape",
    "WF508": "useless_secret",
    "WF509": "path_injection",
    "WF510": "relayed_mcp_call",
    "WF511": "sql_injection",
    "WF602": "unbounded_fanout",
    "WF603": "budget_too_small",
    "WF604": "shared_session",
    "WF605": "session_across_worktrees",
    "WF701": "stale_output",
    "WF702": "edited_output",
    "WF703": "breaks_running_instances",
    "WF704": "unused_suppression",
}
"""In the order in which they run. A number never changes its meaning."""


def refusal(code: str) -> str:
    """Why a code can't be ignored, with a suggestion; empty for the code of a check."""
    if code in CODES:
        return ""
    names = {name.replace("_", "-"): known for known, name in CODES.items()}
    meant = names.get(code.lower().replace("_", "-")) or _slip(code.upper())
    hint = f"did you mean `{meant}`?" if meant else "`wfc explain` lists them"
    if re.fullmatch(r"WF[0-9]{3}", code):
        return f"names `{code}`, which is not a check; {hint}"
    return f"takes codes such as `WF302`, not `{code}`; {hint}"


def _slip(code: str) -> str | None:
    """The code that differs from this one in a single character; a difference near the end is preferred."""
    if len(code) != len("WF302"):
        return None
    near = [known for known in CODES if sum(map(str.__ne__, known, code)) <= 1]
    return max(near, key=lambda known: list(map(str.__eq__, known, code)), default=None)
