from __future__ import annotations

from wfc.core.fields import SECONDS, TEXT
from wfc.core.shape import Field
from wfc.steps.action import Action
from wfc_runtime.contract import ShellResult


class Shell(Action):
    """Run a command in the agent's environment.

    The agent gets the rendered command, runs it and reports what came out. A non-zero exit code is data, not a
    failure: look at `exit_code` where it matters. Values from outside belong through `| shquote`.

    ```yaml
    - id: run-tests
      type: shell
      command: "npm test -- {{ inputs.suite | shquote }}"
      timeout: 120
      output_to: test_results
    ```
    """

    kind = "shell"
    label = "a shell step"
    color = "agent"
    instruction = "Run this command and submit its stdout, stderr and exit_code."
    result = ShellResult

    command = Field(TEXT, "The command line.", required=True, example="npm test")
    timeout = Field(SECONDS, "How long the command may take, in seconds.", default=30)

    def parameters(self) -> dict[str, object]:
        return {"command": self.command}
