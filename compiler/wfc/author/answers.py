"""Answers files: what agents and the person would say, written down, so that a run needs neither.

`wfc run --answers` works a run with one, the cases of `wfc test` hold one each, `wfc explore` prints them:

```yaml
inputs: {base: main}            # what the run starts with; may be left out
answers:
  list-changes: "a.py | 2 +-"   # the result of a step, by its id
  draft: [first, second]        # a list: one result per time that the step is asked
  list-files: [["a.py"]]        # so a result that is itself a list stands in a list
  build: {exit_code: 1}         # what a shell result leaves out is empty, and exit code 0
  approve: true                 # short for {confirmed: true}
  deploy: {error: no network}   # the agent could not do it; {timed_out: true}: it took too long
  check_one/read-file: "..."    # a step of a task or a called workflow, where its id alone is not clear
```

A result that is not in a list serves every time the step is asked. Times are counted over the whole run, the children
of a foreach included: those are worked one after the other, in the order of their items. Where a result is an object
with one required key, the bare value stands for it: text for a delegate's response, the option for a choice. A task
that is given whole to a named agent is asked as `task_name/do-task`. Waits need no answer.

`read_answers` reads such a file, `check_scripts` compares it with the workflows it is for, `Answers.take` gives the
results out, `write_answers` writes such a file.
"""

from __future__ import annotations

import re
from collections import Counter, abc
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from wfc.author.files import Reader, mistake
from wfc.config import CompileLimits
from wfc.findings import Diagnostic
from wfc.suggest import did_you_mean
from wfc.yaml import Node, Sequence, Span
from wfc_runtime.machine.chart import AnyMachine, Workflow
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.results import UnusableSchemaError, of, problems
from wfc_runtime.service.agent_brief import brief_machine
from wfc_runtime.service.children import is_briefed

# Short forms of results, as a person would write them.

_SHELL = {"stdout": "", "stderr": "", "exit_code": 0}


def fill(kind: str, schema: Any, value: Any) -> Any:
    """The result that a value stands for, for a step of this type with this result schema."""
    if reports_failure(value):
        return value
    if kind == "shell":
        if isinstance(value, dict):
            return {**_SHELL, **value}
        return {**_SHELL, "stdout": value} if isinstance(value, str) else value
    if isinstance(value, dict) or not isinstance(schema, dict) or schema.get("type") != "object":
        return value
    required = schema.get("required")
    return {required[0]: value} if isinstance(required, list) and len(required) == 1 else value


def reports_failure(value: Any) -> bool:
    """Whether a result says that the step could not be done: it need not fit the step's schema."""
    return isinstance(value, dict) and (set(value) == {"error"} or value.get("timed_out") is True)


@dataclass(frozen=True, slots=True)
class Answer:
    """One result, and where it is written."""

    value: Any
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """What is written for one step."""

    answers: tuple[Answer, ...]
    repeats: bool = False
    """One result for every time that the step is asked."""
    span: Span | None = None
    """Where its key stands."""


class NoAnswerError(Exception):
    """The answers have nothing for a step. The message says what to add."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.span = span


@dataclass
class Answers:
    """By key: a step's id, or `scope/id` with the name of its task or workflow."""

    scripts: abc.Mapping[str, Script] = field(default_factory=dict)
    taken: Counter[str] = field(default_factory=Counter)
    """How often each key has answered."""

    def key(self, scope: str, visit: str) -> str:
        """The key that a step's results stand under: the one with its scope, if it is there."""
        step = visit.partition("@")[0]
        scoped = f"{scope}/{step}"
        return scoped if scoped in self.scripts else step

    def knows(self, scope: str, visit: str) -> bool:
        return self.key(scope, visit) in self.scripts

    def take(self, scope: str, visit: str, kind: str, schema: Any) -> Answer:
        """The next result for a step, spelt out. `visit` is the step_id of the action, `scope` its task or workflow."""
        step = visit.partition("@")[0]
        key = self.key(scope, visit)
        script = self.scripts.get(key)
        if script is None:
            raise NoAnswerError(
                f"the answers have nothing for step `{step}` of `{scope}`; add `{step}: <result>` to `answers`"
            )
        index = 0 if script.repeats else self.taken[key]
        if index >= len(script.answers):
            count = len(script.answers)
            raise NoAnswerError(
                f"step `{key}` is asked once more, and the answers have {count} for it; add another to its list",
                script.span,
            )
        self.taken[key] += 1
        answer = script.answers[index]
        return Answer(fill(kind, schema, answer.value), answer.span)

    def unused(self) -> list[tuple[str, Script]]:
        """Keys with results that nobody has asked for."""
        return [
            (key, script)
            for key, script in self.scripts.items()
            if self.taken[key] < (1 if script.repeats else len(script.answers))
        ]


_KEYS = ("inputs", "answers")


@dataclass(frozen=True, slots=True)
class AnswersFile:
    inputs: dict[str, Any] = field(default_factory=dict)
    scripts: dict[str, Script] = field(default_factory=dict)
    problems: tuple[Diagnostic, ...] = ()
    """Where there are any, the rest is not to be used."""


def read_answers(path: str, data: bytes) -> AnswersFile:
    """What a file holds. Whether its steps exist and its results fit is for whoever knows the workflow to say."""
    reader = Reader(path, data, CompileLimits())
    if reader.root is None and not reader.found:
        reader.wrong(reader.start, "the file is empty; it needs the key `answers`")
    found = reader.mapping(reader.root, "an answers file", _KEYS, required=("answers",))
    inputs = read_inputs(reader, found.get("inputs"))
    scripts = read_scripts(reader, found.get("answers"))
    return AnswersFile(inputs, scripts, tuple(reader.found))


def read_inputs(reader: Reader, node: Node | None) -> dict[str, Any]:
    return {name: reader.data(value) for name, (_, value) in reader.entries(node, "`inputs`").items()}


def read_scripts(reader: Reader, node: Node | None) -> dict[str, Script]:
    """The mapping of steps to their results."""
    found: dict[str, Script] = {}
    for key, (span, value) in reader.entries(node, "`answers`").items():
        if "@" in key:
            step = key.partition("@")[0]
            reader.wrong(span, f"`{key}` names a visit", f"give `{step}` a list, with one result per visit")
        if isinstance(value, Sequence):
            answers = tuple(Answer(reader.data(item), item.span) for item in value.items)
            found[key] = Script(answers, span=span)
        else:
            found[key] = Script((Answer(reader.data(value), value.span),), repeats=True, span=span)
    return found


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 ._/-]*[A-Za-z0-9._/-]|[A-Za-z]")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
"""Text that some reader of YAML takes for something else."""


class _Dumper(yaml.SafeDumper):
    """Text is quoted unless it can be nothing else: PyYAML quotes for YAML 1.1, and files are read as 1.2."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = '"'
    if "\n" in text.rstrip("\n") and _is_block(text):
        style = "|"
    elif _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        style = ""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style or None)


def _is_block(text: str) -> bool:
    return all(line.isprintable() and line == line.rstrip() for line in text.split("\n")) and text[0] != " "


_Dumper.add_representer(str, _text)


def write_answers(inputs: abc.Mapping[str, Any], answers: abc.Mapping[str, abc.Sequence[Any]]) -> str:
    """The text of an answers file: for each step its results, in the order in which it is asked."""
    return _dump(_case(inputs, answers))


def write_tests(
    workflow: str, cases: abc.Sequence[tuple[str, abc.Mapping[str, Any], abc.Mapping[str, abc.Sequence[Any]]]]
) -> str:
    """The text of a test file for a workflow file: names, inputs and answers. Each of them has to complete."""
    tests = [{"name": name, **_case(inputs, answers)} for name, inputs, answers in cases]
    return _dump({"workflow": workflow, "tests": tests})


def _case(inputs: abc.Mapping[str, Any], answers: abc.Mapping[str, abc.Sequence[Any]]) -> dict[str, Any]:
    written = {key: _script(list(results)) for key, results in answers.items()}
    return {**({"inputs": dict(inputs)} if inputs else {}), "answers": written}


def _dump(data: Any) -> str:
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def _script(results: list[Any]) -> Any:
    return results[0] if len(results) == 1 and not isinstance(results[0], list) else results


# Checks against the workflows: steps that do not exist, and results that cannot fit.


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
