from __future__ import annotations

from wfc.language.fields import ITEMS, TEXT
from wfc.language.shape import Field
from wfc.language.steps.served import Served
from wfc_runtime.contract import CheckFilesResult


class CheckFiles(Served):
    """Find out which files exist.

    The result is `{found, missing}`, lists of the given paths. A path is relative to the project; `*` matches within
    one name and `**` any number of folders, and a pattern is found if a file matches it. `x.md#Section` means `x.md`.
    A folder is found if it is not empty. Links are not followed, and files outside the project are ignored. The
    server checks this if its operator allows it to read these files; otherwise the agent does.

    ```yaml
    - id: check-outputs
      type: check_files
      paths: [docs/design.md, "docs/diagrams/*.svg"]
      output_to: outputs
    ```
    """

    kind = "check_files"
    label = "a check_files step"
    origin = ("a list of files", "the paths in the result of {} come from outside")
    result = CheckFilesResult

    paths = Field(ITEMS, "The files, folders and patterns.", required=True, example=["docs/design.md"])
    folder = Field(
        TEXT,
        "A folder in which a path is looked for if it is not found in the project.",
        example="workflows/release",
    )
