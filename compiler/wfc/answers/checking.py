"""Answers compared with the workflows that they are for: steps that are not there, and results that can't fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from wfc.answers.fill import fill, reports_failure
from wfc.answers.model import Answer, Script
from wfc.answers.nodes import mistake
from wfc.diagnostics import Diagnostic
from wfc.suggest import did_you_mean
from wfc_runtime.machine.ask import Ask
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.machine.schema import of
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.machine.validation import UnusableSchemaError, problems
from wfc_runtime.machine.workflow import Workflow
from wfc_runtime.service.brief import brief_machine
from wfc_runtime.service.children import is_briefed


@dataclass
class Questions:
    """What the runs of some workflows can ask for, by the names of scope and step."""

    asks: dict[tuple[str, str], Ask] = field(default_factory=dict)
    silent: set[tuple[str, str]] = field(default_factory=set)
    """Steps that are there, and where nobody is asked."""

    @classmethod
    def of(cls, workflows: Iterable[Workflow]) -> Questions:
        found = cls()
        for workflow in workflows:
            whole = given_whole(workflow)
            found._add(workflow.name, workflow.machine)
            for task, machine in workflow.tasks.items():
                found._add(task, machine)
                if task in whole:
                    found._add(task, brief_machine(machine, whole[task]))
        return found

    def _add(self, scope: str, machine: AnyMachine) -> None:
        for state in machine.states_map.values():
            effect, place = machine.steps.get(state.id), (scope, str(state.name))
            if isinstance(effect, Ask) and effect.wait_seconds is None:
                self.asks[place] = effect
            elif not state.final and not state.states:
                self.silent.add(place)

    def matching(self, key: str, places: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        return [place for place in places if key in (place[1], f"{place[0]}/{place[1]}")]


def given_whole(workflow: Workflow) -> dict[str, str]:
    """The tasks that a named agent gets as one brief."""
    machines = [workflow.machine, *workflow.tasks.values()]
    spawns = [one for machine in machines for one in machine.steps.values() if isinstance(one, Spawn)]
    return {one.task: one.agent for one in spawns if one.task and one.agent and is_briefed(one.agent)}


def check_scripts(scripts: Mapping[str, Script], questions: Questions) -> list[Diagnostic]:
    """Every mistake that can be seen without running anything."""
    found: list[Diagnostic] = []
    for key, script in scripts.items():
        places = questions.matching(key, questions.asks)
        if places:
            asks = [questions.asks[place] for place in places]
            found += [one for answer in script.answers for one in _misfits(key, answer, asks, script)]
        elif script.span is not None:
            found.append(_unknown(key, script, questions))
    return found


def _unknown(key: str, script: Script, questions: Questions) -> Diagnostic:
    assert script.span is not None
    if questions.matching(key, questions.silent):
        return mistake(
            script.span,
            f"step `{key}` takes no answer: nobody is asked there",
            "answers are for prompt, shell, mcp_call and delegate steps; children answer in steps of their own",
        )
    scope, slash, _ = key.partition("/")
    known = {step for _, step in questions.asks}
    if slash:
        known = {f"{name}/{step}" for name, step in questions.asks}
        if scope not in {name for name, _ in questions.asks}:
            message = f"there is no task or called workflow `{scope}` that asks for anything"
            return mistake(script.span, message, did_you_mean(scope, {name for name, _ in questions.asks}))
    return mistake(script.span, f"there is no step `{key}`", did_you_mean(key, known))


def _misfits(key: str, answer: Answer, asks: list[Ask], script: Script) -> Iterable[Diagnostic]:
    wrong = [_why_not(answer.value, ask) for ask in asks]
    if all(wrong) and answer.span is not None:
        schema = of(asks[0].result)
        hint = _shape(schema, fill(asks[0].kind, schema, answer.value), script)
        yield mistake(answer.span, f"this can't be the result of `{key}`: {wrong[0]}", hint)


def _shape(schema: Any, result: Any, script: Script) -> str:
    """What would fit, where the result is of another kind altogether."""
    if not isinstance(schema, Mapping):
        return ""
    if schema.get("type") == "array" and not script.repeats:
        return "a list is one result per visit; a result that is a list stands in a list: `[[...]]`"
    names = schema.get("required")
    if (
        schema.get("type") == "object"
        and not isinstance(result, Mapping)
        and isinstance(names, list)
        and names
    ):
        return f"write a mapping: `{{{', '.join(f'{name}: ...' for name in names)}}}`"
    return ""


def _why_not(value: Any, ask: Ask) -> str:
    schema = of(ask.result)
    result = fill(ask.kind, schema, value)
    return misfit(result, schema)


def misfit(result: Any, schema: Any) -> str:
    """Why a result can't be the answer; empty where it can."""
    if reports_failure(result):
        return ""
    is_secret = isinstance(schema, dict) and schema.get("writeOnly") is True
    try:
        return "; ".join(problems(result, schema, not is_secret))
    except UnusableSchemaError:
        # The service fails the step and says why.
        return ""
