"""Answers files: scripted results, so that a run needs neither an agent nor a person.

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

A result that is not in a list serves every time the step is asked. Times are counted over the whole run, including the
children of a foreach, which run one after another in the order of their items. Where a result is an object with one
required key, the bare value stands for it: text for a delegate's response, the option for a choice. A task that is
given whole to a named agent is asked as `task_name/do-task`. Waits need no answer.

`read_answers` reads such a file, `questions_of` returns the questions of compiled workflows, `Answers.take` supplies
the results, `write_answers` writes such a file.
"""

from __future__ import annotations

import re
from collections import Counter, abc
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import yaml

from wfc.config import CompileLimits
from wfc.findings import Diagnostic
from wfc.testfiles.questions import Question, Questions, known_schema
from wfc.testfiles.reader import Reader
from wfc.testfiles.scripts import Answer, Script, fill, read_inputs, read_scripts
from wfc.yaml import Span
from wfc_runtime.machine.chart import AnyMachine, Workflow
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.service.agent_brief import brief_machine
from wfc_runtime.service.children import is_briefed


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
    """The number of results used so far, by key."""

    def key(self, scope: str, visit: str) -> str:
        """The key of a step's results: the one with its scope, if it exists."""
        step = visit.partition("@")[0]
        scoped = f"{scope}/{step}"
        # The more specific key wins.
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
        # A result outside a list is used every time.
        index = 0 if script.repeats else self.taken[key]
        if index >= len(script.answers):
            count = len(script.answers)
            raise NoAnswerError(
                f"step `{key}` is asked once more, and the answers have {count} for it; add another to its list",
                script.span,
            )
        # Counted only if an answer was given: a missing one is reported, not consumed.
        self.taken[key] += 1
        answer = script.answers[index]
        return Answer(fill(kind, schema, answer.value), answer.span)

    def unused(self) -> list[tuple[str, Script]]:
        """The keys of results that were never used."""
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
    """If there are any, the rest must not be used."""


def read_answers(path: str, data: bytes) -> AnswersFile:
    """Read an answers file. It is not compared with a workflow here."""
    reader = Reader.of(path, data, CompileLimits())
    if reader.root is None and not reader.reports:
        reader.wrong(reader.start, "the file is empty; it needs the key `answers`", code="WF005")
    found = reader.mapping(reader.root, "an answers file", _KEYS, required=("answers",))
    inputs = {name: one.value for name, one in read_inputs(reader, found.get("inputs")).items()}
    scripts = read_scripts(reader, found.get("answers"))
    return AnswersFile(inputs, scripts, tuple(reader.found))


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 ._/-]*[A-Za-z0-9._/-]|[A-Za-z]")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
"""Text that some YAML parsers do not read as text."""


class _Dumper(yaml.SafeDumper):
    """Text is quoted unless it can be nothing else: PyYAML quotes for YAML 1.1, and files are read as 1.2."""

    def ignore_aliases(self, data: Any) -> bool:
        # Anchors would make a file of answers hard to edit.
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = '"'
    if "\n" in text.rstrip("\n") and _is_block(text):
        style = "|"
    elif _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        style = ""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style or None)


def _is_block(text: str) -> bool:
    # A leading blank would be read as the indentation of the block.
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
    # A single list must stay in a list, or it would be read as one result for each time.
    return results[0] if len(results) == 1 and not isinstance(results[0], list) else results


# The actions of compiled workflows.


def questions_of(workflows: Iterable[Workflow]) -> Questions:
    """The actions that runs of some compiled workflows can request."""
    found = Questions()
    for workflow in workflows:
        whole = given_whole(workflow)
        _add(found, workflow.name, workflow.machine)
        for task, machine in workflow.tasks.items():
            _add(found, task, machine)
            if task in whole:
                # The brief has its own step, in addition to those of the task.
                _add(found, task, brief_machine(machine, whole[task]))
    return found


def _add(found: Questions, scope: str, machine: AnyMachine) -> None:
    for state in machine.states_map.values():
        effect, place = machine.steps.get(state.id), (scope, str(state.name))
        if isinstance(effect, Ask) and effect.wait_seconds is None:
            found.asks[place] = Question(
                effect.kind, known_schema(effect.result, effect.where), effect.parameters
            )
        elif not state.final and not state.states:
            # Steps that ask for nothing: an answer for one is a mistake with a better message.
            found.silent.add(place)


def given_whole(workflow: Workflow) -> dict[str, str]:
    """The tasks that a named agent gets as one brief."""
    machines = [workflow.machine, *workflow.tasks.values()]
    spawns = [one for machine in machines for one in machine.steps.values() if isinstance(one, Spawn)]
    return {one.task: one.agent for one in spawns if one.task and one.agent and is_briefed(one.agent)}
