from __future__ import annotations

from wfc.language.fields import BINDINGS, FLAG, TEXT
from wfc.language.shape import Field
from wfc.language.steps.served import FILE_ORIGIN, Served
from wfc_runtime.contract import MergeJsonStateResult


class MergeJsonState(Served):
    """Update some keys of a JSON object in a file.

    Objects are merged key by key at any depth; other values are replaced.

    ```yaml
    - id: note-phase
      type: merge_json_state
      path: .state/progress.json
      updates:
        phase: test
      output_to: progress
    ```
    """

    kind = "merge_json_state"
    label = "a merge_json_state step"
    acts = True
    origin = FILE_ORIGIN
    writes_to = "path"
    result = MergeJsonStateResult

    path = Field(TEXT, "The file.", required=True, example=".state/progress.json")
    updates = Field(BINDINGS, "Keys and their new values.", required=True, example={"phase": "test"})
    create_if_missing = Field(FLAG, "Whether to create the file if it does not exist.", default=True)
    create_parents = Field(FLAG, "Whether to create missing parent folders.", default=True)
