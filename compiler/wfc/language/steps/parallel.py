from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from wfc.language.fields import BRANCHES, JOIN
from wfc.language.shape import Field
from wfc.language.steps.base import Fallible, Recovery, Step
from wfc.language.steps.protocol import ChartBuilder
from wfc.language.values import Word


class Parallel(Fallible):
    """Run a fixed set of branches in parallel.

    The step ends when every branch has ended. Branches share the state but must not write the same field. The agent
    gets the pending actions of all branches at once. If a branch fails, the others still run to their end, and then
    the step fails; a retry of the run enters the steps that failed again. With `join: fail_fast` the first
    failure cancels the others. With `join: any` the first branch that succeeds ends the step, the others are
    cancelled, and it fails only if all of them fail.

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

    join = Field(JOIN, "When the step ends: `all`, `fail_fast` or `any`.", default="all")

    after: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Branches that begin later, each with those that must have ended. Dialects with dependencies set it."""

    def blocks(self) -> Iterator[list[Step]]:
        yield from self.concurrent().values()

    def arranged(
        self, name: Word, branches: dict[str, list[Step]], after: dict[str, tuple[str, ...]]
    ) -> Parallel:
        # The same node, so that findings point at the author's text.
        made = Parallel(self.node, {**self.values, "id": name, "branches": branches})
        made.belongs_to, made.after = self.belongs_to, after
        return made

    def concurrent(self) -> dict[str, list[Step]]:
        return self.branches or {}

    def lower(self, chart: ChartBuilder, after: str) -> None:
        join = self.setting("join")
        regions = chart.branches(self, self.concurrent(), self.after, after if join == "any" else "")
        name = chart.state(self, regions=regions)
        # Without a handler, a failure that ends the step at once ends the run, and needs no state of its own.
        handler = self.on_error
        handles = isinstance(handler, Recovery) or (handler is not None and handler.text != "fail")
        is_plain = join == "fail_fast" and not handles
        then = after if is_plain else chart.join(self, regions, after, join == "fail_fast")
        # With `any` or `all`, the join decides whether the step has failed.
        chart.edge(name, then if join != "fail_fast" else after, f"done_state_{name}")
