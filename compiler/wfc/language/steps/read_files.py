from __future__ import annotations

from wfc.language.fields import FLAG, NUMBER, PATTERNS, TEXT, Computed, OneOf
from wfc.language.shape import Field
from wfc.language.steps.served import FILE_ORIGIN, Served
from wfc_runtime.contract import ReadFilesResult


class ReadFiles(Served):
    """Read the text files of a folder that match patterns, or one file.

    `*` matches within one name, `**/` any number of folders. Links are not followed; files that are too large, not
    text, or not granted are listed in `skipped_files`. If no file matches, `exit_code` is 1. The server reads the files
    if its operator allows that; otherwise the agent does.

    ```yaml
    - id: read-sources
      type: read_files
      patterns: ["src/**/*.py"]
      output_to: sources
    ```
    """

    kind = "read_files"
    label = "a read_files step"
    origin = FILE_ORIGIN
    result = ReadFilesResult
    ONE_OF = ("patterns", "path")

    path = Field(TEXT, "A single file, instead of `patterns`.")
    patterns = Field(Computed(PATTERNS), "The files.", example=["src/**/*.py"])
    base_path = Field(TEXT, "The folder to search.", default=".")
    mode = Field(
        OneOf(("full", "outline", "summary")),
        "Whole files, or an outline: functions and classes of Python and headings of Markdown, with their lines; "
        "`summary` has the first line of each docstring too.",
        default="full",
    )
    exclude_patterns = Field(Computed(PATTERNS), "Files and folders to leave out.")
    max_files = Field(Computed(NUMBER), "The maximum number of files, up to 100.", default=20)
    max_file_size_kb = Field(Computed(NUMBER), "The size limit of a file in kilobytes.", default=100)
    respect_gitignore = Field(
        FLAG, "Whether to leave out what the folder's own .gitignore names.", default=True
    )
    encoding = Field(TEXT, "The encoding of the files.", default="utf-8")
    line_start = Field(Computed(NUMBER), "The first line to return, from 1.")
    line_end = Field(Computed(NUMBER), "The last line to return.")
