"""A loop has no bound.

A `goto` and a `while` need `max_iterations`: without it, a condition that never becomes true keeps a run looping
forever. A failing step can also loop, through `on_error: {goto: ...}` or the `else` of a goto. If no step of the loop
waits for an answer or counts iterations, the machine would never stop.

Bad:

```yaml
- {id: improve, type: delegate, instructions: "Improve the text."}
- {id: again, type: goto, target: improve, else: done}
- {id: done, type: return}
```

Good:

```yaml
- {id: improve, type: delegate, instructions: "Improve the text."}
- {id: again, type: goto, target: improve, max_iterations: 3, else: done}
- {id: done, type: return}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.control_flow import Circle, Flow, FlowEdge, endless_circles, flows_of, is_waiting
from wfc.findings import Note
from wfc.language.dialect import Language
from wfc.language.steps.base import Step
from wfc.language.values import Word
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc_runtime.digraph import shortest_way

_BOUND = "max_iterations"
_SHOWN = 8
_EXPLAINED = 20
"""The maximum number of findings with a path: finding the path takes time."""


@rule("WF402", "unbounded-loop")
def check(file: SourceFile) -> Iterator[Finding]:
    for step in file.steps:
        if _BOUND in step.FIELDS and step.node.entry(_BOUND) is None:
            yield _without_bound(file.language, step)
    for _, flow in flows_of(file):
        # A `goto` or `while` with a bound counts its iterations: only failures can loop without a counter.
        if any(edge.event == "recover" for edge in flow.edges):
            for circle in endless_circles(flow):
                yield from _endless(file.language, flow, circle)


def _without_bound(language: Language, step: Step) -> Finding:
    example = step.FIELDS[_BOUND].example
    return Finding(
        step.span,
        f"unbounded loop: {language.call(step)} has no `{_BOUND}`",
        help=f"add `{_BOUND}: {example}`: {_what_then(step)}",
        step=step.name,
    )


def _what_then(step: Step) -> str:
    if "else" in step.FIELDS:
        return "after that many jumps the run continues at `else`, or fails"
    return "if the condition still holds after that many iterations, the step fails"


def _endless(language: Language, flow: Flow, circle: Circle) -> Iterator[Finding]:
    """The jumps that close a cycle, with one finding each."""
    place = {node: number for number, node in enumerate(flow.states)}
    seen: set[Word] = set()
    for edge in circle.edges:
        step, word = flow.step(edge.source), _jump(flow, edge)
        # The jump that closes the cycle is the one that leads back; the others are not at fault.
        if step is None or word is None or word in seen or place[edge.target] > place[edge.source]:
            continue
        seen.add(word)
        yield Finding(
            word.span,
            f"unbounded loop {_cause(language, step)}: no step from `{word.text}` on waits or counts",
            help=_way_out(step, is_waiting(flow.states[edge.source])),
            notes=_notes(language, flow, circle, edge) if len(seen) <= _EXPLAINED else (),
            step=step.name,
        )


def _cause(language: Language, step: Step) -> str:
    if "else" in step.FIELDS:
        return f"after the last jump of {language.call(step)}"
    return f"if {language.call(step)} keeps failing"


def _way_out(step: Step, asks: bool) -> str:
    if "else" in step.FIELDS:
        return "let `else` lead out of the loop"
    # Retrying helps only if an agent or a person does the work: anything else fails in the same way again.
    again = ", or try the step again with `retry`" if asks and "retry" in step.FIELDS else ""
    return f"jump to a `goto` step instead, whose `max_iterations` limits the loop{again}"


def _notes(language: Language, flow: Flow, circle: Circle, back: FlowEdge) -> tuple[Note, ...]:
    way = Note(f"the loop is {_way(language, flow, circle, back)}")
    state = flow.states[back.source]
    if state.step is None or not is_waiting(state):
        return (way,)
    return (way, Note(f"{language.call(state.step)} waits only if its templates can be rendered"))


def _jump(flow: Flow, edge: FlowEdge) -> Word | None:
    """The place in the source that sends a failure along this edge."""
    step, target = flow.step(edge.source), flow.step(edge.target)
    if edge.event != "recover" or step is None or target is None:
        return None
    # The `target` of a goto is counted by `max_iterations`; `else` and `on_error` are not.
    return next(
        (word for field, word in step.jumps() if field != "target" and word.text == target.name), None
    )


def _way(language: Language, flow: Flow, circle: Circle, back: FlowEdge) -> str:
    onward = (
        shortest_way(back.target, back.source, circle.graph) if back.target != back.source else [back.target]
    )
    steps = [step for node in [*onward, back.target] if (step := flow.step(node))]
    names = [
        language.call(step)
        for number, step in enumerate(steps)
        if not number or step is not steps[number - 1]
    ]
    if len(names) < 2:
        names.append(names[0])
    return " -> ".join([*names[:_SHOWN], "...", names[-1]] if len(names) > _SHOWN + 1 else names)
