"""What a trial is told to answer: what was answered before, what it aims at, and the plainest thing for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from wfc.explore.hints import Pool
from wfc.explore.scopes import BRIEF, Aim, World
from wfc.explore.terms import Path
from wfc.explore.trial import Question
from wfc.explore.values import Maker, Unfit
from wfc_runtime.machine.ask import Ask

Key = tuple[str, str]
FAILED = {"error": "could not be done"}
TIMED_OUT = {"timed_out": True}
_NO_RESULT = {"error": "no result fits the schema"}


@dataclass(frozen=True)
class Attempt:
    """Answers by scope and step. What it does not say is the plainest that fits, or random with `chance`."""

    inputs: Mapping[str, Any] = field(default_factory=dict)
    answers: Mapping[Key, Sequence[Any]] = field(default_factory=dict)
    always: Mapping[Key, Any] = field(default_factory=dict)
    """The answer each time, once the others are used up."""
    aims: tuple[Aim, ...] = ()
    mode: str = "always"
    """Whether aims count every time that a step is asked (`varied`: with texts that differ from time to time),
    only the first, or from the second on."""
    turn: int = 0
    """Which of the values that would do is taken."""
    chance: float = 0.0


class Makers:
    """The maker of each question's results, made once."""

    def __init__(self, world: World, pool: Pool) -> None:
        self._world = world
        self._pool = pool
        self._known: dict[tuple[str, str, str], Maker] = {}
        self._plain: dict[tuple[str, str, str], Any] = {}

    def of(self, question: Question) -> Maker:
        key = self._key(question)
        if key not in self._known:
            name = self.field_of(question)
            scope = self._world.scopes.get(question.scope)
            shape = scope.shapes.of(("state", name)) if scope is not None and name is not None else None
            if name == BRIEF:
                shape = self._world.brief_shape(question.scope)
            self._known[key] = Maker(question.schema, self._pool.of(question.scope, name), shape)
        return self._known[key]

    def plain(self, question: Question) -> Any:
        """The plainest result; `Unfit` where none is found."""
        key = self._key(question)
        if key not in self._plain:
            self._plain[key] = self.of(question).plain()
        return self._plain[key]

    def field_of(self, question: Question) -> str | None:
        scope = self._world.scopes.get(question.scope)
        effect = scope.machine.steps.get(question.state) if scope is not None else None
        if effect is None and question.step == BRIEF:
            return BRIEF
        return effect.writes if isinstance(effect, Ask) else None

    def _key(self, question: Question) -> tuple[str, str, str]:
        return (question.scope, question.state, question.demands)


class Chooser:
    """Answers for one trial."""

    def __init__(self, attempt: Attempt, makers: Makers, random: Random) -> None:
        self._attempt = attempt
        self._makers = makers
        self._random = random
        self.unfit: list[Question] = []

    def __call__(self, question: Question) -> Any:
        attempt = self._attempt
        given = attempt.answers.get(question.key, ())
        if question.number < len(given):
            return given[question.number]
        if question.key in attempt.always:
            return attempt.always[question.key]
        base = self._makers.plain(question)
        if base is Unfit:
            self.unfit.append(question)
            return _NO_RESULT
        if attempt.chance and self._random.random() < attempt.chance:
            if question.can_recover and self._random.random() < 0.15:
                return FAILED
            return self._makers.of(question).random(self._random)
        return self._aimed(question, base)

    def _aimed(self, question: Question, base: Any) -> Any:
        attempt = self._attempt
        if attempt.mode == ("later" if question.number == 0 else "first"):
            return base
        name = self._makers.field_of(question)
        if name is None:
            return base
        maker = self._makers.of(question)
        if attempt.mode == "varied":
            other = _varied(base, question.number)
            base = other if maker.fits(other) else base
        for place, values in _by_place(attempt.aims, question.scope, name).items():
            fitting = [made for value in values if maker.fits(made := maker.with_value(base, place, value))]
            if fitting:
                base = fitting[attempt.turn % len(fitting)]
        return base


def _varied(value: Any, number: int) -> Any:
    match value:
        case dict():
            return {key: _varied(one, number) for key, one in value.items()}
        case list():
            return [_varied(one, number) for one in value]
        case "x":
            return f"x{number}"
    return value


def _by_place(aims: Sequence[Aim], scope: str, name: str | None) -> dict[Path, list[Any]]:
    """What is aimed at in one result. What is aimed at later comes first."""
    found: dict[Path, list[Any]] = {}
    for aim in aims:
        if (aim.scope, aim.field) == (scope, name):
            found[aim.place] = [*aim.values, *found.get(aim.place, ())]
    return found


class Inputs:
    """What runs are started with."""

    def __init__(self, schema: Mapping[str, Any], given: Mapping[str, Any], pool: Pool, scope: str) -> None:
        self._schema = schema
        self._given = given
        self._scope = scope
        hints = pool.of(scope, None)
        self._makers = {
            name: Maker(inner, {path[1:]: values for path, values in hints.items() if path[0] == name})
            for name, inner in schema.get("properties", {}).items()
            if name not in given
        }

    def plain(self) -> dict[str, Any]:
        """Those that must be given, and no others."""
        needed = [name for name in self._schema.get("required", ()) if name in self._makers]
        made = {name: self._makers[name].plain() for name in needed}
        return {**{name: value for name, value in made.items() if value is not Unfit}, **self._given}

    def edges(self) -> list[dict[str, Any]]:
        base = self.plain()
        return [{**base, name: value} for name, maker in self._makers.items() for value in maker.edges()]

    def aimed(self, aims: Sequence[Aim], turn: int) -> dict[str, Any]:
        found = self.plain()
        for place, values in _by_place(aims, self._scope, None).items():
            name, rest = str(place[0]), place[1:]
            maker = self._makers.get(name)
            if maker is None:
                continue
            base = found.get(name, None if not rest else maker.plain())
            fitting = [made for value in values if maker.fits(made := maker.with_value(base, rest, value))]
            if fitting:
                found[name] = fitting[turn % len(fitting)]
        return found

    def random(self, random: Random) -> dict[str, Any]:
        found = self.plain()
        for name, maker in self._makers.items():
            if name in found or random.random() < 0.3:
                value = maker.random(random)
                if value is not Unfit:
                    found[name] = value
        return found
