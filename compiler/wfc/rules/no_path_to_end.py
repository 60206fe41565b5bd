"""A run can never reach its end from some steps.

Every path leads back into the same loop, until the maximum number of iterations fails the run or someone cancels it.
Add an exit to the loop: a `when` on the jump, a condition, or an `else` that leads out.

Bad:

```yaml
steps:
  - {id: ask, type: prompt, prompt_type: confirm, message: "Done?", output_to: answer}
  - {id: again, type: goto, target: ask, max_iterations: 10}
```

Good:

```yaml
steps:
  - {id: ask, type: prompt, prompt_type: confirm, message: "Done?", output_to: answer}
  - id: again
    type: goto
    needs_state: [answer]
    when: "{{ not state.answer.confirmed }}"
    target: ask
    max_iterations: 10
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.control_flow import Flow, endless_circles, flows_of
from wfc.findings import Note
from wfc.language.dialect import Language
from wfc.language.steps.base import Step
from wfc.language.values import Word
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc_runtime.digraph import components

_SHOWN = 8


@rule("WF403", "no-path-to-end")
def check(file: SourceFile) -> Iterator[Finding]:
    for _, flow in flows_of(file):
        stuck = flow.reachable - flow.ending
        if stuck:
            endless = {node for circle in endless_circles(flow) for node in circle.nodes}
            for trap in _traps(flow, stuck):
                # WF402 reports a cycle that hangs the machine; without that cycle there may be an exit.
                if not endless.intersection(trap):
                    yield from _finding(file.language, flow, trap)


def _traps(flow: Flow, stuck: set[str]) -> Iterator[list[str]]:
    """The innermost cycles. A cycle that only leads into another one is not at fault."""
    graph = {
        node: [edge.target for edge in flow.out.get(node, ()) if edge.target in stuck]
        for node in sorted(stuck)
    }
    for nodes in components(graph, graph):
        inside = set(nodes)
        if all(target in inside for node in nodes for target in graph[node]):
            yield [node for node in flow.states if node in inside]


def _finding(language: Language, flow: Flow, trap: list[str]) -> Iterator[Finding]:
    steps = list(dict.fromkeys(step for node in trap if (step := flow.step(node)) is not None))
    for step, word in _jumps_back(steps):
        names = [language.call(one) for one in steps]
        shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        yield Finding(
            word.span,
            f"endless loop: {language.call(step)} always jumps back, and no path from `{word.text}` reaches the end",
            help="add a `when`, or let `else` or a condition leave the loop",
            notes=(Note(f"the loop is {shown}"),),
            step=step.name,
        )
        return


def _jumps_back(steps: list[Step]) -> Iterator[tuple[Step, Word]]:
    """The jumps inside a cycle, the last one first, since the exit is usually missing there."""
    names = {step.name for step in steps}
    for step in reversed(steps):
        yield from ((step, word) for _, word in step.jumps() if word.text in names)
