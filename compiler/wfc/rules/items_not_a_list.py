"""A loop iterates over a value that is not a list.

`items` of a foreach must be a list; any other value fails the step. A `{% for %}` and filters such as `join` and `map`
would iterate over the characters of text, which is almost never intended.

Bad:

```yaml
- {id: list-files, type: shell, command: ls | sort, output_to: listing}
- id: check-files
  type: foreach
  needs_state: [listing]
  items: "{{ state.listing.stdout }}"
  task: check_file
```

Good:

```yaml
- {id: list-files, type: shell, command: ls | sort, output_to: listing}
- id: check-files
  type: foreach
  needs_state: [listing]
  items: "{{ state.listing.stdout.splitlines() }}"
  max_items: 100
  task: check_file
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Kind
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.typed import finding, misfit_finding, misfits, problems
from wfc.rules.wrong_type import wrong_places


@rule("WF208", "items-not-a-list")
def check(file: SourceFile) -> Iterator[Finding]:
    for _, found in problems(file, Kind.NOT_A_LIST):
        yield finding(found)
    found_wrong = list(misfits(file, Kind.NOT_A_LIST))
    reported = wrong_places(file) if found_wrong else set()
    for _, step, misfit in found_wrong:
        if misfit.span.start not in reported:
            yield misfit_finding(step, misfit)
