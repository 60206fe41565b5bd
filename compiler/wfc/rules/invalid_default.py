"""A default that fails the validation of its input, or validation rules that no value satisfies.

A default must have the input's type and pass its validation: `enum`, `pattern`, `min`, `max`, the lengths, the types
of items and the properties of objects. The check also covers the rules themselves: a `min` above `max`, an invalid
`pattern`, a rule that does not apply to the type (`pattern` on a number), and a default that is never used because the
input is required. Patterns use the syntax of RE2, which has no look-around and no back-references.

Bad:

```yaml
inputs:
  retries:
    type: number
    default: 20
    validation: {min: 1, max: 10}
```

Good:

```yaml
inputs:
  retries:
    type: number
    default: 3
    validation: {min: 1, max: 10}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Note
from wfc.language.shape import RULES_FOR, InputDecl, Validation
from wfc.language.steps.prompt import Prompt
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.inputs import Misfit, RuleSet, misfits, pattern_error, with_article
from wfc.yaml import Node, Scalar, Sequence
from wfc.yaml.nodes import resolve_plain

_RANGES = (("min", "max"), ("min_length", "max_length"), ("min_items", "max_items"))


@rule("WF011", "invalid-default")
def check(file: SourceFile) -> Iterator[Finding]:
    # Declarations of other languages are checked in their core form.
    for shape in file.core_shapes:
        if isinstance(shape, InputDecl):
            rules = RuleSet.of(shape)
            yield from _bad_rules(rules)
            yield from _default(shape, rules)
        elif isinstance(shape, Prompt) and shape.validation:
            yield from _bad_rules(RuleSet(str(shape.setting("input_type")), [shape.validation]))


def _default(decl: InputDecl, rules: RuleSet) -> Iterator[Finding]:
    default = decl.default
    if default is None or (decl.setting("convert") and default.data is None):
        return
    if decl.is_required:
        yield Finding(
            decl.key_span("default"),
            "the input is required, so its default is never used",
            help="remove `default`, or `required: true`",
            notes=(Note("required here", decl.value_span("required")),),
        )
    if not _is_taken(decl, default.node):
        for bad in misfits(rules, default.node, "the default"):
            yield _finding(bad, bad.help)


def _is_taken(decl: InputDecl, node: Node) -> bool:
    """Whether a default is null or is converted to the declared type."""
    if not isinstance(node, Scalar) or node.value is None:
        return isinstance(node, Scalar)
    said = resolve_plain(node.text.strip())
    match decl.kind if decl.setting("convert") else "":
        case "string":
            return True
        case "number":
            return isinstance(said, int | float) and not isinstance(said, bool)
        case "integer":
            return isinstance(said, int) and not isinstance(said, bool)
        case "boolean":
            return isinstance(said, bool)
    return False


def _finding(bad: Misfit, help: str) -> Finding:
    return Finding(bad.span, bad.message, help=help, notes=(Note("the rule", bad.rule),) if bad.rule else ())


def _bad_rules(rules: RuleSet) -> Iterator[Finding]:
    yield from _misplaced(rules)
    yield from _empty_ranges(rules)
    yield from _bad_enum(rules)
    pattern = rules.get("pattern")
    why = pattern_error(pattern) if isinstance(pattern, str) else None
    span = rules.span("pattern")
    if why and span:
        yield Finding(
            span, why, help="patterns use RE2 syntax, which has no look-around and no back-references"
        )


def _misplaced(rules: RuleSet) -> Iterator[Finding]:
    """Rules that do not apply to the type, and rules that are declared twice."""
    fitting, kind = RULES_FOR.get(rules.kind, tuple(Validation.FIELDS)), with_article(rules.kind)
    for number, holder in enumerate(rules.holders):
        for name in Validation.FIELDS:
            if holder.node.entry(name) is None:
                continue
            if name not in fitting:
                help = f"remove it; {kind} can have " + ", ".join(f"`{one}`" for one in fitting)
                yield Finding(holder.key_span(name), f"`{name}` does not apply to {kind}", help=help)
            elif number and name in rules.holders[0].values:
                notes = (Note("also declared here; this one is used", rules.holders[0].key_span(name)),)
                message = f"`{name}` is declared both here and in `validation`"
                yield Finding(holder.key_span(name), message, help="remove one of them", notes=notes)


def _empty_ranges(rules: RuleSet) -> Iterator[Finding]:
    for low, high in _RANGES:
        least, most, span = rules.get(low), rules.get(high), rules.span(high)
        if least is not None and most is not None and least > most and span:
            yield Finding(
                span,
                f"`{high}` is {most}, below `{low}`, which is {least}: no value satisfies both",
                help="swap them, or change one",
                notes=(Note(f"`{low}`", rules.span(low)),),
            )


def _bad_enum(rules: RuleSet) -> Iterator[Finding]:
    holder = next((holder for holder in rules.holders if "enum" in holder.values), None)
    node = holder.values["enum"].node if holder else None
    if node is None or "enum" not in RULES_FOR.get(rules.kind, ()):
        return
    if not isinstance(node, Sequence) or not node.items:
        yield Finding(node.span, "`enum` takes the list of allowed values", help="write `[..., ...]`")
        return
    for item in node.items:
        for bad in misfits(rules, item, "this value", beside_enum=True):
            yield _finding(bad, "it is never allowed: remove it, or change the rule")
