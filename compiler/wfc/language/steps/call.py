from __future__ import annotations

from typing import Any

from wfc.caching import cached_property
from wfc.language.fields import BINDINGS, BOOLEAN, COUNT, SECONDS_COMPUTED, TEXT, WORD, WORDS
from wfc.language.shape import Field
from wfc.language.steps.base import Changing, Retried, Waiting
from wfc.language.steps.protocol import ChartBuilder, Child


class Call(Changing, Waiting, Retried):
    """Run another workflow as a child run. Its return value is the result.

    It sees only the inputs that `with` gives it. Calls must not form a cycle, except that a workflow may call itself
    with a `when` and a `max_depth`; other calls nest at most five deep. With a `timeout`, a child that has not ended in
    time is cancelled with its own children, and the step fails. A name that only the run knows is an expression in
    `choose`; `among` lists what it may be.

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
    acts = True
    origin = ("another workflow", "the result of {} is untrusted")

    ONE_OF = ("workflow", "choose")

    workflow = Field(WORD, "The name of the workflow to run.", example="deploy-service")
    choose = Field(TEXT, "An expression for its name, instead of `workflow`; requires `among`.")
    among = Field(
        WORDS,
        "With `choose`: the names that it may be. `*` stands for any characters.",
        example=["deploy-staging", "deploy-production"],
    )
    with_ = Field(BINDINGS, "Its inputs.")
    max_depth = Field(
        COUNT,
        "The maximum depth of nested runs, needed by a workflow that calls itself; beyond it, the step fails.",
        example=10,
    )
    timeout = Field(SECONDS_COMPUTED, "The time limit of the whole workflow, in seconds.", example=600)
    only_declared = Field(
        BOOLEAN,
        "Whether to drop values that the workflow has no input for, instead of failing.",
        default=False,
    )

    facts = Field(
        WORDS,
        "Names of the workflow's `facts` to add to the result, if it has them.",
        example=["services"],
    )

    def child(self) -> Child:
        return self._child

    @cached_property
    def _child(self) -> Child:
        return Child(
            self,
            "workflow",
            self.workflow,
            self.with_,
            max_depth=self.setting("max_depth") or 0,
            is_lenient=bool(self.setting("only_declared")),
            facts=tuple(self.facts or ()),
            # `among` without `choose` is reported, and has no effect.
            among=tuple(word.text for word in self.among or ()) if self.choose else (),
        )

    def lower(self, chart: ChartBuilder, after: str) -> None:
        chart.suspend(self, chart.effect("Spawn", self, self._spawn), after, "joined")

    def _spawn(self) -> dict[str, Any]:
        return {
            "workflow": self.workflow.text if self.workflow else self.choose,
            "among": tuple(word.text for word in self.among or ()) or None,
            "inputs": self.with_ or {},
            # A computed time limit is evaluated when the step starts.
            "timeout": self.computed_seconds("timeout"),
            "deadline": self.computed_seconds("deadline"),
            "max_depth": self.setting("max_depth"),
            "only_declared": self.setting("only_declared") or None,
            "facts": [word.text for word in self.facts] if self.facts else None,
            **self.changing(),
        }
