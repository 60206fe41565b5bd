from __future__ import annotations

from wfc.language.fields import BINDINGS, FLAG, TEXT
from wfc.language.shape import Field
from wfc.language.steps.served import Served
from wfc_runtime.contract import WriteJsonStateResult


class WriteJsonState(Served):
    """Write a JSON object to a file, replacing its contents.

    ```yaml
    - id: save-progress
      type: write_json_state
      path: .state/progress.json
      data:
        phase: build
        service: "{{ inputs.service }}"
    ```
    """

    kind = "write_json_state"
    label = "a write_json_state step"
    acts = True
    writes_to = "path"
    result = WriteJsonStateResult

    path = Field(TEXT, "The file.", required=True, example=".state/progress.json")
    data = Field(BINDINGS, "The object to write.", required=True, example={"phase": "build"})
    create_parents = Field(FLAG, "Whether to create missing parent folders.", default=True)
