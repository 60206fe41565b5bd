from __future__ import annotations

from wfc.language.fields import FLAG, NUMBER, TEXT, Computed
from wfc.language.shape import Field
from wfc.language.steps.served import FILE_ORIGIN, Served
from wfc_runtime.contract import ReadFileResult


class ReadFile(Served):
    """Read a text from a file.

    The server reads it where its operator allows that; else the agent does. A file that is not there fails the step,
    unless it is not `required`.

    ```yaml
    - id: read-version
      type: read_file
      path: VERSION
      output_to: version_file
    ```
    """

    kind = "read_file"
    label = "a read_file step"
    origin = FILE_ORIGIN
    result = ReadFileResult

    path = Field(TEXT, "The file.", required=True, example="VERSION")
    mode = Field(TEXT, "`text`, or `binary` for content in base64.", default="text")
    encoding = Field(TEXT, "How the text is encoded.", default="utf-8")
    max_size_mb = Field(Computed(NUMBER), "The most megabytes to read.", default=10)
    required = Field(FLAG, "Whether the file must be there.", default=True)
