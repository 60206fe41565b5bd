"""Scripted answers, and how far a run has come through them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wfc.answers.fill import fill
from wfc.yaml import Span


@dataclass(frozen=True)
class Answer:
    """One result, and where it is written."""

    value: Any
    span: Span | None = None


@dataclass(frozen=True)
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

    scripts: Mapping[str, Script] = field(default_factory=dict)
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
