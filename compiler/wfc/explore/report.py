"""What exploring a workflow has brought to light."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wfc.answers import write_answers


@dataclass(frozen=True)
class Case:
    """Inputs and answers that lead somewhere."""

    inputs: dict[str, Any]
    answers: dict[tuple[str, str], list[Any]]

    @property
    def size(self) -> tuple[int, int]:
        return (sum(map(len, self.answers.values())), len(self.text()))

    def by_key(self) -> dict[str, list[Any]]:
        """The keys as an answers file has them: a step's id alone where that says which."""
        scopes: dict[str, set[str]] = {}
        for scope, step in self.answers:
            scopes.setdefault(step, set()).add(scope)
        return {
            step if len(scopes[step]) == 1 and step != "do-task" else f"{scope}/{step}": results
            for (scope, step), results in self.answers.items()
        }

    def text(self) -> str:
        return write_answers(self.inputs, self.by_key())


@dataclass(frozen=True)
class Problem:
    kind: str
    """expression, endless, items, schema or unreachable."""
    scope: str
    step: str
    place: str
    """Where in the YAML."""
    message: str
    case: Case | None = None
    name: str = ""
    """What its file is called, without the ending."""
    goes_on: bool = False
    """Whether its run never ends at all."""

    def to_data(self) -> dict[str, Any]:
        found: dict[str, Any] = {"kind": self.kind, "in": self.scope, "step": self.step}
        found |= {"place": self.place, "message": self.message}
        if self.case is not None:
            found |= {"inputs": self.case.inputs, "answers": self.case.by_key()}
        return found


@dataclass(frozen=True)
class Unreached:
    scope: str
    step: str
    kind: str
    place: str

    def to_data(self) -> dict[str, Any]:
        return {"in": self.scope, "step": self.step, "branch": self.kind, "place": self.place}


@dataclass
class Report:
    workflow: str
    seed: int
    runs: int = 0
    wanted: int = 0
    """How many runs were asked for; fewer were made where the time was up."""
    seconds: float = 0.0
    branches: int = 0
    reached: int = 0
    unreached: list[Unreached] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def is_cut(self) -> bool:
        return self.runs < self.wanted

    def to_data(self) -> dict[str, Any]:
        return {
            "workflow": self.workflow,
            "seed": self.seed,
            "runs": self.runs,
            "cut_by_time": self.is_cut,
            "branches": {
                "all": self.branches,
                "reached": self.reached,
                "not_reached": [one.to_data() for one in self.unreached],
            },
            "problems": [problem.to_data() for problem in self.problems],
        }
