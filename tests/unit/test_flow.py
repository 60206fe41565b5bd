"""The control flow of charts: what can be come to, and what can come to the end."""

from __future__ import annotations

from tests.support import file_of
from wfc.analysis.control_flow import Flow, flows_of


def flow_of(steps: str) -> Flow:
    ((_, flow),) = flows_of(file_of(f"steps:\n{steps}"))
    return flow


PARALLEL = """
  - id: both
    type: parallel
    branches:
      one:
        - {id: a, type: shell, command: ls}
      two:
        - {id: b, type: shell, command: ls}
        - {id: c, type: LEAVE, value: 1, target: z, max_iterations: 1}
  - {id: y, type: shell, command: ls}
  - {id: z, type: shell, command: ls}
"""


def test_edges_keep_their_event_and_guard_and_states_their_step() -> None:
    flow = flow_of("  - {id: a, type: set_state, updates: {x: 1}, on_error: continue}\n")
    ok, recover = flow.out["a"]
    assert (ok.target, ok.guard and ok.guard.name, ok.event) == ("finished", "ok", None)
    assert (recover.target, recover.event) == ("finished", "recover")
    assert flow.into["finished"] == [ok, recover]
    assert flow.step("a") is flow.states["a"].step
    assert flow.step("finished") is None


def test_a_parallel_step_forks_into_its_branches_and_joins_from_their_ends() -> None:
    flow = flow_of(PARALLEL.replace("LEAVE", "shell"))
    assert [edge.target for edge in flow.out["both"]] == ["a", "b"]
    joins = flow.into["both_join"]
    assert [(edge.source, edge.join) for edge in joins] == [
        ("both_one_end", "both"),
        ("both_two_end", "both"),
    ]
    assert flow.inside("both") == {"a", "b", "c", "both_one_end", "both_two_end"}
    assert flow.branch_ends == {"both": ("both_one_end", "both_two_end")}
    assert flow.reachable >= {"y", "z", "finished"}


def test_a_join_is_come_to_only_if_every_branch_ends() -> None:
    assert not flow_of(PARALLEL.replace("LEAVE", "return")).reachable & {"y", "z"}
    assert flow_of(PARALLEL.replace("LEAVE", "goto")).reachable & {"y", "z"} == {"z"}


def test_what_follows_a_return_is_not_come_to() -> None:
    flow = flow_of("  - {id: a, type: return}\n  - {id: b, type: wait, duration_seconds: 1}\n")
    assert flow.reachable == {"a", "finished"}
    assert flow.ending == {"a", "b", "finished"}


def test_a_circle_without_a_way_out_does_not_come_to_the_end() -> None:
    flow = flow_of(
        "  - {id: a, type: wait, duration_seconds: 1}\n"
        "  - {id: b, type: goto, target: a, max_iterations: 2}\n"
        "  - {id: c, type: wait, duration_seconds: 1}\n"
    )
    assert flow.reachable - flow.ending == {"a", "b"}


def test_a_branch_can_be_ended_by_the_one_beside_it() -> None:
    steps = """
  - id: both
    type: parallel
    branches:
      one:
        - {id: a, type: wait, duration_seconds: 1}
        - {id: again, type: goto, target: a, max_iterations: 9}
      two:
        - {id: b, type: STEP, duration_seconds: 1}
"""
    stuck = flow_of(steps.replace("STEP", "wait"))
    assert stuck.reachable - stuck.ending == {"a", "again"}
    ended = flow_of(steps.replace("STEP", "return"))
    assert ended.reachable <= ended.ending


def test_every_scope_has_a_flow_of_its_own() -> None:
    file = file_of("steps: [{id: a, type: return}]\ntasks: {t: {steps: [{id: b, type: return}]}}")
    assert [list(flow.states) for _, flow in flows_of(file)] == [["a"], ["b"]]
    assert [scope for scope, _ in flows_of(file)] == file.scopes
