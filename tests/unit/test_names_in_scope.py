"""Which names a template may use, by step and field."""

from __future__ import annotations

from tests.support import file_of
from wfc.language.scopes import NamesInScope, runners, template_sites

WORKFLOW = """
name: names
version: "1.0.0"
steps:
  - {id: plain, type: shell, command: "{{ plain }}"}
  - id: spread
    type: foreach
    items: "{{ items }}"
    task: alone
    with: {a: "{{ with_parallel }}", b: ["{{ nested }}"]}
  - id: in-turn
    type: foreach
    items: [1]
    task: in_turn
    sequential: true
    with: {a: "{{ with_sequential }}"}
  - {id: both-1, type: foreach, items: [1], task: both, sequential: true}
  - {id: both-2, type: foreach, items: [1], task: both}
  - id: sums
    type: set_state
    when: "{{ condition }}"
    updates:
      one: "{{ first }}"
      two: {deep: ["{{ second }}"]}
      three: "literal"
tasks:
  alone: {steps: [{id: a, type: shell, command: "{{ task_alone }}"}]}
  in_turn: {steps: [{id: b, type: shell, command: "{{ task_in_turn }}"}]}
  both: {steps: [{id: c, type: shell, command: "{{ task_both }}"}]}
  unused:
    steps:
      - {id: d, type: shell, command: "{{ task_unused }}"}
      - {id: e, type: foreach, items: "{{ inner_items }}", task: alone, with: {a: "{{ inner_with }}"}}
"""


def names() -> dict[str, NamesInScope]:
    workflow = file_of(WORKFLOW).workflow
    assert workflow
    return {site.text.template.reads[0].root: site.names for site in template_sites(workflow)}


def test_every_template_with_a_hole_is_listed_once_in_source_order() -> None:
    assert list(names()) == [
        *("plain", "items", "with_parallel", "nested", "with_sequential", "condition", "first", "second"),
        *("task_alone", "task_in_turn", "task_both", "task_unused", "inner_items", "inner_with"),
    ]


def test_main_steps_see_state_and_inputs_only() -> None:
    assert list(names()["plain"]) == ["inputs", "state"]
    assert list(names()["items"]) == ["inputs", "state"]


def test_the_with_of_a_foreach_sees_what_its_children_will() -> None:
    assert "item" in names()["with_parallel"]
    assert "index" in names()["nested"]
    assert "previous" not in names()["with_parallel"]
    assert "previous" in names()["with_sequential"]


def test_a_task_sees_previous_only_where_every_foreach_runs_it_in_turn() -> None:
    seen = {name: "previous" in scope for name, scope in names().items() if name.startswith("task")}
    assert seen == {"task_alone": False, "task_in_turn": True, "task_both": False, "task_unused": True}
    assert all("item" in scope for name, scope in names().items() if name.startswith("task"))


def test_an_update_sees_the_keys_before_it() -> None:
    first, second, condition = names()["first"], names()["second"], names()["condition"]
    assert list(second) == ["inputs", "state", "one"]
    assert list(first) == ["inputs", "state"]
    assert "one" not in condition
    assert [name for name in ("one", "two", "three", "four") if second.comes_later(name)] == ["two", "three"]
    assert not condition.comes_later("one")


def test_runners_are_found_in_tasks_too() -> None:
    workflow = file_of(WORKFLOW).workflow
    assert workflow
    found = {task: [child.step.name for child in children] for task, children in runners(workflow).items()}
    assert found == {"alone": ["spread", "e"], "in_turn": ["in-turn"], "both": ["both-1", "both-2"]}
