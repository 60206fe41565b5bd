from __future__ import annotations

from wfc.language.fields import FLAG, NUMBER, TEXT, Computed
from wfc.language.shape import Field
from wfc.language.steps.served import FILE_ORIGIN, Served
from wfc_runtime.contract import ReadFileResult


class ReadFile(Served):
    """Read a text from a file.

    The server reads it if its operator allows that; otherwise the agent does. A missing file fails the step, unless
    `required` is false.

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
    encoding = Field(TEXT, "The encoding of the text.", default="utf-8")
    max_size_mb = Field(Computed(NUMBER), "The size limit in megabytes.", default=10)
    required = Field(FLAG, "Whether the file must exist.", default=True)
