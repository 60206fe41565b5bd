from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from wfc.language.fields import BRANCHES
from wfc.language.shape import Field
from wfc.language.steps.base import Step
from wfc.language.steps.protocol import ChartBuilder
from wfc.language.values import Word


class Parallel(Step):
    """Run a fixed set of branches in parallel.

    The step ends when every branch has ended. Branches share the state but must not write the same field. The agent
    gets the pending actions of all branches at once.

    ```yaml
    - id: checks
      type: parallel
      branches:
        lint:
          - {id: run-lint, type: shell, command: make lint, output_to: lint}
        types:
          - {id: run-types, type: shell, command: make types, output_to: types}
    ```
    """

    kind = "parallel"
    label = "a parallel step"

    branches = Field(BRANCHES, "The branches: a name and a list of steps for each.", required=True)

    after: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Branches that begin later, each with those that must have ended. Dialects with dependencies set it."""

    def blocks(self) -> Iterator[list[Step]]:
        yield from self.concurrent().values()

    def arranged(
        self, name: Word, branches: dict[str, list[Step]], after: dict[str, tuple[str, ...]]
    ) -> Parallel:
        made = Parallel(self.node, {**self.values, "id": name, "branches": branches})
        made.belongs_to, made.after = self.belongs_to, after
        return made

    def concurrent(self) -> dict[str, list[Step]]:
        return self.branches or {}

    def lower(self, chart: ChartBuilder, after: str) -> None:
        regions = chart.branches(self, self.concurrent(), self.after)
        name = chart.state(self, regions=regions)
        chart.edge(name, after, f"done_state_{name}")
