"""The step types of the language as written. The docstring of a class is its documentation."""

from __future__ import annotations

from inspect import cleandoc
from typing import ClassVar

from wfc.dialects.reactive.model import EXPRESSION, Rules, SubAgentErrors
from wfc.language.fields import (
    AMOUNT,
    ANYTHING,
    BINDINGS,
    BLOCK,
    BOOLEAN,
    COUNT,
    DELAY,
    ID,
    NAME,
    SECONDS_COMPUTED,
    SIZE,
    STEPS,
    TEXT,
    TEXTS,
    WORD,
    Computed,
    Constants,
    ListOf,
    Nested,
    OneOf,
)
from wfc.language.shape import Field, Shape
from wfc.language.steps.base import RESULT_SCHEMA

OPERATIONS = ("set", "append", "increment", "decrement", "multiply", "merge")


class Update(Shape):
    """A part of the state, and what is written to it."""

    label = "a state update"

    path = Field(WORD, "The target, such as `raw.results` or `raw.seen.{{ item }}`.", required=True)
    value = Field(ANYTHING, "The value; by default the whole result of the step.")
    operation = Field(OneOf(OPERATIONS), "How it is written.", default="set")
    transform = Field(WORD, "An old word for `value`.")


UPDATE = Nested(lambda: Update, "a mapping with `path` and `value`")
UPDATES = ListOf(UPDATE, "a list of updates (`path`, `value`)")


class Handling(Shape):
    """The reaction to a failed step."""

    label = "`error_handling`"

    strategy = Field(
        OneOf(("fail", "continue", "retry", "fallback")), "What to do.", default="fail", example="retry"
    )
    max_retries = Field(SIZE, "How often it is tried again, with `retry`.")
    retry_count = Field(SIZE, "The same as `max_retries`.")
    retry_delay = Field(SIZE, "The milliseconds between attempts.")
    fallback_value = Field(Constants(), "The result if all attempts fail.")
    error_message = Field(WORD, "The message for the user about the failure.")


class ReactiveStep(Shape):
    """One step."""

    label = "a step"
    kind: ClassVar[str] = ""
    takes_context: ClassVar[bool] = False
    """Whether `execution_context` has an effect."""

    id = Field(ID, "The step's name; by default its type and a number.", example="run_tests")
    type = Field(WORD, "The kind of step.", required=True)
    description = Field(WORD, "The purpose of the step.")
    execution_context = Field(OneOf(("server", "client")), "Who executes it: the server, or the agent.")


class UnknownKind(ReactiveStep):
    """A step whose `type` is missing or unknown."""


class _Fallible(ReactiveStep):
    """A step that can fail."""

    on_error = Field(
        OneOf(("fail", "continue", "retry")),
        "The reaction to a failure. With `continue`, the updates of a command that ran are still applied.",
        default="fail",
    )
    retry_count = Field(SIZE, "How often it is tried again, with `retry`.")
    retry_delay = Field(SIZE, "The milliseconds between attempts.")
    fallback_value = Field(Constants(), "The result if all attempts fail.")
    error_state_update = Field(UPDATE, "An update that is made when it fails. It can read `error`.")
    error_handling = Field(Nested(lambda: Handling, "a mapping with `strategy`"), "The same in one mapping.")


class _Answered(_Fallible):
    """A step with a result."""

    state_update = Field(UPDATE, "The state updates to make with the result.")
    state_updates = Field(UPDATES, "Several updates, which are written together.")
    store_result = Field(WORD, "The field that gets the whole result.", example="raw.lint_issues")
    timeout = Field(SECONDS_COMPUTED, "The time limit in seconds.")
    timeout_seconds = Field(SECONDS_COMPUTED, "The time limit in seconds. After that, the step fails.")


class _Loop(ReactiveStep):
    body = Field(STEPS, "The steps to repeat.")
    steps = Field(STEPS, "The same as `body`.")


class UserInput(_Answered):
    """Ask the user for a value.

    The answer must fit `input_type` and `validation`; one that does not is refused with `error_message`. Updates read
    it as `input`.

    ```yaml
    - id: ask_branch
      type: user_input
      prompt: "Which branch?"
      validation: {pattern: "^[a-z0-9/-]+$", error_message: "A branch has only a-z, 0-9, / and -."}
      default: main
      state_update: {path: raw.branch, value: "{{ input }}"}
    ```
    """

    kind = "user_input"
    label = "a user_input step"

    prompt = Field(TEXT, "The question.", required=True, example="Which branch?")
    instructions = Field(TEXT, "Context for the agent that asks.")
    input_type = Field(
        OneOf(("string", "number", "boolean", "choice", "text", "integer")),
        "The type of the answer.",
        default="string",
    )
    choices = Field(ANYTHING, "The options of a `choice`.", example=["staging", "production"])
    validation = Field(Nested(lambda: Rules, "a mapping of validation rules"), "Constraints on the answer.")
    validation_pattern = Field(WORD, "The same as `pattern` of `validation`.")
    default = Field(Constants(), "The value of an empty answer.")
    max_retries = Field(
        SIZE, "How many wrong answers are refused before the step fails; by default any number."
    )


class UserMessage(ReactiveStep):
    """Tell the user something. The run does not wait: the message is part of the next reply.

    ```yaml
    - {id: progress, type: user_message, message: "{{ done }} of {{ files.length }} files are done."}
    ```
    """

    kind = "user_message"
    label = "a user_message step"

    message = Field(TEXT, "The message.", required=True, example="Found {{ files.length }} files.")
    message_type = Field(WORD, "The kind of message: `info`, `warning`, `error`, `success`.", default="info")
    format = Field(WORD, "The format of the text, such as `text` or `markdown`.", default="text")


class McpCall(_Answered):
    """Call a tool of an MCP server.

    Updates read the result as `result`, and its keys by name. A result that is exactly `{"error": ...}` is a failure.

    ```yaml
    - id: lint
      type: mcp_call
      tool: lint_project
      parameters: {target_files: "{{ files }}"}
      state_update: {path: raw.lint, value: "{{ result }}"}
    ```
    """

    kind = "mcp_call"
    label = "an mcp_call step"
    ONE_OF = ("tool", "mcp", "method")

    tool = Field(TEXT, "The tool.", example="lint_project")
    parameters = Field(BINDINGS, "The parameters of the tool.")
    mcp = Field(Nested(lambda: ToolCall, "a mapping with `method` and `params`"), "The call in one mapping.")
    method = Field(TEXT, "The same as `tool`.")
    params = Field(BINDINGS, "The same as `parameters`.")


class ToolCall(Shape):
    """A tool and its parameters."""

    label = "`mcp`"

    method = Field(TEXT, "The tool.", required=True)
    params = Field(BINDINGS, "Its parameters.")


class ShellCommand(_Answered):
    """Run a command.

    The server runs it if its operator allows that, otherwise the agent does. A non-zero exit code is a failure. Updates
    read `stdout`, `stderr`, `exit_code`, and `result`, the output by its `output_format`.

    ```yaml
    - id: changed
      type: shell_command
      command: "git diff --name-only HEAD"
      output_format: lines
      state_update: {path: raw.files, value: "{{ result }}"}
    ```
    """

    kind = "shell_command"
    label = "a shell_command step"
    takes_context = True

    command = Field(TEXT, "The command line.", required=True, example="git diff --name-only HEAD")
    output_format = Field(
        OneOf(("text", "lines", "json", "key_value")), "How `result` is made of the output.", default="text"
    )
    working_directory = Field(TEXT, "The folder to run it in.")
    env = Field(TEXTS, "Environment variables to set for it.")


class AgentShellCommand(ShellCommand):
    """Run a command in the agent's environment, never on the server.

    ```yaml
    - {id: login, type: agent_shell_command, command: ./login.sh, reason: "It asks for a password.", timeout: 300000}
    ```
    """

    kind = "agent_shell_command"
    label = "an agent_shell_command step"

    reason = Field(TEXT, "Why the agent must run it.")
    timeout = Field(Computed(AMOUNT), "The time limit in milliseconds.")


class AgentPrompt(_Answered):
    """Ask the agent for work.

    Its answer must fit `expected_response`, and the `response_schema` of an `agent_response` directly after it, which
    makes the updates.

    ```yaml
    - id: review
      type: agent_prompt
      prompt: "Review {{ file }}."
      expected_response: {type: object, required: [verdict], properties: {verdict: {type: string}}}
    ```
    """

    kind = "agent_prompt"
    label = "an agent_prompt step"

    prompt = Field(TEXT, "The work, with all that the agent needs to know.", required=True)
    context = Field(BINDINGS, "Values for the agent.")
    expected_response = Field(RESULT_SCHEMA, "JSON Schema of the answer.")
    store_response = Field(WORD, "The field that gets the whole answer.")
    max_retries = Field(SIZE, "How often it is tried again.")


class AgentResponse(_Answered):
    """The answer to the `agent_prompt` before it. Updates read it as `response`.

    ```yaml
    - id: take_review
      type: agent_response
      response_schema: {type: object, required: [verdict]}
      state_updates:
        - {path: raw.verdict, value: response.verdict}
    ```
    """

    kind = "agent_response"
    label = "an agent_response step"

    response_schema = Field(RESULT_SCHEMA, "JSON Schema of the answer.")
    store_response = Field(WORD, "The field that gets the whole answer.")


class StateUpdate(_Fallible):
    """Write a part of the state.

    ```yaml
    - {id: count, type: state_update, path: raw.attempts, operation: increment}
    ```
    """

    kind = "state_update"
    label = "a state_update step"
    ONE_OF = ("path", "updates")

    path = Update.path
    value = Update.value
    operation = Update.operation
    transform = Update.transform
    updates = Field(UPDATES, "Several updates, which are written together.")


class BatchStateUpdate(_Fallible):
    """Write several parts of the state together.

    ```yaml
    - id: begin
      type: batch_state_update
      updates:
        - {path: raw.attempts, value: 0}
        - {path: raw.seen, operation: merge, value: {"{{ file }}": true}}
    ```
    """

    kind = "batch_state_update"
    label = "a batch_state_update step"

    updates = Field(UPDATES, "The updates.", required=True)


class Conditional(ReactiveStep):
    """Choose between two lists of steps.

    ```yaml
    - id: any_files
      type: conditional
      condition: "{{ files.length > 0 }}"
      then: [{type: user_message, message: "Found {{ files.length }} files."}]
      else: [{type: exit}]
    ```
    """

    kind = "conditional"
    label = "a conditional step"

    condition = Field(EXPRESSION, "The condition.", required=True, example="{{ files.length > 0 }}")
    then = Field(BLOCK, "The steps to run if it is true.")
    then_steps = Field(BLOCK, "The same as `then`.")
    else_ = Field(BLOCK, "The steps to run if it is false.")
    else_steps = Field(BLOCK, "The same as `else`.")


class While(_Loop):
    """Repeat steps while a condition holds.

    `loop.iteration` counts the iterations from 1. After `max_iterations`, the run continues after the loop.

    ```yaml
    - id: until_clean
      type: while
      condition: "{{ issues.length > 0 }}"
      max_iterations: 5
      body: [{type: shell_command, command: make fix}]
    ```
    """

    kind = "while"
    label = "a while step"
    ONE_OF = ("body", "steps")

    condition = Field(EXPRESSION, "The condition for another turn.", required=True)
    max_iterations = Field(COUNT, "The maximum number of iterations.", default=100)


class WhileLoop(While):
    __doc__ = While.__doc__

    kind = "while_loop"
    label = "a while_loop step"


class Foreach(_Loop):
    """Run steps for each item of a list, one after the other, on the state of the workflow.

    The steps read `item` and `index`, also as `loop.item` and `loop.index`, and under the names that the step gives.

    ```yaml
    - id: each_file
      type: foreach
      items: "{{ files }}"
      variable_name: file
      body: [{type: user_message, message: "Next: {{ file }}"}]
    ```
    """

    kind = "foreach"
    label = "a foreach step"
    ONE_OF = ("body", "steps")

    items = Field(ANYTHING, "The list, usually one expression.", required=True, example="{{ files }}")
    variable_name = Field(NAME, "Another name of the item.", example="file")
    index_name = Field(NAME, "Another name of the index.")


class ParallelForeach(_Answered):
    """Run a task for each item of a list, each by a sub-agent, at the same time.

    ```yaml
    - id: fix_batches
      type: parallel_foreach
      items: "{{ ready_batches }}"
      max_parallel: 5
      sub_agent_task: fix_batch
    ```
    """

    kind = "parallel_foreach"
    label = "a parallel_foreach step"

    items = Field(ANYTHING, "The list, usually one expression.", required=True, example="{{ batches }}")
    sub_agent_task = Field(WORD, "The task to run for each item.", required=True, example="fix_batch")
    max_parallel = Field(COUNT, "The maximum number of sub-agents at the same time.", default=10)
    wait_for_all = Field(BOOLEAN, "Whether the run waits for all of them; it always does.", default=True)
    sub_agent_prompt_override = Field(TEXT, "The prompt for each sub-agent, instead of the standard one.")
    inputs = Field(BINDINGS, "The task's inputs, as expressions over `item`, `index` and the fields.")
    on_sub_agent_error = Field(
        Nested(lambda: SubAgentErrors, "a mapping with `strategy`"), "The reaction to a failed sub-agent."
    )


class WaitStep(ReactiveStep):
    """Wait until the agent answers, or until `timeout_seconds` have passed.

    ```yaml
    - {id: let_it_settle, type: wait_step, message: "Waiting for the deployment.", timeout_seconds: 30}
    ```
    """

    kind = "wait_step"
    label = "a wait_step"

    message = Field(TEXT, "The text for the user.")
    timeout_seconds = Field(Computed(DELAY), "The seconds after which the run continues without an answer.")


class IncludeWorkflow(_Answered):
    """Run another workflow as a child with its own state.

    The fields that it ends with can be read by bare name afterwards, and as `<step id>.<field>`.

    ```yaml
    - id: checks
      type: include_workflow
      workflow: "shared:check-standards"
      inputs: {files: "{{ files }}"}
    ```
    """

    kind = "include_workflow"
    label = "an include_workflow step"

    workflow = Field(WORD, "The name of the workflow.", required=True, example="shared:check-standards")
    inputs = Field(BINDINGS, "Its inputs.")
    on_complete = Field(BLOCK, "Steps that run after it. They can read its fields.")


class Break(ReactiveStep):
    """Leave the innermost loop.

    ```yaml
    - {type: break}
    ```
    """

    kind = "break"
    label = "a break step"


class Continue(ReactiveStep):
    """Start the next iteration of the innermost loop.

    ```yaml
    - {type: continue}
    ```
    """

    kind = "continue"
    label = "a continue step"


class Exit(ReactiveStep):
    """End the run, or the task, with its state as it is.

    ```yaml
    - {type: exit}
    ```
    """

    kind = "exit"
    label = "an exit step"

    message = Field(TEXT, "The text for the user.")


class ApplyHints(_Answered):
    """Let the agent apply hints to a file. Updates read `applied_count`.

    ```yaml
    - id: hints
      type: apply_hints
      file: "{{ file }}"
      hints: "{{ hints[file] }}"
      state_update: {path: raw.applied, operation: increment, value: "{{ applied_count }}"}
    ```
    """

    kind = "apply_hints"
    label = "an apply_hints step"

    file = Field(TEXT, "The file.", required=True)
    hints = Field(ANYTHING, "The hints.", required=True)


KINDS: dict[str, type[ReactiveStep]] = {
    kind.kind: kind
    for kind in (
        UserInput,
        UserMessage,
        McpCall,
        ShellCommand,
        AgentShellCommand,
        AgentPrompt,
        AgentResponse,
        StateUpdate,
        BatchStateUpdate,
        Conditional,
        While,
        WhileLoop,
        Foreach,
        ParallelForeach,
        WaitStep,
        IncludeWorkflow,
        Break,
        Continue,
        Exit,
        ApplyHints,
    )
}

OLD_TYPES = {
    "set_variable": "state_update",
    "set_state": "state_update",
    "state_set": "state_update",
    "shell": "shell_command",
    "prompt": "agent_prompt",
    "input": "user_input",
    "message": "user_message",
    "if": "conditional",
    "condition": "conditional",
    "loop": "while",
    "for_each": "foreach",
    "parallel": "parallel_foreach",
    "wait": "wait_step",
    "call": "include_workflow",
    "include": "include_workflow",
    "return": "exit",
    "tool": "mcp_call",
    "delegate": "agent_prompt",
}
"""Words of other languages and of earlier versions, with the type of this language."""


def page_of(kind: type[ReactiveStep]) -> str:
    return cleandoc(kind.__doc__ or "")
