from __future__ import annotations

from wfc.language.fields import TEXT
from wfc.language.shape import Field
from wfc.language.steps.served import Served
from wfc_runtime.contract import CreateWorktreeResult


class CreateWorktree(Served):
    """Make a git working tree of its own for a branch, and the branch if need be.

    ```yaml
    - id: make-tree
      type: create_worktree
      branch: "feature/{{ inputs.service }}"
      base_branch: main
    ```
    """

    kind = "create_worktree"
    label = "a create_worktree step"
    writes_to = "path"
    result = CreateWorktreeResult

    branch = Field(TEXT, "The branch that it has checked out.", required=True, example="feature/login")
    path = Field(TEXT, "The folder; by default .worktrees/ and the branch.", example=".worktrees/login")
    base_branch = Field(TEXT, "Where a new branch begins; by default what is checked out.", example="main")
    repo = Field(TEXT, "The repository, where it is not the project's own.")
