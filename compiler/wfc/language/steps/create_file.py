from __future__ import annotations

from wfc.language.fields import ANYTHING, FLAG, TEXT
from wfc.language.shape import Field
from wfc.language.steps.served import Served
from wfc_runtime.contract import CreateFileResult


class CreateFile(Served):
    """Write a text to a file.

    The server writes it if its operator allows that; otherwise the agent does. Missing parent folders are created.

    ```yaml
    - id: write-notes
      type: create_file
      path: dist/NOTES.md
      content: "Release notes of {{ inputs.service }}"
    ```
    """

    kind = "create_file"
    label = "a create_file step"
    acts = True
    writes_to = "path"
    result = CreateFileResult

    path = Field(TEXT, "The file.", required=True, example="dist/NOTES.md")
    content = Field(TEXT, "The text to write.", required=True, example="Ready.")
    encoding = Field(TEXT, "The encoding of the text.", default="utf-8")
    mode = Field(ANYTHING, "The permissions of the file, in octal.", example="644")
    overwrite = Field(FLAG, "Whether an existing file may be replaced.", default=True)
    create_parents = Field(FLAG, "Whether to create missing parent folders.", default=True)
