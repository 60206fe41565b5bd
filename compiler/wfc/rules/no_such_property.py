"""A template reads a property, an item or a method that the value does not have.

The result of each step type is known: `stdout`, `stderr` and `exit_code` of a shell step, `confirmed` of a confirm
prompt, the properties in the `result_schema` of an action. Reading another property fails the step during the run. The
finding is a warning if only some values lack the property, as in the results of a foreach whose children may fail.

Bad:

```yaml
- {id: ask, type: prompt, prompt_type: confirm, message: "Go on?", output_to: answer}
- id: decide
  type: condition
  needs_state: [answer]
  if: "{{ state.answer.confirm }}"
  then: [{id: stop, type: return}]
```

Good:

```yaml
- {id: ask, type: prompt, prompt_type: confirm, message: "Go on?", output_to: answer}
- id: decide
  type: condition
  needs_state: [answer]
  if: "{{ state.answer.confirmed }}"
  then: [{id: stop, type: return}]
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.environment import Kind
from wfc.analysis.types.workflow import Located, ScopeTypes
from wfc.caching import pattern
from wfc.findings import Note, Severity
from wfc.language.values import Text
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.injection import escapes_in
from wfc.rules.common.typed import finding, problems
from wfc.yaml import Scalar


@rule("WF206", "no-such-property", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    causes: set[int] = set()
    for scope, found in problems(file, Kind.PROPERTY):
        # WF507 reports names that lead to Python's internals.
        if any(
            escape.start <= found.problem.start < escape.end for escape in escapes_in(found.text.template)
        ):
            continue
        cause = _made_text(scope, found)
        if cause is None:
            yield finding(found, severity=None if found.problem.sure else Severity.WARNING)
        elif id(cause) not in causes:
            # Every reader fails for the same reason, so the finding is reported at the writer.
            causes.add(id(cause))
            yield _at_writer(cause, found)


_FIELD = pattern(r"\bstate\.(\w+)\.\s*\Z")


def _made_text(scope: ScopeTypes, found: Located) -> Text | None:
    """The template that converts a value to text, if it is the only write of the field."""
    # A misspelt string method is a mistake of the reader.
    if found.problem.help or found.problem.changes:
        return None
    named = _FIELD.search(found.text.template.text[: found.problem.start])
    definitions = scope.inference.definitions
    ways = [way for way in definitions.by_field.get(named[1], ()) if way.step is not None] if named else []
    if named is None or len(ways) != 1 or ways[0].step is None:
        return None
    tree = (ways[0].step.assigns() or {}).get(named[1])
    texts = list(tree.texts) if tree is not None and isinstance(tree.node, Scalar) else []
    if not texts or texts[0].template.is_literal or texts[0].template.lone or texts[0].template.error:
        return None
    return texts[0]


def _at_writer(cause: Text, found: Located) -> Finding:
    return Finding(
        cause.span,
        "this is text, because there is more than one pair of braces; its properties are read later",
        help="write a single `{{ ... }}` with nothing around it, which keeps the type of the value",
        notes=(Note(found.problem.message, found.span),),
    )
