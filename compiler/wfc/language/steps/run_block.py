from __future__ import annotations

from wfc.language.fields import BINDINGS, SECONDS_COMPUTED, WORD
from wfc.language.shape import Field
from wfc.language.steps.base import RESULT_SCHEMA
from wfc.language.steps.served import Served


class RunBlock(Served):
    """Run a block type of an installed distribution, with its inputs.

    `[tool.wfc] plugins` lists the block types that the project uses. The server runs one if its operator allows it with
    `--allow-block`; otherwise the agent does what its description says.

    ```yaml
    - id: slug
      type: run_block
      block: Slug
      inputs: {text: "{{ inputs.service }}"}
      output_to: slug
    ```
    """

    kind = "run_block"
    label = "a run_block step"
    acts = True

    block = Field(WORD, "The name of the block type.", required=True, example="Slug")
    inputs = Field(BINDINGS, "Its inputs.", example={"text": "Hello"})
    about = Field(WORD, "A description for an agent that has to execute it.")
    timeout = Field(SECONDS_COMPUTED, "The time limit in seconds.", default=60)
    result_schema = Field(RESULT_SCHEMA, "JSON Schema of the result.")

    def parameters(self) -> dict[str, object]:
        return {name: value for name, value in super().parameters().items() if name != "result_schema"}
