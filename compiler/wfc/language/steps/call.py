from __future__ import annotations

from typing import Any

from wfc.caching import lazy
from wfc.language.fields import BINDINGS, BOOLEAN, COUNT, SECONDS_COMPUTED, WORD, WORDS
from wfc.language.shape import Field
from wfc.language.steps.base import Keeping, Retried
from wfc.language.steps.protocol import ChartBuilder, Child
from wfc.language.values import Text


class Call(Keeping, Retried):
    """Run another workflow as a child and take its return value.

    It sees only the inputs that `with` gives it. Workflows may not call each other in a circle, and calls nest at
    most five deep, or as deep as `max_depth` says. A workflow that calls itself under some condition has to say it.
    With a `timeout`, a workflow that has not ended by then is cancelled with all that it does, and the step fails.

    ```yaml
    - id: deploy
      type: call
      workflow: deploy-service
      with:
        service: "{{ inputs.service }}"
      output_to: deployment
    ```
    """

    kind = "call"
    label = "a call step"
    color = "child"
    origin = ("what another workflow returned", "what {} gets back comes from outside")

    workflow = Field(WORD, "The name of the workflow to run.", required=True, example="deploy-service")
    with_ = Field(BINDINGS, "Its inputs.")
    max_depth = Field(
        COUNT,
        "How deep runs may nest, as for a workflow that calls itself; deeper, the step fails.",
        example=10,
    )
    timeout = Field(SECONDS_COMPUTED, "How long the whole workflow may take, in seconds.", example=600)
    only_declared = Field(
        BOOLEAN,
        "Leave out what the workflow has no input for, instead of refusing to call it.",
        default=False,
    )

    facts = Field(
        WORDS,
        "What to have of the workflow's own `facts` beside what it gives back, where it has them.",
        example=["services"],
    )

    def child(self) -> Child:
        return self._child

    @lazy
    def _child(self) -> Child:
        return Child(
            self,
            "workflow",
            self.workflow,
            self.with_,
            max_depth=self.setting("max_depth") or 0,
            is_lenient=bool(self.setting("only_declared")),
            facts=tuple(self.facts or ()),
        )

    def lower(self, chart: ChartBuilder, after: str) -> None:
        chart.suspend(self, chart.effect("Spawn", self, self._spawn), after, "joined")

    def _spawn(self) -> dict[str, Any]:
        return {
            "workflow": self.workflow.text if self.workflow else None,
            "inputs": self.with_ or {},
            "timeout": self.timeout if isinstance(self.timeout, Text) else self.setting("timeout"),
            "max_depth": self.setting("max_depth"),
            "only_declared": self.setting("only_declared") or None,
            "facts": [word.text for word in self.facts] if self.facts else None,
        }
