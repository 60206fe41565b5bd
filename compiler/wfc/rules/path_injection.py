"""An untrusted value is part of a path that the server reads or writes, or of a URL that it requests.

If its operator grants access to files, the server itself executes file steps and reads the files of declared outputs.
A value that contains `../` or begins with `/` selects a different file than intended: one that the agent must not see,
or one that another program reads as settings or code. Run inputs cause only a warning, since the caller that starts a
run also chooses the workflow. Numbers, booleans and choices from a fixed list are safe. So is text with a `pattern`
that excludes `/`, `.` and `..`, and text from which `regex_replace` has removed all other characters. `| shquote` does
not help: it keeps `../`.

In a URL, such a value selects another resource, or another host if it comes before the path: one that trusts the
server's network. Behind the `?`, `| urlencode` makes it harmless.

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
from wfc.analysis.taint.policy import PATH, QUERY
from wfc.analysis.taint.values import Level
from wfc.findings import Severity
from wfc.language.steps.base import Step
from wfc.language.steps.create_worktree import CreateWorktree
from wfc.language.steps.http_call import HttpCall
from wfc.language.steps.served import Served
from wfc.language.steps.shell import Shell
from wfc.language.values import Text
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule

_HELP = (
    "use a fixed path, a choice from a list, or a `pattern` such as `^[a-z0-9-]+$`; "
    "or replace unsafe characters: `| regex_replace('[^A-Za-z0-9_-]', '-')`"
)
_READ = "the path of a file that the server reads"
_WRITTEN = "the path of a file that the server writes"
_URL_HELP = (
    "use a fixed URL, a choice from a list, or a `pattern` such as `^[a-z0-9-]+$`; put it behind the `?` with "
    "`| urlencode`, or replace unsafe characters: `| regex_replace('[^A-Za-z0-9_-]', '-')`"
)


@rule("WF509", "path-injection")
def check(file: SourceFile) -> Iterator[Finding]:
    paths = [(step, *found) for step in file.steps for found in _paths(step) if found[0].template.ast]
    # Most files have no such path, and the taint analysis is expensive.
    for step, text, use in paths:
        is_url = isinstance(step, HttpCall)
        for policy in (PATH, QUERY) if is_url else (PATH,):
            taint = taint_of(file, policy)
            for hole in holes_in(taint.pieces(step, text)) if taint else ():
                place = text.template.span(hole.node)
                # Before the `?`, `/` and `..` select another resource; after it, `urlencode` is enough.
                is_query = is_url and "?" in text.data[: place[0]]
                if hole.flow is None or is_query is not (policy is QUERY):
                    continue
                yield Finding(
                    text.at(*place),
                    f"untrusted value in {use} (from {hole.flow.words})",
                    help=_URL_HELP if is_url else _HELP,
                    flow=hole.flow.notes(),
                    severity=Severity.ERROR if hole.flow.level is Level.OUTSIDE else Severity.WARNING,
                    step=step.name,
                )


def _paths(step: Step) -> Iterator[tuple[Text, str]]:
    """The paths that the server opens for a step, each with its use."""
    if isinstance(step, CreateWorktree):
        named = {
            "path": "the path of a folder that the server creates",
            "repo": "the path of a repository that the server changes",
        }
    elif isinstance(step, HttpCall):
        named = {"url": "a URL that the server requests"}
    elif isinstance(step, Served):
        use = _WRITTEN if step.writes_to else _READ
        named = dict.fromkeys(("path", "output_path"), use)
    else:
        named = {}
    found = {step.values.get(name): use for name, use in named.items()}
    if isinstance(step, Shell) and step.setting("runner") == "server":
        found = {output.path: _READ for output in (step.outputs or {}).values()}
    yield from ((path, use) for path, use in found.items() if isinstance(path, Text))
