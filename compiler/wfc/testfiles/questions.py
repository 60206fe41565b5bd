"""The actions that runs of some workflows can request, and answers that can't be results of their steps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from wfc.ir import Chart, Effect, Module, Ref
from wfc.language.dialect import Report
from wfc.struct import struct
from wfc.suggest import did_you_mean
from wfc.testfiles.scripts import Answer, Script, fill, reports_failure
from wfc_runtime import contract
from wfc_runtime.results import UnusableSchemaError, narrowed, of, problems, read

Place = tuple[str, str]
"""The name of a workflow or task, and a step of it."""


_TIMING = ("timeout", "deadline")
"""Settings of a step that its action has among the parameters."""


@struct(frozen=True)
class Question:
    kind: str
    schema: Any
    parameters: Mapping[str, Any]
    """The main text of the action, such as `command`, before templates are evaluated."""


@struct
class Questions:
    asks: dict[Place, Question] = field(default_factory=dict)
    silent: set[Place] = field(default_factory=set)
    """Steps that exist and need no answer."""

    @classmethod
    def of(cls, modules: Iterable[Module]) -> Questions:
        """The questions of workflows that need not be compiled."""
        found = cls()
        for module in modules:
            found._add(module.name, module.main)
            for name, chart in module.tasks.items():
                found._add(name, chart)
            for name, chart in _given_whole(module).items():
                found.asks[name, "do-task"] = Question(
                    "delegate", _returned(chart), {"instructions": "", "agent": ""}
                )
        return found

    def _add(self, scope: str, chart: Chart) -> None:
        for state in chart.states():
            place = (scope, state.title)
            arguments = state.effect.arguments if state.effect and state.effect.name == "Ask" else None
            # A wait takes no answer: it ends when its time has passed.
            if arguments is not None and arguments.get("wait_seconds") is None:
                timing = {name: arguments[name] for name in _TIMING if arguments.get(name) is not None}
                parameters = {**(arguments.get("parameters") or {}), **timing}
                self.asks[place] = Question(arguments["kind"], _schema(arguments), parameters)
            elif not state.regions:
                self.silent.add(place)

    def matching(self, key: str, places: Iterable[Place]) -> list[Place]:
        return [place for place in places if key in (place[1], f"{place[0]}/{place[1]}")]

    def names(self) -> set[str]:
        """Every way to name a step that is asked."""
        return {step for _, step in self.asks} | {f"{scope}/{step}" for scope, step in self.asks}


def _schema(arguments: Mapping[str, Any]) -> Any:
    result = arguments.get("result")
    return known_schema(
        getattr(contract, result.name) if isinstance(result, Ref) else result, arguments.get("where")
    )


def known_schema(result: Any, where: Mapping[str, Any] | None) -> Any:
    """The JSON Schema of a step's results, without parts that are known only in a run, such as options from a
    template."""
    schema = of(result)
    is_fixed = where and "{{" not in json.dumps(where) and "{%" not in json.dumps(where)
    return narrowed(schema, where) if where and is_fixed else schema


def _given_whole(module: Module) -> dict[str, Chart]:
    """The tasks that a named agent gets as one brief."""
    effects = [state.effect for chart in module.charts for state in chart.states() if state.effect]
    spawned = [effect.arguments for effect in effects if effect.name == "Spawn"]
    names = {one.get("task") for one in spawned if one.get("agent") not in (None, "@task")}
    return {name: chart for name, chart in module.tasks.items() if name in names}


def _returned(chart: Chart) -> Any:
    """The keys that every `return` of a task has."""
    returns: list[Effect] = [
        state.effect for state in chart.states() if state.effect and state.effect.name == "Return"
    ]
    values = [effect.arguments.get("value") for effect in returns]
    mappings = [value for value in values if isinstance(value, dict)]
    if not mappings or len(mappings) < len(values):
        return None
    return {"type": "object", "required": [key for key in mappings[0] if all(key in one for one in mappings)]}


# Answers compared with the questions.


def check_scripts(scripts: Mapping[str, Script], questions: Questions) -> Iterator[Report]:
    """Every mistake that can be seen without a run."""
    for key, script in scripts.items():
        places = questions.matching(key, questions.asks)
        if places:
            asked = [questions.asks[place] for place in places]
            for answer in script.answers:
                yield from _misfits(key, answer, asked, script)
        elif script.span is not None:
            yield _unknown(key, script, questions)


def _unknown(key: str, script: Script, questions: Questions) -> Report:
    assert script.span is not None
    if questions.matching(key, questions.silent):
        return Report(
            "WF119",
            script.span,
            f"step `{key}` takes no answer",
            "answers are for prompt, shell, mcp_call and delegate steps; the steps of children have their own answers",
        )
    scope, slash, _ = key.partition("/")
    known = {step for _, step in questions.asks}
    if slash:
        known = {f"{name}/{step}" for name, step in questions.asks}
        scopes = {name for name, _ in questions.asks}
        if scope not in scopes:
            message = f"there is no task or called workflow `{scope}` that produces an action"
            return Report("WF119", script.span, message, did_you_mean(scope, scopes))
    return Report("WF119", script.span, f"there is no step `{key}`", did_you_mean(key, known))


def _misfits(key: str, answer: Answer, asked: list[Question], script: Script) -> Iterator[Report]:
    filled = [fill(one.kind, one.schema, answer.value) for one in asked]
    wrong = [misfit(result, one.schema) for result, one in zip(filled, asked, strict=True)]
    # A key may name steps of several scopes, and the answer is wrong only if it fits none of them.
    if all(wrong) and answer.span is not None:
        hint = _shape(asked[0].schema, filled[0], script)
        yield Report("WF120", answer.span, f"this can't be the result of `{key}`: {wrong[0]}", hint)


def _shape(schema: Any, result: Any, script: Script) -> str:
    """A suggestion for a result of a different type."""
    if not isinstance(schema, Mapping):
        return ""
    if schema.get("type") == "array" and not script.repeats:
        return "a list is one result per visit; write a result that is a list inside a list: `[[...]]`"
    names = schema.get("required")
    is_object = schema.get("type") == "object"
    if is_object and not isinstance(result, Mapping) and isinstance(names, list) and names:
        return f"write a mapping: `{{{', '.join(f'{name}: ...' for name in names)}}}`"
    return ""


def misfit(result: Any, schema: Any) -> str:
    """Why a result can't be the answer; empty if it can."""
    if reports_failure(result):
        return ""
    # The message must not quote a secret.
    is_secret = isinstance(schema, dict) and schema.get("writeOnly") is True
    try:
        found, unreadable = read(result, schema)
        return "; ".join(unreadable or problems(found, schema, not is_secret))
    except UnusableSchemaError:
        # The service fails the step with the reason.
        return ""
