"""Generated workflows of the whole language, planned, explored and compared with themselves."""

from __future__ import annotations

from collections import Counter

from hypothesis import assume, given, settings

from tests.property.grammar import HELPER, Tree, to_yaml, workflows
from tests.support import load
from tests.unit.explore.support import search_of
from wfc.author.diff import compare
from wfc.author.diff.verdict import reasons
from wfc.author.explore.search import NoInputsError
from wfc.author.explore.trial import Trace
from wfc.checker import check_file, has_errors
from wfc_runtime.machine.effects import Ask, Effect
from wfc_runtime.plan import explain_plan

few = settings(max_examples=settings.default.max_examples // 2 or 1)


@few
@given(workflows())
def test_no_run_asks_for_more_or_for_less_than_the_plan_says(tree: Tree) -> None:
    text = to_yaml(tree)
    file = load(text, HELPER).files[0]
    assume(not has_errors(check_file(file)))
    search = search_of(text, HELPER, runs=25)
    traces: list[Trace] = []
    add = search.findings.add
    search.findings.add = lambda trace: (traces.append(trace), add(trace))[1]  # type: ignore[method-assign]
    try:
        search.go()
    except NoInputsError:
        return
    found = {name: module.workflow for name, module in search.world.modules.items()}
    plan = explain_plan(found[str(file.name)], found.get)["actions"]
    if plan["most"] is not None and "per_item" not in plan:
        assert max(len(trace.asked) for trace in traces) <= plan["most"]
    effects = {
        (scope, state): effect
        for name, workflow in found.items()
        for scope, machine in ((name, workflow.machine), *workflow.tasks.items())
        for state, effect in machine.steps.items()
    }
    for trace in traces:
        assert trace.status != "completed" or len(trace.asked) + _unanswered(trace, effects) >= plan["least"]


def _unanswered(trace: Trace, effects: dict[tuple[str, str], Effect]) -> int:
    """Actions that were pending when another branch left the step: they were asked for, and nobody did them."""
    left = trace.entered - Counter((question.scope, question.state) for question, _ in trace.asked)
    asks = [count for place, count in left.items() if _is_action(effects.get(place))]
    return sum(asks)


def _is_action(effect: Effect | None) -> bool:
    return isinstance(effect, Ask) and effect.wait_seconds is None


@few
@given(workflows())
def test_a_workflow_does_not_differ_from_itself_and_bears_its_own_runs(tree: Tree) -> None:
    text = to_yaml(tree)
    old, new = load(text, HELPER).files[0], load(text, HELPER).files[0]
    assert compare(old, new) == []
    assume(not has_errors(check_file(old)))
    search = search_of(text, HELPER)
    workflow = search.world.modules[str(old.name)].workflow
    assert reasons(old, new, workflow, workflow) == []
