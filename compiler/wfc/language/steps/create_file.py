from __future__ import annotations

from wfc.language.fields import ANYTHING, FLAG, TEXT
from wfc.language.shape import Field
from wfc.language.steps.served import Served
from wfc_runtime.contract import CreateFileResult


class CreateFile(Served):
    """Write a text to a file.

    The server writes it where its operator allows that; else the agent does. Folders on the way are made.

    ```yaml
    - id: write-notes
      type: create_file
      path: dist/NOTES.md
      content: "Release notes of {{ inputs.service }}"
    ```
    """

    kind = "create_file"
    label = "a create_file step"
    writes_to = "path"
    result = CreateFileResult

    path = Field(TEXT, "The file.", required=True, example="dist/NOTES.md")
    content = Field(TEXT, "What to write.", required=True, example="Ready.")
    encoding = Field(TEXT, "How the text is encoded.", default="utf-8")
    mode = Field(ANYTHING, "Who may read, write and run it, in octal.", example="644")
    overwrite = Field(FLAG, "Whether a file that is there may be replaced.", default=True)
    create_parents = Field(FLAG, "Whether folders on the way are made.", default=True)
