from __future__ import annotations

from wfc.language.fields import ANYTHING, FLAG, TEXT, Computed, ListOf
from wfc.language.shape import Field
from wfc.language.steps.served import FILE_ORIGIN, Served
from wfc_runtime.contract import EditFileResult


class EditFile(Served):
    """Change a text file by operations, in order.

    An operation is `replace_text` (`old_text`, `new_text`, `count`), `replace_lines` or `delete_lines` (`line_start`,
    `line_end`, `content`), `insert_lines` (`line_start`, `content`), `regex_replace` (`pattern`, `replacement`) or
    `patch` (`patch`, a unified diff). All are applied, or none; with `atomic: false` those that fail are listed in
    `errors`. The server edits the file if its operator lets it read and write it; otherwise the agent does.

    ```yaml
    - id: bump-version
      type: edit_file
      path: version.txt
      operations:
        - {type: replace_text, old_text: "1.0", new_text: "1.1"}
    ```
    """

    kind = "edit_file"
    label = "an edit_file step"
    acts = True
    origin = FILE_ORIGIN
    writes_to = "path"
    result = EditFileResult

    path = Field(TEXT, "The file.", required=True, example="version.txt")
    operations = Field(
        Computed(ListOf(ANYTHING, "a list of operations", least=1)),
        "The operations.",
        required=True,
        example=[{"type": "replace_text", "old_text": "1.0", "new_text": "1.1"}],
    )
    encoding = Field(TEXT, "The encoding of the text.", default="utf-8")
    create_if_missing = Field(
        FLAG, "Whether to start from an empty file if it does not exist.", default=False
    )
    backup = Field(FLAG, "Whether to keep the file as it was, with `.bak` after its name.", default=True)
    dry_run = Field(FLAG, "Whether to only report what would change.", default=False)
    atomic = Field(FLAG, "Whether one operation that fails undoes them all.", default=True)
