"""Which mapping of the steps language the cursor is in, by the keys that it stands under."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.language.ast import Task, Workflow
from wfc.language.shape import InputDecl, Shape, Validation
from wfc.language.steps import STEP_TYPES
from wfc.language.steps.base import Recovery, Retry, Step
from wfc.language.steps.call import Call
from wfc.language.steps.foreach import Foreach
from wfc.language.steps.shell import FileOutput
from wfc.lsp.analysis import Analysis
from wfc.lsp.suggestion import Suggestion, column_of, parents, siblings


def mapping_at(above: list[str]) -> type[Shape] | None:
    """What may stand in the mapping at the cursor; `above` is the text up to there, in lines."""
    indent = column_of(above[-1])
    match [key for key, _ in parents(above)]:
        case [] if indent == 0:
            return Workflow
        case ["retry", *_]:
            return Retry
        case ["on_error", *_]:
            return Recovery
        case ["validation", *_]:
            return Validation
        case [_, "inputs"] | [_, "inputs", _, "tasks"]:
            return InputDecl
        case [_, "tasks"]:
            return Task
        case [_, "outputs", *_]:
            return FileOutput
        case ["steps" | "then" | "else", *_] | [_, "branches", *_]:
            return STEP_TYPES.get(siblings(above[:-1], indent)[1], Step)
    return None


def given_at(analysis: Analysis, step: Step | None, above: list[str]) -> Iterator[Suggestion]:
    """In a `with`: the inputs of what the step starts."""
    if next(parents(above), ("", ""))[0] != "with":
        return
    there, _ = siblings(above[:-1], column_of(above[-1]))
    for name, declared in _started(analysis, step).items():
        if name not in there:
            doc = declared.description.text if declared.description else ""
            yield Suggestion(name, "input", declared.type.text if declared.type else "", doc)


def _started(analysis: Analysis, step: Step | None) -> dict[str, InputDecl]:
    workflow = analysis.unit.workflow
    if isinstance(step, Foreach) and step.task and workflow:
        task = workflow.declared_tasks.get(step.task.text)
        return task.declared_inputs if task else {}
    if isinstance(step, Call) and step.workflow:
        called = [unit.workflow for unit in analysis.unit.project.named(step.workflow.text) if unit.workflow]
        return called[0].declared_inputs if called else {}
    return {}
