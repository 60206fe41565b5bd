"""A task or workflow runs without a required input, or with an input that it does not declare.

A foreach without `with` passes the item as the task's only input. An item that is an object fills inputs by name if
there are several, or if the only one does not take objects. A plain value can't fill several inputs, so pass them in
`with:`. A `call` passes only its `with`. If the step has `only_declared: true`, undeclared inputs are dropped, and the
finding is a warning.

Bad:

```yaml
steps:
  - id: audit
    type: foreach
    items: [core, web]
    task: audit_module
tasks:
  audit_module:
    inputs:
      module: {type: string, required: true}
      depth: {type: number, required: true}
    steps:
      - {id: look, type: delegate, instructions: "Audit {{ inputs.module }}, {{ inputs.depth }} levels deep."}
```

Good:

```yaml
steps:
  - id: audit
    type: foreach
    items: [core, web]
    task: audit_module
    with:
      module: "{{ item }}"
      depth: 2
tasks:
  audit_module:
    inputs:
      module: {type: string, required: true}
      depth: {type: number, required: true}
    steps:
      - {id: look, type: delegate, instructions: "Audit {{ inputs.module }}, {{ inputs.depth }} levels deep."}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.lattice import kinds_of, plain
from wfc.analysis.types.scope import fills_by_name
from wfc.analysis.types.workflow import types_of
from wfc.findings import Edit, Fix, Note, Severity
from wfc.language import types
from wfc.language.ast import Scope
from wfc.language.dialect import Language
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import add_entry, rename
from wfc.rules.common.inputs import Binding, bindings
from wfc.suggest import Nearest, did_you_mean
from wfc.yaml import Entry, Mapping, Span

_SCALARS = frozenset({"text", "number", "bool", "null"})
_WORDS: dict[types.Type, str] = {types.TEXT: "text", types.INT: "numbers", types.NUMBER: "numbers"}


@rule("WF109", "unbound-task-input", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    names: dict[Scope, Nearest] = {}
    for binding in bindings(file):
        item = item_type(file, binding)
        known = names.setdefault(binding.child, Nearest(binding.declared))
        free = set(binding.unbound)
        for entry in binding.unknown_entries():
            near = known.to(entry.key.text)
            yield _unknown(binding, entry, near if near in free else None)
            # A misspelt input is reported once, not as missing as well.
            free -= {near}
        missing = [name for name in _missing(binding, item) if name in free]
        if missing:
            yield _unbound(file.language, binding, missing, item)


def _missing(binding: Binding, item: types.Type) -> list[str]:
    """The required inputs of the child that get no value."""
    if binding.given is not None:
        return [name for name in binding.needed if name not in binding.keys]
    if not binding.run.is_task:
        return list(binding.needed)
    if len(binding.declared) == 1 and not any(fills_by_name(item, decl) for decl in binding.needed.values()):
        return []
    if isinstance(item, types.Record):
        return [name for name in binding.needed if item.get(name) is None and not item.loose]
    # Items of an unknown type may be objects that have the inputs: only plain values certainly lack them.
    return list(binding.needed) if kinds_of(item) <= _SCALARS else []


def item_type(file: SourceFile, binding: Binding) -> types.Type:
    """The type of the item that fills inputs by name; `any` if it is not known or `with` fills them."""
    if not binding.run.is_task or binding.given is not None:
        return types.ANY
    known = types_of(file)
    return plain(known.of(binding.scope).item_of(binding.run)) if known else types.ANY


def _unknown(binding: Binding, entry: Entry, near: str | None) -> Finding:
    return Finding(
        entry.key.span,
        f"unknown input `{entry.key.text[:60]}` of {binding.title}",
        help=f"did you mean `{near}`?" if near else did_you_mean("", binding.declared) or "it has no inputs",
        fix=rename(entry.key, near, f"rename it to {near}") if near else None,
        severity=Severity.WARNING if binding.run.is_lenient else None,
        step=binding.step.name,
    )


def _unbound(language: Language, binding: Binding, missing: list[str], item: types.Type) -> Finding:
    names = ", ".join(f"`{name}`" for name in missing)
    key = language.key("with")
    guess, shown = _guess(language, binding, missing, item)
    return Finding(
        _place(binding),
        f"missing input{'s' if len(missing) > 1 else ''} {names} of {binding.title}{_why(binding, item)}",
        help=f"add to `{key}`: `{shown}`" if binding.given else f"pass it: `{key}: {{{shown}}}`",
        notes=tuple(_declarations(binding, missing)),
        fix=_fix(binding, guess) if guess else None,
        step=binding.step.name,
    )


def _guess(
    language: Language, binding: Binding, missing: list[str], item: types.Type
) -> tuple[dict[str, str] | None, str]:
    """The values that certainly fit the inputs, if any, and the text to show in the help."""
    if isinstance(item, types.Record):
        # With a `with`, the item no longer fills other inputs by name.
        parts = {
            name: f'"{language.hole(language.name_of("item", name))}"' if item.get(name) else "..."
            for name in binding.needed
        }
        return None, ", ".join(f"{name}: {value}" for name, value in parts.items())
    guess = binding.guess(language, missing)
    return guess, ", ".join(f"{name}: {guess[name] if guess else '...'}" for name in missing)


def _place(binding: Binding) -> Span:
    step = binding.step
    return step.key_span("with") if binding.given is not None else step.value_span(binding.run.field)


def _why(binding: Binding, item: types.Type) -> str:
    if binding.given is not None or not binding.run.is_task:
        return ""
    if isinstance(item, types.Record):
        has = ", ".join(f"`{known.name}`" for known in item.properties)
        return f": an item has only {has}" if has else ": an item has no properties"
    words = _WORDS.get(item, "plain values")
    return f": the items are {words}, which can't fill inputs by name"


def _declarations(binding: Binding, missing: list[str]) -> Iterator[Note]:
    node = binding.child.node.get("inputs")
    for entry in node.entries if isinstance(node, Mapping) else ():
        if entry.key.text in missing:
            yield Note(f"`{entry.key.text}` is required", entry.key.span)


def _fix(binding: Binding, values: dict[str, str]) -> Fix | None:
    node = binding.step.node
    lines = [f"{name}: {value}" for name, value in values.items()]
    if binding.given is not None:
        edit = _add(binding.given, binding.given.entries[-1] if binding.given.entries else None, lines)
    elif node.span.text.startswith("{"):
        # A flow mapping takes its new entry on the same line.
        edit = _add(node, node.entry(binding.run.field), [f"with: {{{', '.join(lines)}}}"])
    else:
        edit = _add(node, node.entry(binding.run.field), ["with:", *(f"  {line}" for line in lines)])
    return Fix(f"pass {', '.join(values)}", (edit,), safe=False) if edit else None


def _add(mapping: Mapping, after: Entry | None, lines: list[str]) -> Edit | None:
    # An empty `with` has no entry whose indentation the new lines could take.
    if after is None:
        return None
    indent = " " * (mapping.entries[0].key.span.column - 1)
    joint = ", " if mapping.span.text.startswith("{") else mapping.span.source.line_break + indent
    return add_entry(mapping, after, joint.join(lines))
