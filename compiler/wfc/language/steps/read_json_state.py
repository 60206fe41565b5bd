from __future__ import annotations

from wfc.language.fields import FLAG, TEXT
from wfc.language.shape import Field
from wfc.language.steps.served import FILE_ORIGIN, Served
from wfc_runtime.contract import ReadJsonStateResult


class ReadJsonState(Served):
    """Read a JSON object from a file.

    If the file does not exist, `data` is empty and `found` is false, unless the file is `required`.

    ```yaml
    - id: read-progress
      type: read_json_state
      path: .state/progress.json
      output_to: progress
    ```
    """

    kind = "read_json_state"
    label = "a read_json_state step"
    origin = FILE_ORIGIN
    result = ReadJsonStateResult

    path = Field(TEXT, "The file.", required=True, example=".state/progress.json")
    required = Field(FLAG, "Whether the file must exist.", default=False)
