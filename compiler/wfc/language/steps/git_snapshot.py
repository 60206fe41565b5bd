from __future__ import annotations

from typing import Any, ClassVar

from wfc.language.fields import FieldType, OneOf
from wfc.language.shape import Field
from wfc.language.steps.served import Served
from wfc.language.values import Word
from wfc_runtime.contract import GitSnapshotResult

OTHERWISE: FieldType[Word] = OneOf(("agent", "skip"))
OTHERWISE_DOC = (
    "Where the server may not run `git status`: `agent` asks the agent, `skip` goes on, with the reason as `skipped` "
    "in the result."
)


class GitSnapshot(Served):
    """Record what the project's files contain, for a later `git_changes` step.

    The result has the commit (`head`) and the content of each file that differs from it (`files`). The server makes it
    if its operator allows `git status`; the result is then `proved`. A submission of an agent is only a claim. Without
    git, or with more than 2,000 files that differ, `skipped` says why there is none.

    ```yaml
    - id: before
      type: git_snapshot
      otherwise: skip
      output_to: before
    ```
    """

    kind = "git_snapshot"
    label = "a git_snapshot step"
    origin = ("a file name", "the file names in the result of {} come from outside")
    result: ClassVar[Any] = GitSnapshotResult

    otherwise = Field(OTHERWISE, OTHERWISE_DOC, default="agent", example="skip")

    def parameters(self) -> dict[str, Any]:
        given = {name: one for name, one in super().parameters().items() if name != "otherwise"}
        skips = self.otherwise is not None and self.otherwise.text == "skip"
        return {**given, "otherwise": "skip"} if skips else given
