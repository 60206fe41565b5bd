from __future__ import annotations

from wfc.language.fields import TEXT
from wfc.language.shape import Field
from wfc.language.steps.served import Served
from wfc_runtime.contract import CreateWorktreeResult


class CreateWorktree(Served):
    """Create a git worktree for a branch, and the branch itself if it does not exist.

    ```yaml
    - id: make-tree
      type: create_worktree
      branch: "feature/{{ inputs.service }}"
      base_branch: main
    ```
    """

    kind = "create_worktree"
    label = "a create_worktree step"
    acts = True
    writes_to = "path"
    result = CreateWorktreeResult

    branch = Field(TEXT, "The branch to check out.", required=True, example="feature/login")
    path = Field(
        TEXT, "The folder; by default `.worktrees/` and the name of the branch.", example=".worktrees/login"
    )
    base_branch = Field(
        TEXT, "The starting point of a new branch; by default the current branch.", example="main"
    )
    repo = Field(TEXT, "The repository; by default the project's own.")
