"""A control step is one file: a class that answers what the rest of the compiler asks of steps.

The two steps below stand for files of a contributor. Nothing else in the compiler knows them, and yet workflows that
use them are checked, compiled, drawn, explored and run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import ROOT, check, codes, file_of, loaded
from tests.unit.explore.support import explored
from wfc.analysis.control_flow import Flow
from wfc.analysis.types.workflow import types_of
from wfc.language.fields import BINDINGS, BLOCK, CONDITION, COUNT, ITEMS, STEPS, WORD
from wfc.language.shape import Field
from wfc.language.steps import STEP_TYPES
from wfc.language.steps.base import Answered, Fallible, Keeping, Retried, Step
from wfc.language.steps.protocol import Bindings, ChartBuilder, Child, Decision
from wfc.language.types import LIST, Record, Type
from wfc.language.values import Tree
from wfc.picture import to_picture
from wfc_runtime.picture.mermaid import render_mermaid


class DoWhile(Fallible):
    """Run steps, and run them again as long as a condition holds."""

    kind = "do_while"
    label = "a do_while step"
    repeats = True

    again = Field(CONDITION, "Whether to take another turn.", required=True)
    max_iterations = Field(COUNT, "The most turns after the first.", required=True)
    steps = Field(STEPS, "What to repeat.", required=True)

    def blocks(self) -> Iterator[list[Step]]:
        yield self.steps or []

    def decision(self) -> Decision:
        return Decision(self.again, self.steps or [], [], "again")

    def lower(self, chart: ChartBuilder, after: str) -> None:
        body = self.steps or []
        start = chart.state(self, chart.begin(lambda: turn))
        turn = chart.state(self, part="turn")
        chart.edge(start, chart.entry_of(body, turn))
        guard = chart.guard(self, self.again, self.setting("max_iterations"))
        chart.choose(self, turn, guard, chart.entry_of(body, turn), after, after)
        with chart.loop(turn, after):
            chart.block(body, turn)


class Unless(Keeping, Retried):
    """Run steps where a condition is false, and others where it is true; `output_to` keeps its value."""

    kind = "unless"
    label = "an unless step"

    test = Field(CONDITION, "The condition.", required=True)
    do = Field(BLOCK, "Steps to take where it is false.", required=True)
    instead = Field(BLOCK, "Steps to take where it is true.")

    def blocks(self) -> Iterator[list[Step]]:
        yield self.do or []
        yield self.instead or []

    def decision(self) -> Decision:
        return Decision(self.test, self.instead or [], self.do or [], "test")

    def assigns(self) -> dict[str, Tree]:
        return {self.output_to.text: Tree(self.test.node)} if self.output_to and self.test else {}

    def lower(self, chart: ChartBuilder, after: str) -> None:
        do, instead = self.do or [], self.instead or []
        updates = {self.output_to.text: self.test} if self.output_to else {}
        effect = chart.effect("Assign", self, lambda: {"updates": updates}, keeps=False) if updates else None
        name = chart.state(self, effect)
        guard = chart.guard_on(self.output_to.text) if self.output_to else chart.guard(self, self.test)
        chart.choose(self, name, guard, chart.entry_of(instead, after), chart.entry_of(do, after), after)
        chart.block(do, after)
        chart.block(instead, after)


class Sweep(Keeping, Retried):
    """Run a task for each item of a list, one after the other."""

    kind = "sweep"
    label = "a sweep step"

    over = Field(ITEMS, "The list.", required=True)
    using = Field(WORD, "The task.", required=True)
    with_ = Field(BINDINGS, "The task's inputs.")

    def result_type(self) -> Type:
        return LIST

    def child(self) -> Child:
        return Child(self, "using", self.using, self.with_, is_task=True, items=self.over, sequential=True)

    def bindings(self) -> Bindings | None:
        return Bindings("with", self.with_) if self.with_ else None

    def lower(self, chart: ChartBuilder, after: str) -> None:
        arguments = {
            "task": self.using.text if self.using else None,
            "items": self.over,
            "inputs": self.with_,
            "sequential": True,
        }
        chart.suspend(self, chart.effect("Spawn", self, lambda: arguments), after, "joined")


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line in the list of `wfc.language.steps`."""
    for step in (DoWhile, Unless, Sweep):
        monkeypatch.setitem(STEP_TYPES, step.kind, step)


HEAD = 'name: w\nversion: "1.0.0"\n'

LOOP = (
    HEAD
    + """\
initial_state: {tries: 0}
steps:
  - id: poll
    type: do_while
    needs_state: [health, tries]
    again: "{{ state.health.exit_code != 0 and state.tries < 3 }}"
    max_iterations: 5
    steps:
      - {id: ask, type: shell, command: ./health, output_to: health}
      - {id: count, type: set_state, needs_state: [tries], updates: {tries: "{{ state.tries + 1 }}"}}
      - {id: stop, type: break, needs_state: [health], when: "{{ state.health.exit_code == 2 }}"}
  - id: gate
    type: unless
    needs_state: [health]
    test: "{{ state.health.exit_code == 0 }}"
    output_to: healthy
    do:
      - {id: alarm, type: prompt, prompt_type: info, message: "Not healthy."}
    instead:
      - {id: cheer, type: prompt, prompt_type: info, message: "Healthy."}
  - id: done
    type: return
    needs_state: [healthy, tries]
    value: {ok: "{{ state.healthy }}", tries: "{{ state.tries }}"}
"""
)

TASK = (
    HEAD
    + """\
steps:
  - {id: list, type: shell, command: "ls || true", output_to: names}
  - id: audits
    type: sweep
    needs_state: [names]
    over: "{{ state.names.stdout.splitlines() }}"
    using: audit
    with: {file: "{{ item }}"}
    output_to: audits
  - {id: done, type: return, needs_state: [audits], value: "{{ state.audits }}"}
tasks:
  audit:
    inputs: {file: {type: string, required: true}}
    steps:
      - {id: look, type: shell, command: "wc -- {{ inputs.file | shquote }} {{ previous | length }}", output_to: seen}
      - {id: said, type: return, needs_state: [seen], value: "{{ state.seen.exit_code }}"}
"""
)


def test_right_workflows_have_no_findings() -> None:
    assert check(LOOP) == []
    assert check(TASK) == []


def test_the_flow_goes_through_the_blocks() -> None:
    module = file_of(LOOP).module
    assert module is not None
    flow = Flow(module.main)
    assert {"ask", "alarm", "cheer", "done"} <= flow.reachable
    assert flow.step("poll_turn") is flow.step("poll")


def test_types_go_through_the_loop_and_into_what_is_kept() -> None:
    types = types_of(file_of(LOOP))
    assert types is not None
    assert isinstance(types.main.returns, Record)
    assert [(prop.name, str(prop.type)) for prop in types.main.returns.properties] == [
        ("ok", "bool"),
        ("tries", "int"),
    ]


def test_types_of_a_task_reach_the_step_that_runs_it() -> None:
    types = types_of(file_of(TASK))
    assert types is not None
    assert str(types.main.returns) == "list of int"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("state.tries + 1", "state.retries + 1"), "WF303"),
        (("output_to: health}", "output_to: heath}"), "WF303"),
        (('again: "{{ state.health.exit_code != 0 and state.tries < 3 }}"', "again: true"), ""),
        (('test: "{{ state.health.exit_code == 0 }}"', "test: false"), "WF210"),
        (("id: alarm", "id: cheer"), "WF101"),
    ],
)
def test_mistakes_inside_them_are_found(change: tuple[str, str], code: str) -> None:
    assert change[0] in LOOP
    found = codes(LOOP.replace(*change))
    assert code in found if code else "WF210" not in found


def test_a_value_of_the_wrong_kind_in_their_fields_is_found() -> None:
    assert "WF006" in codes(LOOP.replace("max_iterations: 5", "max_iterations: often"))


def test_an_unknown_task_is_found_where_they_name_it() -> None:
    (found,) = [one for one in check(TASK.replace("using: audit", "using: audits_")) if one.code == "WF102"]
    assert found.span.text == "audits_"


def test_what_a_child_gets_from_outside_is_untrusted() -> None:
    found = codes(TASK.replace("inputs.file | shquote", "inputs.file"))
    assert "WF501" in found


def test_a_loop_whose_condition_nothing_changes_is_found() -> None:
    text = (
        HEAD
        + """\
initial_state: {wanted: 3}
steps:
  - id: poll
    type: do_while
    needs_state: [wanted]
    again: "{{ state.wanted > 2 }}"
    max_iterations: 5
    steps:
      - {id: ask, type: prompt, prompt_type: info, message: "Still here."}
"""
    )
    assert "WF405" in codes(text)
    assert "WF405" not in codes(text + "      - {id: less, type: set_state, updates: {wanted: 1}}\n")


def test_a_secret_that_they_keep_is_secret() -> None:
    text = LOOP.replace(
        "initial_state", "inputs: {token: {type: string, required: true, secret: true}}\ninitial_state"
    )
    module = file_of(text.replace("state.health.exit_code == 0", "inputs.token")).module
    assert module is not None
    assert module.main.secrets == ("healthy",)


def test_they_are_drawn() -> None:
    module = file_of(LOOP).module
    assert module is not None
    drawn = render_mermaid(to_picture(module))
    assert "poll" in drawn
    assert "gate" in drawn
    assert "at most 5" in drawn


def test_every_branch_of_them_is_explored() -> None:
    report = explored(LOOP)
    assert report.problems == []
    assert report.reached == report.branches > 4


def test_they_compile_to_a_machine() -> None:
    workflow = loaded(LOOP)["w"]
    assert {"poll", "poll_turn", "gate"} <= {state.id for state in workflow.machine.states_map.values()}
    assert loaded(TASK)["w"].name == "w"


# Nothing outside of a step's own file tests for its class, except checks that are about that one type of step. Checks
# of actions, such as those of shell commands, name them freely: no other step could take their place.

ABOUT_ONE_TYPE = {
    # It takes the parallel steps of a graph apart and makes others of their branches.
    # A prompt that shows an answer is not a test of the answer.
    "rules/common/flow.py": {"Prompt"},
    # The commands that injection checks look at are those of shell steps.
    "rules/common/injection.py": {"Shell"},
    # Its fix replaces a condition step by one of its branches.
    "rules/constant_condition.py": {"Condition"},
    "rules/goto_into_scope.py": {"Break", "Continue"},
    "rules/identical_branches.py": {"Condition"},
    "rules/inconsistent_return.py": {"Return"},
    # `max_items`, which it asks for, is a field of foreach.
    "rules/unbounded_fanout.py": {"Foreach"},
}
ACTIONS = {step.__name__ for step in STEP_TYPES.values() if issubclass(step, Answered)}


def _named_classes(path: Path) -> set[str]:
    """The step types that a module imports, or compares a `kind` with."""
    classes = {step.__name__ for step in STEP_TYPES.values()}
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("wfc.language.steps"):
                found |= {name.name for name in names} & classes
            case ast.Compare(
                left=ast.Attribute(attr="kind", value=ast.Name("step") | ast.Attribute(attr="step")),
                comparators=[ast.Constant(value=str(kind))],
            ):
                found |= {STEP_TYPES[kind].__name__} if kind in STEP_TYPES else set()
    return found


def _is_check(path: Path) -> bool:
    return path.parent.name == "rules"


def test_only_checks_about_one_type_of_step_name_it() -> None:
    compiler = ROOT / "compiler" / "wfc"
    found = {
        path.relative_to(compiler).as_posix(): _named_classes(path) - (ACTIONS if _is_check(path) else set())
        for path in sorted(compiler.rglob("*.py"))
        # Dialects make steps, and the folder of step types is where their classes belong.
        if path.relative_to(compiler).parts[:1] != ("dialects",)
        and path.relative_to(compiler).parts[:2] != ("language", "steps")
    }
    assert {path: names for path, names in found.items() if names} == ABOUT_ONE_TYPE
