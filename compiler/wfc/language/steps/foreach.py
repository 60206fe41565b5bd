from __future__ import annotations

from typing import Any

from wfc.caching import cached_property
from wfc.language import types
from wfc.language.changes import PathType
from wfc.language.fields import (
    AGENT_TOOLS,
    BINDINGS,
    BOOLEAN,
    COUNT,
    ID,
    ISOLATION,
    ITEMS,
    JOIN,
    OPTIONAL_TEXT,
    SECONDS_COMPUTED,
    TEXT,
    WORD,
    WORDS,
    Nested,
)
from wfc.language.shape import BUDGET, Field, Shape
from wfc.language.steps.base import Changing, Retried, Waiting
from wfc.language.steps.protocol import Bindings, ChartBuilder, Child
from wfc.language.types import Type
from wfc.yaml import Span


class ChildErrors(Shape):
    """The reaction of a foreach to a failed child."""

    label = "`on_child_error`"

    retries = Field(COUNT, "How often a failed child is started again.", example=2)
    collect = Field(
        PathType(),
        "A list in the state that gets `{index, task_id, item, code, message, step_id}` of each failed child.",
        example="errors",
    )

    @property
    def path(self) -> tuple[Any, ...]:
        found = self.collect.data if self.collect else ()
        return tuple(found) if isinstance(found, list | tuple) else (found,)


class Foreach(Changing, Waiting, Retried):
    """Run a task once per item, each time as a child run.

    Children run in parallel, at most `max_parallel` at the same time, or one after the other with `sequential: true`;
    then `previous` has the results so far.
    Without `agent` the main agent executes them; `@task` gives each to a sub-agent that follows the task's steps;
    `@name` gives the whole task to the named agent as one brief. The result is the list of the return values, in the
    order of the items. If a child fails, the others still run to their end, and then the step fails; with
    `on_error: continue` the list has `{error: {code, message, step_id}}` in its place. With `join: fail_fast` the
    first failure cancels the others. With `join: any` the first child that succeeds ends the step, the others are
    cancelled, and the result is its return value; with `sequential: true` that tries one item after the other.
    A task with one input receives the item as that input; an item that is an object provides inputs by name; `with`
    sets inputs explicitly.

    ```yaml
    - id: audit
      type: foreach
      needs_state: [modules]
      items: "{{ state.modules }}"
      max_items: 50
      task: audit_module
      agent: "@task"
      output_to: audits
    ```
    """

    kind = "foreach"
    label = "a foreach step"
    color = "child"
    acts = True
    origin = ("an agent's reply", "the agents' replies to {} are untrusted")

    items = Field(ITEMS, "The list, usually one expression.", required=True, example="{{ state.modules }}")
    task = Field(WORD, "The task to run for each item.", required=True, example="audit_module")
    with_ = Field(BINDINGS, "The task's inputs, as expressions over `item`, `index` and the declared state.")
    agent = Field(OPTIONAL_TEXT, "`@task` or `@<name>`; by default the main agent.")
    sequential = Field(BOOLEAN, "Whether to run the children one at a time, in order.", default=False)
    max_parallel = Field(COUNT, "The maximum number of children at the same time.", example=4)
    join = Field(JOIN, "When the step ends: `all`, `fail_fast` or `any`.", default="all")
    model = Field(WORD, "The model of the children, as [tool.wfc.agents] names it; for `wfc run --agent`.")
    tools = Field(
        AGENT_TOOLS, "The tools that the children's agents get, with `wfc run --agent`.", example=["read"]
    )
    session = Field(
        ID,
        "The conversation that the children's steps continue, with `wfc run --agent`; they run one after the other.",
        example="author",
    )
    isolation = Field(
        ISOLATION,
        "`worktree`: the agents of each child work in its own git worktree and branch, which are kept if "
        "something has changed, and are then in the results of its `delegate` steps as `worktree`.",
    )
    budget = Field(BUDGET, "The budget of all children together.", example={"usd": 2})
    shares = Field(
        WORDS,
        "State fields that the children work on. Each sees their values from its start and its own changes. All "
        "changes are made in the order of the items, when the children have ended.",
        example=["findings"],
    )
    on_child_error = Field(
        Nested(lambda: ChildErrors, "a mapping with `retries` or `collect`"),
        "The reaction to a failed child.",
    )
    child_deadline = Field(
        SECONDS_COMPUTED, "The time limit of each child, in seconds; then it fails.", example=600
    )
    numbered = Field(BOOLEAN, "Whether children have the names `total` and `task_id`, too.", default=False)
    prompt = Field(TEXT, "A text for the sub-agents, before what wfc tells them.")
    max_items = Field(COUNT, "The maximum number of items; with more, the step fails.", example=50)

    @property
    def agent_name(self) -> str | None:
        # `agent: null` is the same as no agent.
        return self.agent.text if self.agent and self.agent.node.value is not None else None

    def result_type(self) -> Type:
        # The first child that succeeds gives its own value, and not a list.
        return types.ANY if self.setting("join") == "any" else types.LIST

    def _writes(self) -> dict[str, tuple[Span, Type]]:
        # Children write these fields when they have ended.
        shared: dict[str, tuple[Span, Type]] = {
            word.text: (word.span, types.ANY) for word in self.shares or ()
        }
        errors = self.on_child_error
        if errors is not None and errors.collect is not None:
            shared[str(errors.path[0])] = (
                errors.collect.span,
                types.LIST if len(errors.path) == 1 else types.ANY,
            )
        return {**shared, **super()._writes()}

    def child(self) -> Child:
        return self._child

    # Asked for by many analyses, so it is made once.
    @cached_property
    def _child(self) -> Child:
        return Child(
            self,
            "task",
            self.task,
            self.with_,
            is_task=True,
            items=self.items,
            is_bounded=self.max_items is not None,
            sequential=bool(self.setting("sequential")),
            numbered=bool(self.setting("numbered")),
            shares=tuple(self.shares or ()),
            agent=self.agent_name,
        )

    def bindings(self) -> Bindings | None:
        return Bindings("with", self.with_) if self.with_ else None

    def lower(self, chart: ChartBuilder, after: str) -> None:
        chart.suspend(self, chart.effect("Spawn", self, self._spawn), after, "joined")

    def _spawn(self) -> dict[str, Any]:
        return {
            "task": self.task.text if self.task else None,
            "items": self.items,
            "inputs": self.with_,
            "agent": self.agent_name,
            "sequential": self.setting("sequential") or None,
            "max_parallel": self.setting("max_parallel"),
            "max_items": self.setting("max_items"),
            # A module never repeats a default.
            "join": join if (join := self.setting("join")) != "all" else None,
            "deadline": self.computed_seconds("deadline"),
            "model": self.model.text if self.model else None,
            "tools": [tool.text for tool in self.tools] if self.tools is not None else None,
            "session": self.session.text if self.session else None,
            "isolation": self.isolation.text if self.isolation else None,
            "budget": self.budget.limits() if self.budget else None,
            "shares": [word.text for word in self.shares] if self.shares else None,
            "child_retries": errors.setting("retries") if (errors := self.on_child_error) else None,
            "child_errors": errors.path if errors and errors.collect else None,
            "child_deadline": self.computed_seconds("child_deadline"),
            "numbered": True if self.setting("numbered") else None,
            "prompt": self.prompt,
            **self.changing(),
        }
