"""Workflows of the whole language, right by construction as far as that goes without running the compiler."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import strategies as st

from tests.property.expressions import ANY, INPUT_KINDS, LIST, NUMBER, TEXT, Kinds, Sight, text
from tests.property.inputs import declarations
from tests.property.steps import Writer
from tests.property.values import STEMS, Chooser
from wfc.yaml.nodes import resolve_plain

Tree = dict[str, Any]

HELPER = """\
name: helper
version: "1.0.0"
author: nobody
tags: [help]
facts: {steps: 2, code: "{{ no template }}"}
inputs:
  subject: {type: string, required: true}
steps:
  - id: look
    type: shell
    command: "look {{ inputs.subject | shquote }}"
    output_to: seen
  - id: answer
    type: return
    needs_state: [seen]
    value: {seen: "{{ state.seen.stdout }}", code: "{{ state.seen.exit_code }}"}
"""
"""The workflow that generated ones may call."""


@st.composite
def workflows(
    draw: st.DrawFn, depth: int = 3, returns: bool = False, served: int = 12, whole: bool = False
) -> Tree:
    """A workflow as the tree that its YAML says. `returns`: steps in the middle may end it; `served`: one step in so
    many is one that a server may do itself; `whole`: with what `tests.model` does not know of the language."""
    choose = Chooser(draw)
    ways = {"returns": returns, "served": served, "whole": whole}
    ids: set[str] = set()
    names: set[str] = set()
    tasks: dict[str, Tree] = {}
    head: Tree = {
        "name": choose.fresh(("odd", "Deploy-it", "a.b:c", "import", "State"), names),
        "version": "1.0.0",
    }
    for _ in range(choose.number(0, 2)):
        tasks[choose.fresh(STEMS, names)] = _scope(choose, ids, dict(tasks), depth - 1, task=True, ways=ways)
    if choose.chance():
        head["description"] = choose.prose()
    main = _scope(choose, ids, tasks, depth, task=False, ways=ways)
    return {**head, **main, **({"tasks": tasks} if tasks else {})}


def _scope(
    choose: Chooser,
    ids: set[str],
    tasks: dict[str, Tree],
    depth: int,
    *,
    task: bool,
    ways: dict[str, Any],
) -> Tree:
    """Inputs, initial state and steps, of a workflow or a task."""
    inputs = declarations(choose, 1 if task else 3)
    sure = {name: INPUT_KINDS[decl["type"]] for name, decl in inputs.items() if _has_value(decl)}
    sight = Sight(sure, names={"index": NUMBER, "item": ANY} if task else {})
    writer = Writer(choose, ids, tasks, **ways)
    found: Tree = {"inputs": inputs}
    if choose.chance():
        writer.counter = "count"
        writer.fields.add("count")
        sight.fields |= _INITIAL
        found["initial_state"] = {"count": 0, "mood": "fine", "seen": ["a"], "raw": choose.json()}
    steps = writer.block(sight, depth, most=3 if task else 5)
    if choose.chance():
        steps.append(_return(choose, ids, sight))
    writer.resolve_jumps()
    return {**found, "steps": steps}


_INITIAL: dict[str, Kinds] = {"count": (("", NUMBER),), "mood": (("", TEXT),), "seen": (("", LIST),)}


def _has_value(decl: Tree) -> bool:
    return bool(decl.get("required")) or decl.get("default") is not None


def _return(choose: Chooser, ids: set[str], sight: Sight) -> Tree:
    one, other = text(choose, sight), text(choose, sight)
    step: Tree = {"id": choose.fresh(("done", "end", "return"), ids), "type": "return"}
    reads = sorted(one.reads | other.reads)
    if reads:
        step["needs_state"] = reads
    step["value"] = {"text": one.text, "list": [other.text, choose.json(1)]}
    return step


def to_yaml(tree: Tree) -> str:
    return yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(yaml.CSafeDumper):
    """Quotes what is text to YAML 1.1 and a number to us."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, data: str) -> yaml.ScalarNode:
        style = '"' if data and resolve_plain(data) != data else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style)


_Dumper.add_representer(str, _Dumper.represent_text)
