from __future__ import annotations

from wfc.language.fields import BINDINGS, SECONDS, TEXT
from wfc.language.shape import Field
from wfc.language.steps.base import RESULT_SCHEMA, Action


class McpCall(Action):
    """Call a tool that the agent has.

    The agent calls the tool with the rendered parameters and submits its result. With `result_schema`, a result that
    does not match is rejected with the reason, and expressions that read the result are checked against the schema.

    ```yaml
    - id: open-issue
      type: mcp_call
      needs_state: [summary]
      tool: github.create_issue
      parameters:
        title: "{{ state.summary.title }}"
      result_schema:
        type: object
        properties: {number: {type: integer}}
        required: [number]
      output_to: issue
    ```
    """

    kind = "mcp_call"
    label = "an mcp_call step"
    color = "agent"
    acts = True
    origin = ("a tool result", "the tool result of {} is untrusted")

    tool = Field(
        TEXT, "The name of the tool; it can't be computed.", required=True, example="github.create_issue"
    )
    parameters_ = Field(
        BINDINGS, "The parameters of the tool.", example={"title": "{{ state.summary.title }}"}
    )
    timeout = Field(SECONDS, "The time limit of the call, in seconds.", default=30)
    result_schema = Field(RESULT_SCHEMA, "JSON Schema of the tool's result.")

    def parameters(self) -> dict[str, object]:
        return {"tool": self.tool, "parameters": self.parameters_ or {}}
