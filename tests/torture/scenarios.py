"""The scenarios of `workflows/*.test.yaml`, as something for an agent to work through.

Together they come by every step and branch of the shipped workflows, which made-up answers do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tests.support import ROOT, shipped_modules
from tests.torture.agent import Agent
from wfc.author.answers import Answers
from wfc.config import CompileLimits
from wfc.testfiles.cases import Case, read_tests
from wfc.testfiles.reader import Reader


@dataclass(frozen=True)
class Scenario:
    workflow: str
    number: int
    case: Case

    @property
    def label(self) -> str:
        """A name that a folder can have."""
        return f"{self.workflow.replace(':', '-')}-{self.number}"

    @property
    def ends_as(self) -> tuple[str, ...]:
        return ("completed" if self.case.expect.failure is None else "failed",)

    def agent(self, folder: Path, connect: Callable[[], Any], **more: Any) -> Agent:
        """An agent for one run of it."""
        answers = Answers(self.case.scripts)
        return ScriptedAgent(folder, self.workflow, connect, inputs=self.case.inputs, answers=answers, **more)


@cache
def scenarios() -> tuple[Scenario, ...]:
    """All that there are, by workflow."""
    names = {module.source: module.workflow.name for module in shipped_modules()}
    found: list[Scenario] = []
    for path in sorted((ROOT / "workflows").rglob("*.test.yaml")):
        reader = Reader.of(str(path), path.read_bytes(), CompileLimits())
        cases = read_tests(reader).cases
        assert not reader.found, reader.found
        # By the source: the file of a workflow may have another name, as that of `deps:audit` has.
        beside = path.relative_to(ROOT).as_posix().removesuffix(".test.yaml")
        [workflow] = [name for source, name in names.items() if source.rpartition(".")[0] == beside]
        found += [Scenario(workflow, number, case) for number, case in enumerate(cases, 1)]
    return tuple(found)


def scenarios_of(workflow: str) -> list[Scenario]:
    return [one for one in scenarios() if one.workflow == workflow]


@dataclass
class ScriptedAgent(Agent):
    """Gives the answers of a scenario: the next one for a step that it has not been asked for before."""

    answers: Answers = field(default_factory=Answers)
    given: dict[str, Any] = field(default_factory=dict)

    def _result(self, place: str, scope: str, action: dict[str, Any]) -> Any:
        skips = action["parameters"].get("otherwise") == "skip"
        if skips and not self.answers.knows(scope, action["step_id"]):
            # As in `wfc test`: no server here has the grant.
            return {"skipped": "a test executes nothing"}
        if place not in self.given:
            taken = self.answers.take(scope, action["step_id"], action["type"], action.get("result_schema"))
            self.given[place] = taken.value
        return self.given[place]


def fewest(found: Iterable[tuple[Any, set[Any]]]) -> list[Any]:
    """Of things that each come by some states, a few that together come by all of them."""
    left = list(found)
    chosen: list[Any] = []
    seen: set[Any] = set()
    while left:
        best, states = max(left, key=lambda one: len(one[1] - seen))
        if not states - seen:
            break
        chosen.append(best)
        seen |= states
    return chosen
