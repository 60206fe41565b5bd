"""An unquoted value or key that other YAML parsers read differently.

wfc reads YAML 1.2, where `on`, `off`, `yes`, `no`, `y`, `n`, `12:30`, `1_000` and `2024-01-01` are text and `010` is
ten. Parsers of YAML 1.1, which many editors, linters and scripts still use, read booleans, the number 750, the number
1000, a date and the number eight. A quoted value is the same to all of them.

A comma after a value, as in JSON, is part of it: `true,` is text.

A value of the wrong type, such as `required: yes`, is reported by WF006 instead. A lone `y` or `n` is reported only as
a value that could be meant as yes or no: as a key or a name, nearly every parser of YAML 1.1 reads it as text too.

Bad:

```yaml
- id: ask
  type: prompt
  prompt_type: choice
  message: Restart it?
  options: [yes, no]
```

Good:

```yaml
- id: ask
  type: prompt
  prompt_type: choice
  message: Restart it?
  options: ["yes", "no"]
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.caching import cached, pattern
from wfc.findings import Edit, Fix, Severity
from wfc.language.values import Word
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.wrong_type import wrong_places
from wfc.yaml import Scalar
from wfc.yaml.nodes import nodes_of

_BOOLEANS = {
    **dict.fromkeys(("on", "yes", "y"), "`true`"),
    **dict.fromkeys(("off", "no", "n"), "`false`"),
}
_FORMS = (
    (pattern(r"[-+]?0[0-7]+"), "{octal} (octal)"),
    (pattern(r"[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"), "a number in base 60"),
    (pattern(r"[-+]?(?:[0-9][0-9]*_[0-9_]*|0b[01_]+|0x[0-9a-fA-F]*_[0-9a-fA-F_]*)"), "a number"),
    (pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), "a date"),
    (
        pattern(
            r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
            r"(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?"
        ),
        "a time",
    ),
)
_WITH_COMMA = pattern(r"(?:true|false|null|-?[0-9]+(?:\.[0-9]+)?),")
_LONGEST = 40


@rule("WF003", "ambiguous-scalar", Severity.WARNING, fix="safe")
def check(file: SourceFile) -> Iterator[Finding]:
    nodes = nodes_of(file.document.root)
    for scalar in nodes.scalars:
        if not scalar.style and scalar.text.endswith(",") and _WITH_COMMA.fullmatch(scalar.text):
            yield _with_comma(scalar)
    found = [
        (scalar, other)
        for scalar in nodes.scalars
        if not scalar.style and (other := _other_meaning(scalar.text))
    ]
    if not found:
        return
    keys = {id(entry.key) for mapping in nodes.mappings for entry in mapping.entries}
    clear = wrong_places(file) | (file.parsed.booleans if file.parsed else frozenset())
    # The time of a test is read as a time here too.
    clear |= {case.now_span.start for case in file.tests.cases if case.now_span} if file.tests else set()
    names = keys | _words(file)
    for scalar, other in found:
        is_name = len(scalar.text) == 1 and id(scalar) in names
        if scalar.span.start not in clear and not is_name:
            yield _finding(scalar, other, is_key=id(scalar) in keys)


def _words(file: SourceFile) -> set[int]:
    """The scalars that are names of steps, state fields or tasks."""
    values = [value for step in file.steps for value in step.values.values()]
    words = [word for value in values for word in (value if isinstance(value, list) else [value])]
    words += [word for step in file.steps for _, word in step.jumps()]
    return {id(word.node) for word in words if isinstance(word, Word)}


@cached(4096)
def _other_meaning(text: str) -> str | None:
    """The meaning of a plain scalar in YAML 1.1, if it differs from the meaning here."""
    if len(text) > _LONGEST:
        return None
    if not text[:1].isdigit() and text[:1] not in ("+", "-"):
        return _BOOLEANS.get(text.lower())
    for form, meaning in _FORMS:
        if form.fullmatch(text):
            return meaning.format(octal=int(text, 8)) if "{" in meaning else meaning
    return None


def _with_comma(node: Scalar) -> Finding:
    return Finding(
        node.span,
        f"`{node.text}` is text: YAML has no comma after a value",
        help=f"write `{node.text[:-1]}`, or quote it if it is text",
        fix=Fix("remove the comma", (Edit(node.span, node.text[:-1]),), safe=False),
    )


def _finding(node: Scalar, other: str, is_key: bool) -> Finding:
    if not isinstance(node.value, str):
        return Finding(
            node.span,
            f"`{node.text}` is the number {node.value} here, and {other} in YAML 1.1",
            help=f'write `{node.value}`, or quote it if it is text: "{node.text}"',
        )
    is_boolean = other in _BOOLEANS.values() and not is_key
    return Finding(
        node.span,
        f"`{node.text}` is text here, and {other} in YAML 1.1",
        help=f'quote it: "{node.text}"' + (f"; or write {other} if that is meant" if is_boolean else ""),
        fix=Fix("quote it", (Edit(node.span, f'"{node.text}"'),), safe=True),
    )
