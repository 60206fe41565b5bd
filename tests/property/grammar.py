"""Workflows of the whole language, right by construction as far as that goes without running the compiler."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import strategies as st

from tests.property.expressions import INPUT_KINDS, LIST, NUMBER, TEXT, Kinds, Sight, texts
from tests.property.inputs import declarations
from tests.property.steps import Writer
from tests.property.values import STEMS, fresh, json_values, prose
from wfc.source.core_schema import resolve

Tree = dict[str, Any]

HELPER = """\
name: helper
version: "1.0.0"
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
def workflows(draw: st.DrawFn, depth: int = 3) -> Tree:
    """A workflow as the tree that its YAML says."""
    ids: set[str] = set()
    tasks: dict[str, Tree] = {}
    names: set[str] = set()
    name = draw(fresh(("odd", "Deploy-it", "a.b:c", "import", "State"), names))
    for _ in range(draw(st.integers(0, 2))):
        tasks[draw(fresh(STEMS, names))] = draw(_scope(ids, {}, depth - 1, task=True))
    main = draw(_scope(ids, tasks, depth, task=False))
    head: Tree = {"name": name, "version": "1.0.0"}
    if draw(st.booleans()):
        head["description"] = draw(prose())
    return {**head, **main, **({"tasks": tasks} if tasks else {})}


@st.composite
def _scope(draw: st.DrawFn, ids: set[str], tasks: dict[str, Tree], depth: int, task: bool) -> Tree:
    """Inputs, initial state and steps, of a workflow or a task."""
    inputs = draw(declarations(1 if task else 4))
    sure = {name: INPUT_KINDS[decl["type"]] for name, decl in inputs.items() if _has_value(decl)}
    sight = Sight(sure, names={"index": NUMBER} if task else {})
    writer = Writer(draw, ids, tasks)
    found: Tree = {"inputs": inputs}
    if draw(st.booleans()):
        writer.counter = "count"
        writer.fields.add("count")
        sight.fields |= _INITIAL
        found["initial_state"] = {"count": 0, "mood": "fine", "seen": ["a"], "raw": draw(json_values())}
    steps = writer.block(sight, depth, most=6)
    if draw(st.booleans()):
        writer.lists.append(steps)
        steps.append(_return(draw, ids, sight))
    writer.lists = []
    writer.resolve_jumps()
    return {**found, "steps": steps}


_INITIAL: dict[str, Kinds] = {"count": (("", NUMBER),), "mood": (("", TEXT),), "seen": (("", LIST),)}


def _has_value(decl: Tree) -> bool:
    return bool(decl.get("required")) or decl.get("default") is not None


def _return(draw: st.DrawFn, ids: set[str], sight: Sight) -> Tree:
    one, other = draw(texts(sight)), draw(texts(sight))
    step = {"id": draw(fresh(("done", "end", "return"), ids)), "type": "return"}
    reads = sorted(one.reads | other.reads)
    if reads:
        step["needs_state"] = reads
    step["value"] = {"text": one.text, "list": [other.text, draw(json_values(1))]}
    return step


def to_yaml(tree: Tree) -> str:
    return yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(yaml.CSafeDumper):
    """Quotes what is text to YAML 1.1 and a number to us."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, data: str) -> yaml.ScalarNode:
        style = '"' if data and resolve(data) != data else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style)


_Dumper.add_representer(str, _Dumper.represent_text)
