from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from wfc.language.fields import (
    AGENT_TOOLS,
    BINDINGS,
    ID,
    ISOLATION,
    OPTIONAL_TEXT,
    SECONDS,
    TEXT,
    WORD,
    FieldType,
    ListOf,
    OneOf,
)
from wfc.language.shape import BUDGET, Field
from wfc.language.steps.base import RESULT_SCHEMA, Action
from wfc.language.values import Text
from wfc_runtime.contract import DelegateResult, IsolatedResult, Report

REPORT = "report"
CRITERIA: FieldType[list[Text]] = ListOf(TEXT, "a list of criteria (text)", least=1)


class Delegate(Action):
    """Delegate work to an agent.

    Without `agent` the main agent does it; with `agent: "@name"` it hands the instructions to that sub-agent. With
    `subagent_type`, it starts a sub-agent of that type, which plays the role of `agent`. The result is `{response}`,
    or, with `result_schema`, exactly what that schema describes. With `result: report` it is a report: `status`
    (success, partial or failed), `summary`, `achievements`, `limitations`, `next_steps`, `decisions`, `issues`,
    `milestones`, `files`, `evidence` and more. The agent's own text is also accepted and parsed.

    ```yaml
    - id: review-plan
      type: delegate
      needs_state: [plan]
      agent: "@plan-reviewer"
      instructions: |
        Review the plan between the tags. List blockers only.
        <plan>{{ state.plan.response }}</plan>
      output_to: review
    ```
    """

    kind = "delegate"
    label = "a delegate step"
    color = "agent"
    shape_rules: ClassVar[dict[str, Any]] = {
        "dependencies": {"evidence": ["result"]},
        "not": {"required": ["result", "result_schema"]},
    }
    acts = True
    origin = ("an agent's reply", "the agent's reply to {} is untrusted")
    ONE_OF = ("instructions", "instructions_file")

    instructions = Field(TEXT, "The task, with all the context that it needs.")
    instructions_file = Field(
        WORD,
        "A text file (.md or .txt) relative to the workflow, inside the project. Its text comes before "
        "`instructions`; it becomes part of the module, and `{{` in it is only text.",
        example="prompts/review.md",
    )
    context = Field(BINDINGS, "Values that the action shows beside the instructions.", example={"depth": 2})
    agent = Field(OPTIONAL_TEXT, "The sub-agent, such as `@plan-reviewer`; by default the main agent.")
    subagent_type = Field(
        WORD,
        "The client's type of sub-agent that plays the role of `agent`, such as `general-purpose`.",
        example="general-purpose",
    )
    timeout = Field(SECONDS, "The time limit in seconds.", default=300)
    result_schema = Field(RESULT_SCHEMA, "JSON Schema of the result.")
    result_ = Field(
        OneOf((REPORT,)),
        "`report`: the agent reports status, summary, decisions and so on, as an object or as text.",
        example=REPORT,
    )
    evidence = Field(
        CRITERIA,
        "With `result: report`, what the report must bring evidence for; without it, it is refused.",
        example=["All tests pass."],
    )
    model = Field(WORD, "The model, as [tool.wfc.agents] names it; for `wfc run --agent`.", example="fast")
    tools = Field(
        AGENT_TOOLS,
        "The tools that the agent gets, with `wfc run --agent`; the operator may allow fewer.",
        example=["read", "edit"],
    )
    session = Field(
        ID,
        "The name of a conversation. Steps of the same run with the same name continue it, with `wfc run --agent`.",
        example="author",
    )
    isolation = Field(
        ISOLATION,
        "`worktree`: the agent works in its own git worktree and branch, which are in the result as "
        "`worktree` if it has changed something.",
    )
    budget = Field(BUDGET, "The budget of the step.", example={"usd": 0.5})

    @property
    def agent_name(self) -> str | None:
        return self.agent.text if self.agent and self.agent.node.value is not None else None

    @property
    def takes_report(self) -> bool:
        return self.result_ is not None and self.result_schema is None

    def result_class(self) -> Any:
        if self.takes_report:
            return Report
        return IsolatedResult if self.isolation else DelegateResult

    def idle_fields(self) -> Iterator[tuple[str, str, str]]:
        if self.result_ and self.result_schema:
            yield "result", "`result_schema` describes the result", "remove one of the two"
        if self.evidence and not self.takes_report:
            yield "evidence", "only a report brings evidence", "add `result: report`"

    def narrowing(self) -> dict[str, Any]:
        return {"evidence": {"required": self.evidence}} if self.takes_report and self.evidence else {}

    def parameters(self) -> dict[str, Any]:
        given = {
            "subagent_type": self.subagent_type,
            "model": self.model,
            "session": self.session,
            "isolation": self.isolation,
        }
        wishes = {name: word.text for name, word in given.items() if word}
        tools = {"tools": [tool.text for tool in self.tools]} if self.tools is not None else {}
        context = {"context": self.context} if self.context else {}
        return {
            "instructions": self.instructions or "",
            "agent": self.agent_name,
            **context,
            **wishes,
            **tools,
        }

    def ask(self) -> dict[str, Any]:
        budget = {"budget": self.budget.limits()} if self.budget else {}
        return {**super().ask(), "preface": self.included or None, **budget}
