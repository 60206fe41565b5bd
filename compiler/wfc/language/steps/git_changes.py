from __future__ import annotations

from wfc.language.fields import ANYTHING
from wfc.language.shape import Field
from wfc.language.steps.git_snapshot import GitSnapshot
from wfc_runtime.contract import GitChangesResult


class GitChanges(GitSnapshot):
    """Find out which files have changed since a `git_snapshot`, by their content.

    Commits, other branches and reverts make no difference, and a file that had been changed before counts only if it
    is another one now. Files that git ignores are not seen. The result has the paths as `changed`, those in the scope
    of each agent as `by_agent`, those in none as `outside_scope` (at most 2,000 each; `total` and `outside_total` count
    all), and whether a server has `proved` it. A scope is a list of paths and patterns: a folder covers what is below
    it, `*` stays in one name, `**` does not, `!` takes away; null has no limits.

    ```yaml
    - id: changes
      type: git_changes
      needs_state: [before]
      since: "{{ state.before }}"
      scopes: {writer: [docs/, "!docs/old"]}
      otherwise: skip
      output_to: changes
    ```
    """

    kind = "git_changes"
    label = "a git_changes step"
    result = GitChangesResult

    since = Field(
        ANYTHING, "The result of the git_snapshot step.", required=True, example="{{ state.before }}"
    )
    scopes = Field(
        ANYTHING, "The files of each agent: a mapping of agents to patterns.", example={"writer": ["docs/"]}
    )
