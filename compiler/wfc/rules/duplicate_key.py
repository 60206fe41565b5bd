"""A mapping has the same key twice.

YAML does not define what that means: one parser takes the first value, another the last, and a change to the wrong one
has no effect. One such pair has a meaning here: `type: prompt` together with `type: confirm` (or `info`, `text`,
`choice`) on one step is an old spelling of `prompt_type`. It is read as such, with a warning, and `wfc check --fix`
renames it.

Bad:

```yaml
- id: build
  type: shell
  command: make
  command: make release
```

Good:

```yaml
- id: build
  type: shell
  command: make release
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Edit, Fix, Note, Severity
from wfc.language.dialect import Language, OldSpelling
from wfc.language.steps.base import Step
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.yaml import Entry, Mapping, Scalar
from wfc.yaml.explain import excerpt
from wfc.yaml.nodes import nodes_of


@rule("WF002", "duplicate-key", fix="safe")
def check(file: SourceFile) -> Iterator[Finding]:
    repeated = [
        node
        for node in nodes_of(file.document.root).mappings
        if len({entry.key.text for entry in node.entries}) < len(node.entries)
    ]
    steps = {id(step.node): step for step in file.steps} if repeated else {}
    for node in repeated:
        yield from _repeated(file.language, node, steps.get(id(node)))


def _repeated(language: Language, mapping: Mapping, step: Step | None) -> Iterator[Finding]:
    old = language.old_spelling(mapping) if step else None
    first: dict[str, Entry] = {}
    for entry in mapping.entries:
        earlier = first.setdefault(entry.key.text, entry)
        if earlier is entry:
            continue
        if step and old and entry.key.text == old.renamed.key.text:
            yield _old_spelling(old, step)
        else:
            yield _finding(language, earlier, entry, step)
        if step and entry.key.text == "id":
            return  # The `- ` of a second step is missing: its other keys would be reported as duplicates too.


def _old_spelling(old: OldSpelling, step: Step) -> Finding:
    key = old.renamed.key
    return Finding(
        key.span,
        f"a {step.kind} with two keys `{key.text}`: this one is an old spelling of `{old.name}`",
        help=f"rename it to `{old.name}`",
        notes=(Note(f"the other `{key.text}`", old.kept.key.span),),
        fix=Fix(f"rename it to {old.name}", (Edit(key.span, old.name),), safe=True),
        severity=Severity.WARNING,
        step=step.name,
    )


def _finding(language: Language, first: Entry, second: Entry, step: Step | None) -> Finding:
    name = excerpt(second.key.text)
    return Finding(
        second.key.span,
        f"duplicate key `{name}` in one mapping",
        help=_advice(language, first, second, step),
        notes=(Note("first used here", first.key.span),),
        step=step.name if step else None,
    )


def _advice(language: Language, first: Entry, second: Entry, step: Step | None) -> str:
    if step and second.key.text == "type" and "prompt" in (_text(first), _text(second)):
        return "write the kind of prompt as `prompt_type`: `info`, `confirm`, `text` or `choice`"
    if step and second.key.text == "id":
        return f"if a new {language.step} begins here, start it with `- `; otherwise remove one of them"
    return "remove one of them"


def _text(entry: Entry) -> str | None:
    return entry.value.text if isinstance(entry.value, Scalar) else None
