"""A value from outside decides the path of a file that the server reads or writes.

Where its operator grants files, the server itself does file steps, and reads what declared outputs name. A value that
holds `../` or begins with `/` then leads to another file than the workflow means: one that the agent must not see, or
one that something else reads as settings or as code. What a run is started with is only a warning: whoever starts it
chooses the workflow too. Numbers, booleans and choices from a fixed list are fine as they are. So is a text with a
`pattern` that lets no `/` through and that neither `.` nor `..` fits, and what `regex_replace` leaves of a value after
taking out all but such characters. `| shquote` is no help: it leaves `../` as it is.

Bad:

```yaml
- {id: ask, type: prompt, prompt_type: text, message: Name of the report?, output_to: answer}
- id: write-report
  type: create_file
  needs_state: [answer]
  path: "reports/{{ state.answer.input }}.md"
  content: Nothing to report.
```

Good:

```yaml
- {id: ask, type: prompt, prompt_type: text, message: Name of the report?, output_to: answer}
- id: write-report
  type: create_file
  needs_state: [answer]
  path: "reports/{{ state.answer.input | regex_replace('[^A-Za-z0-9_-]', '-') }}.md"
  content: Nothing to report.
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.taint.analysis import taint_of
from wfc.analysis.taint.expressions import holes_in
from wfc.analysis.taint.policy import PATH
from wfc.analysis.taint.values import Level
from wfc.findings import Severity
from wfc.language.steps.base import Step
from wfc.language.steps.create_worktree import CreateWorktree
from wfc.language.steps.served import Served
from wfc.language.steps.shell import Shell
from wfc.language.values import Text
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule

_HELP = (
    "use a fixed path, a choice from a list, or a `pattern` such as `^[a-z0-9-]+$`; "
    "or replace what may lead elsewhere: `| regex_replace('[^A-Za-z0-9_-]', '-')`"
)


@rule("WF509", "path-injection")
def check(file: SourceFile) -> Iterator[Finding]:
    paths = [(step, *found) for step in file.steps for found in _paths(step) if found[0].template.ast]
    # Most files have no such path, and need no look at where values come from.
    taint = taint_of(file, PATH) if paths else None
    for step, text, use in paths if taint else ():
        for hole in holes_in(taint.pieces(step, text)) if taint else ():
            if hole.flow is not None:
                shown = text.quote(hole.node)
                yield Finding(
                    text.at(*text.template.span(hole.node)),
                    f"`{shown}` decides the path of {use}, and holds {hole.flow.words}",
                    help=_HELP,
                    flow=hole.flow.notes(),
                    severity=Severity.ERROR if hole.flow.level is Level.OUTSIDE else Severity.WARNING,
                    step=step.name,
                )


def _paths(step: Step) -> Iterator[tuple[Text, str]]:
    """The paths of what the server opens for a step, each with what it is used for."""
    if isinstance(step, CreateWorktree):
        named = {"path": "a folder that the server makes", "repo": "a repository that the server changes"}
    elif isinstance(step, Served):
        use = "a file that the server writes" if step.writes_to else "a file that the server reads"
        named = dict.fromkeys(("path", "output_path"), use)
    else:
        named = {}
    found = {step.values.get(name): use for name, use in named.items()}
    if isinstance(step, Shell) and step.setting("runner") == "server":
        found = {output.path: "a file that the server reads" for output in (step.outputs or {}).values()}
    yield from ((path, use) for path, use in found.items() if isinstance(path, Text))
