"""The output of a command is used without checking whether the command succeeded.

A command that fails does not fail its step: `exit_code` is data. Its output is then empty, incomplete or an error
message, and later steps use it as if it were correct. Check `exit_code` anywhere in the same workflow or task, or pass
the whole result on. Commands that handle failure themselves (`... || true`, `... || echo none`) or whose exit code is
meaningless (`... | wc -l`) are not reported, and neither is output that a condition compares with a text, because a
failing command does not print that text.

Bad:

```yaml
- {id: diff, type: shell, command: git diff main, output_to: diff}
- id: review
  type: delegate
  needs_state: [diff]
  instructions: "Review this change: <diff>{{ state.diff.stdout }}</diff>"
```

Good:

```yaml
- {id: diff, type: shell, command: git diff main, output_to: diff}
- id: review
  type: delegate
  needs_state: [diff]
  when: "{{ state.diff.exit_code == 0 }}"
  instructions: "Review this change: <diff>{{ state.diff.stdout }}</diff>"
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jinja2 import nodes

from wfc.caching import pattern
from wfc.findings import Note, Severity
from wfc.language.ast import Scope
from wfc.language.dialect import Language
from wfc.language.steps.base import Step
from wfc.language.steps.shell import Shell
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.state import ScopeUse, StateRead, scope_uses

_SEEN = 2000
"""The number of characters at the end of a command that are examined."""
_OUTPUT = frozenset({"stdout", "stderr"})
_HAS_FALLBACK = pattern(r"\|\|\s*(true|:|exit\s+0|(echo|printf)\b[^|&;]*)\Z")
_SUCCEEDS = pattern(
    r"""(
      (;|\n)\s*(true|:|exit\s+0)      # the last command succeeds
    | (?<!\|)\|\s*(cat|column|cut|head|nl|sort|tail|tee|tr|uniq|wc)\b[^|&;\n]*   # the exit code is that of a filter
    )\Z""",
    re.VERBOSE,
)
_LAST_OF_PIPE = pattern(r"(?<!\|)\|\s*(\w[\w./-]*)[^|&;\n]*\Z")
_HOLE = pattern(r"\{\{.*?\}\}", re.DOTALL)
"""Replaces each hole, because the `|` of a filter is not a pipe."""
_CANNOT_FAIL = pattern(r"\s*(date|echo|hostname|printf|pwd|uname|whoami)\b(?:[^|&;\n`$]|\$\w|\$\{\w+\})*\Z")


@rule("WF406", "unchecked-exit-code", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    for use in scope_uses(file):
        if use.is_clear:
            yield from _findings(file.language, use)


def _findings(language: Language, use: ScopeUse) -> Iterator[Finding]:
    for name, steps in _results(use.scope).items():
        reads = use.reads.get(name, [])
        risky = next((step for step in steps if _may_fail(step)), None)
        if risky is None or name in use.as_a_whole or not reads or not all(map(_is_output, reads)):
            continue
        if name in use.meant or risky.name in use.meant or any(_is_compared(read) for read in reads):
            continue
        first, output = reads[0], risky.values["output_to"]
        yield Finding(
            first.span,
            f"the output of {language.call(risky)} is used, but its `exit_code` is never checked",
            help=_help(risky, language.name_of("state", name, "exit_code")),
            notes=(Note("the result is stored here", output.span),),
            step=first.step.name,
        )


def _help(step: Shell, exit_code: str) -> str:
    piped = _LAST_OF_PIPE.search(_text(step))
    if piped and "pipefail" not in _text(step):
        # The exit code of a pipe does not depend on the commands before the last.
        return (
            f"the exit code of a pipe is that of its last command, `{piped[1]}`: "
            f"begin with `set -o pipefail` and check `{exit_code}`, or run the commands in two steps"
        )
    return f"check `{exit_code}` first, or end the command with `|| true` if it may fail"


def _text(step: Shell) -> str:
    """The end of the command, with a plain word in each hole."""
    return _HOLE.sub("x", step.command.node.text.rstrip()[-_SEEN:]) if step.command else ""


def _results(scope: Scope) -> dict[str, list[Shell]]:
    """The fields that only shell steps write, with those steps."""
    writers: dict[str, list[Step]] = {}
    for step in scope.walk():
        for name in step.writes():
            writers.setdefault(name, []).append(step)
    found: dict[str, list[Shell]] = {}
    for name, steps in writers.items():
        shells = [step for step in steps if isinstance(step, Shell)]
        if len(shells) == len(steps):
            found[name] = shells
    return found


def _is_output(found: StateRead) -> bool:
    """Whether it reads only the output. Any other read may include the exit code."""
    part = found.read.path[1] if len(found.read.path) > 1 else None
    return part is not None and part.name in _OUTPUT and not part.called


def _is_compared(found: StateRead) -> bool:
    """Whether a condition compares the output with a text, which a failing command would not print."""
    step, template = found.step, found.text.template
    if found.text not in (step.when, step.condition) or template.ast is None:
        return False
    for compare in template.ast.find_all(nodes.Compare):
        operands = [compare.expr, *(operand.expr for operand in compare.ops)]
        start, end = template.span(compare)
        if start <= found.read.start < end and any(
            isinstance(one, nodes.Const) and one.value for one in operands
        ):
            return True
    return False


def _may_fail(step: Shell) -> bool:
    command = _text(step)
    # With `fails_on_exit`, later steps see only the output of a command that succeeded.
    if not command or step.setting("fails_on_exit") or _HAS_FALLBACK.search(command):
        return False
    # With `pipefail`, a pipe into `head` or `wc` does fail if an earlier command fails.
    if re.search(r"\bpipefail\b", command):
        return True
    return not _SUCCEEDS.search(command) and not _CANNOT_FAIL.match(command)
